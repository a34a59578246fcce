package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/database"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/version"
	"tollbook/output"
)

// DataOptions say which folder contains a directory's data.
type DataOptions struct {
	Data          string
	FetchPostgres bool // may be downloaded without a question
}

// AddFlags adds --data and --fetch-postgres.
func (o *DataOptions) AddFlags(f *pflag.FlagSet) {
	settings.AddFlag(f, "data", &o.Data)
	settings.AddFlag(f, "fetch_postgres", &o.FetchPostgres)
}

// Fetch reports whether to download Postgres: if --fetch-postgres is given, or somebody at a terminal says so.
func (o *DataOptions) Fetch(ctx context.Context, what string) (bool, error) {
	if o.FetchPostgres {
		return true, nil
	}
	agreed, err := Confirm(ctx, os.Stdin, os.Stderr, "This machine has no Postgres. Download "+what+"?")
	if errors.Is(err, ErrNoTerminal) {
		return false, nil
	}
	return agreed, err
}

// Public returns the folder that snapshots are published to.
func (o *DataOptions) Public() string { return filepath.Join(o.Data, "public") }

// OpenPublic opens the folder that snapshots are published to, and creates it if it is missing.
func (o *DataOptions) OpenPublic() (*output.Folder, error) {
	folder, err := output.OpenFolder(o.Public())
	if err != nil {
		return nil, fmt.Errorf("open the published folder: %w", err)
	}
	return folder, nil
}

// Database returns the options of DATABASE_URL or the folder's private Postgres. Steps that take long are logged.
func (o *DataOptions) Database(logger *slog.Logger) database.Options {
	return database.Options{
		URL: os.Getenv("DATABASE_URL"), Data: o.Data, Program: version.Version(),
		Say: func(line string) { logger.Info(line) }, Fetch: o.Fetch,
	}
}

// OpenDatabase opens the database, that of a demo too.
func OpenDatabase(ctx context.Context, o DataOptions, logger *slog.Logger) (*database.DB, error) {
	return database.Open(ctx, o.Database(logger))
}

// OpenDirectory opens the database of a real directory and refuses that of a demo. The program uses up to so many
// connections at once; 0 is the default.
func OpenDirectory(
	ctx context.Context, o DataOptions, connections int32, logger *slog.Logger,
) (*database.DB, error) {
	options := o.Database(logger)
	options.Connections = connections
	return OpenReal(ctx, options)
}

// OpenReal opens a database and refuses that of a demo.
func OpenReal(ctx context.Context, options database.Options) (*database.DB, error) {
	db, err := database.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	if err := db.RefuseSample(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// WithDatabase opens the database for the time of do.
func WithDatabase(ctx context.Context, o DataOptions, do func(*database.DB) error) error {
	db, err := OpenDatabase(ctx, o, NewLogger(ctx, slog.LevelInfo))
	if err != nil {
		return err
	}
	defer db.Close()
	return do(db)
}
