package main

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"tollbook/build/data"
	"tollbook/build/data/figure"
	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/output/objects"
	"tollbook/site"
	"tollbook/site/routes"
)

// errFigures is returned for a snapshot whose JSON differs from what the proofs compute from its tables.
var errFigures = errors.New("published figures differ from what their tables say")

// runFigures downloads the tables of a place, runs the proofs on them and compares the rows with the JSON.
func runFigures(ctx context.Context, store objects.Store, key ed25519.PublicKey, asJSON bool, stdout io.Writer) error {
	work, err := os.MkdirTemp("", "tollbook-figures-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	bar := terminal.NewTransfer()
	defer bar.Finish()
	tables := filepath.Join(work, "tables")
	pulled, err := output.Pull(ctx, store, output.PullOptions{To: tables, Tables: figure.TableNames(),
		MayLack: figure.LateTables, Formats: []string{"parquet"}, Key: key, Progress: bar.SetFiles,
		Logger: newLogger(ctx, slog.LevelWarn)})
	if err != nil {
		return err
	}
	bar.Finish()
	snapshot, err := objects.OpenZip(objects.NewBlockCache(store, 64<<20), archive.SnapshotName(pulled.Snapshot))
	if err != nil {
		return err
	}
	defer snapshot.Close()
	if snapshot.Digest() != pulled.Digest {
		return fmt.Errorf("read snapshot %s: %w", pulled.Snapshot, archive.ErrDamaged)
	}
	asOf, err := readAsOf(snapshot)
	if err != nil {
		return fmt.Errorf("read snapshot %s: %w", pulled.Snapshot, err)
	}
	path := filepath.Join(work, "figures.sqlite")
	if err := figure.WriteSQLite(ctx, tables, path, asOf.Time); err != nil {
		return fmt.Errorf("read the tables of %s: %w; a program of the directory's own version can read them", store, err)
	}
	db, err := data.OpenSQLite(path)
	if err != nil {
		return err
	}
	defer db.Close()
	result, err := figure.Check(ctx, figure.Proofs(), func(ctx context.Context, sql string) ([]string, [][]*string, error) {
		return data.QuerySQLite(ctx, db, sql, 0)
	}, snapshot.ReadFile)
	if err != nil {
		return err
	}
	if err := report.Figures(stdout, pulled.Snapshot, result, asJSON); err != nil {
		return err
	}
	if len(result.Differences) > 0 {
		return errFigures
	}
	return nil
}

// readAsOf returns the time of a snapshot, as its tables have it.
func readAsOf(snapshot *archive.ZipFile) (site.Time, error) {
	q, err := routes.ParseRequest("/v1/data", "")
	if err != nil {
		return site.Time{}, err
	}
	body, err := snapshot.ReadFile(q.Key())
	if err != nil {
		return site.Time{}, err
	}
	var of site.One[site.Dataset]
	err = json.Unmarshal(body, &of)
	return of.Data.AsOf, err
}
