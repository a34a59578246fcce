package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/output/archive"
	"tollbook/site/postgres/postgrestest"
)

// keptPublication is a publication that another version of the program wrote, with the database that it read.
type keptPublication struct {
	name     string // of its folder and of its public key in testdata/publications
	database string // in site/postgres/testdata/databases
	searches int    // status of what needs the index of words
}

// keptPublications are kept for good: one of each release, and one from before the first. TestKeptPublications writes
// that of a release which is to come, with -update, if its folder is missing.
var keptPublications = []keptPublication{
	{"2026-11-23", "002.sql.gz", http.StatusServiceUnavailable},
	{"v0.1.0", "015.sql.gz", http.StatusOK},
}

func (k keptPublication) folder() string { return filepath.Join("testdata/publications", k.name) }

// write writes the publication of this program.
func (k keptPublication) write(t *testing.T) {
	t.Helper()
	key, err := archive.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	private, err := archive.ParseKey(key)
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	env := []string{"DATABASE_URL=" + restoreKept(t, k.database), "TOLLBOOK_SIGNING_KEY=" + string(key)}
	if code, stdout, stderr := tollbook(t, env, "build", "--data", data, "--site-base-url",
		"https://directory.example"); code != 0 {
		t.Fatalf("build: exit %d: %s%s", code, stdout, stderr)
	}
	public := filepath.Join(data, "public")
	for _, name := range []string{archive.SnapshotsDir, archive.PacksDir, "data"} {
		if err := os.CopyFS(filepath.Join(k.folder(), name), os.DirFS(filepath.Join(public, name))); err != nil {
			t.Fatal(err)
		}
	}
	checkpoint := readFile(t, filepath.Join(public, archive.CheckpointFile))
	if err := os.WriteFile(filepath.Join(k.folder(), archive.CheckpointFile), []byte(checkpoint), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(k.folder()+".pem", archive.PublicKey(private), 0o644); err != nil {
		t.Fatal(err)
	}
}

// restoreKept makes a database of a kept one.
func restoreKept(t *testing.T, name string) (dsn string) {
	t.Helper()
	return postgrestest.Restore(t, filepath.Join(root, "site/postgres/testdata/databases", name))
}

// restoreLastRelease makes a database of the one that the last release wrote.
func restoreLastRelease(t *testing.T) (dsn string) {
	return restoreKept(t, keptPublications[0].database)
}

// TestKeptPublications checks that this program verifies, serves and publishes the publications of other versions,
// builds its next snapshot from the upgraded database, and rolls back to the old one.
func TestKeptPublications(t *testing.T) {
	t.Parallel()
	for _, k := range keptPublications {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(k.folder()); *update && errors.Is(err, fs.ErrNotExist) {
				k.write(t)
			}
			data, bucket := t.TempDir(), filepath.Join(t.TempDir(), "bucket")
			public := filepath.Join(data, "public")
			if err := os.CopyFS(public, os.DirFS(k.folder())); err != nil {
				t.Fatal(err)
			}
			c, err := archive.ReadCheckpoint(filepath.Join(public, archive.CheckpointFile))
			if err != nil {
				t.Fatal(err)
			}
			env := []string{"DATABASE_URL=" + restoreKept(t, k.database)}
			tollbook := func(args ...string) string {
				t.Helper()
				code, stdout, stderr := tollbook(t, env, args...)
				if code != 0 {
					t.Fatalf("tollbook %s: exit %d: %s%s", strings.Join(args, " "), code, stdout, stderr)
				}
				return stdout
			}
			says := func(text, part string) {
				t.Helper()
				if !strings.Contains(text, part) {
					t.Errorf("%q is not in %q", part, text)
				}
			}
			verified := tollbook("verify", public, "--key", k.folder()+".pem")
			says(verified, "digest "+c.Digest+": checked ")
			says(verified, "; 0 faults")
			k.read(t, env, public, c)
			says(tollbook("publish", "--data", data, "--publish-to", bucket), c.Snapshot)
			build := []string{"build", "--data", data, "--site-base-url", "https://directory.example"}
			fails(t, env, "and no key is given", build...)
			tollbook(append(build, "--change-key")...) // the key is not kept
			tollbook("publish", "--data", data, "--publish-to", bucket)
			checkpoint := readFile(t, filepath.Join(bucket, "checkpoint.json"))
			if !strings.Contains(checkpoint, `"previous": "`+c.Snapshot+`"`) {
				t.Errorf("after a build the bucket has %s, want a snapshot that follows %s", checkpoint, c.Snapshot)
			}
			says(tollbook("verify", bucket), "; 0 faults")
			tollbook("rollback", c.Snapshot, "--data", data, "--publish-to", bucket)
			says(tollbook("verify", bucket), "digest "+c.Digest)
			k.read(t, env, bucket, c)
		})
	}
}

// read checks that serve answers from a publication with the files of the kept snapshot.
func (k keptPublication) read(t *testing.T, env []string, place string, c archive.Checkpoint) {
	t.Helper()
	p := command(t, env, "serve", "--from", place, "--serve-listen", "127.0.0.1:0").start(t)
	_, address, _ := strings.Cut(p.await(t, "Serving "), " on ")
	base := strings.Fields(address)[0]
	files, err := zip.OpenReader(filepath.Join(k.folder(), archive.SnapshotsDir, c.Snapshot+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	for target, name := range map[string]string{
		"/":                               "index.html",
		"/services/firefly-embeddings":    "services/firefly-embeddings.html",
		"/v1/services/firefly-embeddings": "v1/services/firefly-embeddings.json",
		"/feed.xml":                       "feed.xml",
	} {
		f, err := files.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		got := get(t, strings.TrimSuffix(base, "/")+target)
		if got.status != 200 {
			t.Errorf("GET %s: %d", target, got.status)
		}
		if diff := gocmp.Diff(string(want), got.body); diff != "" {
			t.Errorf("GET %s (-want +got):\n%.2000s", target, diff)
		}
	}
	for _, target := range []string{"/v1/services?network=SOL&per_page=2", "/v1/checks?limit=5",
		"/v1/changes?limit=150"} {
		if got := get(t, strings.TrimSuffix(base, "/")+target); got.status != 200 ||
			!strings.Contains(got.body, `"data"`) {
			t.Errorf("GET %s: %d %.200s, want 200 with data", target, got.status, got.body)
		}
	}
	for _, target := range []string{"/search?q=embeddings", "/v1/search?q=embeddings", "/v1/services?q=embeddings",
		"/v1/best?q=embeddings", "/flow", "/v1/flow", "/sources", "/data"} {
		got := get(t, strings.TrimSuffix(base, "/")+target)
		if got.status != k.searches || got.status == http.StatusServiceUnavailable &&
			!strings.Contains(got.body, "the next build will have it") {
			t.Errorf("GET %s: %d %.200s, want %d", target, got.status, got.body, k.searches)
		}
	}
	p.interrupt(t, os.Interrupt)
}

// TestNewerPublications checks what a program does with the publication of a newer one. If the snapshot needs no newer
// reader, members that this program does not know are ignored. If it does, every command that would read it says so,
// and changes nothing.
func TestNewerPublications(t *testing.T) {
	t.Parallel()
	k := keptPublications[len(keptPublications)-1]
	newer := func(t *testing.T, format, needs int) (data, public string) {
		t.Helper()
		data = t.TempDir()
		public = filepath.Join(data, "public")
		if err := os.CopyFS(public, os.DirFS(k.folder())); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(public, archive.CheckpointFile)
		var c map[string]any
		if err := json.Unmarshal([]byte(readFile(t, path)), &c); err != nil {
			t.Fatal(err)
		}
		c["format"], c["needs"], c["shards"] = format, needs, map[string]any{"a": []int{1}}
		if needs > archive.Format {
			c["generation"] = map[string]int{"of": 7} // a member that changed
		}
		text, err := json.Marshal(c)
		if err == nil {
			err = os.WriteFile(path, text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return data, public
	}
	env := []string{"DATABASE_URL=" + restoreKept(t, k.database)}

	data, public := newer(t, archive.Format+1, archive.Format)
	for _, args := range [][]string{{"verify", public, "--key", k.folder() + ".pem"},
		{"publish", "--data", data, "--publish-to", filepath.Join(t.TempDir(), "bucket")}} {
		if code, stdout, stderr := tollbook(t, env, args...); code != 0 {
			t.Errorf("a newer snapshot that this program reads: tollbook %s: exit %d: %s%s", args, code, stdout, stderr)
		}
	}
	c, err := archive.ReadCheckpoint(filepath.Join(public, archive.CheckpointFile))
	if err != nil {
		t.Fatal(err)
	}
	k.read(t, env, public, c)

	data, public = newer(t, archive.Format+1, archive.Format+1)
	before := folderSums(t, public)
	const want = "written by a newer tollbook"
	for _, args := range [][]string{
		{"verify", public},
		{"serve", "--from", public, "--serve-listen", "127.0.0.1:0"},
		{"mcp", "--from", public},
		{"build", "--data", data, "--site-base-url", "https://directory.example", "--change-key"},
		{"publish", "--data", data, "--publish-to", filepath.Join(t.TempDir(), "bucket")},
		{"rollback", c.Snapshot, "--data", data},
		{"prune", "--data", t.TempDir(), "--publish-to", public},
	} {
		code, stdout, stderr := tollbook(t, env, args...)
		if code == 0 || !strings.Contains(stderr+stdout, want) {
			t.Errorf("tollbook %s: exit %d, want %q: %s%s", args, code, want, stdout, stderr)
		}
	}
	old := t.TempDir()
	if err := os.CopyFS(filepath.Join(old, "public"), os.DirFS(k.folder())); err != nil {
		t.Fatal(err)
	}
	fails(t, env, want, "publish", "--data", old, "--publish-to", public, "--change-key")
	if diff := gocmp.Diff(before, folderSums(t, public)); diff != "" {
		t.Errorf("the newer publication was changed (-before +after):\n%s", diff)
	}
}

// folderSums returns the sums of a folder's files by path.
func folderSums(t *testing.T, folder string) map[string][32]byte {
	t.Helper()
	sums := map[string][32]byte{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") { // a lock
			sums[name] = sha256.Sum256([]byte(readFile(t, filepath.Join(folder, name))))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}
