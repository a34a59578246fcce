//go:build unix

package private

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"tollbook/site/leaktest"
	"tollbook/site/testgate"
)

// orderVariable is the environment variable that contains a helper's order. A test that needs a second program, or a
// program of another user, runs the test binary again with it.
const orderVariable = "TOLLBOOK_PRIVATE_TEST_ORDER"

func TestMain(m *testing.M) {
	if order := os.Getenv(orderVariable); order != "" {
		os.Exit(obey(order))
	}
	leaktest.Main(m)
}

// An order is the task of a helper program: Start, report it, and Stop when stdin ends.
type order struct {
	Dir       string
	Throwaway bool
}

// A report is a line of a helper's stdout.
type report struct {
	Said, Error, DSN string
}

func obey(line string) int {
	out := json.NewEncoder(os.Stdout)
	var do order
	if err := json.Unmarshal([]byte(line), &do); err != nil {
		_ = out.Encode(report{Error: err.Error()})
		return 2
	}
	ctx := context.Background()
	s, err := Start(ctx, Options{
		Dir: do.Dir, Throwaway: do.Throwaway,
		Say: func(line string) { _ = out.Encode(report{Said: line}) },
	})
	if err != nil {
		_ = out.Encode(report{Error: err.Error()})
		return 1
	}
	_ = out.Encode(report{DSN: s.DSN()})
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := s.Stop(ctx); err != nil {
		_ = out.Encode(report{Error: err.Error()})
		return 1
	}
	return 0
}

// A helper is a separate program that runs a server.
type helper struct {
	cmd   *exec.Cmd
	stdin io.Closer
	lines *bufio.Scanner
}

func startHelper(t *testing.T, binary string, as *syscall.Credential, do order) *helper {
	t.Helper()
	cmd := exec.Command(binary)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	return runHelper(t, cmd, do)
}

func runHelper(t *testing.T, cmd *exec.Cmd, do order) *helper {
	t.Helper()
	line, err := json.Marshal(do)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, append(os.Environ(), orderVariable+"="+string(line))...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h := &helper{cmd, stdin, bufio.NewScanner(stdout)}
	t.Cleanup(h.kill)
	return h
}

// next returns the helper's next line.
func (h *helper) next(t *testing.T) report {
	t.Helper()
	if !h.lines.Scan() {
		t.Fatalf("the helper ended without a word: %v", h.lines.Err())
	}
	var r report
	if err := json.Unmarshal(h.lines.Bytes(), &r); err != nil {
		t.Fatalf("the helper said %q: %v", h.lines.Text(), err)
	}
	return r
}

// dsn waits until the helper's server accepts connections.
func (h *helper) dsn(t *testing.T) string {
	t.Helper()
	for {
		r := h.next(t)
		if r.Error != "" {
			t.Fatalf("helper: %s", r.Error)
		}
		if r.DSN != "" {
			return r.DSN
		}
	}
}

func (h *helper) stop(t *testing.T) {
	t.Helper()
	h.stdin.Close()
	if err := h.cmd.Wait(); err != nil {
		t.Errorf("helper: %v", err)
	}
}

func (h *helper) kill() {
	_ = h.cmd.Process.Kill()
	_ = h.cmd.Wait()
}

// self returns the path of the test binary.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		testgate.Missing(t, "run this test as root")
	}
}

// needPrograms returns the Postgres programs that the tests use.
func needPrograms(t *testing.T) programs {
	t.Helper()
	p, err := findPrograms(t.Context(), Options{}, 0)
	if err != nil {
		testgate.Missing(t, "no Postgres to test with: %v", err)
	}
	return p
}

// tempDir returns a short folder that other users can enter. It is in memory if the system has such a folder.
func tempDir(t *testing.T) string {
	t.Helper()
	base := "/dev/shm"
	if st, err := os.Stat(base); err != nil || !st.IsDir() {
		base = os.TempDir()
	}
	dir, err := os.MkdirTemp(base, "tbp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// closedDir returns a folder that other users cannot enter, such as /root.
func closedDir(t *testing.T) string {
	t.Helper()
	dir := tempDir(t)
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sayings collects the lines that are passed to Say.
func sayings(o *Options) *[]string {
	var said []string
	o.Say = func(line string) { said = append(said, line) }
	return &said
}

func mustStart(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func mustStop(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// query returns one value as text.
func query(t *testing.T, dsn, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var got any
	if err := conn.QueryRow(t.Context(), sql).Scan(&got); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return fmt.Sprint(got)
}

func mustExec(t *testing.T, dsn, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// serverPid returns the process ID of the server that runs in the folder.
func serverPid(t *testing.T, dir string) int {
	t.Helper()
	pid, state := pidFile(filepath.Join(dir, "data"))
	if state != "ready" || !alive(pid) {
		t.Fatalf("no server runs in %s", dir)
	}
	return pid
}

// mustBeGone checks that no process of the cluster is left and that nobody uses the folder.
func mustBeGone(t *testing.T, dir string) {
	t.Helper()
	p, err := findPlace(dir)
	if err != nil {
		t.Fatal(err)
	}
	if strays := findStrays(p.data); len(strays) > 0 {
		t.Errorf("left: %+v", strays)
	}
	alone, err := p.use()
	if err != nil || !alone {
		t.Errorf("the folder is in use: %v", err)
	}
	p.release()
}

// entries returns the names in a folder that begin with prefix.
func entries(t *testing.T, dir, prefix string) []string {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	return names
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Mode().Perm()
}
