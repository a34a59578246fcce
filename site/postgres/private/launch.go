//go:build unix

package private

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// launch starts the server, of a new cluster if there is none. This program has entered the place and uses it, and no
// server runs that could be joined.
func (p *place) launch(ctx context.Context, o Options) (*Server, error) {
	if err := os.Chmod(p.dir, 0o700); err != nil {
		return nil, fmt.Errorf("close the data folder to others: %w", err)
	}
	if err := p.clean(ctx); err != nil {
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
	s, err := p.run(ctx, o, id, progs)
	if err != nil {
		p.abandon(ctx)
		return nil, fmt.Errorf("start Postgres in %s: %w", p.home(), err)
	}
	return s, nil
}

// run starts the server with pg_ctl. The server writes into the log itself and goes on when this program ends.
func (p *place) run(ctx context.Context, o Options, id identity, progs programs) (*Server, error) {
	log, err := p.openLog()
	if err != nil {
		return nil, err
	}
	defer log.Close()
	st, err := log.Stat()
	if err != nil {
		return nil, err
	}
	socket, err := p.makeSocketDir(id)
	if err != nil {
		return nil, err
	}
	// A crash from here on leaves a server, which the next Start joins by the socket that is recorded.
	if err := p.setSocket(socket); err != nil {
		return nil, err
	}
	opened, err := id.open(p.data, socket)
	if err != nil {
		return nil, err
	}
	defer opened.close()
	// pg_ctl hands the options to a shell, and its own -D without quoting it.
	options := "-D " + quoteShell(opened.paths[0])
	name, err := clusterName(p.data)
	if err != nil {
		return nil, err
	}
	for _, setting := range settings(o, name, opened.paths[1]) {
		options += " -c " + quoteShell(setting)
	}
	postgres := progs.path("postgres")
	if strings.ContainsAny(postgres, "\"$`\\") {
		return nil, fmt.Errorf("pg_ctl cannot run %s; move the programs to a folder without quotes, $ and \\ in its name",
			postgres)
	}
	cmd := id.command(context.WithoutCancel(ctx), "/", progs.path("pg_ctl"), "start", "--silent", "--wait",
		"--timeout=86400", "-p", postgres, "-o", options)
	cmd.Env = append(cmd.Env, "PGDATA="+opened.paths[0])
	cmd.ExtraFiles = opened.files
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run %s as %s: %w", cmd.Path, id.what, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	pid, err := p.awaitReady(ctx, o, ended)
	_ = cmd.Process.Kill() // it looks ten times a second whether the server is ready, which is known now
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, p.logTail(st.Size()))
	}
	return p.connect(ctx, o, pid, socket)
}

// quoteShell quotes a word for a shell.
func quoteShell(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// pidFileLimit is how long a server may take to write its pid file, which it does at once.
const pidFileLimit = 5 * time.Second

// awaitReady waits until the server accepts connections, and returns its process. ended gets the result of the pg_ctl
// that starts it; nil if another program has started it. Recovery after a crash may take minutes; only ctx ends the
// wait.
func (p *place) awaitReady(ctx context.Context, o Options, ended <-chan error) (pid int, err error) {
	poll := time.NewTicker(lockPause)
	defer poll.Stop()
	look := time.NewTicker(lockPauseMax)
	defer look.Stop()
	long := time.NewTimer(sayPause)
	defer long.Stop()
	began := time.Now()
	for {
		if pid, state := pidFile(p.data); (state == "ready" || state == "standby") && p.isServer(pid) {
			return pid, nil
		}
		select {
		case err := <-ended:
			if err != nil {
				return 0, fmt.Errorf("the server process ended: pg_ctl start: %w", err)
			}
			ended = nil // the server is ready
		case <-look.C:
			if ended != nil {
				continue // pg_ctl looks
			}
			if pid, state := p.server(); pid == 0 || state == stateStopping {
				return 0, errors.New("the server process ended")
			} else if state == "" && time.Since(began) > pidFileLimit {
				return 0, fmt.Errorf("process %d has no pid file", pid)
			}
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-long.C:
			o.say("waiting for Postgres, which recovers from a crash …")
		case <-poll.C:
		}
	}
}

// abandonLimit is how long a Start that has failed, or was cancelled, waits for the end of what it started.
const abandonLimit = 10 * time.Second

// abandon ends a server that is of no use to this program after all.
func (p *place) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonLimit)
	defer cancel()
	_ = p.endServer(ctx) // the next start tries again
}

// endServer ends the server and removes its socket.
func (p *place) endServer(ctx context.Context) error {
	if err := endStrays(ctx, p.data); err != nil {
		return fmt.Errorf("stop Postgres in %s: %w", p.home(), err)
	}
	if _, socket := readLock(p.users); filepath.IsAbs(socket) {
		removeSocketDir(socket)
	}
	return p.setSocket(noSocket)
}
