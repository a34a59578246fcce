// This file opens the database of a directory: the one that a URL names, or the private Postgres in the
// directory's data folder, which it starts or joins, watches, restarts and leaves. It refuses a database that is not
// the one of the data folder. It must never know what is stored there.

package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"tollbook/site/postgres"
	"tollbook/site/postgres/migration"
	"tollbook/site/postgres/private"
)

// DatabaseOptions say which database to open.
type DatabaseOptions struct {
	URL         string       // of a server of the operator's; "" for the private Postgres
	Data        string       // folder of the directory; the private Postgres is in its subfolder postgres
	Connections int32        // that the program uses at once; 0 is the default
	Program     string       // version of the program, which is stored with the schema
	Say         func(string) // called with a line on each migration and each step that takes long; nil for none

	// Fetch reports whether to download Postgres if the machine has none, as in private.Options.
	Fetch func(ctx context.Context, what string) (bool, error)

	Adopt bool // open the database although the data folder belongs to another one

	// Directory is the command that runs a whole directory: "up" or "demo". Only one such process uses a private
	// Postgres at a time.
	Directory string
}

func (o DatabaseOptions) postgres() postgres.Options {
	return postgres.Options{Connections: o.Connections, Program: o.Program, Say: o.Say}
}

// Database is an open database, with the private server behind it if there is one.
type Database struct {
	*postgres.DB

	o DatabaseOptions

	mu     sync.Mutex
	server *private.Server // nil with a URL
}

// OpenDatabase connects to the URL, or to the private Postgres, which it starts if no other process has. It returns an
// error that wraps ErrForeign if the data folder belongs to another database.
func OpenDatabase(ctx context.Context, o DatabaseOptions) (*Database, error) {
	folder, err := ReadFolder(o.Data)
	if errors.Is(err, fs.ErrPermission) && o.URL != "" {
		folder, err = nil, nil // the command can use nothing of the folder
	}
	if err == nil && o.URL == "" && !o.Adopt {
		err = CheckPrivate(o.Data, folder)
	}
	if err != nil {
		return nil, err
	}
	if o.Adopt {
		return connect(ctx, o, nil)
	}
	d, err := connect(ctx, o, folder)
	if err != nil {
		return nil, err
	}
	if err := d.adoptFolder(ctx, folder); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// connect is Open without changes of the data folder. It migrates only a database that the folder belongs to, and any
// if folder is nil.
func connect(ctx context.Context, o DatabaseOptions, folder *Folder) (*Database, error) {
	if o.URL != "" {
		if err := o.checkIdentity(ctx, o.URL, folder); err != nil {
			return nil, err
		}
		db, err := postgres.OpenFor(ctx, o.URL, o.postgres())
		if err != nil {
			return nil, fmt.Errorf("open DATABASE_URL: %w", err)
		}
		return &Database{DB: db, o: o}, nil
	}
	server, err := joinServer(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := o.checkIdentity(ctx, server.DSN(), folder); err != nil {
		return nil, errors.Join(err, stopServer(server))
	}
	db, err := postgres.OpenFor(ctx, server.DSN(), o.postgres())
	if err != nil {
		return nil, errors.Join(err, stopServer(server))
	}
	return &Database{DB: db, o: o, server: server}, nil
}

// PlanMigration returns what Open would do to the schema, and changes nothing. A private Postgres that does not exist
// is not created.
func PlanMigration(ctx context.Context, o DatabaseOptions) (p migration.Plan, err error) {
	if o.URL != "" {
		if p, err = postgres.PlanMigration(ctx, o.URL); err != nil {
			return p, fmt.Errorf("open DATABASE_URL: %w", err)
		}
		return p, nil
	}
	folder, err := ReadFolder(o.Data)
	if err == nil {
		err = CheckPrivate(o.Data, folder)
	}
	if err != nil {
		return p, err
	}
	if _, err := os.Stat(filepath.Join(o.Data, privateDir)); errors.Is(err, fs.ErrNotExist) {
		return migration.NewPlan()
	}
	server, err := startServer(ctx, o, "")
	if err != nil {
		return p, err
	}
	p, err = postgres.PlanMigration(ctx, server.DSN())
	return p, errors.Join(err, stopServer(server))
}

// startServer starts or joins the private Postgres. version is the schema that this program needs, "" for any.
func startServer(ctx context.Context, o DatabaseOptions, version string) (*private.Server, error) {
	server, err := private.Start(ctx, private.Options{
		Dir: filepath.Join(o.Data, privateDir), Say: o.Say, Role: o.Directory, Version: version,
		Fetch: o.Fetch,
	})
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("start private Postgres: %w; choose a folder that you may write to with --data", err)
	}
	if err != nil {
		return nil, fmt.Errorf("start private Postgres: %w", err)
	}
	return server, nil
}

// joinServer is like startServer, but refuses to use the server beside programs that exclude this one.
func joinServer(ctx context.Context, o DatabaseOptions) (*private.Server, error) {
	server, err := startServer(ctx, o, strconv.Itoa(int(migration.NewestSchema())))
	if err != nil {
		return nil, err
	}
	if err := o.checkOthers(server.Others()); err != nil {
		return nil, errors.Join(fmt.Errorf("use private Postgres: %w", err), stopServer(server))
	}
	return server, nil
}

// checkOthers returns an error if this program must not use the server while one of the others does: because both run
// the directory, or because they expect different versions of the schema.
func (o *DatabaseOptions) checkOthers(others []private.User) error {
	dir := filepath.Join(o.Data, privateDir)
	ours := int(migration.NewestSchema())
	for _, u := range others {
		theirs, err := strconv.Atoi(u.Version)
		switch {
		case o.Directory != "" && u.Role != "":
			return fmt.Errorf(
				"%w: %s is held by process %d, which runs tollbook %s; stop it, or choose another folder "+
					"with --data", private.ErrInUse, dir, u.PID, u.Role)
		case err != nil: // it does not depend on the schema
		case theirs < ours:
			return fmt.Errorf("process %d of an older tollbook uses %s with schema %d, and this program would change "+
				"it to %d; stop that process first", u.PID, dir, theirs, ours)
		case theirs > ours:
			return fmt.Errorf("process %d of a newer tollbook uses %s with schema %d, and this program knows %d; use "+
				"the newer tollbook", u.PID, dir, theirs, ours)
		}
	}
	return nil
}

// RefuseSample returns an error if the database contains the sample services of a demo. Every page of such a directory
// says that all of it is made up, and only the demo can reach its services.
func (d *Database) RefuseSample(ctx context.Context) error {
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
	// stopGrace is the time for Postgres to stop if nobody else uses it. It may take 3 s more; then it stops without
	// this program, and the next start waits for it.
	stopGrace = 1 * time.Second
)

// Close closes the connections and leaves the private server, which stops if nobody else uses it.
func (d *Database) Close() error {
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
