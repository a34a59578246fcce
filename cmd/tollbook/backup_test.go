//go:build unix

package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tollbook/build"
	"tollbook/cmd/tollbook/run"
	"tollbook/crawl"
	"tollbook/crawl/sample"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/render"
	"tollbook/site/postgres"
	"tollbook/site/postgres/load"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// backupMoment is the build time of each directory of these tests.
var backupMoment = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

// builtAt builds a directory into a folder and returns the snapshot's digest.
func builtAt(t *testing.T, db *postgres.DB, dir string, now time.Time) string {
	t.Helper()
	folder, err := output.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = build.Run(t.Context(), db, folder, build.Options{
		Now: now, Every: 15 * time.Minute, LogDelay: 2 * time.Minute,
		Site: render.Site{Title: "Back-up", BaseURL: "https://tollbook.example", Sample: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	pointer, err := archive.ParseCheckpoint([]byte(readFile(t, filepath.Join(dir, "checkpoint.json"))))
	if err != nil {
		t.Fatal(err)
	}
	return pointer.Digest
}

// fillSample fills a directory with ninety days of history and with facilitators. It returns the slug of a service that
// can be erased.
func fillSample(t *testing.T, db *postgres.DB) (slug string) {
	t.Helper()
	listings := sample.Listings(backupMoment, 15*time.Minute)[:8]
	var histories []load.History
	for _, h := range sample.Histories(backupMoment) {
		if slices.ContainsFunc(listings, func(l postgres.Listing) bool { return l.Slug == h.Slug }) {
			histories = append(histories, h)
		}
	}
	if err := load.Sample(t.Context(), db, "A back-up's sample.", listings, histories); err != nil {
		t.Fatal(err)
	}
	if err := crawl.ImportShippedFacilitators(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return listings[len(listings)-1].Slug
}

func erase(t *testing.T, db *postgres.DB, slug string) {
	t.Helper()
	if err := db.EraseService(t.Context(), slug, "anna", "", backupMoment); err != nil {
		t.Fatal(err)
	}
}

// tool runs a program that must succeed.
func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// restored dumps a database as the page /operations/repair describes, restores it into an empty one, and opens that.
func restored(t *testing.T, dsn string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), restoredDSN(t, dsn))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// restoredDSN is restored without opening the new database.
func restoredDSN(t *testing.T, dsn string) string {
	t.Helper()
	for _, name := range []string{"pg_dump", "pg_restore"} {
		if _, err := exec.LookPath(name); err != nil {
			testgate.Missing(t, "no %s for a back-up: apt-get install postgresql-client", name)
		}
	}
	dump, empty := filepath.Join(memoryDir(t), "tollbook.dump"), postgrestest.NewDatabase(t)
	tool(t, "pg_dump", "--format=custom", "--file="+dump, dsn)
	tool(t, "pg_restore", "--exit-on-error", "--no-owner", "--dbname="+empty, dump)
	return empty
}

// TestBackup checks that a database restored from a dump builds the same snapshot, byte for byte. It also restores a
// directory that was built before, whose logs continue their numbers.
func TestBackup(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	dsn := postgrestest.NewDatabase(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	slug := fillSample(t, db)
	erase(t, db, slug)
	copied := restored(t, dsn)
	dir, other := memoryDir(t), memoryDir(t)
	first := builtAt(t, db, dir, backupMoment)
	if got := builtAt(t, copied, other, backupMoment); got != first {
		t.Errorf("restored, its digest is %s, want %s", got, first)
	}
	again, its := restored(t, dsn), filepath.Join(memoryDir(t), "public")
	tool(t, "cp", "-a", dir, its)
	later := backupMoment.Add(time.Hour)
	want := builtAt(t, db, dir, later)
	if got := builtAt(t, again, its, later); got != want || got == first {
		t.Errorf("restored and built an hour later, its digest is %s, want %s; before it was %s", got, want, first)
	}
}

// TestPrivateBackup checks that the packed folder of a stopped private Postgres is the same directory under another
// --data.
func TestPrivateBackup(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	if _, err := exec.LookPath("tar"); err != nil {
		testgate.Missing(t, "no tar for a back-up")
	}
	ctx := t.Context()
	mine, other := dataOptions{Data: memoryDir(t)}, dataOptions{Data: memoryDir(t)}
	in := func(o dataOptions, f func(*postgres.DB)) {
		t.Helper()
		db, err := run.OpenDatabase(ctx, run.DatabaseOptions{Data: o.Data,
			Say: func(line string) { t.Log(line) }})
		if err != nil {
			t.Fatal(err)
		}
		f(db.DB)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	in(mine, func(db *postgres.DB) { erase(t, db, fillSample(t, db)) })
	packed := filepath.Join(memoryDir(t), "postgres.tar")
	tool(t, "tar", "--create", "--dereference", "--file="+packed, "--directory="+mine.Data, "postgres")
	tool(t, "tar", "--extract", "--file="+packed, "--directory="+other.Data)
	var want, got string
	in(mine, func(db *postgres.DB) { want = builtAt(t, db, mine.Public(), backupMoment) })
	in(other, func(db *postgres.DB) { got = builtAt(t, db, other.Public(), backupMoment) })
	if got != want {
		t.Errorf("unpacked, its digest is %s, want %s", got, want)
	}
}
