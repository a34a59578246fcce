package build_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"tollbook/output"
	"tollbook/site/postgres"
)

// TestBenchFolder leaves what output/testdata/bench publishes in TOLLBOOK_BENCH_DIR: first/public with a snapshot of
// TOLLBOOK_BENCH_SERVICES generated services, and second/public with the one after it too, built when one service in fifteen
// had been visited again. Without the variable there is nothing to do.
func TestBenchFolder(t *testing.T) {
	dir := os.Getenv("TOLLBOOK_BENCH_DIR")
	if dir == "" {
		t.Skip("TOLLBOOK_BENCH_DIR is not set")
	}
	n := 2000
	if s := os.Getenv("TOLLBOOK_BENCH_SERVICES"); s != "" {
		if _, err := fmt.Sscan(s, &n); err != nil {
			t.Fatal(err)
		}
	}
	db := open(t)
	generate(t, db, n)
	first, second := filepath.Join(dir, "first", "public"), filepath.Join(dir, "second", "public")
	o := options(moment)
	o.Expand = output.ExpandAll
	run(t, db, first, o)
	if err := os.MkdirAll(filepath.Dir(second), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-al", first, second).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	later := moment.Add(15 * time.Minute)
	due, err := db.Due(t.Context(), later, time.Minute, n)
	if err != nil {
		t.Fatal(err)
	}
	var visits []postgres.Visit
	for i, s := range due {
		if i%15 == 0 {
			at := moment.Add(time.Duration(1+i%600) * time.Second)
			visits = append(visits, postgres.Visit{
				Check:       postgres.Check{ServiceID: s.ID, CheckedAt: at, ID: uuid.NewSHA1(uuid.Nil, []byte(s.Slug)), Counted: true, Status: new("online"), IsUp: true, StatusCode: new(402), ResponseTimeMS: new(95), EndpointsFound: 1},
				NextCheckAt: later, LastSuccessAt: &at,
			})
		}
	}
	if err := db.RecordVisits(t.Context(), visits); err != nil {
		t.Fatal(err)
	}
	o.Now = later
	report := run(t, db, second, o)
	t.Logf("%d services, %d visited again; %d files, %.1f MB, zip %.1f MB", n, len(visits), report.Files, float64(report.Bytes)/1e6, float64(report.Zip)/1e6)
}
