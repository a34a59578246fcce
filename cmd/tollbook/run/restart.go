package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tollbook/site/postgres/private"
)

// privateServer returns the private server, which KeepRunning replaces after it has ended; nil with a URL.
func (d *Database) privateServer() *private.Server {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.server
}

// Watch waits until ctx ends, and returns an error if the private server ends before.
func (d *Database) Watch(ctx context.Context) error {
	server := d.privateServer()
	if server == nil {
		<-ctx.Done()
		return nil
	}
	select {
	case <-ctx.Done():
		return nil
	case <-server.Done():
		return fmt.Errorf("private Postgres: %w", server.Err())
	}
}

// Pauses between two attempts to start a private server that has ended.
const (
	restartPause    = 200 * time.Millisecond // the first one; each further one is twice as long
	restartPauseMax = 10 * time.Second
)

// KeepRunning restarts the private server whenever it ends, until ctx does. Queries fail meanwhile; new connections
// replace the old ones.
func (d *Database) KeepRunning(ctx context.Context, logger *slog.Logger) {
	for pause := restartPause; ; {
		if err := d.Watch(ctx); err == nil {
			return
		} else if pause == restartPause {
			logger.Error("the private Postgres has ended; restarting it", "err", err)
		}
		if err := d.restart(ctx); err == nil {
			logger.Info("the private Postgres runs again")
			pause = restartPause
			continue
		} else if ctx.Err() == nil {
			logger.Error("restart the private Postgres; it is tried again", "err", err)
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, restartPauseMax)
		case <-ctx.Done():
			return
		}
	}
}

// restart replaces the server that has ended. The new one must have the same address, which the pool connects to.
func (d *Database) restart(ctx context.Context) error {
	before := d.privateServer()
	if err := stopServer(before); err != nil {
		return err
	}
	o := d.o
	o.Say = nil
	server, err := joinServer(ctx, o)
	if err != nil {
		return err
	}
	if old := before.DSN(); server.DSN() != old {
		err := fmt.Errorf("start private Postgres: its address is now %s, not %s", server.DSN(), old)
		return errors.Join(err, stopServer(server))
	}
	d.Reset() // no query gets a connection to the server that has ended
	d.mu.Lock()
	defer d.mu.Unlock()
	d.server = server
	return nil
}

// Retry runs start again while it fails because the private server has just ended, which KeepRunning restarts.
func (d *Database) Retry(ctx context.Context, start func(context.Context) error) error {
	for {
		err := start(ctx)
		if err == nil || !d.hasEnded() || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(restartPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// hasEnded reports whether the private server has ended or ends within a moment: a query may fail before the end of
// the process is noticed.
func (d *Database) hasEnded() bool {
	server := d.privateServer()
	if server == nil {
		return false
	}
	select {
	case <-server.Done():
		return true
	case <-time.After(stopGrace):
		return false
	}
}

// Cause returns why the private server has ended, if that is why a query failed with err, and else err.
func (d *Database) Cause(err error) error {
	if !d.hasEnded() {
		return err
	}
	return fmt.Errorf("private Postgres: %w", d.privateServer().Err())
}
