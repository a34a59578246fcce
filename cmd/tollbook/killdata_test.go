//go:build unix

package main

import (
	"crypto/sha256"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/cmd/bench/crowd"
	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// TestBuildKilledWhileItWritesData kills a build with SIGKILL at moments while it writes the tables. The next build is
// whole each time: it leaves no temporary file, it verifies, and the files of days have the bytes that an undisturbed
// build writes.
func TestBuildKilledWhileItWritesData(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	dsn := postgrestest.NewDatabase(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	_, err = crowd.Load(t.Context(), db, crowd.Options{Services: 40, Seed: 3, Moment: time.Now().Add(-time.Hour),
		Days: 40, Raw: 2})
	db.Close()
	if err != nil {
		t.Fatal(err)
	}
	build := func(data string) *program {
		return command(t, []string{"DATABASE_URL=" + dsn}, "build", "--data", data, "--expand", "none")
	}
	undisturbed := memoryDir(t)
	if p := build(undisturbed).start(t); p.status(t) != 0 {
		t.Fatalf("build: %s", p.said())
	}
	want := sumDays(t, undisturbed)
	if len(want) < 80 {
		t.Fatalf("%d files of days", len(want))
	}
	for _, test := range []struct {
		name  string
		files string // that exist when the build is killed, below the published folder
		count int
	}{
		{"the first rows", ".tmp-data-*", 1},
		{"a few days", "data/uptime/*.parquet", 20},
		{"all of one table by day", "data/settlements/*.parquet", 1},
		{"a member of the zip", "snapshots/.tmp-data*", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := memoryDir(t)
			p := build(data).start(t)
			if !awaitFiles(t, p, filepath.Join(data, "public", test.files), test.count) {
				t.Fatalf("the build ended first: %s", p.said())
			}
			kill(t, p.Process.Pid)
			<-p.exited
			if _, err := os.Stat(filepath.Join(data, "public", "checkpoint.json")); err == nil {
				t.Error("the build was killed too late")
			}
			if p := build(data).start(t); p.status(t) != 0 {
				t.Fatalf("the next build: %s", p.said())
			}
			got := sumDays(t, data)
			maps.DeleteFunc(got, func(name string, _ [sha256.Size]byte) bool { // a day that ended during the test
				_, ok := want[name]
				return !ok
			})
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("files of days (-undisturbed +after the kill):\n%s", diff)
			}
			if left := temporary(t, data); len(left) > 0 {
				t.Errorf("%q is left", left)
			}
			ran(t, nil, "verify", filepath.Join(data, "public"))
		})
	}
}

// awaitFiles waits until so many files match a pattern, and returns false if the program ends before.
func awaitFiles(t *testing.T, p *program, pattern string, count int) bool {
	t.Helper()
	for tick := time.Tick(time.Millisecond); ; {
		list, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) >= count {
			return true
		}
		select {
		case <-p.exited:
			return false
		case <-tick:
		}
	}
}

// sumDays returns the SHA-256 of each file of a day by its name.
func sumDays(t *testing.T, data string) map[string][sha256.Size]byte {
	t.Helper()
	root := filepath.Join(data, "public", "data")
	list, err := filepath.Glob(filepath.Join(root, "*", "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string][sha256.Size]byte{}
	for _, path := range list {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sums[strings.TrimPrefix(path, root)] = sha256.Sum256(text)
	}
	return sums
}

// temporary returns the temporary files of a published folder.
func temporary(t *testing.T, data string) (left []string) {
	t.Helper()
	for _, folder := range []string{"", "snapshots", "data", "data/*"} {
		list, err := filepath.Glob(filepath.Join(data, "public", folder, ".tmp*"))
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, list...)
	}
	return left
}
