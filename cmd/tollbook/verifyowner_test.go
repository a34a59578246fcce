package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"tollbook/cmd/tollbook/report"
	"tollbook/output"
	"tollbook/site/postgres/postgrestest"
)

// TestServicesVerify checks that services verify prints the token, and finds it only on a line of its own. The
// directory then shows the service as verified.
func TestServicesVerify(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	var shown atomic.Value
	shown.Store("")
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch text := shown.Load().(string); {
		case r.URL.Path != "/.well-known/tollbook" || text == "":
			http.NotFound(w, r)
		case text == "redirect":
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		default:
			io.WriteString(w, text)
		}
	}))
	defer shop.Close()
	list, err := json.Marshal([]map[string]any{{"service_name": "Acme", "description": "d", "url": shop.URL + "/api",
		"category": "AI", "endpoints": []string{"/a"}}})
	if err != nil {
		t.Fatal(err)
	}
	ran(t, env, "services", "import", writeFile(t, "list.json", list))
	args := []string{"services", "verify", "acme", "--crawl-allow-private", strings.TrimPrefix(shop.URL, "http://"),
		"--json"}
	look := func(text string, want int) (owner report.Ownership) {
		t.Helper()
		shown.Store(text)
		code, stdout, stderr := tollbook(t, env, args...)
		if err := json.Unmarshal(bytes.TrimSpace([]byte(stdout)), &owner); err != nil || code != want ||
			owner.Verified != (want == 0) {
			t.Errorf("%.40q is shown: exit %d, want %d\n%s%s", text, code, want, stdout, stderr)
		}
		return owner
	}
	token := look("", 1).Token
	look("x"+token, 1)
	look("redirect", 1)
	look(strings.Repeat("x", 1<<20)+"\n"+token, 1)
	look("other\r\n "+token+"\r\n", 0)
	if code, _, stderr := tollbook(t, env, "services", "verify", "acme"); code != 1 || !strings.Contains(stderr, "refused") {
		t.Errorf("a private host without leave: exit %d, %s", code, stderr)
	}
	if out := ran(t, env, "services", "verify", "--all", "--crawl-allow-private",
		args[4]); out != "acme is verified\n" {
		t.Errorf("all: %s", out)
	}
	data := t.TempDir()
	published := func(want string) {
		t.Helper()
		ran(t, env, "build", "--data", data)
		source, err := output.OpenSource(filepath.Join(data, "public"), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close()
		snap, err := source.Current()
		if err != nil {
			t.Fatal(err)
		}
		defer snap.Release()
		if detail, err := snap.ReadFile("v1/services/acme.json"); err != nil || !strings.Contains(string(detail), want) {
			t.Errorf("as it is published: %.400s, %v, want %s", detail, err, want)
		}
	}
	published(`"verified":true,"verified_until":"20`)
	look("", 1) // the proof ends with the token
	published(`"verified":false,"verified_until":"20`)
}
