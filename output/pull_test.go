package output

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

var pulledAt = time.Date(2026, 11, 20, 23, 45, 1, 0, time.UTC)

var signingKey = ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))

// tables returns the files of a snapshot by their names below data/. Each n has a day more.
func tables(n int) map[string]string {
	files := map[string]string{
		"services.parquet": strings.Repeat(fmt.Sprintf("service %d ", n), 30_000),
		"services.csv.gz":  strings.Repeat("csv ", 1000),
		"tollbook.sqlite":  strings.Repeat("sqlite ", 1000),
		"sources.parquet":  "", // two tables with the same bytes
		"networks.parquet": "",
	}
	for i := range n {
		files["checks/"+pulledAt.AddDate(0, 0, i).Format(time.DateOnly)+".parquet"] = strings.Repeat("day ", 50_000)
	}
	return files
}

// publishPulled builds a snapshot with tables. change may falsify the index.
func publishPulled(t testing.TB, root string, n int, change func(index string) string) {
	t.Helper()
	d, err := OpenFolder(root)
	if err != nil {
		t.Fatal(err)
	}
	now := pulledAt.Add(time.Duration(n) * time.Hour)
	b, err := d.Begin(t.Context(), BuildOptions{Now: now, Next: now, Key: signingKey, Expand: ExpandNone})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	var resources, parts []string
	for name, text := range tables(n) {
		write := func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
		table, day, isDay := archive.ParseDataDay("data/" + name)
		if isDay {
			err = b.AddDataDay(table, day, write)
		} else {
			var f archive.DataFile
			f, err = b.AddDataFile("data/"+name, write)
			resources = append(resources,
				fmt.Sprintf(`{"path":%q,"bytes":%d,"hash":"sha256:%s"}`, name, f.Bytes, f.Sum))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	days, err := b.DataDays()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range days {
		parts = append(parts, fmt.Sprintf(`{"path":%q,"bytes":%d,"hash":"sha256:%s"}`, inFolder(f), f.Bytes, f.Sum))
	}
	index := `{"resources":[` + strings.Join(append(resources, `{"path":[],"parts":[`+strings.Join(parts, ",")+`]}`),
		",") + `]}`
	if change != nil {
		index = change(index)
	}
	if err := b.Add(archive.DataIndex, []byte(index)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// place serves a publication over HTTP. alter may change a response.
type place struct {
	root     string
	url      string
	requests atomic.Int64
	bytes    atomic.Int64
	alter    atomic.Pointer[alteration] // requests of a pull that failed may still be served when it is changed
}

// alteration may send a response in place of the file, and reports whether it did.
type alteration func(w http.ResponseWriter, r *http.Request) bool

func newPlace(t testing.TB) *place {
	t.Helper()
	p := &place{root: t.TempDir()}
	files := http.FileServer(http.Dir(p.root))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.requests.Add(1)
		if alter := p.alter.Load(); alter == nil || !(*alter)(w, r) {
			files.ServeHTTP(&countedResponse{w, &p.bytes}, r)
		}
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

type countedResponse struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c *countedResponse) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.n.Add(int64(n))
	return n, err
}

func (p *place) run(ctx context.Context, t testing.TB, o PullOptions) (PullResult, error) {
	t.Helper()
	web, err := objects.OpenWeb(p.url)
	if err != nil {
		t.Fatal(err)
	}
	return Pull(ctx, web, o)
}

// filesIn returns the files of a folder, without those of pulls themselves.
func filesIn(t testing.TB, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil || strings.Contains(path, workDir+"/") || name == indexFile {
			return err
		}
		data, err := os.ReadFile(path)
		files[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestPull(t *testing.T) {
	t.Parallel()
	p, to := newPlace(t), t.TempDir()
	publishPulled(t, p.root, 2, nil)
	public := signingKey.Public().(ed25519.PublicKey)
	var last PullProgress
	o := PullOptions{To: to, Key: public, Progress: func(p PullProgress) { last = p }}
	r, err := p.run(t.Context(), t, o)
	if want := (PullProgress{7, 7, r.Bytes, r.Bytes}); err != nil || r.Files != 7 || r.Fetched != 7 || r.Unchanged ||
		!r.Signed || last != want {
		t.Fatalf("%+v, %v; %+v", r, err, last)
	}
	if diff := cmp.Diff(tables(2), filesIn(t, to)); diff != "" {
		t.Errorf("the first pull (-want +got):\n%.500s", diff)
	}

	p.requests.Store(0)
	if r, err = p.run(t.Context(), t, o); err != nil || !r.Unchanged || r.Files != 7 || p.requests.Load() != 1 {
		t.Errorf("the second pull: %+v, %v; %d requests", r, err, p.requests.Load())
	}

	publishPulled(t, p.root, 3, nil)
	if r, err = p.run(t.Context(), t, o); err != nil || r.Fetched != 2 || r.Files != 8 {
		t.Errorf("after a new snapshot: %+v, %v", r, err)
	}
	if diff := cmp.Diff(tables(3), filesIn(t, to)); diff != "" {
		t.Errorf("after a new snapshot (-want +got):\n%.500s", diff)
	}

	// A changed file is fetched again, also one of the same size and time.
	name := filepath.Join(to, "tollbook.sqlite")
	was, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, changed := range [][]byte{[]byte("changed"), bytes.ToUpper(was)} {
		if err := errors.Join(os.WriteFile(name, changed, 0o644), os.Chtimes(name, info.ModTime(), info.ModTime())); err != nil {
			t.Fatal(err)
		}
		if r, err = p.run(t.Context(), t, o); err != nil || r.Fetched != 1 {
			t.Errorf("after a change: %+v, %v", r, err)
		}
		if diff := cmp.Diff(tables(3), filesIn(t, to)); diff != "" {
			t.Errorf("after a change (-want +got):\n%.500s", diff)
		}
	}
	entries, err := os.ReadDir(filepath.Join(to, workDir))
	if err != nil || len(entries) != 2 {
		t.Errorf("%v remain, %v", entries, err)
	}
}

// TestPullOlder checks that a folder does not follow a place back to an older state, though that was signed, too.
func TestPullOlder(t *testing.T) {
	t.Parallel()
	p, to := newPlace(t), t.TempDir()
	publishPulled(t, p.root, 2, nil)
	old, err := os.ReadFile(filepath.Join(p.root, archive.CheckpointFile))
	if err != nil {
		t.Fatal(err)
	}
	publishPulled(t, p.root, 3, nil)
	o := PullOptions{To: to, Key: signingKey.Public().(ed25519.PublicKey)}
	if _, err := p.run(t.Context(), t, o); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.root, archive.CheckpointFile), old, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := p.run(t.Context(), t, o); !errors.Is(err, ErrOlder) {
		t.Errorf("an older state: %v, want %v", err, ErrOlder)
	}
	if diff := cmp.Diff(tables(3), filesIn(t, to)); diff != "" {
		t.Errorf("the folder (-want +got):\n%.500s", diff)
	}
}

// TestPullTrap checks that links and pipes where a pull has files of its own lead nowhere and hold up nobody.
func TestPullTrap(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	publishPulled(t, p.root, 2, nil)
	for _, tt := range []struct {
		name string
		set  func(to, outside string) error
		fits bool // the pull replaces the trap
	}{
		{"the lock is a link", func(to, outside string) error {
			return errors.Join(os.Mkdir(filepath.Join(to, workDir), 0o755),
				os.Symlink(filepath.Join(outside, "victim"), filepath.Join(to, pullLock)))
		}, false},
		{"its folder is a link", func(to, outside string) error { return os.Symlink(outside, filepath.Join(to, workDir)) },
			false},
		{"the state is a pipe", func(to, outside string) error {
			return errors.Join(os.Mkdir(filepath.Join(to, workDir), 0o755),
				syscall.Mkfifo(filepath.Join(to, stateFile), 0o644))
		}, true},
		{"a table is a pipe", func(to, outside string) error {
			return syscall.Mkfifo(filepath.Join(to, "tollbook.sqlite"), 0o644)
		}, true},
		{"a table is a link", func(to, outside string) error {
			return os.Symlink(filepath.Join(outside, "victim"), filepath.Join(to, "tollbook.sqlite"))
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			to, outside := t.TempDir(), t.TempDir()
			if err := os.WriteFile(filepath.Join(outside, "victim"), []byte("mine"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := tt.set(to, outside); err != nil {
				t.Fatal(err)
			}
			if _, err := p.run(t.Context(), t, PullOptions{To: to}); (err == nil) != tt.fits {
				t.Errorf("the pull: %v", err)
			}
			if diff := cmp.Diff(map[string]string{"victim": "mine"}, filesIn(t, outside)); diff != "" {
				t.Errorf("outside (-want +got):\n%s", diff)
			}
			if tt.fits {
				if diff := cmp.Diff(tables(2), filesIn(t, to)); diff != "" {
					t.Errorf("the folder (-want +got):\n%.500s", diff)
				}
			}
		})
	}
}

func TestPullChoice(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	publishPulled(t, p.root, 3, nil)
	for _, test := range []struct {
		o    PullOptions
		want []string
	}{
		{PullOptions{Tables: []string{"services"}}, []string{"services.csv.gz", "services.parquet"}},
		{PullOptions{Tables: []string{"services", "tollbook"}, Formats: []string{"csv", "sqlite"}},
			[]string{"services.csv.gz", "tollbook.sqlite"}},
		{PullOptions{Tables: []string{"checks"}, Since: "2026-11-21"},
			[]string{"checks/2026-11-21.parquet", "checks/2026-11-22.parquet"}},
		{PullOptions{Tables: []string{"checks"}, Since: "2027-01-01"}, nil},
	} {
		test.o.To = t.TempDir()
		if _, err := p.run(t.Context(), t, test.o); err != nil {
			t.Errorf("%+v: %v", test.o, err)
		}
		got := filesIn(t, test.o.To)
		for _, name := range test.want {
			if got[name] != tables(3)[name] {
				t.Errorf("%+v: no %s", test.o, name)
			}
		}
		if len(got) != len(test.want) {
			t.Errorf("%+v: %d files, want %d", test.o, len(got), len(test.want))
		}
	}
	if _, err := p.run(t.Context(), t, PullOptions{To: t.TempDir(), Tables: []string{"nothing"}}); err == nil ||
		!strings.Contains(err.Error(), `"nothing"`) {
		t.Errorf("an unknown table: %v", err)
	}
}

// TestPullInterrupted cancels a pull after some bytes, again and again: it fetches no byte twice, and until the end the
// folder has the files of the last pull.
func TestPullInterrupted(t *testing.T) {
	t.Parallel()
	p, to := newPlace(t), t.TempDir()
	publishPulled(t, p.root, 1, nil)
	o := PullOptions{To: to}
	if _, err := p.run(t.Context(), t, o); err != nil {
		t.Fatal(err)
	}
	before := filesIn(t, to)
	publishPulled(t, p.root, 4, nil)
	whole, fetched := int64(0), int64(0)
	for i := 0; ; i++ {
		if i == 100 {
			t.Fatal("the pull does not end")
		}
		ctx, cancel := context.WithCancel(t.Context())
		o.Progress = func(p PullProgress) {
			if whole = p.TotalBytes; p.Bytes > 200_000*int64(i+1) {
				cancel()
			}
		}
		r, err := p.run(ctx, t, o)
		cancel()
		fetched += r.Bytes
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("round %d: %v", i, err)
		}
		if diff := cmp.Diff(before, filesIn(t, to)); diff != "" {
			t.Fatalf("round %d: the folder changed (-want +got):\n%.300s", i, diff)
		}
	}
	if diff := cmp.Diff(tables(4), filesIn(t, to)); diff != "" {
		t.Errorf("(-want +got):\n%.500s", diff)
	}
	if fetched >= whole {
		t.Errorf("the last round fetched %d of %d bytes", fetched, whole)
	}
}

// TestPullHostile pulls from places that lie. Nothing outside the folder is written, and the files of the last pull
// stay.
func TestPullHostile(t *testing.T) {
	t.Parallel()
	replaceOne := func(old, new string) func(string) string {
		return func(index string) string {
			if !strings.Contains(index, old) {
				t.Errorf("the index has no %s", old)
			}
			return strings.Replace(index, old, new, 1)
		}
	}
	const day = "checks/2026-11-21.parquet"
	isDay := func(r *http.Request) bool { return r.Method == http.MethodGet && r.URL.Path == "/data/"+day }
	for name, test := range map[string]struct {
		index func(string) string
		alter alteration
		want  error // nil for any
	}{
		"a path above the folder": {index: replaceOne("services.parquet", "../../evil.parquet"),
			want: archive.ErrDamaged},
		"an absolute path": {index: replaceOne("services.parquet", "/etc/passwd"), want: archive.ErrDamaged},
		"a backslash":      {index: replaceOne("services.parquet", `..\\evil`), want: archive.ErrDamaged},
		"a hidden name":    {index: replaceOne("services.parquet", ".pull/state.json"), want: archive.ErrName},
		"a hidden file":    {index: replaceOne("services.parquet", ".bashrc"), want: archive.ErrName},
		"another size":     {index: replaceOne(`"bytes":4000,`, `"bytes":4001,`), want: archive.ErrDamaged},
		"an endless size of a day": {index: replaceOne(`"bytes":200000,`, `"bytes":1000000000000000000,`),
			want: ErrRoom},
		"not JSON": {index: func(string) string { return "[" }, want: archive.ErrDamaged},
		"other bytes": {alter: func(w http.ResponseWriter, r *http.Request) bool {
			if !isDay(r) {
				return false
			}
			_, _ = io.WriteString(w, strings.Repeat("dax ", 50_000))
			return true
		}, want: archive.ErrDamaged},
		"an endless body": {alter: func(w http.ResponseWriter, r *http.Request) bool {
			for isDay(r) {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return true
				}
			}
			return false
		}, want: archive.ErrDamaged},
		"a body that ends early": {alter: func(w http.ResponseWriter, r *http.Request) bool {
			if !isDay(r) {
				return false
			}
			_, _ = io.WriteString(w, "day ")
			return true
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, outer := newPlace(t), t.TempDir()
			to := filepath.Join(outer, "a", "b")
			publishPulled(t, p.root, 1, nil)
			if _, err := p.run(t.Context(), t, PullOptions{To: to}); err != nil {
				t.Fatal(err)
			}
			before := filesIn(t, outer)
			publishPulled(t, p.root, 2, test.index)
			if test.alter != nil {
				p.alter.Store(&test.alter)
			}
			_, err := p.run(t.Context(), t, PullOptions{To: to})
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if p.bytes.Load() > 10<<20 {
				t.Errorf("%d bytes were read", p.bytes.Load())
			}
			if test.index == nil {
				if diff := cmp.Diff(before, filesIn(t, outer)); diff != "" {
					t.Errorf("the folder changed (-want +got):\n%.300s", diff)
				}
				p.alter.Store(nil)
				if _, err := p.run(t.Context(), t, PullOptions{To: to}); err != nil {
					t.Errorf("once the place is honest: %v", err)
				}
			}
			for path := range filesIn(t, outer) {
				if !strings.HasPrefix(path, "a/b/") {
					t.Errorf("%s was written", path)
				}
			}
		})
	}
}

func TestPullRefuses(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	to := t.TempDir()
	if _, err := p.run(t.Context(), t, PullOptions{To: to}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing is published: %v", err)
	}
	publishPulled(t, p.root, 1, nil)
	other := ed25519.NewKeyFromSeed([]byte(strings.Repeat("o", ed25519.SeedSize))).Public().(ed25519.PublicKey)
	if _, err := p.run(t.Context(), t, PullOptions{To: to, Key: other}); !errors.Is(err, archive.ErrSignature) {
		t.Errorf("another key: %v", err)
	}
	if len(filesIn(t, to)) > 0 {
		t.Error("files were written without a signature")
	}
	if err := os.MkdirAll(filepath.Join(to, workDir), 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := lockDisk(filepath.Join(to, pullLock))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.run(t.Context(), t, PullOptions{To: to}); !errors.Is(err, ErrBusy) {
		t.Errorf("two pulls at once: %v", err)
	}
	unlock(lock)
	// A link in the folder does not lead out of it.
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(to, "checks")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.run(t.Context(), t, PullOptions{To: to}); err == nil {
		t.Error("a pull follows a link out of the folder")
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("%v outside, %v", entries, err)
	}
}
