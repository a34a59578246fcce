//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tollbook/cmd/nodetest"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/serve/edge/edgetest"
	"tollbook/site/testgate"
)

// browserScripts is the folder of the scripts that drive a browser and check pages.
const browserScripts = "testdata/browser"

// browsed is the input of the scripts.
type browsed struct {
	Chromium    string   `json:"chromium"`
	Serve       string   `json:"serve"` // URL of the sample world, from serve
	Nginx       string   `json:"nginx"` // URL of the same world from nginx, with serve behind it
	Plain       string   `json:"plain"` // URL of the files of the same world, from a server that knows only files
	Odd         string   `json:"odd"`   // URL of a directory of hostile services
	Pages       []string `json:"pages"` // two of each kind, or the only one
	OddPages    []string `json:"oddPages"`
	First       []string `json:"first"` // pages that readers see first
	Forms       []string `json:"forms"` // devices that Lighthouse emulates
	Service     string   `json:"service"`
	Compared    []string `json:"compared"`
	Category    string   `json:"category"`
	Network     string   `json:"network"`
	NetworkName string   `json:"networkName"`
	Searches    []string `json:"searches"` // queries whose results two programs render
}

// TestPagesInBrowser opens every kind of page in a real browser, uses the pages as readers do, and audits them.
func TestPagesInBrowser(t *testing.T) { // not parallel: it needs the whole machine
	testgate.All(t)
	needPostgres(t)
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		testgate.Missing(t, "chromium is missing; install it (Debian: apt-get install chromium)")
	}
	modules := nodetest.Install(t, browserScripts)
	b := &browsed{Chromium: chromium, Category: "Finance", Network: "BSE", NetworkName: "Base",
		Forms: []string{"mobile"}}
	data := filepath.Join(t.TempDir(), "data")
	demo := startSample(t, data)
	b.odd(t) // meanwhile
	b.sample(t, demo, data)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(browserScripts)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"pages", "views", "use", "tasks"} {
		t.Run(script, func(t *testing.T) { b.run(t, dir, script+".mjs") })
	}
	// These wait for one program or one page at a time, and judge nothing by its speed.
	half := len(b.First) / 2
	for name, first := range map[string][]string{"html": nil, "links": nil, "lighthouse": b.First[:half],
		"lighthouse, other pages": b.First[half:]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := *b
			of.First = first
			script, _, _ := strings.Cut(name, ",")
			of.run(t, dir, script+".mjs")
		})
	}
}

// startSample starts a demo that builds a snapshot of the sample world.
func startSample(t *testing.T, data string) *program {
	t.Helper()
	return command(t, []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}, "demo", "--data", data, "--listen",
		"127.0.0.1:0", "--interval", "1h").shipped(t).start(t)
}

// sample ends the demo when its snapshot is built, and serves that twice.
func (b *browsed) sample(t *testing.T, demo *program, data string) {
	demo.await(t, "Pages ")
	if err := demo.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := demo.status(t); code != 0 {
		t.Fatalf("the demo exits %d:\n%s", code, demo.said())
	}
	public := filepath.Join(data, "public")
	// submissions are real and need a database without samples
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	b.Serve, _ = serving(t, env, data, "--serve-rate-limit", "0", "--serve-trusted-proxies", "127.0.0.1")
	b.Nginx = "http://" + edgetest.StartNginx(t, "", func(listen string) ([]byte, error) {
		config := ran(t, nil, "edge", "nginx", "--root", public, "--listen", listen, "--upstream",
			strings.TrimPrefix(b.Serve, "http://"), "--rate-limit", "1000000")
		return []byte(config), nil
	})
	b.Plain = plainFiles(t, filepath.Join(public, "current"))
	b.Searches = []string{"", "q=speech+to+text", "q=wether", "q=search&max_price_usd=0",
		"q=fire&network=BSE&sort=price", "q=search&sort=uptime",
		"status=offline&sort=volume", "verified=true&page=2", "max_price_usd=cheap",
		"q=zzzzzz&verified=true&min_uptime_30d=97",
		"q=" + url.QueryEscape("speech to text under $0.01 on Base, reliable"), "category=AI&sort=speed&page=7"}
	b.Pages = kinds(t, filepath.Join(public, "current"))
	service := func(slug string) string { return "/services/" + slug }
	b.Compared = []string{"firefly-embeddings", "lanternfish-chat", "attic-archive", "almanac-places"}
	b.Service = service(b.Compared[0])
	b.First = []string{"/", "/services", b.Service, "/status", "/reference", "/methodology"}
	b.Pages = append(b.Pages, b.Service, "/search?q=fire", "/search?q=search&network=BSE&max_price_usd=1",
		"/search?q=nothing+has+these+words", "/compare?a="+strings.Join(b.Compared[:2], "&b="),
		fmt.Sprintf("/compare?a=%s&b=%s&c=%s&d=%s", b.Compared[0], b.Compared[1], b.Compared[2], b.Compared[3]))
}

// plainFiles serves a folder of files as a simple web host does: without parameters, and a page for what is missing.
func plainFiles(t *testing.T, folder string) string {
	files := http.FileServerFS(os.DirFS(folder))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if info, err := os.Stat(filepath.Join(folder, filepath.FromSlash(r.URL.Path))); err != nil || info.IsDir() {
			if r.URL.Path != "/" {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(http.StatusNotFound)
				return
			}
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// kinds returns the URL paths of pages in an expanded tree: the smallest and the largest of each folder.
func kinds(t *testing.T, tree string) (paths []string) {
	t.Helper()
	type page struct {
		path string
		size int64
	}
	folders := map[string][]page{}
	root, err := filepath.EvalSymlinks(tree)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".html" {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		path := "/" + filepath.ToSlash(rel)
		folder := path // each page at the top is its own kind
		if parts := strings.Split(path, "/"); len(parts) > 2 {
			folder = fmt.Sprint(parts[1], len(parts))
		}
		// the names of these files have no parameters
		if !strings.Contains(path, "=") && rel != "404.html" && rel != "500.html" {
			path = strings.TrimSuffix(strings.TrimSuffix(path, ".html"), "index")
		}
		folders[folder] = append(folders[folder], page{path, info.Size()})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		pages := folders[folder]
		slices.SortFunc(pages, func(a, b page) int { return int(a.size - b.size) })
		paths = append(paths, pages[0].path)
		if last := pages[len(pages)-1].path; last != pages[0].path {
			paths = append(paths, last)
		}
	}
	return paths
}

// odd lists services of hostile owners, visits them once, and serves the result.
func (b *browsed) odd(t *testing.T) {
	shop := httptest.NewServer(charge)
	t.Cleanup(shop.Close)
	dear := httptest.NewServer(askFor("123456789012345678")) // a price of 18 digits
	t.Cleanup(dear.Close)
	type entry struct {
		Name        string   `json:"service_name"`
		Description string   `json:"description"`
		URL         string   `json:"url"`
		Website     string   `json:"website_url,omitempty"`
		Category    string   `json:"category"`
		Endpoints   []string `json:"endpoints"`
	}
	var many []string
	for i := range 25 {
		many = append(many, fmt.Sprintf("/%s/%s", strings.Repeat("deep", 5*i+1), strings.Repeat("9", i%6)))
	}
	list := []entry{
		{"Prices of all sizes", "From a ten-millionth to a million.", shop.URL, "", "Data", many},
		{`<script>alert(1)</script><img src=x onerror=alert(2)>`,
			`"><svg onload=alert(3)> & </textarea></title><b>bold</b> {{.}} javascript:alert(4)`,
			"https://markup.example", "https://markup.example/?a=<b>&c=\"d\"", "Data", []string{"/a?b=<i>"}},
		{strings.Repeat("Longname", 9), "A name of 72 letters, and a price of 18 digits.", dear.URL, "", "Data",
			[]string{"/"}},
		{strings.Repeat("Longname", 12), strings.Repeat("w", 500) + " " +
			strings.Repeat("https://never.ends.example/", 40),
			"https://" + strings.Repeat("long-label.", 20) + "example", "", "Data",
			[]string{"/" + strings.Repeat("path", 120)}},
		{"مكتبة الأسعار \u202eecirp\u202c", "خدمة تطلب الدفع لكل طلب 402 HTTP، مع أسعار $1.50.", "https://rtl.example",
			"", "Data", []string{"/أ"}},
		{"🦊🔥 Emoji 👩‍👩‍👧‍👦 ½", "🎲🎲🎲 " + strings.Repeat("🧾", 200), "https://emoji.example", "", "Data", []string{"/🎲"}},
		{"A", "B", "https://a.example", "", "Data", []string{"/"}},
	}
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	folder := t.TempDir()
	ran(t, env, "services", "import", writeFile(t, "odd.json", data))
	ran(t, env, "crawl", "--once", "--crawl-allow-private", strings.TrimPrefix(shop.URL, "http://")+","+
		strings.TrimPrefix(dear.URL, "http://"), "--crawl-host-gap", "1ms")
	ran(t, env, "build", "--data", folder)
	b.Odd, _ = serving(t, env, folder)
	tree := filepath.Join(folder, "public", "current", "services")
	pages, err := filepath.Glob(filepath.Join(tree, "*.html"))
	if err != nil || len(pages) < len(list) {
		t.Fatalf("%d pages of %d odd services, %v", len(pages), len(list), err)
	}
	b.OddPages = []string{"/", "/services", "/status", "/changes"}
	for _, p := range pages {
		b.OddPages = append(b.OddPages, "/services/"+strings.TrimSuffix(filepath.Base(p), ".html"))
	}
}

// charge requests between a millionth of a dollar and a million dollars.
var charge = askFor("1", "999999", "1000000", "1000000000000", "123456789", "50000")

// askFor returns a service that requests these amounts, in millionths of a dollar. The length of the path's last part
// selects one.
func askFor(amounts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, last, _ := strings.Cut(r.URL.Path[1:], "/")
		amount := amounts[len(last)%len(amounts)]
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusPaymentRequired)
		fmt.Fprintf(w,
			`{"x402Version":1,"error":"payment required","accepts":[{"scheme":"exact","network":"base","maxAmountRequired":%q,"resource":"http://%s%s","description":%q,"mimeType":"application/json","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","extra":{"name":"USD Coin","version":"2"}}]}`,
			amount, r.Host, r.URL.Path, strings.Repeat("words ", 100))
	}
}

// run runs a script and reports its faults as test errors.
func (b *browsed) run(t *testing.T, dir, script string) {
	input, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", script, string(input))
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // the script then stops its browser
	cmd.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var said struct {
		Faults  []string       `json:"faults"`
		Figures map[string]any `json:"figures"`
	}
	if jsonErr := json.Unmarshal(out, &said); err != nil || jsonErr != nil {
		t.Fatalf("%s: %v, %v\n%.2000s\n%.4000s", script, err, jsonErr, out, &stderr)
	}
	for _, name := range slices.Sorted(maps.Keys(said.Figures)) {
		t.Logf("%s: %v", name, said.Figures[name])
	}
	for i, fault := range said.Faults {
		if i == 100 {
			t.Errorf("… and %d more", len(said.Faults)-i)
			break
		}
		t.Errorf("%.1500s", fault)
	}
}
