// Package postgrestest gives each test a Postgres database of its own. Tests call NewDatabase, or Database of a Template
// that was made with the package's migrations.
//
// All test processes of a user share one throwaway server. It starts with the first call, and its files are on /dev/shm
// if that exists. A test process need not leave in order: a session in the server itself, the watchman, ends the server
// and deletes its files a few seconds after the last test process has ended in any way. The next test process deletes
// the databases that an earlier one has left.
//
// It knows nothing of Tollbook's schema.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"tollbook/site/postgres/private"
	"tollbook/site/testgate"
)

// Fetch lets tests download Postgres if TOLLBOOK_FETCH_POSTGRES is true, as it does for the program.
func Fetch(context.Context, string) (bool, error) {
	agreed, _ := strconv.ParseBool(os.Getenv("TOLLBOOK_FETCH_POSTGRES"))
	return agreed, nil
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

// server is the server as this test process uses it.
var server process

type process struct {
	once    sync.Once
	srv     *private.Server
	session *pgx.Conn // by which the watchman and other test processes know that this one lives
	owner   string    // in the names of this process's databases
	err     error

	mu    sync.Mutex
	count int
}

// newName is a database name that this process has not used.
func (p *process) newName(kind string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	return kind + p.owner + strconv.Itoa(p.count)
}

func (p *process) start() (*private.Server, error) {
	p.once.Do(func() { p.err = p.launch() })
	return p.srv, p.err
}

// dir returns the folder of this user's test server. Tests with other programs of Postgres have another server.
func dir() string {
	name := "tollbook-test-" + strconv.Itoa(os.Geteuid())
	if bin := os.Getenv("TOLLBOOK_POSTGRES_BIN"); bin != "" {
		name = fmt.Sprintf("tollbook-test-%08x-%d", crc32.ChecksumIEEE([]byte(bin)), os.Geteuid())
	}
	return filepath.Join(base(), name)
}

// launch joins the server, or starts it. It waits until the watchman has ended a server that it is about to end.
func (p *process) launch() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for failures := 0; ; {
		if err := checkOwner(dir()); err != nil {
			return err
		}
		srv, err := private.Start(ctx, private.Options{
			Dir:       dir(),
			Throwaway: true,
			Settings:  []string{"autovacuum=off", "max_connections=600", "shared_buffers=64MB", "max_wal_size=256MB"},
			Fetch:     Fetch,
		})
		if err != nil {
			// The watchman has deleted the files, or was interrupted, or the machine lost power.
			if removeErr := private.Remove(ctx, dir()); removeErr != nil {
				return errors.Join(err, removeErr)
			}
			if failures++; errors.Is(err, private.ErrNoPrograms) || failures > 3 {
				return err
			}
			continue
		}
		isOpen, err := p.enter(ctx, srv)
		if err != nil || !isOpen {
			err = errors.Join(err, srv.Stop(ctx))
		}
		if err != nil || isOpen {
			return err
		}
	}
}

// Advisory locks in the database postgres of the server.
const (
	watchLock = 1 // of the watchman
	doorLock  = 2 // shared by all test processes; of the watchman alone when it ends the server
)

// sessionName is the name of the session that each test process keeps open.
const sessionName = "tollbook-test"

// enter opens the session of this process. It returns false if the watchman is about to end the server.
func (p *process) enter(ctx context.Context, srv *private.Server) (isOpen bool, err error) {
	config, err := pgx.ParseConfig(srv.DSNFor("postgres"))
	if err != nil {
		return false, err
	}
	config.RuntimeParams["application_name"] = sessionName
	session, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false, err
	}
	defer func() {
		if !isOpen {
			session.Close(ctx)
		}
	}()
	var number int
	err = session.QueryRow(ctx, `SELECT pg_backend_pid(), pg_try_advisory_lock_shared($1)`, doorLock).Scan(&number, &isOpen)
	if err != nil || !isOpen {
		return false, err
	}
	if err := dropLeft(ctx, session); err != nil {
		return false, err
	}
	if err := callWatchman(ctx, config); err != nil {
		return false, err
	}
	p.srv, p.session, p.owner = srv, session, fmt.Sprintf("_of%d_", number)
	return true, nil
}

// dropLeft drops the databases of test processes that have ended.
func dropLeft(ctx context.Context, session *pgx.Conn) error {
	rows, _ := session.Query(ctx, `SELECT datname::text FROM pg_database WHERE datname ~ '_of[0-9]+_[0-9]+$' AND
		substring(datname FROM '_of([0-9]+)_')::int NOT IN (SELECT pid FROM pg_stat_activity
			WHERE application_name = $1 AND pid <> pg_backend_pid())`, sessionName)
	left, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("look for databases that are left: %w", err)
	}
	for _, name := range left {
		// Another process may do the same. What stays is dropped by the next one.
		_, _ = session.Exec(ctx, `DROP DATABASE IF EXISTS `+pgx.Identifier{name}.Sanitize()+` WITH (FORCE)`)
	}
	return nil
}

// watchman is a statement that runs in the server as long as the server does, also when the process that has sent it is
// gone. It looks every two seconds whether a test process lives. If none does three times, it ends the server by a
// program that runs as the server's user in the folder of the cluster. Without PG_VERSION no other process takes the
// folder for a cluster; the rest is deleted when the server has ended. The program ignores the signals that the server
// sends to the processes of its sessions.
const watchman = `DO $watchman$
DECLARE
	looks int := 0; -- without a test process
BEGIN
	IF NOT pg_try_advisory_lock(%[1]d) THEN
		RETURN; -- there is one
	END IF;
	LOOP
		PERFORM pg_sleep(2);
		IF pg_try_advisory_lock(%[2]d) THEN
			looks := looks + 1;
			EXIT WHEN looks = 3;
			PERFORM pg_advisory_unlock(%[2]d);
		ELSE
			looks := 0;
		END IF;
	END LOOP;
	COPY (SELECT) TO PROGRAM $sh$
		rm -f PG_VERSION
		server=$(head -n 1 postmaster.pid)
		(
			trap '' TERM INT QUIT HUP
			kill -INT "$server"
			for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
				test -e postmaster.pid || break
				sleep 0.2
			done
			rm -rf ./*
		) >/dev/null 2>&1 </dev/null &
	$sh$;
END
$watchman$`

// callWatchman starts a watchman, unless there is one. It does not wait for the answer, which comes when the server ends
// or not at all.
func callWatchman(ctx context.Context, config *pgx.ConnConfig) error {
	config = config.Copy()
	config.RuntimeParams["application_name"] = "tollbook-test-watchman"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("call a watchman: %w", err)
	}
	hijacked, err := conn.PgConn().Hijack()
	if err != nil {
		return fmt.Errorf("call a watchman: %w", err)
	}
	defer hijacked.Conn.Close() // the server reads the statement all the same
	hijacked.Frontend.SendQuery(&pgproto3.Query{String: fmt.Sprintf(watchman, watchLock, doorLock)})
	if err := hijacked.Frontend.Flush(); err != nil {
		return fmt.Errorf("call a watchman: %w", err)
	}
	return nil
}
