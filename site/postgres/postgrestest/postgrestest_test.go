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
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/private"
	"tollbook/site/testgate"
)

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
		fmt.Println("\nhas", NewDatabase(t))
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

// startWaiting starts a test process that has a database, and ends when its input does.
func startWaiting(t *testing.T, env ...string) (cmd *osexec.Cmd, stdin io.Closer, dsn string) {
	t.Helper()
	cmd = testProcess(t, "TestCondition", "waits", env...)
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
		if dsn, ok := strings.CutPrefix(lines.Text(), "has "); ok {
			return cmd, stdin, dsn
		}
	}
	t.Fatalf("the process has no database: %v", cmd.Wait())
	return nil, nil, ""
}

func databaseName(t *testing.T, dsn string) string {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return config.Database
}

// TestKilled kills a test process. The next one uses the same server and drops what the killed one left, and no database
// that is in use.
func TestKilled(t *testing.T) {
	t.Parallel()
	conn := connect(t, NewDatabase(t)) // of this process, in use all along
	started := names(t, conn, `SELECT pg_postmaster_start_time()::text`)
	cmd, _, dsn := startWaiting(t)
	other := connect(t, dsn)
	if diff := cmp.Diff(started, names(t, other, `SELECT pg_postmaster_start_time()::text`)); diff != "" {
		t.Errorf("the start of the process's server (-want +got)\n%s", diff)
	}
	other.Close(t.Context())
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for range 100 { // until the server has noticed
		if out, err := testProcess(t, "TestCondition", "ordinary").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if len(names(t, conn, `SELECT datname::text FROM pg_database WHERE datname = $1`, databaseName(t, dsn))) == 0 {
			mustExec(t, conn, `SELECT 1`)
			return
		}
	}
	t.Errorf("%s is still there", dsn)
}

// TestWatchman kills the only test process of a server. The server must end and leave no data, and a process that starts
// at any moment of the end must get a database.
func TestWatchman(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	bin := names(t, connect(t, NewDatabase(t)), `SELECT setting FROM pg_config WHERE name = 'BINDIR'`)[0]
	for _, moment := range []string{"PG_VERSION", "postmaster.pid", "base"} { // deleted in this order
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			env := "TOLLBOOK_POSTGRES_BIN=" + bin + strings.Repeat("/.", len(moment)) // for a server of its own
			cmd, _, dsn := startWaiting(t, env)
			config, err := pgx.ParseConfig(dsn)
			if err != nil {
				t.Fatal(err)
			}
			data := filepath.Join(filepath.Dir(config.Host), "data")
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			awaitDeleted(t, filepath.Join(data, moment))
			if out, err := testProcess(t, "TestCondition", "ordinary", env).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			awaitDeleted(t, filepath.Join(data, "base")) // of the second server, a few seconds later
			awaitDeleted(t, filepath.Join(data, "postmaster.pid"))
			if err := private.Remove(t.Context(), filepath.Dir(data)); err != nil {
				t.Error(err)
			}
		})
	}
}

// awaitDeleted waits until a file is gone.
func awaitDeleted(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there", path)
		}
	}
}
