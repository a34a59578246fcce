//go:build unix

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/site/postgres/postgrestest"
)

// filesOf returns the content of each file below a folder, and the target of each link. It leaves out the lock, which
// names the last process that had it.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case d.Name() == ".lock":
		case d.Type()&fs.ModeSymlink != 0:
			files[path], err = os.Readlink(path)
		case d.Type().IsRegular():
			files[path] = readFile(t, path)
		default:
			files[path] = d.Type().String()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestForeignDatabase checks that no command uses another database for a data folder than the one that it belongs to,
// and that a refused command changes nothing, until build --force gives the folder to the other database.
func TestForeignDatabase(t *testing.T) {
	t.Parallel()
	data := memoryDir(t)
	list := writeFile(t, "services.json", listOfServices(5, "d"))
	dsn, other, empty := postgrestest.NewDatabase(t), postgrestest.NewDatabase(t), postgrestest.NewDatabase(t)
	mine := []string{"DATABASE_URL=" + dsn}
	ran(t, mine, "services", "import", list, "--data", data)
	ran(t, mine, "build", "--data", data)
	first := filesOf(t, data)

	// Each command is run where DATABASE_URL is missing, as beside a service of systemd, or names another database.
	// Without the file, as an older program left the folder, the snapshot alone shows that the folder has a database.
	for _, test := range []struct {
		about, want string
		env         []string
		commands    []string
		without     bool // database.json
	}{
		{"no DATABASE_URL", "DATABASE_URL is not set, and " + data + " belongs to the database at", nil,
			[]string{"build", "services apply " + list, "services list", "crawl --once --crawl-contact " + testContact,
				"publish --publish-to " + filepath.Join(t.TempDir(), "bucket"), "migrate --plan", "migrate",
				"work --crawl-contact " + testContact, "up --serve-listen 127.0.0.1:0", "demo --listen 127.0.0.1:0"},
			false},
		{"no DATABASE_URL, older folder", "DATABASE_URL is not set, and " + data + " has a snapshot but no private Postgres",
			nil, []string{"build", "services apply " + list, "up --serve-listen 127.0.0.1:0"}, true},
		{"an empty DATABASE_URL", ", which is empty or only older programs used", []string{"DATABASE_URL=" + empty},
			[]string{"build", "services apply " + list, "migrate", "up --serve-listen 127.0.0.1:0"}, false},
		{"another DATABASE_URL, older folder", "it was built from the database ", []string{"DATABASE_URL=" + other},
			[]string{"build"}, true},
		{"another DATABASE_URL", data + " belongs to ", []string{"DATABASE_URL=" + other},
			[]string{"build", "services apply " + list, "up --serve-listen 127.0.0.1:0"}, false},
	} {
		for _, line := range test.commands {
			if test.without {
				if err := os.Remove(filepath.Join(data, "database.json")); err != nil {
					t.Fatal(err)
				}
			}
			before := filesOf(t, data)
			code, stdout, stderr := tollbook(t, test.env, append(strings.Fields(line), "--data", data)...)
			if code != 1 || !strings.Contains(stderr, test.want) || !strings.Contains(stderr, "tollbook build --force") {
				t.Errorf("%s: tollbook %s: exit %d, want 1 and %q:\n%s%s", test.about, line, code, test.want, stdout,
					stderr)
			}
			if diff := gocmp.Diff(before, filesOf(t, data)); diff != "" {
				t.Fatalf("%s: tollbook %s changes the data folder (-before +after):\n%.2000s", test.about, line, diff)
			}
			if test.without {
				ran(t, mine, "build", "--data", data) // the folder belongs to its database again
			}
		}
	}
	if diff := gocmp.Diff(first[filepath.Join(data, "database.json")],
		readFile(t, filepath.Join(data, "database.json"))); diff != "" {
		t.Errorf("database.json after builds of an older folder (-want +got):\n%s", diff)
	}
	if got := ran(t, []string{"DATABASE_URL=" + other}, "services", "list", "--json"); strings.TrimSpace(got) != "[]" {
		t.Errorf("refused commands wrote to the other database: %s", got)
	}

	var tables int
	if err := postgrestest.Connect(t, empty).QueryRow(t.Context(),
		`SELECT count(*) FROM pg_tables WHERE schemaname = 'public'`).Scan(&tables); err != nil || tables > 0 {
		t.Errorf("refused commands made %d tables in an empty database, %v", tables, err)
	}

	// Doctor says so, from both sides.
	for _, env := range [][]string{nil, {"DATABASE_URL=" + other}} {
		states, said, code := examined(t, t.TempDir(), env, "--data", data)
		if code != 1 || states["database"] != "wrong" || !strings.Contains(said, "belongs to") {
			t.Errorf("doctor with %q: exit %d, %v\n%s", env, code, states, said)
		}
	}
	if err := os.Remove(filepath.Join(data, "database.json")); err != nil {
		t.Fatal(err)
	}
	if states, said, _ := examined(t, t.TempDir(), []string{"DATABASE_URL=" + other}, "--data", data); !strings.Contains(
		said, "was built from another database") || states["database"] != "wrong" {
		t.Errorf("doctor of an older folder: %v\n%s", states, said)
	}
	if states, said, code := examined(t, t.TempDir(), nil, "--data", data); states["database"] != "warning" || code != 0 {
		t.Errorf("doctor of a copy of the published folder: exit %d, %v\n%s", code, states, said)
	}
	if states, _, _ := examined(t, t.TempDir(), mine, "--data", data); states["database"] != "ok" {
		t.Errorf("doctor of the right database: %v", states)
	}

	// On purpose, the folder gets the other database, and the first one is refused from then on.
	theirs := []string{"DATABASE_URL=" + other}
	ran(t, theirs, "build", "--data", data, "--force")
	ran(t, theirs, "build", "--data", data)
	fails(t, mine, data+" belongs to ", "build", "--data", data)
}

// TestRestoredDatabaseGoesOn checks that a database that was restored from a dump is the one of the data folder, also
// if the dump is older than the snapshot, and that a snapshot that would lose services is refused.
func TestRestoredDatabaseGoesOn(t *testing.T) {
	t.Parallel()
	data, dsn := memoryDir(t), postgrestest.NewDatabase(t)
	env := []string{"DATABASE_URL=" + dsn}
	ran(t, env, "services", "import", writeFile(t, "services.json", listOfServices(7, "d")), "--data", data)
	ran(t, env, "build", "--data", data)
	copied := []string{"DATABASE_URL=" + restoredDSN(t, dsn)}
	ran(t, copied, "build", "--data", data)
	ran(t, copied, "services", "hide", "service-0001", "--data", data)
	ran(t, copied, "services", "remove", "service-0002", "--yes", "--data", data)
	ran(t, copied, "build", "--data", data)
	conn := postgrestest.Connect(t, strings.TrimPrefix(copied[0], "DATABASE_URL="))
	if _, err := conn.Exec(t.Context(), `DELETE FROM services`); err != nil {
		t.Fatal(err)
	}
	fails(t, copied, "5 of 5 services vanish that nobody removed", "build", "--data", data)
	ran(t, copied, "build", "--data", data, "--force")
}
