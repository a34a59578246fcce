package build_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/build"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/testgate"
)

// readPackRows returns the rows of every block in every pack, by pack and name.
func readPackRows(t *testing.T, dir string) map[string][][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "packs", "*.zip"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string][][]byte{}
	for _, path := range paths {
		z, err := archive.OpenZipFile(path)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		for _, name := range z.Names() {
			if name == archive.SumsFile {
				continue
			}
			data, err := z.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			rows, _, err := encode.Framing{}.Split(data)
			if err != nil {
				t.Fatal(err)
			}
			blocks[filepath.Base(path)+" "+name] = rows
		}
	}
	return blocks
}

// TestErasedService checks that no file names an erased service. Its rows in packs and open blocks become tombstones,
// and all other rows keep their bytes. The packs are rewritten once.
func TestErasedService(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	db, dir := openSample(t), tempDir(t)
	before := run(t, db, dir, options(moment))
	was := readPackRows(t, dir)

	// Erase the service with the most rows in packs.
	count, slug := map[string]int{}, ""
	for name, rows := range was {
		if strings.Contains(name, " v1/checks/") {
			for _, row := range rows {
				var r site.GlobalCheckEntry
				if err := json.Unmarshal(row, &r); err != nil {
					t.Fatal(err)
				}
				if count[r.ServiceSlug]++; count[r.ServiceSlug] > count[slug] || count[r.ServiceSlug] == count[slug] &&
					r.ServiceSlug < slug {
					slug = r.ServiceSlug
				}
			}
		}
	}
	if err := db.EraseService(t.Context(), slug, "anna", "", moment); err != nil {
		t.Fatal(err)
	}
	after := run(t, db, dir, options(moment.Add(time.Minute)))
	folder, err := output.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := folder.Checkpoint(); err != nil || c.Erased != 1 {
		t.Errorf("checkpoint %+v, %v", c, err)
	}
	erased := 0
	is := readPackRows(t, dir)
	for name, rows := range was {
		own := strings.Contains(name, "/"+slug+"/") || strings.Contains(name, "service="+slug+"/")
		if _, there := is[name]; there == own {
			t.Errorf("%s: exists after the erasure: %v", name, there)
		}
		if own {
			continue
		}
		if len(is[name]) != len(rows) {
			t.Errorf("%s: %d rows, want %d", name, len(is[name]), len(rows))
			continue
		}
		for i, row := range rows {
			if !bytes.Contains(row, []byte(`"`+slug+`"`)) {
				if !bytes.Equal(row, is[name][i]) {
					t.Errorf("%s row %d: another's row is %s, was %s", name, i, is[name][i], row)
				}
				continue
			}
			erased++
			var old, now struct {
				ID        string `json:"id"`
				CheckedAt string `json:"checked_at"`
				Observed  string `json:"observed_at"`
				Type      string `json:"type"`
			}
			if json.Unmarshal(row, &old) != nil || json.Unmarshal(is[name][i], &now) != nil || old != now {
				t.Errorf("%s row %d: %s was %s", name, i, is[name][i], row)
			}
		}
	}
	if erased < 100 {
		t.Errorf("%d rows of %s were erased, want 100 at least", erased, slug)
	}
	for name, rows := range is {
		if text := string(bytes.Join(rows, nil)); strings.Contains(text, `"`+slug+`"`) {
			t.Errorf("%s contains %s", name, slug)
		}
	}
	tree := func(id string) archive.Tree {
		z, err := archive.OpenZipFile(filepath.Join(dir, "snapshots", id+".zip"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { z.Close() })
		return z
	}
	next := tree(after.Snapshot)
	for _, name := range next.Names() {
		data, err := next.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(`"`+slug+`"`)) || strings.Contains(name, "/"+slug+"/") {
			t.Errorf("%s contains %s", name, slug)
		}
	}
	if err := build.CheckSuccessor(tree(before.Snapshot), next, []string{slug}); err != nil {
		t.Errorf("check successor without %s: %v", slug, err)
	}
	packs := digestFiles(t, filepath.Join(dir, "packs"))
	run(t, db, dir, options(moment.Add(2*time.Minute)))
	if diff := cmp.Diff(packs, digestFiles(t, filepath.Join(dir, "packs"))); diff != "" {
		t.Errorf("packs changed again (-erased +later):\n%s", diff)
	}
}
