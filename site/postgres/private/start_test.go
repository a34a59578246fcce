//go:build unix

package private

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStartTwice starts, writes, stops, starts again and removes.
func TestStartTwice(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	for _, tt := range []struct {
		name   string
		parent func(t *testing.T) string
	}{
		{"plain", tempDir},
		{"in a folder that only this user can enter, such as /root", closedDir},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(tt.parent(t), "made", "postgres")
			o := Options{Dir: dir}
			s := mustStart(t, o)
			mustExec(t, s.DSN(), `CREATE TABLE kept AS SELECT 42 AS n`)
			for _, path := range []string{dir, filepath.Join(dir, "data"), filepath.Join(dir, "socket")} {
				if got := mode(t, path); got != 0o700 {
					t.Errorf("mode of %s is %o, not 700", path, got)
				}
			}
			mustStop(t, s)
			mustBeGone(t, dir)
			if names := entries(t, dir, "socket"); len(names) > 0 {
				t.Errorf("left: %q", names)
			}

			s = mustStart(t, o)
			if got := query(t, s.DSN(), `SELECT n FROM kept`); got != "42" {
				t.Errorf("kept %s, not 42", got)
			}
			mustStop(t, s)
			if err := Remove(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is still there: %v", dir, err)
			}
		})
	}
}

// TestOrdinaryUser runs the whole cycle as the user nobody, whom Postgres accepts.
func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	needRoot(t)
	needPrograms(t)
	dir := tempDir(t)
	binary := filepath.Join(dir, "private.test")
	copyFile(t, self(t), binary)
	nobody := account{}
	for _, a := range unprivileged() {
		if a.name == "nobody" {
			nobody = a
		}
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, nobody.uid, nobody.gid); err != nil {
		t.Fatal(err)
	}
	as := &syscall.Credential{Uid: uint32(nobody.uid), Gid: uint32(nobody.gid)}
	do := order{Dir: filepath.Join(home, "postgres"), Throwaway: true}

	h := startHelper(t, binary, as, do)
	mustExec(t, h.dsn(t), `CREATE TABLE kept AS SELECT 42 AS n`)
	h.stop(t)
	h = startHelper(t, binary, as, do)
	if got := query(t, h.dsn(t), `SELECT n FROM kept`); got != "42" {
		t.Errorf("kept %s, not 42", got)
	}
	st, err := os.Stat(filepath.Join(do.Dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	if uid := st.Sys().(*syscall.Stat_t).Uid; int(uid) != nobody.uid {
		t.Errorf("the cluster belongs to %d", uid)
	}
	h.stop(t)

	// Root can continue with the cluster, and nobody can continue after root.
	s := mustStart(t, Options{Dir: do.Dir, Throwaway: true})
	if got := query(t, s.DSN(), `SELECT n FROM kept`); got != "42" {
		t.Errorf("as root: kept %s, not 42", got)
	}
	mustStop(t, s)
	h = startHelper(t, binary, as, do)
	h.dsn(t)
	h.stop(t)

	// A folder that root closed stays closed, and the error names it.
	h = startHelper(t, binary, as, order{Dir: filepath.Join(closedDir(t), "postgres")})
	if r := h.next(t); !strings.Contains(r.Error, "permission denied") ||
		!strings.Contains(r.Error, "make the data folder") {
		t.Errorf("in a closed folder: %+v", r)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	dir := tempDir(t)
	s := mustStart(t, Options{Dir: dir, Settings: []string{"work_mem=5MB"}})
	for name, want := range map[string]string{
		"listen_addresses": "", "data_checksums": "on", "fsync": "on", "full_page_writes": "on",
		"server_encoding": "UTF8",
		"TimeZone":        "UTC", "jit": "off", "max_connections": "200", "shared_buffers": "128MB", "work_mem": "5MB",
		"unix_socket_permissions": "0700",
	} {
		if got := query(t, s.DSN(), `SELECT current_setting('`+name+`')`); got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
	if got := query(t, s.DSN(), `SELECT datcollate || ' ' || current_database() || ' ' || current_user FROM `+
		`pg_database WHERE datname = current_database()`); got != "C tollbook postgres" {
		t.Errorf("collation, database, user: %q", got)
	}
	// Ctrl-C in the terminal signals this program's process group, not the server's.
	pid := serverPid(t, dir)
	if group, err := syscall.Getpgid(pid); err != nil || group != pid {
		t.Errorf("the server %d is of process group %d, %v", pid, group, err)
	}
}

func TestOddPaths(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	for _, name := range []string{
		`it's "here" + at 100% $HOME\ü`,
		`this, that and the other`,
		strings.Repeat("long", 30),
		filepath.Join(strings.Repeat("long", 30), strings.Repeat("longer", 20)),
	} {
		t.Run(name[:10], func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(tempDir(t), name)
			o := Options{Dir: dir, Throwaway: true}
			s := mustStart(t, o)
			if got := query(t, s.DSN(), `SELECT 1`); got != "1" {
				t.Errorf("got %s", got)
			}
			socket := s.socket
			if got := mode(t, socket); got != 0o700 {
				t.Errorf("mode of %s is %o", socket, got)
			}
			if inside := strings.HasPrefix(socket, dir); inside != (len(name) < 100 && !strings.Contains(name, ",")) {
				t.Errorf("the socket lies in %s", socket)
			}
			mustStop(t, s)
			if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is still there: %v", socket, err)
			}
		})
	}
}

// TestSocketNameTaken checks a long socket path whose short folder belongs to another user.
func TestSocketNameTaken(t *testing.T) {
	t.Parallel()
	p := &place{dir: "/x", data: filepath.Join(tempDir(t), strings.Repeat("long", 30), "data")}
	id := ourselves()
	first, err := p.makeSocketDir(id)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(first)
	again, err := p.makeSocketDir(id)
	if err != nil {
		t.Fatal(err)
	}
	if again != first {
		t.Errorf("%s, then %s", first, again)
	}
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	// A mount replaces a folder that may not be removed.
	if err := os.Mkdir(first, 0o700); err != nil {
		t.Fatal(err)
	}
	unmount := mountSmall(t, first, "64k")
	other, err := p.makeSocketDir(id)
	unmount()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(other)
	if other == first || mode(t, other) != 0o700 {
		t.Errorf("%s is %s", other, mode(t, other))
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	dir := tempDir(t)
	s := mustStart(t, Options{Dir: dir, Throwaway: true})
	if err := s.Err(); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	late, cancel := context.WithCancel(t.Context())
	cancel() // Stop still waits for a clean shutdown
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := s.Stop(late); err != nil {
				t.Errorf("stop: %v", err)
			}
		})
	}
	all.Wait()
	<-s.Done()
	if err := s.Err(); err != nil {
		t.Errorf("after Stop: %v", err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "log", "postgres.log"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(log), "database system is shut down") || strings.Contains(string(log), "immediate") {
		t.Errorf("it was not shut down in order: %s", log)
	}
}

func TestServerDies(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	dir := tempDir(t)
	s := mustStart(t, Options{Dir: dir})
	mustExec(t, s.DSN(), `CREATE TABLE kept AS SELECT 42 AS n`)
	if err := syscall.Kill(serverPid(t, dir), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	for range 2 { // Stop does not hide the error
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), "the server process ended") {
			t.Errorf("Err is %v", err)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Errorf("stop: %v", err)
		}
	}
	s = mustStart(t, Options{Dir: dir})
	if got := query(t, s.DSN(), `SELECT n FROM kept`); got != "42" {
		t.Errorf("kept %s, not 42", got)
	}
}

func TestDSN(t *testing.T) {
	t.Parallel()
	want := "postgres:///a%20b?host=%2Fx%20y%2B%26z&port=5432&sslmode=disable&user=postgres"
	if diff := cmp.Diff(want, dsn("/x y+&z", "a b")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
