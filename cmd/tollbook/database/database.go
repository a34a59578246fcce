// Package database opens the database of a directory: the one that a URL names, or the private Postgres in the
// directory's data folder, which it starts, watches, restarts and stops. It must never know what is stored there.
package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tollbook/site/postgres"
	"tollbook/site/postgres/private"
)

// Options say which database to open.
type Options struct {
	URL         string       // of a server of the operator's; "" for the private Postgres
	Data        string       // folder of the directory; the private Postgres is in its subfolder postgres
	Connections int32        // that the program uses at once; 0 is the default
	Program     string       // version of the program, which is stored with the schema
	Say         func(string) // called with a line on each migration and each step that takes long; nil for none
}

func (o Options) postgres() postgres.Options {
	return postgres.Options{Connections: o.Connections, Program: o.Program, Say: o.Say}
}

// DB is an open database, with the private server behind it if there is one.
type DB struct {
	*postgres.DB

	data string // folder of the directory

	mu     sync.Mutex
	server *private.Server // nil with a URL
}

// Open connects to the URL, or starts the private Postgres and connects to it.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.URL != "" {
		db, err := postgres.OpenFor(ctx, o.URL, o.postgres())
		if err != nil {
			return nil, fmt.Errorf("open DATABASE_URL: %w", err)
		}
		return &DB{DB: db}, nil
	}
	server, err := startServer(ctx, o.Data, o.Say)
	if err != nil {
		return nil, err
	}
	db, err := postgres.OpenFor(ctx, server.DSN(), o.postgres())
	if err != nil {
		return nil, errors.Join(err, stopServer(server))
	}
	return &DB{DB: db, data: o.Data, server: server}, nil
}

// Plan returns what Open would do to the schema, and changes nothing. A private Postgres that does not exist is not
// created.
func Plan(ctx context.Context, o Options) (p postgres.SchemaPlan, err error) {
	if o.URL != "" {
		if p, err = postgres.PlanMigration(ctx, o.URL); err != nil {
			return p, fmt.Errorf("open DATABASE_URL: %w", err)
		}
		return p, nil
	}
	if _, err := os.Stat(filepath.Join(o.Data, "postgres")); errors.Is(err, fs.ErrNotExist) {
		return postgres.NewSchemaPlan()
	}
	server, err := startServer(ctx, o.Data, o.Say)
	if err != nil {
		return p, err
	}
	p, err = postgres.PlanMigration(ctx, server.DSN())
	return p, errors.Join(err, stopServer(server))
}

func startServer(ctx context.Context, data string, say func(string)) (*private.Server, error) {
	server, err := private.Start(ctx, private.Options{Dir: filepath.Join(data, "postgres"), Say: say})
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("start private Postgres: %w; choose a folder that you may write to with --data", err)
	}
	if err != nil {
		return nil, fmt.Errorf("start private Postgres: %w", err)
	}
	return server, nil
}

// RefuseSample returns an error if the database contains the sample services of a demo. Every page of such a directory
// says that all of it is made up, and only the demo can reach its services.
func (d *DB) RefuseSample(ctx context.Context) error {
	source, err := d.Setting(ctx, "source")
	if err != nil {
		return err
	}
	if source != "" {
		return errors.New("this database contains the sample services of a demo; " +
			"use another --data folder or DATABASE_URL")
	}
	return nil
}

// Time for an end, so that Ctrl-C takes at most five seconds on the slowest disk.
const (
	closeGrace = 250 * time.Millisecond // for queries that run
	// stopGrace is the time for Postgres to stop. It takes up to 2 s more to write a checkpoint; if it is killed, it
	// recovers at the next start.
	stopGrace = 1 * time.Second
)

// Close closes the connections and stops the private server.
func (d *DB) Close() error {
	server := d.privateServer()
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
	case <-time.After(closeGrace): // the server closes the other connections
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
