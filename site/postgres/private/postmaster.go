//go:build unix

package private

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// postmaster is a running Postgres server, as the supervisor that started it sees it.
type postmaster struct {
	place  *place
	socket string // the socket's folder
	log    *rotatingLog
	cmd    *exec.Cmd
	died   chan struct{} // closed when the process has ended

}

// startPostmaster does all that Start promises, in the process that calls it.
func startPostmaster(ctx context.Context, o Options) (_ *postmaster, err error) {
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
func launch(ctx context.Context, o Options, p *place, id identity, progs programs) (_ *postmaster, err error) {
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
	opened, err := id.open(p.data, socket)
	if err != nil {
		log.Close()
		return nil, err
	}
	defer opened.close()
	args := []string{"-D", opened.paths[0]}
	for _, setting := range settings(o, opened.paths[1]) {
		args = append(args, "-c", setting)
	}
	s := &postmaster{
		place: p, socket: socket, log: log,
		// Stop ends the process, not ctx.
		cmd:  id.command(context.WithoutCancel(ctx), "/", progs.path("postgres"), args...),
		died: make(chan struct{}),
	}
	s.cmd.ExtraFiles = opened.files
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
func (s *postmaster) awaitReady(ctx context.Context, o Options) error {
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
func (s *postmaster) makeDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, dsn(s.socket, "postgres"))
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

// deathError says how the process ended, with the last lines of its log.
func (s *postmaster) deathError() error {
	how := s.cmd.ProcessState.String()
	return fmt.Errorf("the server process ended: %s\n%s", how, s.log.Tail())
}

// stop ends the server and releases the folder. It first requests a fast shutdown, which cuts connections and leaves a
// clean cluster. After 10 s it requests an immediate shutdown, from which the next start recovers. At last it kills the
// server.
func (s *postmaster) stop(ctx context.Context) error {
	err := s.halt(ctx)
	s.discard()
	return err
}

// halt ends the process by increasingly strong signals.
func (s *postmaster) halt(ctx context.Context) error {
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

func (s *postmaster) awaitDeath(ctx context.Context, grace, late time.Duration) bool {
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
func (s *postmaster) discard() {
	os.RemoveAll(s.socket)
	s.log.Close()
	s.place.close()
}
