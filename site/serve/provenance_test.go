package serve

import (
	"strings"
	"testing"

	"tollbook/site/routes"
)

// TestProvenance checks that cut responses end with the provenance of their snapshot, and that those of a snapshot of
// an older version have none.
func TestProvenance(t *testing.T) {
	t.Parallel()
	files := newWorld(t, 120).files
	of := handlerOf(t, publish(t, files), t.Output())
	oldFiles := map[string][]byte{}
	for key, data := range files {
		oldFiles[key] = []byte(strings.ReplaceAll(string(data), cited, "}\n"))
	}
	oldFiles[routes.IndexFile] = []byte(strings.Replace(string(files[routes.IndexFile]),
		strings.TrimSuffix(cited, "}\n"), "", 1))
	before := handlerOf(t, publish(t, oldFiles), t.Output())
	for _, target := range []string{
		"/v1/services?page=2&per_page=7", "/v1/services?per_page=13&sort=cheapest&page=99",
		"/v1/checks?limit=3&offset=8",
		"/v1/services/service-0000/checks?limit=2&offset=100000",
	} {
		got, old := get(of, target), get(before, target)
		if got.Code != 200 || !strings.HasSuffix(got.Body.String(), cited) {
			t.Errorf("%s: %d, %s", target, got.Code, got.Body)
		}
		if want := strings.Replace(got.Body.String(), cited, "}\n", 1); old.Body.String() != want {
			t.Errorf("%s of an older version: %d, %s, want %s", target, old.Code, old.Body, want)
		}
	}
}
