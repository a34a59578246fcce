package postgrestest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { Main(m) }

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func mustExec(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// names gives the first column of the query's rows.
func names(t *testing.T, conn *pgx.Conn, sql string, args ...any) []string {
	t.Helper()
	rows, _ := conn.Query(t.Context(), sql, args...)
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return got
}

var (
	prepared atomic.Int32
	tables   = New(func(ctx context.Context, dsn string) error {
		prepared.Add(1)
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, `CREATE TABLE t (name text); INSERT INTO t VALUES ('of the template')`)
		return err
	})
)

// TestDatabase has parallel tests write the same table, each in its own copy.
func TestDatabase(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			conn := connect(t, tables.Database(t))
			mustExec(t, conn, fmt.Sprintf(`INSERT INTO t VALUES ('of test %d')`, i))
			want := []string{fmt.Sprintf("of test %d", i), "of the template"}
			if diff := cmp.Diff(want, names(t, conn, `SELECT name FROM t ORDER BY name`)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if n := prepared.Load(); n != 1 {
				t.Errorf("prepared %d times", n)
			}
		})
	}
}

func TestNewDatabase(t *testing.T) {
	t.Parallel()
	var dsn, name string
	t.Run("inner", func(t *testing.T) {
		dsn = NewDatabase(t)
		conn := connect(t, dsn)
		if got := names(t, conn, `SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'`); len(got) > 0 {
			t.Errorf("it has tables: %q", got)
		}
		name = names(t, conn, `SELECT current_database()::text`)[0]
		conn.Close(t.Context())
		if _, err := pgx.Connect(t.Context(), dsn); err != nil { // left open: it is dropped nevertheless
			t.Fatal(err)
		}
	})
	if dsn == "" {
		t.Skip("no Postgres")
	}
	other := connect(t, NewDatabase(t))
	if got := names(t, other, `SELECT datname::text FROM pg_database WHERE datname = $1`, name); len(got) > 0 {
		t.Errorf("%s is still there", name)
	}
}

// conditionVariable makes the test binary run again as the test process of a package in some condition.
const conditionVariable = "POSTGRESTEST_CONDITION"

func testProcess(t *testing.T, run, condition string, env ...string) *osexec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command(self, "-test.run=^"+run+"$", "-test.v")
	cmd.Env = append(append(os.Environ(), conditionVariable+"="+condition), env...)
	return cmd
}

// TestCondition is what such a process runs.
func TestCondition(t *testing.T) {
	switch os.Getenv(conditionVariable) {
	case "":
		t.Skip("for other tests")
	case "waits":
		NewDatabase(t)
		fmt.Println("\nlies in", server.dir)
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	case "fails to prepare":
		New(func(context.Context, string) error { return errors.New("relation flubs does not exist") }).Database(t)
	default:
		NewDatabase(t)
	}
}

func TestNoPrograms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ci       string
		wantFail bool
		want     string
	}{
		{"", false, "--- SKIP: TestCondition"},
		{"true", true, "--- FAIL: TestCondition"},
	} {
		cmd := testProcess(t, "TestCondition", "no programs", "CI="+tt.ci, "TOLLBOOK_POSTGRES_BIN=/nowhere")
		out, err := cmd.CombinedOutput()
		if failed := err != nil; failed != tt.wantFail || !strings.Contains(string(out), tt.want) ||
			!strings.Contains(string(out), "/nowhere") {
			t.Errorf("CI=%s: %v\n%s", tt.ci, err, out)
		}
	}
}

func TestFailsToPrepare(t *testing.T) {
	t.Parallel()
	NewDatabase(t) // skips without programs
	out, err := testProcess(t, "TestCondition", "fails to prepare").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "prepare the template database: relation flubs does not exist") {
		t.Errorf("%v\n%s", err, out)
	}
}

// startWaiting starts a test process that has a server in dir, and ends when its input does.
func startWaiting(t *testing.T) (cmd *osexec.Cmd, stdin io.Closer, dir string) {
	t.Helper()
	cmd = testProcess(t, "TestCondition", "waits")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close() })
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if dir, ok := strings.CutPrefix(lines.Text(), "lies in "); ok {
			return cmd, stdin, dir
		}
	}
	t.Fatalf("the process has no server: %v", cmd.Wait())
	return nil, nil, ""
}

// TestStopWhileAnotherCleans has test processes end while another one looks for stale folders all the time. None of
// them may find its folder taken.
func TestStopWhileAnotherCleans(t *testing.T) {
	t.Parallel()
	NewDatabase(t) // skips without programs
	for range 5 {
		cmd, stdin, dir := startWaiting(t)
		stdin.Close()
		for there := true; there; {
			unlock, err := lock(mine() + ".lock")
			if err != nil {
				t.Fatal(err)
			}
			removeStale(t.Context(), dir)
			_, err = os.Stat(dir)
			there = err == nil
			unlock()
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the process that ended: %v", err)
		}
	}
}

// TestKilled kills a test process; the next one removes its folder, and none
// that is in use.
func TestKilled(t *testing.T) {
	t.Parallel()
	conn := connect(t, NewDatabase(t)) // of this process, in use all along
	cmd, _, dir := startWaiting(t)
	if _, err := os.Stat(filepath.Join(dir, "data", "PG_VERSION")); err != nil {
		t.Fatalf("the server of the process: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	// The supervisor has the lock until the server has stopped. A test process beside this one may have removed the
	// folder by then.
	unlock, err := lock(filepath.Join(dir, "lock"))
	if err == nil {
		unlock()
	} else if !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if out, err := testProcess(t, "TestCondition", "ordinary").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", dir, err)
	}
	mustExec(t, conn, `SELECT 1`)
}
