package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"tollbook/site/postgres/postgrestest"
)

// TestImportCatalogue imports from a facilitator on loopback with the program itself, and checks the errors for invalid
// URLs.
func TestImportCatalogue(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/discovery/resources" {
			http.NotFound(w, r)
			return
		}
		if !strings.HasPrefix(r.UserAgent(), "Tollbook/") {
			t.Errorf("user agent %q", r.UserAgent())
		}
		fmt.Fprint(w,
			`{"x402Version": 2, "items": [{"resource": "https://api.acme.example/quote", "type": "http", "serviceName": "Acme Quotes", "tags": ["Finance"]},
			{"resource": "http://localhost/x"}], "pagination": {"limit": 100, "offset": 0, "total": 2}}`)
	}))
	t.Cleanup(s.Close)
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	data := filepath.Join(t.TempDir(), "data")
	host := s.Listener.Addr().String()
	code, stdout, stderr := tollbook(t, env, "services", "import", s.URL+"/discovery/resources", "--data", data,
		"--crawl-allow-private", host)
	if want := "1 services listed; 0 were listed already and got 0 new endpoints; 1 have an address that is " +
		"never visited. Next: tollbook crawl visits them\n"; code != 0 || stdout != want || stderr != "" {
		t.Errorf("exit %d, stdout %q, want %q; stderr\n%s", code, stdout, want, stderr)
	}
	if _, stdout, _ := tollbook(t, env, "services", "list", "--data", data); !strings.Contains(stdout, "acme-quotes") ||
		!strings.Contains(stdout, "Finance") {
		t.Errorf("listed:\n%s", stdout)
	}
	for address, fault := range map[string]string{
		s.URL + "/discovery/resources": "refused", // private, and not allowed
		"https://":                     "must start with",
	} {
		if code, _, stderr := tollbook(t, env, "services", "import", address, "--data", data); code != 1 ||
			!strings.Contains(stderr, fault) {
			t.Errorf("import %s: exit %d, stderr %q, want %q", address, code, stderr, fault)
		}
	}
	if code, _, _ := tollbook(t, env, "services", "import", s.URL, "--data", data, "--crawl-host-gap", "0s"); code != 2 {
		t.Errorf("a gap of nothing: exit %d, want 2", code)
	}
}
