package main

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/site/postgres/postgrestest"
)

// The last release wrote testdata/publication from the database that is kept as site/postgres/testdata/databases, with
// the key in testdata/publication.pem. Both are of schema 2.
const (
	keptDatabase = "site/postgres/testdata/databases/002.sql.gz"
	keptSnapshot = "20261123T025654Z-94aa7c"
	keptDigest   = "94aa7cfc64ec31086810cf3d56b3b1a5bd93bda4623ec9ab6775e7f33a600873"
)

// restoreLastRelease makes a database of the one that the last release wrote.
func restoreLastRelease(t *testing.T) (dsn string) {
	t.Helper()
	return postgrestest.Restore(t, filepath.Join(root, keptDatabase))
}

// TestLastReleaseIsRead checks that this program verifies, serves and publishes the publication of the last release,
// builds its next snapshot from the upgraded database, and rolls back to the old one.
func TestLastReleaseIsRead(t *testing.T) {
	t.Parallel()
	data, bucket := t.TempDir(), filepath.Join(t.TempDir(), "bucket")
	public := filepath.Join(data, "public")
	if err := os.CopyFS(public, os.DirFS("testdata/publication")); err != nil {
		t.Fatal(err)
	}
	env := []string{"DATABASE_URL=" + restoreLastRelease(t)}
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
	says(tollbook("verify", public, "--key", "testdata/publication.pem"),
		"digest "+keptDigest+": checked 588 files, 5 packs and 0 objects; 0 faults")
	readKept(t, env, public)
	says(tollbook("publish", "--data", data, "--publish-to", bucket), keptSnapshot)
	build := []string{"build", "--data", data, "--site-base-url", "https://directory.example"}
	fails(t, env, "the checkpoint there is signed by an unknown key, and no key is given", build...)
	tollbook(append(build, "--change-key")...) // the key is not kept
	tollbook("publish", "--data", data, "--publish-to", bucket)
	checkpoint := readFile(t, filepath.Join(bucket, "checkpoint.json"))
	if !strings.Contains(checkpoint, `"previous": "`+keptSnapshot+`"`) {
		t.Errorf("after a build the bucket has %s, want a snapshot that follows %s", checkpoint, keptSnapshot)
	}
	says(tollbook("verify", bucket), "; 0 faults")
	tollbook("rollback", keptSnapshot, "--data", data, "--publish-to", bucket)
	says(tollbook("verify", bucket), "digest "+keptDigest)
	readKept(t, env, bucket)
}

// readKept checks that serve answers from a publication with the files of the kept snapshot.
func readKept(t *testing.T, env []string, place string) {
	t.Helper()
	p := command(t, env, "serve", "--from", place, "--serve-listen", "127.0.0.1:0").start(t)
	_, address, _ := strings.Cut(p.await(t, "Serving "), " on ")
	base := strings.Fields(address)[0]
	archive, err := zip.OpenReader("testdata/publication/snapshots/" + keptSnapshot + ".zip")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	for target, name := range map[string]string{
		"/":                               "index.html",
		"/services/firefly-embeddings":    "services/firefly-embeddings.html",
		"/v1/services/firefly-embeddings": "v1/services/firefly-embeddings.json",
		"/feed.xml":                       "feed.xml",
	} {
		f, err := archive.Open(name)
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
	p.interrupt(t, os.Interrupt)
}
