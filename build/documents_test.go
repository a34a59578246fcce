package build_test

import (
	"crypto/sha256"
	"encoding/hex"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/routes"
)

func (d *openapiTest) get(target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	return w
}

// testHTTPPolicy checks that the server handles requests as the documents promise.
func (d *openapiTest) testHTTPPolicy(t *testing.T) {
	for _, c := range []struct {
		about, target string
		status        int
		same          string // request with the same answer, "" for none
	}{
		{"empty is absent", "/v1/services?sort=&page=", 200, "/v1/services"},
		{"the first that is not empty wins", "/v1/services?per_page=&per_page=3&per_page=5", 200,
			"/v1/services?per_page=3"},
		{"unknown is ignored", "/v1/services?colour=red", 200, "/v1/services"},
		{"a name that does not decode is ignored", "/v1/services?%zz=1", 200, "/v1/services"},
		{"unknown with strict=1", "/v1/services?verifed=true&strict=1", 400, ""},
		{"plus is a space", "/v1/services?q=a+b", 200, "/v1/services?q=a%20b"},
		{"percent encoding", "/v1/services?categor%79=A%49", 200, "/v1/services?category=AI"},
		{"a value that does not decode", "/v1/services?category=%zz", 400, ""},
		{"a value that is not UTF-8", "/v1/services?category=%ff", 400, ""},
		{"NUL in a value", "/v1/services?category=a%00", 400, ""},
		{"a path that does not decode", "/v1/services/%ff", 404, ""},
		{"NUL in a path", "/v1/services/a%00", 404, ""},
		{"an invalid value", "/v1/services?sort=oldest", 400, ""},
		{"the last page there may be", "/v1/services?page=1000000", 200, ""},
		{"a page beyond it", "/v1/services?page=1000001", 400, ""},
		{"a text of 100 characters", "/v1/services?q=" + strings.Repeat("%C3%A9", 100), 200, ""},
		{"a longer one", "/v1/services?q=" + strings.Repeat("%C3%A9", 101), 400, ""},
		{"a query of more than 8192 bytes", "/v1/services?q=a&" + strings.Repeat("x=y&", 2048), 400, ""},
		{"a file has no parameters", "/v1/services.json?per_page=3", 200, "/v1/services"},
		{"the older prefix", "/api/v1/services?per_page=3", 200, "/v1/services?per_page=3"},
	} {
		w := d.get(c.target)
		if w.Code != c.status {
			t.Errorf("%s: %.80s answers %d, want %d", c.about, c.target, w.Code, c.status)
		}
		if c.same != "" && d.get(c.same).Body.String() != w.Body.String() {
			t.Errorf("%s: %s answers otherwise than %s", c.about, c.target, c.same)
		}
	}
	w := d.get("/v1/services?categry=AI")
	if got, want := w.Header().Get(routes.HeaderUnknown), "categry (did you mean category?)"; got != want {
		t.Errorf("%s: %q, want %q", routes.HeaderUnknown, got, want)
	}
	for _, target := range []string{"/v1/services?category=Nothing&strict=1", "/v1/search?network=nonsense", "/v1/best?q=a&network=bsae"} {
		if w := d.get(target); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "must be a known ") {
			t.Errorf("%s: %d, %s", target, w.Code, w.Body)
		}
	}
	for target, total := range map[string]int{"/v1/services?q=Nothing": 0,
		"/v1/services?page=99": len(d.index.Slugs)} {
		var list site.List[site.ServiceListItem, site.PaginationMeta]
		unmarshal(t, d.get(target).Body.Bytes(), &list)
		if list.Data == nil || len(list.Data) != 0 || list.Meta.Total != total {
			t.Errorf("%s has %d rows of %d, want an empty list of %d", target, len(list.Data), list.Meta.Total, total)
		}
	}
}

// testWalk follows Link headers from page to page. It must find each service once, and all pages in one snapshot.
func (d *openapiTest) testWalk(t *testing.T) {
	var slugs []string
	id := d.get("/v1/tags").Header().Get("X-Snapshot")
	for target := "/v1/services?per_page=7&sort=uptime"; target != ""; {
		w := d.get(target)
		var list site.List[site.ServiceListItem, site.PaginationMeta]
		unmarshal(t, w.Body.Bytes(), &list)
		for _, s := range list.Data {
			slugs = append(slugs, s.Slug)
		}
		next, more := strings.CutSuffix(w.Header().Get("Link"), `>; rel="next"`)
		if target = ""; more { // the last page has a link to the licence alone
			target = strings.TrimPrefix(next, "<")
		}
		if more && !strings.Contains(target, "snapshot="+id) || len(slugs) > len(d.index.Slugs) {
			t.Fatalf("after %d services comes %s", len(slugs), target)
		}
	}
	slices.Sort(slugs)
	if diff := cmp.Diff(d.index.Slugs, slugs); diff != "" {
		t.Errorf("services met in a walk (-index +walk):\n%s", diff)
	}
}

var shown = regexp.MustCompile(`https://tollbook\.example[^\s<>()'"` + "`" + `]*`)

// testAddresses checks that every URL of the directory in a document responds with 200 and the right type.
func (d *openapiTest) testAddresses(t *testing.T) {
	for target, kind := range map[string]string{
		"/llms.txt": "text/plain; charset=utf-8", "/robots.txt": "text/plain; charset=utf-8",
		"/sitemap.xml": "application/xml; charset=utf-8",
		"/reference":   "text/html; charset=utf-8", "/v1/openapi.json": "application/json; charset=utf-8",
		"/api/v1/routes.json": "application/json; charset=utf-8",
	} {
		w := d.get(target)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != kind {
			t.Errorf("%s answers %d, %s; want 200, %s", target, w.Code, w.Header().Get("Content-Type"), kind)
			continue
		}
		links := shown.FindAllString(html.UnescapeString(w.Body.String()), -1)
		for _, address := range links {
			path := strings.TrimPrefix(address, "https://tollbook.example")
			if strings.Contains(path, "{") || path == "" || strings.HasSuffix(path, "/v1") ||
				strings.HasSuffix(path, ".") || strings.HasSuffix(path, ",") {
				continue // a pattern, a base or the end of a sentence
			}
			if call, _ := routes.FindCall(path); call != nil || path == "/data/" {
				continue // no file of the snapshot, and the folder whose files DuckDB names
			}
			if w := d.get(path); w.Code != http.StatusOK {
				t.Errorf("%s shows %s, which answers %d", target, address, w.Code)
			}
		}
		if len(links) == 0 && target != "/api/v1/routes.json" {
			t.Errorf("%s shows no address", target)
		}
	}
}

// testVerifying follows the instructions of the reference for SHA256SUMS, X-Snapshot and ETag.
func (d *openapiTest) testVerifying(t *testing.T) {
	sums := d.get("/SHA256SUMS")
	listed := map[string]string{}
	for line := range strings.Lines(sums.Body.String()) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		listed[name] = sum
	}
	hash := func(data []byte) string {
		sum := sha256.Sum256(data)
		return hex.EncodeToString(sum[:])
	}
	id := sums.Header().Get("X-Snapshot")
	if !strings.HasSuffix(id, "-"+hash(sums.Body.Bytes())[:6]) {
		t.Errorf("snapshot %s does not end in the digits of its sums", id)
	}
	for _, name := range []string{"v1/services.json", "v1/openapi.json", "reference.html", "llms.txt"} {
		w := d.get("/" + name)
		sum := hash(w.Body.Bytes())
		if w.Code != http.StatusOK || listed[name] != sum || w.Header().Get("X-Snapshot") != id {
			t.Errorf("%s answers %d of snapshot %s with sum %s, listed is %s of %s", name, w.Code,
				w.Header().Get("X-Snapshot"), sum, listed[name], id)
		}
		if want := `"` + sum[:32] + `"`; w.Header().Get("Etag") != want {
			t.Errorf("%s has the ETag %s, want %s", name, w.Header().Get("Etag"), want)
		}
	}
}
