package build_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/build"
	"tollbook/output/archive"
)

// newTree returns a tree of files.
func newTree(t *testing.T, files map[string]string) archive.Tree {
	t.Helper()
	var b bytes.Buffer
	w := archive.NewZipWriter(&b, archive.ZipOptions{})
	for name, text := range files {
		if err := w.Add(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	z, err := archive.OpenZip(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// newSnapshotFiles returns the files of a snapshot of services with some checks each. next is the next number of its
// logs.
func newSnapshotFiles(from, to, checks, next int) map[string]string {
	var slugs []string
	files := map[string]string{
		"v1/changes/log.json": fmt.Sprintf(
			`{"first":0,"next":%d,"packs":[{"pack":"2026112021","first":0,"last":1}],`+
				`"types":{"price_changed":{"first":0,"next":1,"packs":[{"pack":"2026112020","first":0,"last":0}]}}}`,
			next),
		"v1/checks/log.json": fmt.Sprintf(`{"first":0,"next":%d,"packs":[{"pack":"2026112023","first":0,"last":0}]}`,
			next),
	}
	for i := from; i < to; i++ {
		slug := fmt.Sprintf("s%04d", i)
		slugs = append(slugs, `"`+slug+`"`)
		files["v1/services/"+slug+".json"] = fmt.Sprintf(
			`{"data":{"slug":"%s","total_checks":%d,"assessment":{"reliability":{"total_checks":%d}}}}`, slug, checks,
			checks)
	}
	files["v1/index.json"] = `{"lists":{},"pages":{},"slugs":[` + strings.Join(slugs, ",") + `]}`
	return files
}

// TestCheckSuccessor checks which snapshots may follow another.
func TestCheckSuccessor(t *testing.T) {
	t.Parallel()
	var removed []string
	for i := range 50 {
		removed = append(removed, fmt.Sprintf("s%04d", i))
	}
	for _, test := range []struct {
		about         string
		before, after map[string]string
		removed       []string
		want          string // in the error, "" for none
	}{
		{"the same", newSnapshotFiles(0, 10, 5, 100), newSnapshotFiles(0, 10, 5, 100), nil, ""},
		{"more of all", newSnapshotFiles(0, 10, 5, 100), newSnapshotFiles(0, 20, 6, 101), nil, ""},
		{"five of few vanish", newSnapshotFiles(0, 10, 5, 100), newSnapshotFiles(5, 10, 5, 100), nil, ""},
		{"six of few vanish", newSnapshotFiles(0, 10, 5, 100), newSnapshotFiles(6, 10, 5, 100), nil,
			"6 of 10 services vanish that nobody removed, among them s0000, s0001, s0002; up to 5 may"},
		{"a twentieth of many vanishes", newSnapshotFiles(0, 200, 5, 100), newSnapshotFiles(10, 200, 5, 100), nil, ""},
		{"more than a twentieth vanishes", newSnapshotFiles(0, 200, 5, 100), newSnapshotFiles(11, 200, 5, 100), nil,
			"11 of 200"},
		{"the operator removed them", newSnapshotFiles(0, 200, 5, 100), newSnapshotFiles(50, 200, 5, 100), removed, ""},
		{"numbers of the logs fall", newSnapshotFiles(0, 10, 5, 100), newSnapshotFiles(0, 10, 5, 99), nil,
			"v1/changes/log.json: the next number falls from 100 to 99"},
		{"checks fall", newSnapshotFiles(0, 10, 5, 100), newSnapshotFiles(0, 10, 4, 100), nil,
			"v1/services/s0000.json: total_checks falls from 5 to 4"},
		{"no index", newSnapshotFiles(0, 10, 5, 100), map[string]string{"index.html": ""}, nil, "v1/index.json"},
	} {
		t.Run(test.about, func(t *testing.T) {
			t.Parallel()
			err := build.CheckSuccessor(newTree(t, test.before), newTree(t, test.after), test.removed)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// TestListPacks checks that the packs of all logs of a snapshot are listed.
func TestListPacks(t *testing.T) {
	t.Parallel()
	got, err := build.ListPacks(newTree(t, newSnapshotFiles(0, 1, 5, 100)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"2026112020", "2026112021", "2026112023"}, got); diff != "" || !slices.IsSorted(got) {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
