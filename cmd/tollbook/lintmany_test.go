package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"tollbook/cmd/tollbook/lint"
	"tollbook/render/htmlcheck"
	"tollbook/site/testgate"
)

// cleanTerms are terms that pass all checks but that of the transport.
const cleanTerms = `{"x402Version":2,"error":"Payment required","resource":{"url":"%s","description":"Quote",
	"mimeType":"application/json"},"accepts":[{"scheme":"exact","network":"eip155:8453","amount":"2500",
	"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
	"maxTimeoutSeconds":60,"extra":{"name":"USD Coin","version":"2"}}]}`

// startSeller starts a seller whose documents declare endpoints. It returns its URL.
func startSeller(t *testing.T) string {
	t.Helper()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/pay/"):
			if r.Method == http.MethodHead {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			terms := fmt.Sprintf(cleanTerms, server.URL+r.URL.Path)
			w.Header().Set("PAYMENT-REQUIRED", base64.StdEncoding.EncodeToString([]byte(terms)))
			w.WriteHeader(http.StatusPaymentRequired)
			fmt.Fprint(w, "{}")
		case r.URL.Path == "/.well-known/x402":
			fmt.Fprintf(w, `{"version":1,"resources":["GET %s/pay/a","POST %[1]s/pay/b","%[1]s/gone","%[1]s/pay/c"]}`,
				server.URL)
		case r.URL.Path == "/free":
			fmt.Fprint(w, "{}")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// lintWith runs lint with flags against a server on loopback.
func lintWith(t *testing.T, base, stdin string, args ...string) (status int, stdout string) {
	t.Helper()
	cmd := newRootCommand()
	cmd.SetArgs(append([]string{"lint", "--crawl-allow-private", strings.TrimPrefix(base, "http://")}, args...))
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetIn(strings.NewReader(stdin))
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		status = exitStatus(err)
	}
	return status, strings.ReplaceAll(out.String(), base, "BASE")
}

// TestLintStatus checks the exit status, which a pipeline reads.
func TestLintStatus(t *testing.T) {
	t.Parallel()
	base := startSeller(t)
	const closed = "127.0.0.1:1" // a port that was free a moment ago may be another test's
	for _, tt := range []struct {
		name   string
		args   []string
		stdin  string
		status int
	}{
		{"a failed check", []string{base + "/pay/a"}, "", 1},
		{"free", []string{base + "/free"}, "", 3},
		{"gone", []string{base + "/gone"}, "", 3},
		{"unreachable", []string{"--crawl-allow-private", closed, "http://" + closed + "/"}, "", 4},
		{"refused", []string{"http://127.0.0.1:9/"}, "", 2},
		{"the highest of several", []string{base + "/pay/a", base + "/free"}, "", 3},
		{"a file", []string{"--file", "-"}, "\ufeff# own\r\n\r\n" + base + "/pay/a\r\n", 1},
		{"an empty file", []string{"--file", "-"}, "# none\n", 2},
		{"a file with a word", []string{"--file", "-"}, base + "/pay/a\nquote\n", 2},
		{"no URL", nil, "", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if status, out := lintWith(t, base, tt.stdin, tt.args...); status != tt.status {
				t.Errorf("exit status %d, want %d:\n%s", status, tt.status, out)
			}
		})
	}
}

// TestLintMany checks the text and the JSON of several URLs, in the order of the command line.
func TestLintMany(t *testing.T) {
	t.Parallel()
	base := startSeller(t)
	urls := []string{base + "/pay/a", base + "/free", base + "/pay/b", base + "/gone", base + "/pay/c"}
	status, text := lintWith(t, base, "", urls...)
	if want := "\n5 URLs: 3 can be paid, with faults; 2 can't be paid.\n"; status != 3 || !strings.HasSuffix(text, want) {
		t.Errorf("exit status %d, text\n%swant 3 and the end %q", status, text, want)
	}
	at := -1
	for _, u := range urls {
		line := strings.Replace(u, base, "BASE", 1) + "\n"
		if next := strings.Index(text, line); next <= at {
			t.Errorf("%s is not after the one before it:\n%s", line, text)
		} else {
			at = next
		}
	}
	_, out := lintWith(t, base, strings.Join(urls, "\n"), "--json", "--file", "-")
	var batch lint.Batch
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(&batch); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range batch.Reports {
		got = append(got, r.URL+" "+r.Verdict)
	}
	want := []string{"BASE/pay/a paid", "BASE/free open", "BASE/pay/b paid", "BASE/gone failed", "BASE/pay/c paid"}
	if diff := gocmp.Diff(want, got); diff != "" || !batch.Complete {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

// TestLintHints checks hints of whole answers: what lint asks for them, and the code for the program that answered.
func TestLintHints(t *testing.T) {
	t.Parallel()
	var server *httptest.Server
	ask := func(w http.ResponseWriter, r *http.Request) {
		terms := fmt.Sprintf(cleanTerms, server.URL+r.URL.Path)
		w.Header().Set("PAYMENT-REQUIRED", base64.StdEncoding.EncodeToString([]byte(terms)))
		w.WriteHeader(http.StatusPaymentRequired)
		fmt.Fprint(w, "{}")
	}
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Powered-By", "Express")
		switch r.URL.Path {
		case "/browser": // answers a browser only if it asks as a browser does
			if r.Header.Get("Origin") != "" {
				w.Header().Set("Access-Control-Allow-Origin", "*")
				w.Header().Set("Access-Control-Expose-Headers", "PAYMENT-REQUIRED")
			}
			if r.Method == http.MethodOptions {
				w.Header().Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
				w.WriteHeader(http.StatusNoContent)
				return
			}
		case "/validates":
			switch {
			case r.Method != http.MethodPost:
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			case !strings.Contains(string(body), `"q"`):
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(w, `{"x402Version":2,"accepts":[],"extensions":{"bazaar":{"info":{"input":{"type":"http",
					"method":"POST","bodyType":"json","body":{"q":"x"}}}}}}`)
				return
			}
		case "/wrong": // refuses its own example
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprintf(w, `{"x402Version":2,"accepts":[],"extensions":{"bazaar":{"info":{"input":{"type":"http",
				"method":"GET","queryParams":{"city":"Oslo"}}}}}}`)
			return
		case "/cached":
			w.Header().Set("Cache-Control", "public, max-age=60")
		}
		ask(w, r)
	}))
	t.Cleanup(server.Close)
	for _, tt := range []struct {
		path    string
		browser *bool
		want    []string
		has     []string // in the text
	}{
		{"/browser", new(true), nil, nil},
		{"/cached", new(false), []string{"browser_blocked", "cacheable_402"},
			[]string{"    Express\n", `response.set("Cache-Control", "no-store")`, `exposedHeaders: ["PAYMENT-REQUIRED"`}},
		{"/validates", new(false), []string{"browser_blocked", "input_before_payment"}, []string{
			"Which request reached the 402", "  POST {} answers 400\n",
			"  POST {\"q\":\"x\"} (the endpoint's own example) answers 402\n"}},
		{"/wrong", nil, []string{"input_before_payment", "example_misses_402"}, []string{"GET ?city=Oslo answers 422"}},
	} {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			o := lintOptions{visitOptions: visitOptions{AllowPrivate: []string{strings.TrimPrefix(server.URL, "http://")}}}
			report, _ := linted(t, o, server.URL+tt.path)
			var got []string
			for _, h := range report.Hints {
				got = append(got, h.Code)
			}
			if diff := gocmp.Diff(tt.want, got); diff != "" {
				t.Errorf("hints (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(tt.browser, report.Browser); diff != "" {
				t.Errorf("browser, %v (-want +got):\n%s", deref(report.BrowserReason), diff)
			}
			for _, want := range tt.has {
				if !strings.Contains(report.Text(), want) {
					t.Errorf("the text does not contain %q:\n%s", want, report.Text())
				}
			}
		})
	}
}

// TestLintSite checks that an address without a path means the endpoints that its documents declare.
func TestLintSite(t *testing.T) {
	t.Parallel()
	base := startSeller(t)
	type result struct {
		Declared, LeftOut int
		URLs              []string
	}
	for _, tt := range []struct {
		name string
		args []string
		want result
	}{
		{"all", nil, result{4, 0, []string{"GET BASE/pay/a", "POST BASE/pay/b", "GET BASE/gone", "GET BASE/pay/c"}}},
		{"a limit", []string{"--limit", "2"}, result{4, 2, []string{"GET BASE/pay/a", "POST BASE/pay/b"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, out := lintWith(t, base, "", append(tt.args, "--json", base)...)
			var batch lint.Batch
			if err := json.Unmarshal([]byte(out), &batch); err != nil || len(batch.Sites) != 1 {
				t.Fatalf("%v\n%s", err, out)
			}
			got := result{Declared: batch.Sites[0].Declared, LeftOut: batch.Sites[0].LeftOut}
			for _, r := range batch.Reports {
				got.URLs = append(got.URLs, *r.Method+" "+r.URL)
			}
			if diff := gocmp.Diff(tt.want, got); diff != "" {
				t.Errorf("site (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLintIsQuick checks that a URL on the same machine takes well below a second.
func TestLintIsQuick(t *testing.T) {
	t.Parallel()
	base := startSeller(t)
	began := time.Now()
	lintWith(t, base, "", base+"/pay/a")
	if took := time.Since(began); took > 800*time.Millisecond {
		t.Errorf("one URL takes %v", took)
	}
}

// TestLintInterrupted checks that Ctrl-C keeps the reports that are known, and says that the rest is missing.
func TestLintInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			cancel()
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	o := lintOptions{JSON: true, FailOn: lint.LevelCheck,
		visitOptions: visitOptions{AllowPrivate: []string{strings.TrimPrefix(server.URL, "http://")}}}
	l := newLinter(&o)
	defer l.close()
	first := l.lintURL(ctx, target{url: server.URL + "/quick"})
	reports, complete := l.ask(ctx, []target{{url: server.URL + "/slow"}}, func(*lint.Report) {})
	if first.Verdict != "open" || len(reports) != 0 || complete {
		t.Errorf("first %s, then %d reports, complete %t; want open, 0, false", first.Verdict, len(reports), complete)
	}
	var out bytes.Buffer
	err := runLint(ctx, o, []string{server.URL + "/a", server.URL + "/b"}, &out)
	var batch lint.Batch
	if json.Unmarshal(out.Bytes(), &batch) != nil || batch.Complete || err == nil || exitStatus(err) != 1 {
		t.Errorf("lint = %v, printed %s; want an incomplete report and exit status 1", err, &out)
	}
}

// hostileReport returns a report full of text that must not become markup.
func hostileReport(t *testing.T) lint.Batch {
	t.Helper()
	evil := `</pre><script>alert(1)</script>\u202e"'` + strings.Repeat("y", 500)
	host := seller402(t, `{"x402Version":2,"resource":{"url":"`+evil+`"},"accepts":[{"scheme":"`+evil+
		`","network":"`+evil+`","amount":"1","asset":"`+evil+`","payTo":"`+evil+`"}]}`)
	o := lintOptions{FailOn: lint.LevelCheck, visitOptions: visitOptions{AllowPrivate: []string{host}}}
	l := newLinter(&o)
	defer l.close()
	reports, complete := l.ask(t.Context(), []target{{url: "http://" + host + `/<b>?q="ü`}, {url: "http://" + host + "/a"}},
		func(*lint.Report) {})
	return lint.Batch{Complete: complete, Reports: reports, Sites: []lint.Site{}}
}

// TestLintHTML checks that the page is valid HTML of one file, without scripts and external resources.
func TestLintHTML(t *testing.T) {
	t.Parallel()
	base := startSeller(t)
	name := filepath.Join(t.TempDir(), "report.html")
	if status, out := lintWith(t, base, "", "--html", name, base); status != 3 {
		t.Fatalf("exit status %d:\n%s", status, out)
	}
	seller, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	batch := hostileReport(t)
	hostile, err := lint.HTML(&batch, lint.LevelCheck)
	if err != nil {
		t.Fatal(err)
	}
	for name, page := range map[string][]byte{"seller": seller, "hostile": hostile} {
		if err := htmlcheck.Run(page, htmlcheck.Count("article", map[string]int{"seller": 4, "hostile": 2}[name]),
			htmlcheck.NotIn("script, link, img, iframe, object, form, [onclick], [style]")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, bad := range []string{"<script", "src=", "<link", "@import", "url(", "\u202e"} {
			if bytes.Contains(page, []byte(bad)) {
				t.Errorf("%s: the page contains %q", name, bad)
			}
		}
	}
	for _, want := range []string{"4 URLs: 3 can be paid, with faults; 1 can&#39;t be paid.", "Encrypted transport",
		"$0.0025 in USDC"} {
		if !bytes.Contains(seller, []byte(want)) {
			t.Errorf("the page does not contain %q", want)
		}
	}
}

// TestLintSARIF validates the log against the schema of SARIF 2.1.0, which an npm package contains.
func TestLintSARIF(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	if _, err := exec.LookPath("npm"); err != nil {
		testgate.Missing(t, "no npm client: apt-get install -y npm")
	}
	dir := t.TempDir()
	pack := exec.CommandContext(t.Context(), "npm", "pack", "--silent", "@microsoft/jest-sarif@1.0.0-beta.0")
	pack.Dir = dir
	file, err := pack.Output()
	if err != nil {
		t.Fatalf("npm pack: %v", err)
	}
	unpack := exec.CommandContext(t.Context(), "tar", "-xzf", strings.TrimSpace(string(file)),
		"package/lib/schemas/sarif-2.1.0-rtm.5.json")
	unpack.Dir = dir
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(dir, "package/lib/schemas/sarif-2.1.0-rtm.5.json"))
	if err != nil {
		t.Fatal(err)
	}
	base := startSeller(t)
	name := filepath.Join(dir, "lint.sarif")
	lintWith(t, base, "", "--sarif", name, base, "http://127.0.0.1:9/", base+"/free")
	seller, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	batch := hostileReport(t)
	hostile, err := lint.SARIF(&batch, lint.LevelCheck)
	if err != nil {
		t.Fatal(err)
	}
	for name, log := range map[string][]byte{"seller": seller, "hostile": hostile} {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(log))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
