//go:build unix

package private

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Server is a running Postgres server, as a program that uses it sees it. Several programs may use one server.
type Server struct {
	place  *place
	o      Options
	socket string // the socket's folder
	pid    int
	others []User

	unwatch context.CancelFunc // ends watch
	done    chan struct{}      // closed when the server has ended, or does not matter any more

	stop sync.Once
	mu   sync.Mutex
	left bool  // Stop was called before the server ended
	err  error // how the server ended, or why it could not be stopped
}

// Limits of Start.
const (
	formerPause   = 2 * time.Second  // until Start believes that an older Tollbook has the folder
	unusableLimit = 30 * time.Second // until Start gives up on a server that others use and that accepts no connection
	joinLimit     = 10 * time.Second // of one connection to a server that accepts connections
)

// errUnusable says that other programs use the server, or start it, and this one cannot join them yet.
var errUnusable = errors.New("the server accepts no connections")

// start joins the server that runs in the folder, or starts one.
func start(ctx context.Context, o Options) (*Server, error) {
	began, said := time.Now(), false
	for pause := lockPause; ; pause = min(2*pause, lockPauseMax) {
		dir, err := makeFolder(o.Dir)
		if err != nil {
			return nil, err
		}
		s, err := startIn(ctx, o, dir)
		if err == nil {
			return s, nil
		}
		var former *formerHolder
		waited := time.Since(began)
		switch {
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			return nil, err
		case ctx.Err() != nil:
			return nil, fmt.Errorf("start Postgres in %s: %w", dir, ctx.Err())
		case errors.As(err, &former) && waited < formerPause, errors.Is(err, errUnusable) && waited < unusableLimit:
		default:
			return nil, err
		}
		if waited > sayPause && !said {
			o.say(fmt.Sprintf("waiting for Postgres in %s, which starts or stops …", dir))
			said = true
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, fmt.Errorf("start Postgres in %s: %w", dir, ctx.Err())
		}
	}
}

// startIn is one attempt of start.
func startIn(ctx context.Context, o Options, dir string) (_ *Server, err error) {
	p, err := findPlace(dir)
	if err != nil {
		return nil, err
	}
	leave, err := p.enter(ctx, o)
	if err != nil {
		return nil, err
	}
	defer leave()
	alone, err := p.use()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.release()
		}
	}()
	pid, state := p.server()
	if alone {
		p.resume()
	}
	switch {
	case pid == 0 && p.isStarting(), state == stateStopping && !alone:
		return nil, errUnusable
	case pid != 0 && state != stateStopping:
		if alone {
			o.say(fmt.Sprintf("taking over a Postgres that a killed program left running (process %d)", pid))
		}
		s, err := p.join(ctx, o)
		if err == nil || !alone {
			return s, err
		}
		if ctx.Err() != nil {
			p.abandon(ctx)
			return nil, err
		}
	}
	return p.launch(ctx, o)
}

// join becomes a user of the server that runs.
func (p *place) join(ctx context.Context, o Options) (*Server, error) {
	_, socket := readLock(p.users)
	pid, err := p.awaitReady(ctx, o, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnusable, err)
	}
	ctx, cancel := context.WithTimeout(ctx, joinLimit)
	defer cancel()
	s, err := p.connect(ctx, o, pid, socket)
	var refusal *pgconn.PgError
	if err != nil && (!errors.As(err, &refusal) || refusal.Code == "57P03") { // cannot_connect_now: it recovers or stops
		return nil, fmt.Errorf("%w: %w", errUnusable, err)
	}
	return s, err
}

// connect returns the server after it has begun to watch it.
func (p *place) connect(ctx context.Context, o Options, pid int, socket string) (*Server, error) {
	s := &Server{place: p, o: o, pid: pid, socket: socket, done: make(chan struct{})}
	conn, err := s.dial(ctx)
	if err == nil {
		s.others, err = otherUsers(ctx, conn)
		if err == nil {
			err = makeDatabase(ctx, conn)
		}
		if err != nil {
			conn.Close(context.WithoutCancel(ctx))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("use the Postgres in %s: %w", p.home(), err)
	}
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.unwatch = cancel
	go s.watch(watching, conn)
	return s, nil
}

// userPrefix begins the name of each user's connection. The rest is the process, version and role, between slashes.
const userPrefix = "tollbook-user/"

// dial opens the connection that a user keeps open: it ends when the server does, and its name tells the other users
// who uses the server.
func (s *Server) dial(ctx context.Context) (*pgx.Conn, error) {
	if !filepath.IsAbs(s.socket) { // a program before pg_ctl has started it
		return nil, errors.New("the folder of its socket is not recorded")
	}
	config, err := pgx.ParseConfig(s.DSNFor("postgres"))
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["application_name"] = fmt.Sprintf("%s%d/%s/%s", userPrefix, os.Getpid(), s.o.Version, s.o.Role)
	return pgx.ConnectConfig(ctx, config)
}

// endedWait is how long the server may take to notice that a user was killed.
const endedWait = time.Second

// otherUsers returns the users of the server whose connections conn is not.
func otherUsers(ctx context.Context, conn *pgx.Conn) ([]User, error) {
	for began := time.Now(); ; {
		rows, _ := conn.Query(ctx, `SELECT application_name FROM pg_stat_activity
			WHERE starts_with(application_name, $1) AND pid <> pg_backend_pid() ORDER BY backend_start`, userPrefix)
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, fmt.Errorf("look for its other users: %w", err)
		}
		var users []User
		allAlive := true
		for _, name := range names {
			parts := strings.SplitN(strings.TrimPrefix(name, userPrefix), "/", 3)
			pid, err := strconv.Atoi(parts[0])
			if err != nil || len(parts) < 3 {
				continue
			}
			users = append(users, User{PID: pid, Version: parts[1], Role: parts[2]})
			allAlive = allAlive && alive(pid)
		}
		// A user that runs in another container may look dead, too.
		if allAlive || time.Since(began) > endedWait {
			return users, nil
		}
		time.Sleep(lockPause)
	}
}

// inUse returns the error that wraps ErrInUse and names the users of the server.
func (p *place) inUse(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, joinLimit)
	defer cancel()
	_, socket := readLock(p.users)
	s := &Server{socket: socket}
	conn, err := s.dial(ctx)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrInUse, p.dir)
	}
	defer conn.Close(ctx)
	users, err := otherUsers(ctx, conn)
	if err != nil || len(users) == 0 {
		return fmt.Errorf("%w: %s", ErrInUse, p.dir)
	}
	var pids []string
	for _, u := range users {
		pids = append(pids, strconv.Itoa(u.PID))
	}
	return fmt.Errorf("%w: %s is held by process %s", ErrInUse, p.dir, strings.Join(pids, ", "))
}

// makeDatabase creates Tollbook's database if it is missing.
func makeDatabase(ctx context.Context, conn *pgx.Conn) error {
	var exists bool
	err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, Database).Scan(&exists)
	if err != nil {
		return fmt.Errorf("look for database %s: %w", Database, err)
	}
	if exists {
		return nil
	}
	if _, err := conn.Exec(ctx, `CREATE DATABASE `+pgx.Identifier{Database}.Sanitize()); err != nil {
		return fmt.Errorf("make database %s: %w", Database, err)
	}
	return nil
}

// watch notices the end of the server by the end of its connection, until ctx ends. It also keeps the log short.
func (s *Server) watch(ctx context.Context, conn *pgx.Conn) {
	defer close(s.done)
	for {
		for ctx.Err() == nil && !conn.IsClosed() {
			trimLog(s.place.logPath())
			waiting, cancel := context.WithTimeout(ctx, logCheck)
			_, _ = conn.WaitForNotification(waiting) // after the timeout, the connection can still be used
			cancel()
		}
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		conn.Close(closing)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if conn = s.redial(ctx); conn == nil {
			return
		}
	}
}

// redial connects again after somebody or a crash of another session ended the connection. It returns nil if the server
// has ended or ctx does.
func (s *Server) redial(ctx context.Context) *pgx.Conn {
	for pause := lockPause; ; pause = min(2*pause, lockPauseMax) {
		if !s.place.isServer(s.pid) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.err = fmt.Errorf("the server process ended\n%s", s.place.logTail(0))
			return nil
		}
		dialing, cancel := context.WithTimeout(ctx, joinLimit)
		conn, err := s.dial(dialing)
		cancel()
		if err == nil {
			return conn
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// DSN returns the URL of Tollbook's database: a Unix socket, without a password.
func (s *Server) DSN() string { return s.DSNFor(Database) }

// DSNFor returns the URL of another database of the server.
func (s *Server) DSNFor(database string) string { return dsn(s.socket, database) }

// Others returns the other programs that used the server when this one began to.
func (s *Server) Others() []User { return s.others }

// Done returns a channel that is closed when the server has ended for any reason, and after Stop.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns nil while the server runs and after Stop. If the server ended by itself, Err says so, with the last lines
// of its log.
func (s *Server) Err() error {
	select {
	case <-s.done:
	default:
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		return nil
	}
	return s.err
}

// leaveGrace is how long Stop waits for the server after ctx has ended.
const leaveGrace = 3 * time.Second

// Stop says that this program does not use the server any more. If others do, that is all. Otherwise the server is
// stopped: first by a fast shutdown, which leaves a clean cluster, after 10 s by an immediate one, and at last by a
// kill. Stop waits for that until 3 s after ctx has ended; the server then goes on stopping without this program, and
// the next Start waits for it. Further calls wait for the first.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() { s.leave(ctx) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		return s.err
	}
	return nil // it ended by itself, which Err reports
}

func (s *Server) leave(ctx context.Context) {
	s.mu.Lock()
	s.left = s.err == nil
	s.mu.Unlock()
	s.unwatch()
	<-s.done
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	unwatch := context.AfterFunc(ctx, func() {
		select {
		case <-late.Done():
		case <-time.After(leaveGrace):
			cancel()
		}
	})
	defer unwatch()
	err := s.place.leave(late)
	if late.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		s.err = err
	}
}

// leave ends this program's use of the folder, and the server if nobody else uses it.
func (p *place) leave(ctx context.Context) error {
	defer p.release()
	leave, err := p.enter(ctx, Options{})
	if err != nil {
		return err
	}
	defer leave()
	defer p.release() // before others enter
	if !p.isLast() {
		return nil
	}
	return p.endServer(ctx)
}
