package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tollbook/output"
	"tollbook/site/postgres/postgrestest"
)

// TestPullFromServe copies the tables of a directory from the program that serves it, and asks them with SQL.
// All figures are what the tables say. A pull onto a disk with too little free space is refused before it fetches a file.
func TestPullFromServe(t *testing.T) {
	t.Parallel()
	data, to := t.TempDir(), t.TempDir()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	ran(t, env, "services", "import", writeFile(t, "services.json", listOfServices(3, "Sums of all kinds.")))
	ran(t, env, "build", "--data", data, "--expand", "none")
	serve := command(t, nil, "serve", "--from", filepath.Join(data, "public"), "--serve-listen", "127.0.0.1:0").start(t)
	base := strings.Fields(serve.await(t, "Serving "))[2]

	for _, isNew := range []bool{true, false} {
		r := decode[output.PullResult](t, ran(t, nil, "data", "pull", base, "--to", to, "--json"))
		if r.Files < 10 || r.Unchanged == isNew || (r.Fetched == r.Files) != isNew {
			t.Errorf("%+v, want that something is new: %v", r, isNew)
		}
	}
	const query = "SELECT count(*) AS services FROM services"
	if out := ran(t, nil, "data", "query", "--from", to, query); !strings.Contains(out, "3") {
		t.Errorf("the answer is %q, want 3 services", out)
	}

	if out := ran(t, nil, "verify", "--figures", base); !strings.HasSuffix(out, "; 0 differences\n") {
		t.Errorf("verify --figures says %q, want no difference", out)
	}

	small := smallDisk(t, 4<<20)
	fill(t, small, 256<<10)
	code, _, stderr := tollbook(t, nil, "data", "pull", base, "--to", filepath.Join(small, "tables"))
	if want := output.ErrRoom.Error(); code != 1 || !strings.Contains(stderr, want) ||
		!strings.Contains(stderr, "choose fewer tables") {
		t.Errorf("on a small disk: exit %d, %s", code, stderr)
	}
	if left, err := filepath.Glob(filepath.Join(small, "tables", ".pull", "*.part")); err != nil || len(left) > 0 {
		t.Errorf("%q was fetched (%v)", left, err)
	}
	serve.interrupt(t, os.Interrupt)
}
