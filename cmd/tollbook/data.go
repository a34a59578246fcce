package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/version"
	"tollbook/output"
)

// dataOptions say which folder contains a directory's data.
type dataOptions struct {
	Data          string
	FetchPostgres bool // may be downloaded without a question
}

// AddFlags adds --data and --fetch-postgres.
func (o *dataOptions) AddFlags(f *pflag.FlagSet) {
	settings.AddFlag(f, "data", &o.Data)
	settings.AddFlag(f, "fetch_postgres", &o.FetchPostgres)
}

// Fetch reports whether to download Postgres: if --fetch-postgres is given, or somebody at a terminal says so.
func (o *dataOptions) Fetch(ctx context.Context, what string) (bool, error) {
	if o.FetchPostgres {
		return true, nil
	}
	agreed, err := confirm(ctx, os.Stdin, os.Stderr, "This machine has no Postgres. Download "+what+"?")
	if errors.Is(err, errNoTerminal) {
		return false, nil
	}
	return agreed, err
}

// Public returns the folder that snapshots are published to.
func (o *dataOptions) Public() string { return filepath.Join(o.Data, "public") }

// OpenPublic opens the folder that snapshots are published to, and creates it if it is missing.
func (o *dataOptions) OpenPublic() (*output.Folder, error) {
	folder, err := output.OpenFolder(o.Public())
	if err != nil {
		return nil, fmt.Errorf("open the published folder: %w", err)
	}
	return folder, nil
}

// Database returns the options of DATABASE_URL or the folder's private Postgres. Steps that take long are logged.
func (o *dataOptions) Database(logger *slog.Logger) run.DatabaseOptions {
	return run.DatabaseOptions{
		URL: os.Getenv("DATABASE_URL"), Data: o.Data, Program: version.Version(),
		Say: func(line string) { logger.Info(line) }, Fetch: o.Fetch,
	}
}

// openDatabase opens the database, that of a demo too.
func openDatabase(ctx context.Context, o dataOptions, logger *slog.Logger) (*run.Database, error) {
	return run.OpenDatabase(ctx, o.Database(logger))
}

// openDirectory opens the database of a real directory and refuses that of a demo. The program uses up to so many
// connections at once; 0 is the default.
func openDirectory(
	ctx context.Context, o dataOptions, connections int32, logger *slog.Logger,
) (*run.Database, error) {
	options := o.Database(logger)
	options.Connections = connections
	return openReal(ctx, options)
}

// openReal opens a database and refuses that of a demo.
func openReal(ctx context.Context, options run.DatabaseOptions) (*run.Database, error) {
	db, err := run.OpenDatabase(ctx, options)
	if err != nil {
		return nil, err
	}
	if err := db.RefuseSample(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// withDatabase opens the database for the time of do.
func withDatabase(ctx context.Context, o dataOptions, do func(*run.Database) error) error {
	db, err := openDatabase(ctx, o, newLogger(ctx, slog.LevelInfo))
	if err != nil {
		return err
	}
	defer db.Close()
	return do(db)
}
