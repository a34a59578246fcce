package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tollbook/site/testgate"
)

// TestFolderNotWritable checks that the error names a data folder that an ordinary user cannot create or write.
func TestFolderNotWritable(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	user := ordinaryUser(t)
	locked, file := filepath.Join(user.dir, "locked"), filepath.Join(user.dir, "file")
	if err := errors.Join(os.Mkdir(locked, 0o555), os.WriteFile(file, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ command, data, want string }{
		{"demo --listen 127.0.0.1:0", locked, "permission denied"},
		{"demo --listen 127.0.0.1:0", filepath.Join(locked, "below"), "permission denied"},
		{"demo --listen 127.0.0.1:0", file, "not a directory"},
		{"build", locked, "permission denied"},
		{"services list", locked, "permission denied"},
	} {
		p := user.command(t, append(strings.Fields(tt.command), "--data", tt.data)...).start(t)
		if code := p.status(t); code != 1 || strings.Count(p.said(), "tollbook: ") != 1 ||
			!strings.Contains(p.said(), tt.data) || !strings.Contains(p.said(), tt.want) {
			t.Errorf("%s in %s: exit %d\n%swant 1, the folder and %s", tt.command, tt.data, code, p.said(), tt.want)
		}
	}
	checkEmpty(t, locked)

	public := filepath.Join(user.home, "data", "public")
	if err := errors.Join(os.MkdirAll(public, 0o755), os.Chmod(public, 0o555),
		user.own(filepath.Dir(public))); err != nil {
		t.Fatal(err)
	}
	p := user.command(t, "build", "--data", filepath.Dir(public)).start(t)
	if code := p.status(t); code != 1 || !strings.Contains(p.said(), public) ||
		!strings.Contains(p.said(), "permission denied") {
		t.Errorf("build into a folder that is not the user's: exit %d\n%s", code, p.said())
	}
	checkEmpty(t, public)
}

// TestDemoAsOrdinaryUser checks that the first command of the README works in a read-only checkout, and that the demo
// needs no privileges. It writes to the user's own folder, and nothing to the checkout.
func TestDemoAsOrdinaryUser(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	needPostgres(t)
	user := ordinaryUser(t)
	checkout := filepath.Join(user.dir, "checkout")
	if err := os.Mkdir(checkout, 0o555); err != nil {
		t.Fatal(err)
	}
	p := user.command(t, "demo", "--listen", "0.0.0.0:0")
	p.Dir = checkout
	p.start(t)
	base := strings.TrimSuffix(p.await(t, "Pages "), "/")
	if !strings.HasPrefix(base, "http://127.0.0.1:") {
		t.Errorf("the pages are at %s, which is nothing to click on", base)
	}
	public := p.await(t, "Files ")
	if !strings.HasPrefix(public, user.home+"/") {
		t.Errorf("files in %s, want them in the user's home %s", public, user.home)
	}
	checkPages(t, base)
	checkWorld(t, base)
	data := filepath.Dir(public)
	children := serverProcesses(data)
	p.interrupt(t, os.Interrupt)
	checkGone(t, data, base, children)
	checkEmpty(t, checkout)
	if published(t, data) == "" {
		t.Errorf("nothing is published in %s", public)
	}
}

// account is an ordinary user: nobody if root runs the test, otherwise the user who runs it.
type account struct {
	dir  string // owned by the tester and readable for all; contains the program
	home string // below dir, owned by the account
	id   int    // 0: the tester
}

// nobody is the id of the user that owns nothing.
const nobody = 65534

func ordinaryUser(t *testing.T) account {
	t.Helper()
	dir, err := os.MkdirTemp("", "tollbook-user-") // other users cannot enter the tests' own folders
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	a := account{dir: dir, home: filepath.Join(dir, "home")}
	if os.Geteuid() == 0 {
		a.id = nobody
	}
	shipped, err := shippedProgram()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.Chmod(dir, 0o755), os.WriteFile(filepath.Join(dir, "tollbook"), program, 0o755),
		os.Mkdir(a.home, 0o700), a.own(a.home))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// own gives a file to the account.
func (a account) own(path string) error {
	if a.id == 0 {
		return nil
	}
	return os.Chown(path, a.id, a.id)
}

// command prepares the program to run as the account.
func (a account) command(t *testing.T, args ...string) *program {
	t.Helper()
	p := command(t, []string{"HOME=" + a.home, "XDG_CACHE_HOME=", "TMPDIR="}, args...)
	p.Path, p.Dir = filepath.Join(a.dir, "tollbook"), a.home
	if a.id != 0 {
		p.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.id), Gid: uint32(a.id)}}
	}
	return p
}
