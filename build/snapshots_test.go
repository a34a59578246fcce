package build_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/testgate"
)

// snapshotsFile is the file that lists previous snapshots.
const snapshotsFile = "v1/snapshots.json"

// openZip opens a published snapshot.
func openZip(t *testing.T, dir, id string) *archive.ZipFile {
	t.Helper()
	z, err := archive.OpenZipFile(filepath.Join(dir, "snapshots", id+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { z.Close() })
	return z
}

// readSums returns the SHA-256 of every file of a snapshot.
func readSums(t *testing.T, dir, id string) map[string]string {
	t.Helper()
	data, err := openZip(t, dir, id).ReadFile(archive.SumsFile)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(data)) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		files[name] = sum
	}
	return files
}

// TestPreviousSnapshots checks that each snapshot lists the previous ones that are retained, newest first. The list
// must be the same if it is read from the previous snapshot or from the zips.
func TestPreviousSnapshots(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	db, dir := open(t), tempDir(t)
	var want []site.PublishedSnapshot
	for i := range 4 {
		now := moment.Add(time.Duration(i)*time.Minute + 250*time.Millisecond)
		id := run(t, db, dir, options(now)).Snapshot
		z := openZip(t, dir, id)
		data, err := z.ReadFile(snapshotsFile)
		if err != nil {
			t.Fatal(err)
		}
		var got site.One[[]site.PublishedSnapshot]
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(append([]site.PublishedSnapshot{}, want...), got.Data); diff != "" {
			t.Errorf("build %d (-want +got):\n%s", i, diff)
		}
		info, err := os.Stat(filepath.Join(dir, "snapshots", id+".zip"))
		if err != nil {
			t.Fatal(err)
		}
		want = append([]site.PublishedSnapshot{{ID: id, BuiltAt: site.NewTime(now), Size: info.Size(),
			Digest: z.Digest()}}, want...)
		if i != 2 {
			continue
		}
		// Without the list of the previous snapshot, the next build reads the zips. It leaves out damaged zips. The
		// names of zips contain the time of the build to the second.
		if err := os.WriteFile(filepath.Join(dir, "snapshots", want[0].ID+".zip"), []byte("not a zip"),
			0o644); err != nil {
			t.Fatal(err)
		}
		want[0].Size = int64(len("not a zip")) // the checkpoint has the digest of the newest
		if err := os.WriteFile(filepath.Join(dir, "snapshots", want[1].ID+".zip"), []byte("nor this"),
			0o644); err != nil {
			t.Fatal(err)
		}
		want = []site.PublishedSnapshot{want[0], want[2]}
		want[1].BuiltAt = site.NewTime(want[1].BuiltAt.Truncate(time.Second))
	}
}
