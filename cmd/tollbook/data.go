package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/database"
	"tollbook/output"
)

// dataOptions say which folder contains a directory's data.
type dataOptions struct {
	Data string
}

// AddFlags adds --data.
func (o *dataOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Data, "data", "tollbook-data",
		"`folder` of this directory: its private Postgres and, in public, what is published")
}

// public returns the folder that snapshots are published to.
func (o *dataOptions) public() string { return filepath.Join(o.Data, "public") }

// openPublic opens the folder that snapshots are published to, and creates it if it is missing.
func (o *dataOptions) openPublic() (*output.Folder, error) {
	folder, err := output.OpenFolder(o.public())
	if err != nil {
		return nil, fmt.Errorf("open the published folder: %w", err)
	}
	return folder, nil
}

// database returns the options of DATABASE_URL or the folder's private Postgres. Steps that take long are logged.
func (o *dataOptions) database(logger *slog.Logger) database.Options {
	return database.Options{
		URL: os.Getenv("DATABASE_URL"), Data: o.Data, Say: func(line string) { logger.Info(line) },
	}
}

// openDatabase opens the database, that of a demo too.
func openDatabase(ctx context.Context, o dataOptions, logger *slog.Logger) (*database.DB, error) {
	return database.Open(ctx, o.database(logger))
}

// openDirectory opens the database of a real directory and refuses that of a demo. The program uses up to so many
// connections at once; 0 is the default.
func openDirectory(
	ctx context.Context, o dataOptions, connections int32, logger *slog.Logger,
) (*database.DB, error) {
	options := o.database(logger)
	options.Connections = connections
	db, err := database.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	if err := db.RefuseSample(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// withDatabase opens the database for the time of do.
func withDatabase(ctx context.Context, o dataOptions, do func(*database.DB) error) error {
	db, err := openDatabase(ctx, o, newLogger(slog.LevelInfo))
	if err != nil {
		return err
	}
	defer db.Close()
	return do(db)
}
