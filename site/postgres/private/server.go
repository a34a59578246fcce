//go:build unix

package private

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a running Postgres server.
type Server struct {
	place  *place
	socket string // the socket's folder
	log    *rotatingLog
	cmd    *exec.Cmd
	died   chan struct{} // closed when the process has ended

	stop     sync.Once
	stopErr  error
	mu       sync.Mutex
	stopping bool // Stop was called before the process ended
}

func start(ctx context.Context, o Options) (_ *Server, err error) {
	p, err := openPlace(o.Dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if err := os.Chmod(p.dir, 0o700); err != nil {
		return nil, fmt.Errorf("close the data folder to others: %w", err)
	}
	if err := p.clean(ctx, o); err != nil {
		return nil, err
	}
	major, err := p.major()
	if err != nil {
		return nil, err
	}
	progs, err := findPrograms(ctx, o, major)
	if errors.Is(err, ErrWrongVersion) {
		return nil, fmt.Errorf("open %s: %w", p.data, err)
	}
	if err != nil {
		return nil, fmt.Errorf("find Postgres: %w", err)
	}
	id, err := p.settle(ctx, o, &progs)
	if err != nil {
		return nil, err
	}
	if major == 0 {
		o.say(fmt.Sprintf("making a database with Postgres %s …", progs.version))
		if err := p.makeCluster(ctx, o, id, progs); err != nil {
			return nil, err
		}
	}
	return launch(ctx, o, p, id, progs)
}

// launch runs the server in a place with a cluster and without a server.
func launch(ctx context.Context, o Options, p *place, id identity, progs programs) (_ *Server, err error) {
	logDir := filepath.Join(p.dir, "log")
	if err := os.Mkdir(logDir, 0o700); err == nil {
		err = giveToOwner(p.dir, func(uid, gid int) error { return os.Lchown(logDir, uid, gid) })
		if err != nil {
			return nil, fmt.Errorf("make the log's folder: %w", err)
		}
	} else if !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("make the log's folder: %w", err)
	}
	log, err := openLog(filepath.Join(logDir, "postgres.log"))
	if err != nil {
		return nil, err
	}
	socket, err := p.makeSocketDir(id)
	if err != nil {
		log.Close()
		return nil, err
	}
	args := []string{"-D", p.data}
	for _, setting := range settings(o, socket) {
		args = append(args, "-c", setting)
	}
	s := &Server{
		place: p, socket: socket, log: log,
		// Stop ends the process, not ctx.
		cmd:  id.command(context.WithoutCancel(ctx), p.home(), progs.path("postgres"), args...),
		died: make(chan struct{}),
	}
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.WaitDelay = 2 * time.Second // children that outlive a killed server keep its stderr open
	ended, err := startGuarded(o, s.cmd, syscall.SIGINT)
	if err != nil {
		s.discard()
		return nil, fmt.Errorf("start %s as %s: %w", s.cmd.Path, id.what, err)
	}
	go func() {
		<-ended // s.cmd.ProcessState says how
		close(s.died)
	}()
	if err := s.awaitReady(ctx, o); err != nil {
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		s.halt(stopCtx)
		s.discard()
		return nil, fmt.Errorf("start Postgres in %s: %w", p.home(), err)
	}
	return s, nil
}

// awaitReady waits until the server accepts connections, and then creates its database. Recovery after a crash may take
// minutes; only ctx ends the wait.
func (s *Server) awaitReady(ctx context.Context, o Options) error {
	poll := time.NewTicker(3 * time.Millisecond)
	defer poll.Stop()
	long := time.NewTimer(3 * time.Second)
	defer long.Stop()
	for {
		if pid, state := pidFile(s.place.data); (state == "ready" || state == "standby") && pid == s.cmd.Process.Pid {
			return s.makeDatabase(ctx)
		}
		select {
		case <-s.died:
			return s.deathError()
		case <-ctx.Done():
			return ctx.Err()
		case <-long.C:
			o.say("waiting for Postgres, which recovers from a crash …")
		case <-poll.C:
		}
	}
}

// makeDatabase creates Tollbook's database if it is missing.
func (s *Server) makeDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.DSNFor("postgres"))
	if err != nil {
		return fmt.Errorf("connect: %w\n%s", err, s.log.Tail())
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var there bool
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, Database).Scan(&there)
	if err != nil {
		return fmt.Errorf("look for database %s: %w", Database, err)
	}
	if there {
		return nil
	}
	if _, err := conn.Exec(ctx, `CREATE DATABASE `+pgx.Identifier{Database}.Sanitize()); err != nil {
		return fmt.Errorf("make database %s: %w", Database, err)
	}
	return nil
}

// DSN returns the URL of Tollbook's database: a Unix socket, without a password.
func (s *Server) DSN() string { return s.DSNFor(Database) }

// DSNFor returns the URL of another database of the server.
func (s *Server) DSNFor(database string) string { return dsn(s.socket, database) }

// Done returns a channel that is closed when the server's process has ended for any reason.
func (s *Server) Done() <-chan struct{} { return s.died }

// Err returns nil while the server runs and after Stop. If the server ended by itself, Err says how, with the last
// lines of its log.
func (s *Server) Err() error {
	select {
	case <-s.died:
	default:
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return nil
	}
	return s.deathError()
}

func (s *Server) deathError() error {
	how := s.cmd.ProcessState.String()
	return fmt.Errorf("the server process ended: %s\n%s", how, s.log.Tail())
}

// Stop ends the server and releases the folder. It first requests a fast shutdown, which cuts connections and leaves a
// clean cluster. After 10 s, or 2 s after ctx has ended, it requests an immediate shutdown, from which the next start
// recovers. At last it kills the server. Further calls wait for the first.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() {
		s.mu.Lock()
		select {
		case <-s.died: // it ended by itself, which Err reports
		default:
			s.stopping = true
		}
		s.mu.Unlock()
		s.stopErr = s.halt(ctx)
		s.discard()
	})
	return s.stopErr
}

// halt ends the process by increasingly strong signals.
func (s *Server) halt(ctx context.Context) error {
	for _, step := range []struct {
		signal syscall.Signal
		grace  time.Duration
		late   time.Duration // remaining grace after ctx has ended
	}{
		{syscall.SIGINT, 10 * time.Second, 2 * time.Second},
		{syscall.SIGQUIT, 7 * time.Second, 2 * time.Second},
		{syscall.SIGKILL, 5 * time.Second, 5 * time.Second},
	} {
		select {
		case <-s.died:
			return nil
		default:
		}
		_ = s.cmd.Process.Signal(step.signal) // fails only if it has just ended
		if s.awaitDeath(ctx, step.grace, step.late) {
			return nil
		}
	}
	return fmt.Errorf("stop Postgres in %s: process %d does not end", s.place.home(), s.cmd.Process.Pid)
}

func (s *Server) awaitDeath(ctx context.Context, grace, late time.Duration) bool {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-s.died:
		return true
	case <-timer.C:
		return false
	case <-ctx.Done():
		timer.Reset(min(grace, late))
	}
	select {
	case <-s.died:
		return true
	case <-timer.C:
		return false
	}
}

// discard releases everything but the cluster.
func (s *Server) discard() {
	os.RemoveAll(s.socket)
	s.log.Close()
	s.place.close()
}
