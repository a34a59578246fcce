package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"tollbook/output"
	"tollbook/site/postgres"
	"tollbook/site/postgres/private"
)

// dataOptions say where a directory keeps itself.
type dataOptions struct {
	Data string
}

// AddFlags adds --data.
func (o *dataOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Data, "data", "tollbook-data", "`folder` of this directory: its private Postgres and, in public, what is published")
}

// public is the folder that snapshots are published to.
func (o *dataOptions) public() string { return filepath.Join(o.Data, "public") }

// database is an open database, with the private server behind it where there is one.
type database struct {
	*postgres.DB

	mu     sync.Mutex
	server *private.Server // nil with DATABASE_URL
}

// running is the private server, which revive replaces; nil with DATABASE_URL.
func (d *database) running() *private.Server {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.server
}

// openDatabase opens the database and logs what takes long.
func openDatabase(ctx context.Context, o dataOptions, logger *slog.Logger) (*database, error) {
	return connectDatabase(ctx, o, 0, func(line string) { logger.Info(line) })
}

// openDirectory opens the database of a real directory: that of a demo is refused. The program uses up to so many
// connections at once; 0 is the default.
func openDirectory(ctx context.Context, o dataOptions, connections int32, logger *slog.Logger) (*database, error) {
	db, err := connectDatabase(ctx, o, connections, func(line string) { logger.Info(line) })
	if err != nil {
		return nil, err
	}
	if err := db.refuseSample(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// connectDatabase connects to DATABASE_URL, or starts the folder's private Postgres. say is called with what takes
// long.
func connectDatabase(ctx context.Context, o dataOptions, connections int32, say func(string)) (*database, error) {
	if url := os.Getenv("DATABASE_URL"); url != "" {
		db, err := postgres.OpenFor(ctx, url, connections)
		if err != nil {
			return nil, fmt.Errorf("open DATABASE_URL: %w", err)
		}
		return &database{DB: db}, nil
	}
	server, err := private.Start(ctx, private.Options{Dir: filepath.Join(o.Data, "postgres"), Say: say})
	if err != nil {
		return nil, fmt.Errorf("start private Postgres: %w", err)
	}
	db, err := postgres.OpenFor(ctx, server.DSN(), connections)
	if err != nil {
		return nil, errors.Join(err, stopServer(server))
	}
	return &database{DB: db, server: server}, nil
}

// withDatabase opens the database for f.
func withDatabase(ctx context.Context, o dataOptions, f func(*database) error) error {
	db, err := openDatabase(ctx, o, newLogger(slog.LevelInfo))
	if err != nil {
		return err
	}
	defer db.Close()
	return f(db)
}

// refuseSample keeps real services out of a demo's database: its pages say of everything that it is made up, and the
// demo alone can visit what is.
func (d *database) refuseSample(ctx context.Context) error {
	source, err := d.Setting(ctx, "source")
	if err != nil {
		return err
	}
	if source != "" {
		return errors.New("this database holds the sample services of a demo: give the directory another --data folder or DATABASE_URL")
	}
	return nil
}

// watch waits until ctx ends, or answers why the private server ended before.
func (d *database) watch(ctx context.Context) error {
	server := d.running()
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

// How long a private server that has ended is waited for before the next attempt to start it, at first and at most.
const (
	reviveFirst = 200 * time.Millisecond
	reviveMost  = 10 * time.Second
)

// outlast has work begun again that could not begin because the private server had just ended, which revive starts
// meanwhile.
func (d *database) outlast(ctx context.Context, begin func(context.Context) error) error {
	for {
		err := begin(ctx)
		if err == nil || !d.away() || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(reviveFirst):
		case <-ctx.Done():
			return nil
		}
	}
}

// away says whether the private server has ended, or ends within a moment: whoever asks it may notice before anybody
// else.
func (d *database) away() bool {
	server := d.running()
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

// revive starts the private server again whenever it ends, until ctx does: for a program that has something else to do
// than to end with it. What fails meanwhile fails; connections are made anew.
func (d *database) revive(ctx context.Context, o dataOptions, logger *slog.Logger) {
	for wait := reviveFirst; ; {
		if err := d.watch(ctx); err == nil {
			return
		} else if wait == reviveFirst {
			logger.Error("the private Postgres is started again", "err", err)
		}
		if err := d.restart(ctx, o); err == nil {
			logger.Info("the private Postgres answers again")
			wait = reviveFirst
			continue
		} else if ctx.Err() == nil {
			logger.Error("the private Postgres can't be started; it is tried again", "err", err)
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, reviveMost)
		case <-ctx.Done():
			return
		}
	}
}

// restart puts a server in the place of the one that has ended, at the same address, which the connections know.
func (d *database) restart(ctx context.Context, o dataOptions) error {
	before := d.running()
	if err := stopServer(before); err != nil { // it lets go of the folder
		return err
	}
	server, err := private.Start(ctx, private.Options{Dir: filepath.Join(o.Data, "postgres")})
	if err != nil {
		return fmt.Errorf("start private Postgres: %w", err)
	}
	if old := before.DSN(); server.DSN() != old {
		return errors.Join(fmt.Errorf("start private Postgres: it is at %s now, not at %s", server.DSN(), old), stopServer(server))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.server = server
	return nil
}

// because is the end of the private server where that is why a query failed with err.
func (d *database) because(err error) error {
	if !d.away() {
		return err
	}
	return fmt.Errorf("private Postgres: %w", d.running().Err())
}

// What an end may take, so that Ctrl-C is over within five seconds on the slowest disk.
const (
	closeGrace = 250 * time.Millisecond // for queries under way
	stopGrace  = 1 * time.Second        // and 2 s more, for Postgres to write a checkpoint; killed, it recovers at the next start
)

// Close closes the connections and stops the private server.
func (d *database) Close() error {
	server := d.running()
	if server == nil {
		d.DB.Close()
		return nil
	}
	closed := make(chan struct{})
	go func() {
		d.DB.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(closeGrace): // the server cuts what is left
	}
	return stopServer(server)
}

func stopServer(s *private.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		return fmt.Errorf("stop private Postgres: %w", err)
	}
	return nil
}

// openPublic opens, and makes where it is missing, the folder that snapshots are published to.
func openPublic(o dataOptions) (*output.Folder, error) {
	folder, err := output.OpenFolder(o.public())
	if err != nil {
		return nil, fmt.Errorf("open the published folder: %w", err)
	}
	return folder, nil
}
