package directory

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tollbook/site"
	"tollbook/site/routes"
)

// open returns a reader of a server that answers with handle.
func open(t *testing.T, handle http.HandlerFunc) *Reader {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return openURL(t, s.URL)
}

func openURL(t *testing.T, url string) *Reader {
	t.Helper()
	r, err := Open(Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// answer returns a handler that always sends the same response.
func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// withRoutes answers v1/routes.json with a route table that has the given patterns, and other paths with next.
func withRoutes(next http.HandlerFunc, patterns ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/"+routes.TableFile {
			next(w, r)
			return
		}
		table := routes.RouteTable{}
		for _, p := range patterns {
			table.Routes = append(table.Routes, routes.Route{Pattern: p})
		}
		_ = json.NewEncoder(w).Encode(site.One[routes.RouteTable]{Data: table})
	}
}

const notFound = `{"error":{"code":404,"type":"not_found","message":"nothing was found at this path"}}`

// TestFailures checks the error for each kind of server that is no directory, or not the one that was expected.
func TestFailures(t *testing.T) {
	t.Parallel()
	page := answer(http.StatusNotFound, "text/html", "<h1>Not here\x1b[2J</h1>")
	for _, tt := range []struct {
		name   string
		handle http.HandlerFunc
		want   string
	}{
		{"a website", answer(200, "text/html", "<!doctype html><title>Shop</title>"),
			"/v1/search answers no JSON: this is not a Tollbook directory; check --directory"},
		{"a website without the path", page,
			"/v1/search answers 404 without the JSON of an error: this is not a Tollbook directory; check --directory"},
		{"another API", answer(404, "application/json", `{"error":"no route"}`), "this is not a Tollbook directory"},
		{"a list", answer(200, "application/json", `[1,2]`), "answers no JSON"},
		{"broken JSON", answer(200, "application/json", `{"data":[`), "answers no JSON"},
		{"nothing", answer(200, "application/json", ``), "answers no JSON"},
		{"an older directory", withRoutes(page, "/v1/services", "/v1/services/{slug}"),
			"its Tollbook is older than this program and has no /v1/search"},
		{"files alone", withRoutes(page, "/v1/search"), "its server sends files alone and can't answer this; ask its"},
		{"nothing published", answer(503, "application/json",
			`{"error":{"code":503,"type":"unavailable","message":"nothing is published yet"}}`),
			"it answers 503: nothing is published yet; try again later"},
		{"a failing proxy", answer(502, "text/html", "Bad Gateway"), "answers 502 without the JSON of an error"},
		{"too many requests", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "12")
			answer(429, "application/json", `{"error":{"code":429,"type":"rate_limited","message":"x"}}`)(w, nil)
		}, "it got too many requests from you; wait 12s, then run the command again"},
		{"a proxy's limit", answer(429, "text/html", "slow down"), "wait a minute, then run the command again"},
		{"a year", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "31536000")
			answer(429, "text/html", "")(w, nil)
		}, "wait 24h0m0s"},
		{"an error in colour", answer(400, "application/json",
			`{"error":{"code":400,"type":"x","message":"\u001b[31mred\nline \u202ereversed"}}`),
			"[31mred line reversed"},
		{"a truncated response", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{"data":[`)
		}, "/v1/search ends after 9 bytes, before its end; try again"},
		{"an endless response", endless(false), "/v1/search is larger than 16 MB"},
		{"a gzip bomb", endless(true), "/v1/search is larger than 16 MB"},
		{"a loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) },
			"it redirects more than 5 times"},
		{"endless headers", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Filler", strings.Repeat("x", 1<<20))
		}, "exceeded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := open(t, tt.handle)
			_, err := r.Get(t.Context(), "/v1/search", nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) ||
				!strings.HasPrefix(err.Error(), "read the directory "+r.Name()+": ") ||
				strings.ContainsAny(err.Error(), "\x1b\n\u202e") {
				t.Errorf("the error is %q, want %q", err, tt.want)
			}
		})
	}
}

// endless sends a response without an end, packed or plain.
func endless(packed bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		out := io.Writer(w)
		if packed {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			out = z
		}
		for r.Context().Err() == nil {
			if _, err := io.WriteString(out, strings.Repeat(" ", 1<<20)); err != nil {
				return
			}
		}
	}
}

// TestRequireRoute checks the error for a directory that answers like Tollbook but lacks the route.
func TestRequireRoute(t *testing.T) {
	t.Parallel()
	for want, patterns := range map[string][]string{
		"its Tollbook is older than this program and has no /v1/search": {"/v1/services"},
		"nothing was found at this path":                                {"/v1/search"},
	} {
		r := open(t, withRoutes(answer(404, "application/json", notFound), patterns...))
		_, err := r.Get(t.Context(), "/v1/search", nil)
		if !IsNotFound(err) {
			t.Errorf("the error is %v, want a StatusError of 404", err)
		}
		if err := r.RequireRoute(t.Context(), "/v1/search", err); !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

// TestRedirect checks that a redirect is followed within the origin, and that another site is never contacted.
func TestRedirect(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other site gets %s with %v", r.URL, r.Header)
	}))
	t.Cleanup(other.Close)
	r := open(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/old/v1/networks":
			http.Redirect(w, r, "/v1/networks", http.StatusMovedPermanently)
		case "/v1/networks":
			io.WriteString(w, `{"data":[{"abbreviation":"BSE"}]}`)
		default:
			http.Redirect(w, r, other.URL+"/v1/x?secret=s3cret", http.StatusFound)
		}
	})
	list, err := openURL(t, r.base.String()+"/old/").Networks(t.Context())
	if err != nil || len(list) != 1 {
		t.Errorf("after a redirect: %v, %v", list, err)
	}
	_, err = r.Get(t.Context(), "/v1/elsewhere", nil)
	if want := "it redirects to " + other.URL + "; if you trust that site, give it as --directory"; err == nil ||
		!strings.HasSuffix(err.Error(), want) {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

// TestSecrets checks that a password in the URL is sent to the directory and is in no error.
func TestSecrets(t *testing.T) {
	t.Parallel()
	r := open(t, func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "s3cret" {
			t.Errorf("the directory gets the password %q", password)
		}
		http.Error(w, r.Header.Get("Authorization"), http.StatusForbidden)
	})
	with := *r.base
	with.User = url.UserPassword("me", "s3cret")
	reader := openURL(t, with.String())
	if _, err := reader.Get(t.Context(), "/v1/stats", nil); err == nil || strings.Contains(err.Error(), "s3cret") ||
		!strings.Contains(err.Error(), "answers 403") {
		t.Errorf("the error is %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	with.Host = l.Addr().String()
	if err := l.Close(); err != nil { // so that a connection to its address is refused
		t.Fatal(err)
	}
	if _, err := openURL(t, with.String()).Get(t.Context(), "/v1/stats", nil); err == nil ||
		strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("the error is %v", err)
	}
	if err := CheckURL("ftp://me:s3cret@acme.example"); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the error is %v", err)
	}
}

// TestWaiting checks that a directory that does not answer ends with the time limit, or with Ctrl-C.
func TestWaiting(t *testing.T) {
	t.Parallel()
	r := open(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	r.client.Timeout = 20 * time.Millisecond
	if _, err := r.Get(t.Context(), "/v1/stats", nil); err == nil ||
		!strings.HasSuffix(err.Error(), "it does not answer within 20ms") {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Get(ctx, "/v1/stats", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("after Ctrl-C the error is %v", err)
	}
	lookup := &url.Error{Op: "Get", URL: "https://u:s3cret@nobody.example", Err: &net.OpError{Op: "dial",
		Err: &net.DNSError{Err: "no such host", Name: "nobody.example", IsNotFound: true}}}
	if err := r.fail(t.Context(), lookup); !strings.HasSuffix(err.Error(), "there is no such host; check --directory") {
		t.Errorf("the error is %v", err)
	}
}

// TestTypes checks the error for JSON with another type, and that slugs that no directory has are left out.
func TestTypes(t *testing.T) {
	t.Parallel()
	r := open(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/networks":
			io.WriteString(w, `{"data":[{"abbreviation":7}]}`)
		case "/v1/index.json":
			io.WriteString(w, `{"slugs":["acme","$(id)","a\u001b[31m"]}`)
		}
	})
	_, err := r.Networks(t.Context())
	if want := `/v1/networks: its member "data.abbreviation" has another type than this program reads`; err == nil ||
		!strings.HasSuffix(err.Error(), want) {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if slugs, err := r.Slugs(t.Context()); err != nil || fmt.Sprint(slugs) != "[acme]" {
		t.Errorf("slugs %q, %v", slugs, err)
	}
}

// TestNothingPublished checks the error for a data folder without a publication, which is not created.
func TestNothingPublished(t *testing.T) {
	t.Parallel()
	public := filepath.Join(t.TempDir(), "data", "public")
	_, err := Open(Options{Public: public})
	if want := "read " + public + ": nothing is published there; name a directory with --directory"; err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

// TestFindNetwork checks the names that mean a network of a directory.
func TestFindNetwork(t *testing.T) {
	t.Parallel()
	list := []site.Network{
		{CAIP2: "eip155:8453", Name: "Base", Abbreviation: "BSE"},
		{CAIP2: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", Name: "Solana", Abbreviation: "SOL"},
		{CAIP2: "eip155:999999", Name: "eip155:999999"},
	}
	for _, tt := range []struct {
		name, want string
		listed     bool
	}{
		{"base", "BSE", true}, {"BSE", "BSE", true}, {"bse", "BSE", true}, {"eip155:8453", "BSE", true},
		{"Solana", "SOL", true}, {"solana-mainnet-beta", "SOL", true}, {"eip155:999999", "eip155:999999", true},
		{"polygon", "POL", false}, {"POL", "POL", false}, {"eip155:137", "POL", false}, {"nowhere", "", false},
	} {
		if n, ok := FindNetwork(list, tt.name); NetworkValue(n) != tt.want || ok != tt.listed {
			t.Errorf("%s is %q, %v; want %q, %v", tt.name, NetworkValue(n), ok, tt.want, tt.listed)
		}
	}
}
