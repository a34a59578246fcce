package render_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/render"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/testgate"
)

// task is a page to open and what to do on it.
type task struct {
	URL    string `json:"url"`
	Width  int    `json:"width"`
	Script string `json:"script"`

	expectsMissing bool // the browser reports a missing file
}

// browse performs tasks in a real browser and decodes their results. Any complaint of the browser fails the test.
func browse[T any](t *testing.T, tasks []task) []T {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		testgate.Missing(t, "no node to drive a browser with: install Node.js 20 or newer")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		testgate.Missing(t, "no chromium: apt-get install chromium")
	}
	input, err := json.Marshal(tasks)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, node, filepath.Join("testdata", "browser.mjs"), chromium)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var said []struct {
		Value  T        `json:"value"`
		Faults []string `json:"faults"`
	}
	if err := json.Unmarshal(out, &said); err != nil || len(said) != len(tasks) {
		t.Fatalf("%d of %d tasks, %v: %.2000s", len(said), len(tasks), err, out)
	}
	values := make([]T, len(said))
	for i, s := range said {
		values[i] = s.Value
		for _, fault := range s.Faults {
			if tasks[i].expectsMissing && strings.Contains(fault, "404") {
				continue
			}
			t.Errorf("%s at %d: %s", tasks[i].URL, tasks[i].Width, fault)
		}
	}
	return values
}

// serveDirectory serves the pages of a directory and the responses that scripts request.
func serveDirectory(t *testing.T, s *site.Snapshot) string {
	t.Helper()
	var tree map[string][]byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := tree[strings.TrimPrefix(r.URL.Path, "/")]
		if r.URL.Path == "/v1/services" { // every service, whatever is asked
			var rows [][]byte
			for i := range s.Services {
				row, err := encode.Row(s.Services[i].Item)
				if err != nil {
					t.Error(err)
				}
				rows = append(rows, row)
			}
			data, ok = encode.Framing{}.List(rows, fmt.Appendf(nil,
				`{"total":%d,"page":1,"per_page":100,"total_pages":1}`, len(rows))), true
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", routes.ContentTypes()[filepath.Ext(r.URL.Path)])
		w.Write(data)
	}))
	t.Cleanup(server.Close)
	tree = treeOf(t, newPages(t, render.Site{BaseURL: server.URL}), s)
	for i := range s.Services {
		d := s.Services[i].Detail
		data, err := encode.JSON(d)
		if err != nil {
			t.Fatal(err)
		}
		tree["v1/services/"+d.Slug+".json"] = data
	}
	return server.URL
}

// TestBadInputInBrowser checks that endless words, right-to-left text and combining characters make no page wider than
// the screen, and that no script of a stranger runs.
func TestBadInputInBrowser(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	var tasks []task
	for _, words := range []string{`</script><script>alert(1)</script><img src=x onerror=alert(1)>` +
		strings.Repeat("W", 500), strings.Repeat("👨‍👩‍👧‍👦", 20) + strings.Repeat("שלוםעולם", 60)} {
		base := serveDirectory(t, injectedSnapshot(words))
		for _, page := range []string{"/index.html", "/services.html", "/services/said-a.html",
			"/facilitators/loud.rs.html", "/coverage.html", "/flow.html",
			"/compare.html?a=said-a&b=said-b&c=acme&d=nasty"} {
			for _, width := range []int{320, 1280} {
				tasks = append(tasks, task{URL: base + page, Width: width, Script: `
					if (location.pathname === "/compare.html")
						await until(() => document.querySelectorAll(".versus thead th").length === 4);
					for (const d of document.querySelectorAll("details")) d.open = true;
					return document.documentElement.scrollWidth;`})
			}
		}
	}
	for i, wide := range browse[int](t, tasks) {
		if wide > tasks[i].Width {
			t.Errorf("%s is %d wide on a screen of %d", tasks[i].URL, wide, tasks[i].Width)
		}
	}
}

// comparison is what the comparison page shows.
type compareURL struct {
	Heads   []string
	Rows    map[string][]string // by label
	Message string
	Search  string // query of the URL
	Title   string
}

const tellCompared = `
	const tell = () => ({
		Heads: [...document.querySelectorAll(".versus thead th > :first-child")].map((e) => e.textContent),
		Rows: Object.fromEntries([...document.querySelectorAll(".versus tbody tr")]
			.filter((r) => r.querySelector("td"))
			.map((r) => [r.querySelector("th").textContent,
				[...r.querySelectorAll("td")].map((c) => c.innerText.replace(/\s+/g, " ").trim())])),
		Message: document.getElementById("summary").textContent, Search: location.search, Title: document.title,
	});
	const heads = (n) => until(() => document.querySelectorAll(".versus thead th").length === n);`

// TestCompare checks that the URL names the services that are compared. A word marks the best value of a row if there
// is one. Readers can find, add and remove services.
func TestCompare(t *testing.T) {
	t.Parallel()
	s := world()
	s.Services = s.Services[:8]
	for i := range s.Services[3:5] {
		s.Services[3+i].Item.Category, s.Services[3+i].Detail.Category = "Finance", "Finance" // as acme's
	}
	base := serveDirectory(t, s)
	got := browse[compareURL](t, []task{
		{URL: base + "/services/acme.html", Width: 390,
			Script: tellCompared + `return { Search: new URL(document.querySelector(".beside-it a").href).search };`},
		{URL: base + "/compare.html?a=acme&b=fresh", Width: 390,
			Script: tellCompared + `await heads(2); return tell();`},
		{URL: base + "/compare.html?services=acme,plain-04,gone,ACME,acme", Width: 1280, expectsMissing: true,
			Script: tellCompared + `await heads(2); return tell();`},
		{URL: base + "/compare.html?a=nasty", Width: 1280, Script: tellCompared + `
			await heads(1);
			const name = document.querySelector("form.pick input");
			name.value = "fresh";
			name.dispatchEvent(new Event("input"));
			await until(() => document.querySelectorAll(".found button").length > 5);
			[...document.querySelectorAll(".found button")]
				.find((b) => b.textContent.startsWith("Fresh Listing")).click();
			await heads(2);
			document.querySelector(".versus thead button").click();
			await heads(1);
			return tell();`},
		{URL: base + "/compare.html", Width: 390, Script: tellCompared + `
			await until(() => !document.querySelector("form.pick").hidden);
			const before = [document.querySelector(".unscripted").hidden, document.querySelector(".compared").hidden,
				document.querySelector(".sets").hidden];
			[...document.querySelectorAll(".sets a")].find((a) => a.textContent === "Finance").click();
			await heads(3);
			return { ...tell(), Heads: before.map(String), Rows: null };`},
	})
	if got[0].Search == "" || !strings.HasPrefix(got[0].Search, "?a=acme&b=") {
		t.Errorf("the page of a service leads to %q", got[0].Search)
	}
	pair := got[1]
	for label, want := range map[string][]string{
		"Status": {"online", "unknown"}, "Price from": {"$0.0025", "— not known"},
		"Uptime, 90 days": {"— not known", "— not known"}, "Networks": {"Base Solana", "— not known"},
		"Volume": {"$1,234.57", "— not known"}, "Conformance": {"A: 13 of 14 checks pass", "— not known"},
		"Flags": {"warning: Recipient changed warning: Not encrypted", "— not known"},
	} {
		if diff := cmp.Diff(want, pair.Rows[label]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", label, diff)
		}
	}
	if want := []string{"Acme Quotes", "Fresh Listing"}; !cmp.Equal(pair.Heads, want) ||
		pair.Message != "Comparing 2 services." || pair.Title != "Acme Quotes, Fresh Listing compared" {
		t.Errorf("two: %+v", pair)
	}
	three := got[2]
	if want := []string{"Acme Quotes", "Sentiment Desk"}; !cmp.Equal(three.Heads, want) ||
		three.Message != "Comparing 2 services. No service has the address “gone”." {
		t.Errorf("three of which one is not listed: %q, %q", three.Heads, three.Message)
	}
	if diff := cmp.Diff([]string{"$0.0025", "$0.0000001 lowest"}, three.Rows["Price from"]); diff != "" {
		t.Errorf("prices (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"703 ms", "484 ms fastest"},
		three.Rows["Average response, 24 hours"]); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
	if want := []string{"Fresh Listing"}; !cmp.Equal(got[3].Heads, want) || got[3].Search != "?a=fresh" {
		t.Errorf("added and removed: %+v", got[3])
	}
	if want := []string{"true", "true", "false"}; !cmp.Equal(got[4].Heads, want) ||
		got[4].Message != "Comparing 3 services." {
		t.Errorf("a set: %+v", got[4])
	}
}
