package build_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/flate"

	"tollbook/build"
	"tollbook/output"
	"tollbook/site/postgres"
)

// benchRun is one run of TestBench; times are in seconds.
type benchRun struct {
	Services int     `json:"services"`
	Visited  int     `json:"visited"` // between Full and Rebuild
	Files    int     `json:"files"`
	Bytes    int64   `json:"bytes"`
	Zip      int64   `json:"zip_bytes"`
	Full     float64 `json:"full"`    // a build from nothing
	Rebuild  float64 `json:"rebuild"` // the build after it, beside its snapshot
	Again    float64 `json:"again"`   // what Rebuild read, from nothing
	Deflate  float64 `json:"deflate"` // of the contents of Full, on all cores
	CPU      float64 `json:"cpu"`     // of this process in Full, without Postgres
	Peak     int64   `json:"peak"`    // most resident bytes of this process in Full
}

// TestBench measures builds for build/testdata/bench, which says what beside what, and writes the runs to
// TOLLBOOK_BENCH_OUT. Without the variable there is nothing to do.
func TestBench(t *testing.T) {
	out := os.Getenv("TOLLBOOK_BENCH_OUT")
	if out == "" {
		t.Skip("TOLLBOOK_BENCH_OUT is not set")
	}
	services, count := benchNumber(t, "TOLLBOOK_BENCH_SERVICES", 2000), benchNumber(t, "TOLLBOOK_BENCH_RUNS", 3)
	db := open(t)
	generate(t, db, services)
	base := scratch(t)
	dir := filepath.Join(base, "public")
	var runs []benchRun
	for i := range count {
		r := benchRun{Services: services}
		o := options(moment.Add(time.Duration(2*i) * time.Minute))
		o.Expand = output.ExpandNone
		fresh := func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
		timed := func(into *float64) build.Report {
			runtime.GC()
			began := time.Now()
			report := run(t, db, dir, o)
			*into = time.Since(began).Seconds()
			return report
		}
		fresh()
		resetPeak(t)
		used := cpuTime(t)
		report := timed(&r.Full)
		r.CPU, r.Peak = (cpuTime(t) - used).Seconds(), peak(t)
		r.Files, r.Bytes, r.Zip = report.Files, report.Bytes, report.Zip
		r.Deflate = deflateTime(t, filepath.Join(dir, "snapshots", report.Snapshot+".zip")).Seconds()

		o.Now = o.Now.Add(time.Minute)
		r.Visited = visitSome(t, db, services, i, o.Now)
		timed(&r.Rebuild)
		fresh()
		timed(&r.Again)
		t.Logf("%+v", r)
		runs = append(runs, r)
	}
	data, err := json.Marshal(runs)
	if err == nil {
		err = os.WriteFile(out, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func benchNumber(t *testing.T, name string, otherwise int) int {
	t.Helper()
	n := otherwise
	if s := os.Getenv(name); s != "" {
		if _, err := fmt.Sscan(s, &n); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return n
}

// visitSome tells of a visit to one service in fifteen, others each time.
func visitSome(t *testing.T, db *postgres.DB, services, turn int, now time.Time) int {
	t.Helper()
	due, err := db.Due(t.Context(), now.AddDate(1, 0, 0), time.Minute, services)
	if err != nil {
		t.Fatal(err)
	}
	var visits []postgres.Visit
	for i, s := range due {
		if (i+turn)%15 == 0 {
			at := now.Add(-time.Duration(1+i%600) * 50 * time.Millisecond)
			visits = append(visits, postgres.Visit{
				Check:       postgres.Check{ServiceID: s.ID, CheckedAt: at, ID: uuid.NewSHA1(uuid.Nil, []byte(s.Slug+at.String())), Counted: true, Status: new("online"), IsUp: true, StatusCode: new(402), ResponseTimeMS: new(95), EndpointsFound: 1},
				NextCheckAt: now.Add(15 * time.Minute), LastSuccessAt: &at,
			})
		}
	}
	if err := db.RecordVisits(t.Context(), visits); err != nil {
		t.Fatal(err)
	}
	return len(visits)
}

// deflateTime is how long all cores take to compress every file of a zip as output does: the same library and level, a
// compressor and a buffer each that are used again. Reading the files is not timed.
func deflateTime(t *testing.T, path string) (took time.Duration) {
	t.Helper()
	z, err := output.OpenZipFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	names := z.Names()
	for len(names) > 0 {
		var files [][]byte
		for size := 0; len(names) > 0 && size < 64<<20; names = names[1:] {
			data, err := z.ReadFile(names[0])
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, data)
			size += len(data)
		}
		took += deflateAll(t, files)
	}
	return took
}

func deflateAll(t *testing.T, files [][]byte) time.Duration {
	t.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			var b bytes.Buffer
			w, err := flate.NewWriter(&b, output.DeflateLevel)
			if err != nil {
				t.Error(err)
				return
			}
			for i := int(next.Add(1)) - 1; i < len(files); i = int(next.Add(1)) - 1 {
				b.Reset()
				w.Reset(&b)
				if _, err := w.Write(files[i]); err != nil {
					t.Error(err)
				}
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return time.Since(began)
}

// cpuTime is what this process has used so far.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
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
