package routes_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"tollbook/site"
	"tollbook/site/routes"
)

// FuzzParseRequest checks that no request line causes a panic, and that every accepted request has a key in the tree
// from which Request returns a request with the same key. testdata/fuzz contains more inputs.
func FuzzParseRequest(f *testing.F) {
	for _, r := range routes.All {
		f.Add(strings.NewReplacer("{slug}", "acme", "{facilitator}", "x402.rs", "{source}", "index", "{category}", "ai",
			"{network}",
			"bse").Replace(r.Pattern), "page=2&category=a%2Fb&period=7d&limit=3")
	}
	f.Add("/api/v1/services/acme.json", "snapshot=20261120T234501Z-3f2a9c")
	f.Add("/v1/services/%2e%2e/%2e%2e/etc/passwd.json", "page=%")
	f.Fuzz(func(t *testing.T, path, query string) {
		q, err := routes.ParseRequest(path, query)
		if err != nil {
			var fault *routes.ParamError
			if !errors.Is(err, site.ErrNotFound) && !errors.As(err, &fault) {
				t.Fatalf("ParseRequest(%q, %q): neither ErrNotFound nor a ParamError: %v", path, query, err)
			}
			return
		}
		key := q.Key()
		if !fs.ValidPath(key) || key == "." || strings.ContainsRune(key, 0) {
			t.Fatalf("ParseRequest(%q, %q) has key %q, which is not a valid path", path, query, key)
		}
		back, values, err := routes.Request(key)
		if err != nil {
			if q.Route != nil {
				t.Fatalf("Request(%q): %v", key, err)
			}
			return
		}
		if again, err := routes.ParseRequest(back, values); err != nil || again.Key() != key {
			t.Fatalf("Request(%q) = %q?%q, which has key %q, error %v", key, back, values, again.Key(), err)
		}
	})
}
