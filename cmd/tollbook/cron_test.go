//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// TestIndexWithoutNetworks checks that a chain of commands, as in a crontab, goes on where no network is configured.
func TestIndexWithoutNetworks(t *testing.T) {
	t.Parallel()
	if out := ran(t, nil, "index", "--once"); out != "No [[network]] is configured; nothing was read\n" {
		t.Errorf("index --once without a network prints %q", out)
	}
	if out := ran(t, nil, "index", "--once", "--json"); !json.Valid([]byte(out)) {
		t.Errorf("as JSON: %q", out)
	}
	for _, args := range [][]string{{"index"}, {"index", "--once", "--start", "base=2025-10-01"}} {
		if code, _, stderr := tollbook(t, nil, args...); code != 2 || !strings.Contains(stderr, "node to read it from") {
			t.Errorf("%s: exit %d, %s", args, code, stderr)
		}
	}
}

// TestCrontabs runs each line of the crontabs in the documents as cron does: in the home folder, with the variables of
// the crontab alone. Only the two folders are those of the test.
func TestCrontabs(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	if _, err := exec.LookPath("sh"); err != nil {
		testgate.Missing(t, "no sh to run lines of a crontab")
	}
	home, bin := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "tollbook")); err != nil {
		t.Fatal(err)
	}
	crontab := regexp.MustCompile(`(?m)(?:^    [A-Z_]+=.*\n)+(?:^    [*0-9/]+ [*0-9/]+ \* \* \*  .*\n)+`)
	line := regexp.MustCompile(`^(?:[*0-9/]+ ){2}\* \* \* +(.*)$`)
	lines := 0
	for _, page := range []string{"operations/start.md", "hosting.md"} {
		tables := crontab.FindAllString(readFile(t, filepath.Join(root, "templates/pages", page)), -1)
		if len(tables) == 0 {
			t.Errorf("%s has no crontab with variables", page)
		}
		for _, table := range tables {
			data := t.TempDir()
			table = strings.NewReplacer("/var/lib/tollbook", data, "/usr/local/bin", bin).Replace(table)
			env := []string{"HOME=" + home, "SHELL=/bin/sh", "LOGNAME=keeper", asProgram + "=1",
				"DATABASE_URL=" + postgrestest.NewDatabase(t)}
			for row := range strings.Lines(table) {
				row = strings.TrimSpace(row)
				m := line.FindStringSubmatch(row)
				if m == nil {
					env = append(env, row)
					continue
				}
				lines++
				cmd := exec.CommandContext(t.Context(), "sh", "-c", m[1])
				cmd.Dir, cmd.Env = home, env
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s: %s: %v\n%s", page, m[1], err, out)
				} else if strings.Contains(table, "LOG_LEVEL=warn") && len(out) > 0 {
					t.Errorf("%s: %s would send a mail:\n%s", page, m[1], out)
				}
			}
			if _, err := os.Stat(filepath.Join(data, "public", "checkpoint.json")); err != nil {
				t.Errorf("%s: after its crontab nothing is built: %v", page, err)
			}
		}
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("the commands left %v in the home folder: %v", left, err)
	}
	if lines < 3 {
		t.Errorf("%d lines of crontabs were run, want 3 or more", lines)
	}
}
