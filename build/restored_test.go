package build_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/build"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/testgate"
)

// visitAll records a visit to each service at each of some times.
func visitAll(t *testing.T, db *postgres.DB, times ...time.Time) {
	t.Helper()
	err := db.Read(t.Context(), func(r *postgres.Reader) error {
		facts, err := r.Facts(t.Context(), times[0], 0)
		if err != nil {
			return err
		}
		for _, at := range times {
			var visits []checks.Visit
			for _, s := range facts.Services {
				visits = append(visits, checks.Visit{NextCheckAt: at.Add(time.Hour), Check: checks.Check{
					ServiceID: s.ID, CheckedAt: at, ID: uuid.New(), Counted: true, Status: new("online"), IsUp: true,
					StatusCode: new(402), ResponseTimeMS: new(50), EndpointsFound: 1, IntervalS: 900,
				}})
			}
			if err := db.RecordVisits(t.Context(), visits); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRestoredDatabase checks that a database that lacks rows which readers have is neither built nor published unless
// the operator says so, and that then all packs have the rows that the new snapshot numbers.
func TestRestoredDatabase(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	db, backup, dir, fresh := openSample(t), openSample(t), tempDir(t), tempDir(t)
	run(t, db, dir, lean(moment))
	copied := tempDir(t)
	run(t, backup, copied, lean(moment)) // no row is missing yet
	at := func(minutes int) time.Time { return moment.Add(time.Duration(minutes) * time.Minute) }
	visitAll(t, db, at(5), at(10), at(15), at(65), at(70))
	before := run(t, db, dir, lean(at(180)))

	visitAll(t, backup, at(125), at(130), at(135), at(140), at(145), at(205), at(210)) // as many numbers and more
	folder, err := output.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := lean(at(300))
	_, err = build.Run(t.Context(), backup, folder, o)
	if !errors.Is(err, output.ErrSuccessor) || !strings.Contains(err.Error(), "use --force ") {
		t.Errorf("build of the back-up: %v", err)
	}
	z, err := archive.OpenZipFile(filepath.Join(dir, "snapshots", before.Snapshot+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if err := build.CheckRows(t.Context(), db, z); err != nil {
		t.Errorf("publication of the database itself: %v", err)
	}
	if err := build.CheckRows(t.Context(), backup, z); err == nil || !strings.Contains(err.Error(), "lacks 50 of") {
		t.Errorf("publication of the back-up: %v", err)
	}
	was := readPackRows(t, dir)
	o.Force = true
	report := run(t, backup, dir, o)
	run(t, backup, fresh, lean(at(300)))
	is, want := readPackRows(t, dir), readPackRows(t, fresh)
	for name, rows := range want {
		if diff := cmp.Diff(rows, is[name]); diff != "" {
			t.Fatalf("%s (-new folder +old one):\n%s", name, diff)
		}
	}
	for name := range was {
		if _, there := is[name]; !there {
			t.Errorf("%s, which an earlier snapshot names, is gone", name)
		}
	}
	if len(report.Needed) == 0 || slices.Equal(report.Needed, before.Needed) {
		t.Errorf("the log names the packs %v, before %v", report.Needed, before.Needed)
	}
	run(t, backup, dir, lean(at(301))) // goes on without Force
}
