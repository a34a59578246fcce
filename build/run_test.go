package build_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/build"
	"tollbook/cmd/bench/crowd"
	"tollbook/crawl/sample"
	"tollbook/output"
	"tollbook/render"
	"tollbook/site/postgres"
	"tollbook/site/postgres/load"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

var template = postgrestest.New(func(ctx context.Context, dsn string) error {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	db.Close()
	return nil
})

func open(t testing.TB) *postgres.DB { return openCopy(t, template) }

// sampled holds the sample services with the ninety days before moment.
var sampled = postgrestest.New(func(ctx context.Context, dsn string) error {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	return load.Sample(ctx, db, sample.Notice, sample.Listings(moment, 0), sample.Histories(moment))
})

func openSample(t testing.TB) *postgres.DB { return openCopy(t, sampled) }

func openCopy(t testing.TB, of *postgrestest.Template) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), of.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// scratch is a folder in memory where there is one: a disk would be what is measured.
func scratch(t testing.TB) string {
	t.Helper()
	if info, err := os.Stat("/dev/shm"); err != nil || !info.IsDir() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("/dev/shm", "tollbook-build-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

var moment = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

func options(now time.Time) build.Options {
	return build.Options{Now: now, Every: 15 * time.Minute, LogDelay: 2 * time.Minute,
		Site: render.Site{BaseURL: "https://tollbook.example", Sample: true}}
}

func run(t testing.TB, db *postgres.DB, dir string, o build.Options) build.Report {
	t.Helper()
	folder, err := output.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	report, err := build.Run(t.Context(), db, folder, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// digests names every file below dir with its sha256; links are named with what they point to.
func digests(t *testing.T, dir string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == ".lock" { // the lock says whose it was last
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if d.Type()&fs.ModeSymlink != 0 {
			sums[name], err = os.Readlink(path)
			return err
		}
		data, err := os.ReadFile(path)
		sum := sha256.Sum256(data)
		sums[name] = hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// TestSameFactsSameBytes builds the sample directory twice from nothing, and a third time beside an earlier snapshot,
// whose members it may copy: every file is the same but the list of earlier snapshots.
func TestSameFactsSameBytes(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	db := openSample(t)
	one, two, three := scratch(t), scratch(t), scratch(t)
	first := run(t, db, one, options(moment.Add(time.Minute)))
	run(t, db, two, options(moment.Add(time.Minute)))
	if diff := cmp.Diff(digests(t, one), digests(t, two)); diff != "" {
		t.Errorf("two builds of the same facts (-first +second):\n%s", diff)
	}
	before := run(t, db, three, options(moment))
	after := run(t, db, three, options(moment.Add(time.Minute)))
	alone, beside := sums(t, one, first.Snapshot), sums(t, three, after.Snapshot)
	if alone[listed] == beside[listed] {
		t.Errorf("%s lists nothing beside snapshot %s", listed, before.Snapshot)
	}
	for _, name := range []string{listed, "v1/openapi.json", "reference.html"} { // the last two show it as an example
		delete(alone, name)
		delete(beside, name)
	}
	if diff := cmp.Diff(alone, beside); diff != "" || len(alone) < 1000 {
		t.Errorf("%d files of a build beside an earlier snapshot (-alone +beside):\n%s", len(beside), diff)
	}
	if first.Services < 40 || first.Packs == 0 {
		t.Errorf("the sample directory has %d services and %d packs, want 40 and some", first.Services, first.Packs)
	}
}

// TestCanceledBuild ends a build in its middle: the snapshot before stays current and whole.
func TestCanceledBuild(t *testing.T) {
	t.Parallel()
	db := openSample(t)
	dir := scratch(t)
	first := run(t, db, dir, options(moment))
	folder, err := output.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o := options(moment.Add(time.Minute))
	o.Progress = func(int, int) { cancel() }
	if _, err := build.Run(ctx, db, folder, o); err == nil {
		t.Fatal("a canceled build says that it published")
	}
	c, err := folder.Checkpoint()
	if err != nil || c.Snapshot != first.Snapshot {
		t.Errorf("current is %s (%v), want %s", c.Snapshot, err, first.Snapshot)
	}
	if next := run(t, db, dir, options(moment.Add(2*time.Minute))); next.Snapshot == first.Snapshot {
		t.Error("the build after a canceled one published nothing new")
	}
}

// generate fills the database with n services.
func generate(t testing.TB, db *postgres.DB, n int) {
	t.Helper()
	if _, err := crowd.Load(t.Context(), db, crowd.Options{Services: n, Seed: 1, Moment: moment,
		Days: 90}); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkBuild builds a directory of 2,000 generated services, first from nothing, then again a minute later, and
// prints files, bytes and seconds of each. Services can be set by TOLLBOOK_BENCH_SERVICES.
func BenchmarkBuild(b *testing.B) {
	n := 2000
	if s := os.Getenv("TOLLBOOK_BENCH_SERVICES"); s != "" {
		if _, err := fmt.Sscan(s, &n); err != nil {
			b.Fatal(err)
		}
	}
	db := open(b)
	generate(b, db, n)
	base := scratch(b)
	for _, expand := range []output.Expand{output.ExpandNone, output.ExpandAll} {
		for _, kind := range []string{"from nothing", "a minute later"} {
			b.Run(fmt.Sprintf("expand %s/%s", expand, kind), func(b *testing.B) {
				var last build.Report
				resetPeak(b)
				for i := range b.N {
					dir := filepath.Join(base, fmt.Sprintf("%s-%d", expand, i))
					if kind == "from nothing" {
						b.StopTimer()
						os.RemoveAll(dir)
						b.StartTimer()
					}
					o := options(moment.Add(time.Duration(len(kind)+i) * time.Minute))
					o.Expand = expand
					last = run(b, db, dir, o)
				}
				b.ReportMetric(float64(peak(b)>>20), "peakMiB")
				b.ReportMetric(float64(last.Files), "files")
				b.ReportMetric(float64(last.Bytes)/1e6, "MB")
				b.ReportMetric(float64(last.Zip)/1e6, "zipMB")
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "services/s")
			})
		}
	}
}

// resetPeak gives memory back and forgets how much was resident before (Linux).
func resetPeak(t testing.TB) {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Logf("the peak is that of the whole process: %v", err)
	}
}

// peak is the most that was resident since, 0 where the system does not say.
func peak(t testing.TB) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		var kib int64
		if n, err := fmt.Sscanf(string(line), "VmHWM: %d kB", &kib); n == 1 && err == nil {
			return kib << 10
		}
	}
	return 0
}
