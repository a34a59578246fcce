package build

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tollbook/build/data"
	"tollbook/build/judge"
	"tollbook/output/archive"
	"tollbook/render"
	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/postgres"
)

var update = flag.Bool("update", false,
	"rewrite the wanted files of testdata/*.txtar; read what changed before you keep it")

// Update is update, for tests outside the package.
var Update = update

// TestScenarios builds a directory from each archive in testdata. The first lines of an archive describe the scenario,
// facts.json has the facts and now the time of the build. The file named files lists the expected files. The files
// after it are their expected contents; other files are only listed.
func TestScenarios(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenarios in testdata: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var facts postgres.Facts
			var now time.Time
			wanted := archive.Files[:0:0]
			for _, f := range archive.Files {
				switch f.Name {
				case "facts.json":
					d := json.NewDecoder(bytes.NewReader(f.Data))
					d.DisallowUnknownFields()
					if err := d.Decode(&facts); err != nil {
						t.Fatalf("read facts.json: %v", err)
					}
				case "now":
					if now, err = time.Parse(time.RFC3339, strings.TrimSpace(string(f.Data))); err != nil {
						t.Fatal(err)
					}
				default:
					wanted = append(wanted, f)
				}
			}
			tree := buildTree(t, &facts, now)
			names := slices.Sorted(maps.Keys(tree))
			tree["files"] = []byte(strings.Join(slices.DeleteFunc(names, func(n string) bool {
				return strings.HasPrefix(n, "assets/")
			}), "\n") + "\n")
			for i, f := range wanted {
				key, part, _ := strings.Cut(f.Name, "#")
				got := indentJSON(t, key, tree[key], part)
				if *update {
					wanted[i].Data = got
					continue
				}
				if diff := cmp.Diff(string(f.Data), string(got)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", f.Name, diff)
				}
			}
			if *update {
				archive.Files = append(archive.Files[:len(archive.Files)-len(wanted)], wanted...)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// indentJSON indents a file that is one long line. Lists have a line per row and stay unchanged. part names a part of
// data by its members: "assessment.risk".
func indentJSON(t *testing.T, name string, data []byte, part string) []byte {
	t.Helper()
	if data == nil {
		return []byte("(no such file)\n")
	}
	if first, _, _ := strings.Cut(string(data), "\n"); !strings.HasSuffix(name, ".json") ||
		strings.HasSuffix(first, ":[") {
		return data
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s is no JSON: %v", name, err)
	}
	d := json.RawMessage(data)
	for member := range strings.SplitSeq("data."+part, ".") {
		if part == "" {
			break
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(d, &object); err != nil || object[member] == nil {
			t.Fatalf("%s has no %s in %s: %v", name, member, part, err)
		}
		d = object[member]
	}
	out, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

// buildTree judges facts and returns all files of the snapshot.
func buildTree(t *testing.T, facts *postgres.Facts, now time.Time) map[string][]byte {
	t.Helper()
	pages, err := render.NewPages(render.Site{BaseURL: "https://tollbook.example"})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	zip := archive.NewZipWriter(&b, archive.ZipOptions{Modified: now})
	judged := judge.New(facts, judge.Options{
		Now: now, Next: now.Add(15 * time.Minute), BaseURL: "https://tollbook.example",
	})
	complete := func([]postgres.ServiceFacts) error { return nil } // the facts have everything
	w := &snapshotWriter{
		facts: facts, judged: judged, now: now, catalogue: newCatalogue(),
		lookups: newLookups(judged.Snapshot, filepath.Join(t.TempDir(), "lookups")),
		to:      zip, aside: &setAside{}, last: &lastGood{},
		store: func(name string, write func(io.Writer) error) (archive.DataFile, error) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				return archive.DataFile{}, err
			}
			_, err := zip.AddStored(name, bytes.NewReader(b.Bytes()), int64(b.Len()))
			return archive.DataFile{}, err
		},
		temp:      func(name string) string { return filepath.Join(t.TempDir(), name) },
		endpoints: complete, details: func(int, int) error { return nil },
	}
	judged.Survey(0, len(facts.Services), func(i int, endpoints []site.Endpoint, isStable bool) {
		w.lookups.count(i, endpoints)
		if isStable {
			w.catalogue.count(i, endpoints)
		}
	})
	judged.Prepare()
	judged.Snapshot.Assets = data.NewAssetTables(nil, listing.FreeHosts{})
	w.renderer = pages.NewRenderer(judged.Snapshot)
	defer w.lookups.close()
	if err := w.write(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	written, err := archive.OpenZip(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	tree := map[string][]byte{}
	for _, name := range written.Names() {
		if name == archive.SumsFile {
			continue
		}
		if tree[name], err = written.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

var now = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)
