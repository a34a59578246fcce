// Package postgrestest gives each test a Postgres database of its own, on one
// throwaway server per test process. A package that uses it has
//
//	func TestMain(m *testing.M) { postgrestest.Main(m) }
//
// and its tests call NewDatabase, or Database of a Template that was made with the package's migrations. The server
// starts with the first call. Its files are on /dev/shm if that exists, and are removed when the tests end. The next
// test process removes the files of a killed one.
//
// It knows nothing of Tollbook's schema.
package postgrestest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site/leaktest"
	"tollbook/site/postgres/private"
	"tollbook/site/testgate"
)

// prefix begins the names of the servers' folders; the user's id follows.
const prefix = "tollbook-test-"

// Main runs the tests, then each of after, stops the server if one was started, and exits. A goroutine that outlives
// the tests is a failure. Unless all tests were asked for, a property is checked 20 times instead of 100: each time
// fills a database.
func Main(m *testing.M, after ...func() error) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f != nil && f.Value.String() == f.DefValue && !testgate.Everything() {
		_ = f.Value.Set("20")
	}
	leaktest.Main(m, append(after, server.stop)...)
}

// NewDatabase makes an empty database for the test, dropped at its end, and
// gives its URL. Without Postgres programs the test is skipped, or under
// CI=true fails.
func NewDatabase(t testing.TB) (dsn string) {
	t.Helper()
	return empty.Database(t)
}

var empty = New(nil)

// A Template is a database that is prepared once per process, and copied for
// each test that asks for it.
type Template struct {
	prepare func(ctx context.Context, dsn string) error

	once sync.Once
	name string
	err  error
}

// New is a template that prepare fills, given its URL, when the first test
// asks for a copy. prepare must have closed its connections when it returns.
func New(prepare func(ctx context.Context, dsn string) error) *Template {
	return &Template{prepare: prepare}
}

// Database makes a copy of the template for the test, dropped at its end, and
// gives its URL. Tests may run in parallel.
func (tpl *Template) Database(t testing.TB) (dsn string) {
	t.Helper()
	srv, err := server.start()
	if errors.Is(err, private.ErrNoPrograms) {
		testgate.Missing(t, "no Postgres for tests: %v", err)
	}
	if err != nil {
		t.Fatalf("start a Postgres for tests: %v", err)
	}
	ctx := context.Background()
	tpl.once.Do(func() { tpl.name, tpl.err = tpl.make(ctx, srv) })
	if tpl.err != nil {
		t.Fatalf("prepare the template database: %v", tpl.err)
	}
	name := server.newName("test")
	if err := createFrom(ctx, srv, name, tpl.name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := exec(ctx, srv, `DROP DATABASE `+pgx.Identifier{name}.Sanitize()+` WITH (FORCE)`); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return srv.DSNFor(name)
}

func (tpl *Template) make(ctx context.Context, srv *private.Server) (string, error) {
	if tpl.prepare == nil {
		return "template1", nil
	}
	name := server.newName("prepared")
	if err := createFrom(ctx, srv, name, "template1"); err != nil {
		return "", err
	}
	if err := tpl.prepare(ctx, srv.DSNFor(name)); err != nil {
		return "", err
	}
	return name, nil
}

// createFrom creates a database as a copy of template. From Postgres 15 on it copies through the log, which is faster
// for small databases.
func createFrom(ctx context.Context, srv *private.Server, name, template string) error {
	conn, err := pgx.Connect(ctx, srv.DSNFor("postgres"))
	if err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	defer conn.Close(ctx)
	sql := `CREATE DATABASE ` + pgx.Identifier{name}.Sanitize() + ` TEMPLATE ` + pgx.Identifier{template}.Sanitize()
	var version int // 150018 is 15.18
	if err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int`).Scan(&version); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	if version >= 150000 {
		sql += ` STRATEGY wal_log`
	}
	if _, err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("create database %s from %s: %w", name, template, err)
	}
	return nil
}

func exec(ctx context.Context, srv *private.Server, sql string) error {
	conn, err := pgx.Connect(ctx, srv.DSNFor("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

// server is the one server of this test process.
var server process

type process struct {
	once sync.Once
	dir  string
	srv  *private.Server
	err  error

	mu    sync.Mutex
	count int
}

// newName is a database name that this process has not used.
func (p *process) newName(kind string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	return kind + strconv.Itoa(p.count)
}

func (p *process) start() (*private.Server, error) {
	p.once.Do(func() { p.err = p.launch() })
	return p.srv, p.err
}

// launch makes the server in a new folder under its base, after it has removed
// what killed processes left there. A lock on the base keeps two processes from
// taking each other's new folder, not locked yet, for a stale one.
func (p *process) launch() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	mine := mine()
	unlock, err := lock(mine + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	removeStale(ctx, mine+"-")
	p.dir, err = os.MkdirTemp(filepath.Dir(mine), filepath.Base(mine)+"-")
	if err != nil {
		return err
	}
	p.srv, err = private.Start(ctx, private.Options{
		Dir:       p.dir,
		Throwaway: true,
		Settings:  []string{"autovacuum=off", "max_connections=250", "shared_buffers=64MB", "max_wal_size=256MB"},
	})
	if err != nil {
		return errors.Join(err, private.Remove(ctx, p.dir))
	}
	return nil
}

// mine is how the paths of this user's folders begin.
func mine() string { return filepath.Join(base(), prefix+strconv.Itoa(os.Geteuid())) }

// stop stops the server and removes its folder. It does both under the lock on the base, because between the two
// another process would take the folder for a stale one.
func (p *process) stop() error {
	p.once.Do(func() { p.err = errors.New("the tests are through") })
	if p.srv == nil {
		return nil
	}
	unlock, err := lock(mine() + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := p.srv.Stop(ctx); err != nil {
		return err
	}
	return private.Remove(ctx, p.dir)
}

// removeStale removes the folders whose processes have ended. A folder that cannot be removed is left to the next test
// process.
func removeStale(ctx context.Context, prefix string) {
	paths, _ := filepath.Glob(prefix + "*")
	for _, dir := range paths {
		_ = private.Remove(ctx, dir) // ErrInUse: of a test that runs
	}
}
