package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// TestPooler checks with a real pgbouncer that a pooler in transaction or statement mode is refused when a database is
// opened or inspected, and that one in session mode is not.
func TestPooler(t *testing.T) {
	t.Parallel()
	for mode, refused := range map[string]bool{"transaction": true, "statement": true, "session": false} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dsn := pgbouncer(t, postgrestest.NewDatabase(t), mode)
			_, err := postgres.Inspect(t.Context(), dsn)
			if errors.Is(err, postgres.ErrPooling) != refused || err != nil && !refused {
				t.Errorf("Inspect: %v", err)
			}
			db, err := postgres.Open(t.Context(), dsn)
			if err == nil {
				db.Close()
			}
			if errors.Is(err, postgres.ErrPooling) != refused || err != nil && !refused {
				t.Errorf("Open: %v", err)
			}
		})
	}
}

// pgbouncer starts a pooler before a database, and returns the database's URL behind it.
func pgbouncer(t *testing.T, dsn, mode string) string {
	t.Helper()
	program, err := osexec.LookPath("pgbouncer")
	if err != nil {
		if program, err = osexec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			testgate.Missing(t, "pgbouncer is missing; install it (Debian: apt-get install pgbouncer)")
		}
	}
	to, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	dir := t.TempDir()
	settings := fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d user=%s dbname=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = %s
client_login_timeout = 10
`, relay(t, to), to.User, to.Database, port, mode)
	if os.Getuid() == 0 { // it does not run as root
		settings += "user = nobody\n"
	}
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command(program, file)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			conn.Close()
			break
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("pgbouncer ended: %v", err)
		case <-ctx.Done():
			t.Fatalf("pgbouncer does not answer: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	u := url.URL{Scheme: "postgres", User: url.User(to.User), Host: address, Path: to.Database, RawQuery: "sslmode=disable"}
	return u.String()
}

// relay returns a port of the loopback interface whose connections lead to a server's socket, which only this user may
// reach.
func relay(t *testing.T, to *pgx.ConnConfig) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	network, address := pgconn.NetworkAddress(to.Host, to.Port)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, address)
			if err != nil {
				conn.Close()
				continue
			}
			for _, ends := range [][2]net.Conn{{conn, server}, {server, conn}} {
				go func() {
					_, _ = io.Copy(ends[0], ends[1])
					ends[0].Close()
				}()
			}
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}
