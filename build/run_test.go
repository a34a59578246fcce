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
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

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

func TestMain(m *testing.M) {
	postgrestest.Main(m, func() error { return os.RemoveAll(sampleDirectory.dir) })
}

var emptyTemplate = postgrestest.New(func(ctx context.Context, dsn string) error {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	db.Close()
	return nil
})

func open(t testing.TB) *postgres.DB { return openCopy(t, emptyTemplate) }

// sampleTemplate contains the sample services with their history of the ninety days before moment, and what was
// published of them on ten of these.
var sampleTemplate = postgrestest.New(func(ctx context.Context, dsn string) error {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	err = load.Sample(ctx, db, sample.Notice, sample.Listings(moment, 0), sample.Histories(moment))
	if err != nil {
		return err
	}
	return db.Transact(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO assessments SELECT id, day, 'A', 14, '{}', 'clean', '{}', 0.01 * n, 120, 1, 'good'
			FROM services, generate_series(1, 10) AS n, LATERAL (SELECT $1::date - n) AS made (day)`, moment)
		return err
	})
})

func openSample(t testing.TB) *postgres.DB { return openCopy(t, sampleTemplate) }

// sampleDirectory is what buildSample returns, empty until the first test has built it.
var sampleDirectory struct {
	sync.Mutex
	dir, snapshot string
}

// buildSample returns a folder with a snapshot of the sample services at moment. All tests that only read it share it.
func buildSample(t *testing.T) (dir, snapshot string) {
	t.Helper()
	sampleDirectory.Lock()
	defer sampleDirectory.Unlock()
	if sampleDirectory.dir != "" {
		return sampleDirectory.dir, sampleDirectory.snapshot
	}
	db := openSample(t)
	dir, err := makeTempDir()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if sampleDirectory.dir == "" { // the build failed
			os.RemoveAll(dir)
		}
	}()
	snapshot = run(t, db, dir, options(moment)).Snapshot
	sampleDirectory.dir, sampleDirectory.snapshot = dir, snapshot
	return dir, snapshot
}

func openCopy(t testing.TB, of *postgrestest.Template) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), of.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// tempDir returns a new folder, which is deleted when the test ends.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := makeTempDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// makeTempDir makes a folder, in memory if possible: a disk would dominate the benchmarks.
func makeTempDir() (string, error) {
	memory := "/dev/shm"
	if info, err := os.Stat(memory); err != nil || !info.IsDir() {
		memory = ""
	}
	return os.MkdirTemp(memory, "tollbook-build-")
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

// digestFiles returns the SHA-256 of every file below dir, and the target of every link.
func digestFiles(t *testing.T, dir string) map[string]string {
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

// TestSameFactsSameBytes builds the sample directory twice without a previous snapshot, and a third time beside one
// that it may copy from. All files must be the same, except the list of previous snapshots.
func TestSameFactsSameBytes(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	db := openSample(t)
	one, two, three := tempDir(t), tempDir(t), tempDir(t)
	first := run(t, db, one, options(moment.Add(time.Minute)))
	run(t, db, two, options(moment.Add(time.Minute)))
	if diff := cmp.Diff(digestFiles(t, one), digestFiles(t, two)); diff != "" {
		t.Errorf("two builds of the same facts (-first +second):\n%s", diff)
	}
	before := run(t, db, three, options(moment))
	after := run(t, db, three, options(moment.Add(time.Minute)))
	alone, beside := readSums(t, one, first.Snapshot), readSums(t, three, after.Snapshot)
	if alone[snapshotsFile] == beside[snapshotsFile] {
		t.Errorf("%s lists nothing beside snapshot %s", snapshotsFile, before.Snapshot)
	}
	// the last two show it as an example
	for _, name := range []string{snapshotsFile, "v1/openapi.json", "reference.html"} {
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

// TestCanceledBuild cancels a build in the middle. The previous snapshot must stay current and complete.
func TestCanceledBuild(t *testing.T) {
	t.Parallel()
	db := openSample(t)
	dir := tempDir(t)
	first := run(t, db, dir, options(moment))
	folder, err := output.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o := options(moment.Add(time.Minute))
	o.Progress = func(int, int) { cancel() }
	if _, err := build.Run(ctx, db, folder, o); err == nil {
		t.Fatal("a canceled build returned no error")
	}
	c, err := folder.Checkpoint()
	if err != nil || c.Snapshot != first.Snapshot {
		t.Errorf("current is %s (%v), want %s", c.Snapshot, err, first.Snapshot)
	}
	if next := run(t, db, dir, options(moment.Add(2*time.Minute))); next.Snapshot == first.Snapshot {
		t.Error("the build after a canceled one published no new snapshot")
	}
}

// generateServices fills the database with n services.
func generateServices(t testing.TB, db *postgres.DB, n int) {
	t.Helper()
	if _, err := crowd.Load(t.Context(), db, crowd.Options{Services: n, Seed: 1, Moment: moment,
		Days: 90}); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkBuild builds a directory of generated services, first without a previous snapshot and then again a minute
// later. It prints files, bytes and seconds of each. TOLLBOOK_BENCH_SERVICES sets the number of services, 2,000 by
// default.
func BenchmarkBuild(b *testing.B) {
	n := 2000
	if s := os.Getenv("TOLLBOOK_BENCH_SERVICES"); s != "" {
		if _, err := fmt.Sscan(s, &n); err != nil {
			b.Fatal(err)
		}
	}
	db := open(b)
	generateServices(b, db, n)
	base := tempDir(b)
	for _, expand := range []output.Expand{output.ExpandNone, output.ExpandAll} {
		for _, kind := range []string{"from nothing", "a minute later"} {
			b.Run(fmt.Sprintf("expand %s/%s", expand, kind), func(b *testing.B) {
				var last build.Report
				resetPeakMemory(b)
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
				b.ReportMetric(float64(readPeakMemory(b)>>20), "peakMiB")
				b.ReportMetric(float64(last.Files), "files")
				b.ReportMetric(float64(last.Bytes)/1e6, "MB")
				b.ReportMetric(float64(last.Zip)/1e6, "zipMB")
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "services/s")
			})
		}
	}
}

// resetPeakMemory returns memory to the system and resets the peak of resident memory (Linux).
func resetPeakMemory(t testing.TB) {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Logf("the peak is that of the whole process: %v", err)
	}
}

// readPeakMemory returns the peak of resident memory since then, 0 if the system does not count it.
func readPeakMemory(t testing.TB) int64 {
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
