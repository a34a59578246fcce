package build_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/build"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/postgres/checks"
	"tollbook/site/testgate"
)

// lean returns options of a build that writes no single files.
func lean(now time.Time) build.Options {
	o := options(now)
	o.Expand = output.ExpandNone
	return o
}

// TestVoidedChecks checks that the build after a void gives the same snapshot, packs and files of days as a build in a
// new folder does, that coverage tells the void, and that lifting it gives what was there before.
func TestVoidedChecks(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	db, dir := openSample(t), tempDir(t)
	run(t, db, dir, lean(moment))
	was, wasDays := readPackRows(t, dir), digestFiles(t, filepath.Join(dir, "data"))
	from, to := moment.Add(-50*time.Hour), moment.Add(-41*time.Hour)
	v, err := db.Void(t.Context(), checks.Void{From: from, To: to, VoidedAt: moment, Actor: "anna",
		Reason: "Our line was down."})
	if err != nil {
		t.Fatal(err)
	}
	compare := func(at time.Time) archive.Files {
		t.Helper()
		fresh := tempDir(t)
		want, got := run(t, db, fresh, lean(at)), run(t, db, dir, lean(at))
		if diff := cmp.Diff(readPackRows(t, fresh), readPackRows(t, dir)); diff != "" {
			t.Errorf("packs (-new folder +old one):\n%.2000s", diff)
		}
		if diff := cmp.Diff(digestFiles(t, filepath.Join(fresh, "data")),
			digestFiles(t, filepath.Join(dir, "data"))); diff != "" {
			t.Errorf("files of days (-new folder +old one):\n%s", diff)
		}
		var trees []*archive.ZipFile
		for path, id := range map[string]string{fresh: want.Snapshot, dir: got.Snapshot} {
			z, err := archive.OpenZipFile(filepath.Join(path, "snapshots", id+".zip"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { z.Close() })
			trees = append(trees, z)
		}
		for _, name := range []string{"v1/status.json", "v1/incidents.json", "v1/checks.json", "v1/coverage.json"} {
			a, err := trees[0].ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			b, err := trees[1].ReadFile(name)
			if diff := cmp.Diff(string(a), string(b)); diff != "" || err != nil {
				t.Errorf("%s: %v\n%s", name, err, diff)
			}
		}
		return trees[0]
	}
	z := compare(moment.Add(time.Minute))
	var coverage struct{ Data site.CoverageReport }
	data, err := z.ReadFile("v1/coverage.json")
	if err == nil {
		err = json.Unmarshal(data, &coverage)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := []site.Void{{From: site.NewTime(from), To: site.NewTime(to), VoidedAt: site.NewTime(moment),
		Reason: "Our line was down.", CheckCount: v.Checks, ServiceCount: v.Services}}
	if diff := cmp.Diff(want, coverage.Data.Voids); diff != "" || v.Checks < 100 {
		t.Errorf("coverage of %d checks (-want +got):\n%s", v.Checks, diff)
	}
	if page, err := z.ReadFile("coverage.html"); err != nil || !strings.Contains(string(page), "Our line was down.") {
		t.Errorf("the page of coverage does not tell why: %v", err)
	}
	voided := 0
	for name, rows := range readPackRows(t, dir) {
		for i, row := range rows {
			var is, before struct {
				ID      string    `json:"id"`
				At      site.Time `json:"checked_at"`
				Counted *bool     `json:"counted"`
				Reason  string    `json:"uncounted_reason"`
			}
			if json.Unmarshal(row, &is) != nil || json.Unmarshal(was[name][i], &before) != nil || is.ID != before.ID {
				t.Fatalf("%s row %d: %s, was %s", name, i, row, was[name][i])
			}
			inside := is.Counted != nil && !is.At.Before(from) && is.At.Before(to)
			if inside && *before.Counted != (is.Reason == site.VoidCheck) || inside && *is.Counted {
				t.Errorf("%s row %d: %s, was %s", name, i, row, was[name][i])
			}
			if inside {
				voided++
			}
		}
	}
	if voided < 100 {
		t.Errorf("%d rows of packs are void, want 100 at least", voided)
	}
	if _, err := db.LiftVoid(t.Context(), v.ID, "anna", moment); err != nil {
		t.Fatal(err)
	}
	compare(moment.Add(2 * time.Minute))
	if diff := cmp.Diff(was, readPackRows(t, dir)); diff != "" {
		t.Errorf("packs (-before +lifted):\n%.2000s", diff)
	}
	if diff := cmp.Diff(wasDays, digestFiles(t, filepath.Join(dir, "data"))); diff != "" {
		t.Errorf("files of days (-before +lifted):\n%s", diff)
	}
}
