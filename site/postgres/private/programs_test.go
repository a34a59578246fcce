//go:build unix

package private

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeBin creates a folder with programs that print their version.
func fakeBin(t *testing.T, dir, version string) string {
	t.Helper()
	for _, name := range []string{"initdb", "pg_ctl", "postgres"} {
		script(t, filepath.Join(dir, name), `echo "`+name+` (PostgreSQL) `+version+`"`)
	}
	return dir
}

// script creates a shell program.
func script(t *testing.T, path, text string) {
	t.Helper()
	text = "#!/bin/sh\n" + text + "\n"
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	// Renamed into place, for the reason at copyFile.
	write(t, path+".sh", text)
	copyFile(t, path+".sh", path)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestFindPrograms(t *testing.T) {
	needPrograms(t)
	t.Setenv("CI", "")
	dir := tempDir(t)
	old := fakeBin(t, filepath.Join(dir, "lib", "9.6", "bin"), "9.6.24")
	fifteen := fakeBin(t, filepath.Join(dir, "lib", "15", "bin"), "15.18 (Debian 15.18-0+deb12u1)")
	nine := fakeBin(t, filepath.Join(dir, "lib", "9", "bin"), "9.6.24")
	seventeen := fakeBin(t, filepath.Join(dir, "opt", "postgresql@17", "bin"), "17.2")
	beta := fakeBin(t, filepath.Join(dir, "opt", "postgresql@19", "bin"), "19beta1")
	latest := fakeBin(t, filepath.Join(dir, "app", "Versions", "latest", "bin"), "18.0")
	linked := filepath.Join(dir, "linked")
	if err := os.MkdirAll(linked, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(fifteen, "initdb"), filepath.Join(linked, "initdb")); err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(dir, "half")
	script(t, filepath.Join(half, "initdb"), "")
	broken := fakeBin(t, filepath.Join(dir, "broken"), "")
	script(t, filepath.Join(broken, "postgres"), "echo libssl.so is missing >&2; exit 127")
	lib, opt, app := filepath.Join(dir, "lib", "*", "bin"), filepath.Join(dir, "opt", "postgresql*", "bin"),
		filepath.Join(dir, "app", "Versions", "*", "bin")

	for _, tt := range []struct {
		name           string
		path, env, bin string
		patterns       []string
		major          int
		want           string // the folder
		is             error
		wantErr        string
		wantErrToo     string
	}{
		{name: "through a link on PATH", path: linked, patterns: []string{lib, opt}, want: fifteen},
		{name: "the newest of the known", patterns: []string{lib, opt}, want: beta},
		{name: "Postgres.app's latest", patterns: []string{lib, opt, app}, want: latest},
		{name: "the one that fits the cluster", path: linked, patterns: []string{lib, opt}, major: 17, want: seventeen},
		{name: "a half one on PATH is passed over", path: half, patterns: []string{lib}, want: fifteen},
		{name: "a broken one on PATH is passed over", path: broken, patterns: []string{lib}, want: fifteen},
		{name: "an old one on PATH is passed over", path: old, patterns: []string{lib}, want: fifteen},
		{name: "only old ones", patterns: []string{filepath.Join(dir, "lib", "9*", "bin")}, is: ErrNoPrograms,
			wantErr: nine + " is Postgres 9.6.24, and Tollbook needs 14 or newer", wantErrToo: old},
		{name: "only a broken one", path: broken, is: ErrNoPrograms, wantErr: "libssl.so is missing"},
		{name: "none", is: ErrNoPrograms, wantErr: "install them with"},
		{name: "none for the cluster", patterns: []string{lib}, major: 16, is: ErrWrongVersion,
			wantErr: "it is of Postgres 16, and " + fifteen + " is Postgres 15.18; install Postgres 16 beside it"},
		{name: "none at all for the cluster", major: 16, is: ErrWrongVersion, wantErr: "install Postgres 16"},
		{name: "named by the variable", env: seventeen, path: linked, want: seventeen},
		{name: "the variable names nothing", env: half, path: linked, is: ErrNoPrograms,
			wantErr:    "TOLLBOOK_POSTGRES_BIN: ",
			wantErrToo: half + " does not contain the programs initdb, pg_ctl and postgres"},
		{name: "the variable names an old one", env: nine, path: linked, is: ErrNoPrograms, wantErr: "9.6.24"},
		{name: "the variable's does not fit the cluster", env: seventeen, path: linked, major: 15, is: ErrWrongVersion,
			wantErr: "is Postgres 17.2"},
		{name: "the given folder is before the variable", bin: fifteen, env: seventeen, want: fifteen},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("PATH", tt.path)
			t.Setenv("TOLLBOOK_POSTGRES_BIN", tt.env)
			o := Options{Bin: tt.bin, hooks: hooks{cacheDir: filepath.Join(dir, "cache")}}
			var got programs
			var err error
			if tt.bin != "" || tt.env != "" {
				got, err = findPrograms(t.Context(), o, tt.major)
			} else {
				got, err = choosePrograms(t.Context(), o, candidates(tt.patterns), tt.major)
			}
			if diff := cmp.Diff(tt.want, got.dir); diff != "" {
				t.Errorf("(-want +got)\n%s%v", diff, err)
			}
			if tt.want != "" {
				return
			}
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.wantErr) ||
				!strings.Contains(err.Error(), tt.wantErrToo) {
				t.Errorf("%q is not %q, or does not say %q and %q", err, tt.is, tt.wantErr, tt.wantErrToo)
			}
		})
	}
}

func TestInstallCommand(t *testing.T) {
	for _, tt := range []struct{ program, want string }{
		{"apt-get", "apt-get install -y postgresql"},
		{"dnf", "dnf install -y postgresql-server"},
		{"apk", "apk add postgresql"},
		{"brew", "brew install postgresql"},
		{"", "https://www.postgresql.org/download/"},
	} {
		t.Run(tt.program, func(t *testing.T) {
			dir := tempDir(t)
			if tt.program != "" {
				script(t, filepath.Join(dir, tt.program), "")
			}
			t.Setenv("PATH", dir)
			if got := installCommand(); !strings.Contains(got, tt.want) {
				t.Errorf("%q is not %q", got, tt.want)
			}
		})
	}
}

func TestPathVersion(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{
		"/usr/lib/postgresql/15/bin":                            15,
		"/usr/pgsql-17/bin":                                     17,
		"/usr/libexec/postgresql16":                             16,
		"/opt/homebrew/opt/postgresql@18/bin":                   18,
		"/opt/homebrew/opt/postgresql/bin":                      0,
		"/Applications/Postgres.app/Contents/Versions/17/bin":   17,
		"/Applications/Postgres.app/Contents/Versions/9.6/bin":  6,
		"/usr/lib/postgresql/99999999999999999999999999999/bin": 1<<63 - 1,
	} {
		if got := pathVersion(path); got != want {
			t.Errorf("%s: %d, not %d", path, got, want)
		}
	}
}
