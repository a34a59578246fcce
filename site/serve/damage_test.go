package serve

import (
	"archive/zip"
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tollbook/site/routes"
)

// TestDamage checks that damage on disk returns a 500, for every damaged file and every request.
func TestDamage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 150)
	for _, test := range []struct{ zip, member, target string }{
		{"snapshots/*.zip", "v1/services/service-0007.json", "/v1/services/service-0007"},
		{"snapshots/*.zip", "v1/services/sort=uptime/per_page=100/page=1.json", "/v1/services?sort=uptime&per_page=7"},
		{"snapshots/*.zip", "v1/checks/block=8.json", "/v1/checks?limit=3&offset=10"},
		{"snapshots/*.zip", "v1/checks/log.json", "/v1/checks?limit=3"},
		{"snapshots/*.zip", "v1/index.json", "/v1/services?per_page=3"},
		{"packs/2026112007*.zip", "v1/checks/block=2.json", "/v1/checks?limit=3&offset=640"},
	} {
		t.Run(test.member, func(t *testing.T) {
			t.Parallel()
			d := publish(t, w.files)
			damage(t, filepath.Join(d.Root(), test.zip), test.member)
			log := &syncBuffer{}
			h := handlerOf(t, d, log)
			for _, encoding := range []string{"", "gzip", "gzip"} {
				got := get(h, test.target, "Accept-Encoding", encoding)
				id := got.Header().Get("X-Request-Id")
				if got.Code != 500 || id == "" || !strings.Contains(log.String(), id) ||
					!strings.Contains(log.String(), test.member) {
					t.Errorf("%q: %d %s, logged:\n%s", encoding, got.Code, got.Body, log)
				}
				for _, name := range []string{"Etag", "Last-Modified", "Content-Encoding"} {
					if v := got.Header().Get(name); v != "" {
						t.Errorf("%s: %s", name, v)
					}
				}
			}
			if got := get(h, "/v1/services/service-0008"); got.Code != 200 {
				t.Errorf("another file: %d", got.Code)
			}
		})
	}
}

// damage flips a bit in the body of the member of the zip that matches pattern.
func damage(t *testing.T, pattern, member string) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) != 1 {
		t.Fatalf("%s: %v, %v", pattern, paths, err)
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		if f.Name != member {
			continue
		}
		at, err := f.DataOffset()
		if err != nil {
			t.Fatal(err)
		}
		data[at+int64(f.CompressedSize64)/2] ^= 4
		if err := os.WriteFile(paths[0], data, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("%s has no %s", paths[0], member)
}

// TestOlderSnapshot checks that what an older program did not write is a 503 that says so, and that the rest of its
// snapshot is served. A snapshot that needs a newer program is a 503, too.
func TestOlderSnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	index := string(w.files[routes.IndexFile])
	for _, c := range []struct {
		form, target string
		code         int
		says         string
	}{
		{"", "/v1/search?q=x", 503, "the next build will have it"},
		{"", "/v1/services/service-0001", 200, ""},
		{`"format":1,`, "/v1/search?q=x", 500, "internal error"},
		{`"format":2,"needs":1,"new":{"a":[1]},`, "/v1/services/service-0001", 200, ""},
		{`"format":2,"needs":2,`, "/v1/search?q=x", 503, "a newer program"},
	} {
		files := maps.Clone(w.files)
		without := strings.Replace(index, `"format":1`, `"z":0`, 1)
		files[routes.IndexFile] = []byte(strings.Replace(without, "{", "{"+c.form, 1))
		got := get(handlerOf(t, publish(t, files), &syncBuffer{}), c.target)
		if got.Code != c.code || !strings.Contains(got.Body.String(), c.says) {
			t.Errorf("%s %s: %d %.200s, want %d", c.form, c.target, got.Code, got.Body, c.code)
		}
	}
}
