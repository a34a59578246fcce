package probe

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sampleWorld serves names below sample.test over plain HTTP, each with its own handler.
func sampleWorld(t *testing.T, services map[string]http.HandlerFunc) *Prober {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		services[r.Host](w, r)
	}))
	t.Cleanup(server.Close)
	p := New(Options{RequestTimeout: time.Minute, Routes: []Route{{
		Domain: "sample.test",
		Dial: func(ctx context.Context, network, addr string) (net.Conn, bool, error) {
			host, _, _ := strings.Cut(addr, ":")
			if services[host] == nil {
				return nil, false, nil
			}
			var d net.Dialer
			conn, err := d.DialContext(ctx, network, server.Listener.Addr().String())
			return conn, true, err
		},
	}}})
	t.Cleanup(p.Close)
	return p
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	to := func(code int, location string) http.HandlerFunc { return status(code, "Location", location) }
	var mu sync.Mutex
	var seen []string
	note := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf("%s %q %s", r.Method, r.Header.Get("Content-Type"), body))
		demand(w)
	}
	hops := func(w http.ResponseWriter, r *http.Request) {
		left := len(strings.Trim(r.URL.Path, "/"))
		if left == 0 {
			demand(w)
			return
		}
		to(308, "/"+strings.Repeat("x", left-1))(w, r)
	}
	p := sampleWorld(t, map[string]http.HandlerFunc{
		"hops.sample.test":   hops,
		"end.sample.test":    note,
		"same.sample.test":   func(w http.ResponseWriter, r *http.Request) { redirectOnce(w, r, note) },
		"307.sample.test":    to(307, "http://end.sample.test/"),
		"308.sample.test":    to(308, "//end.sample.test/"),
		"303.sample.test":    to(303, "http://end.sample.test/"),
		"302.sample.test":    to(302, "http://end.sample.test/"),
		"empty.sample.test":  to(302, ""),
		"bad.sample.test":    to(302, "http://[::1"),
		"long.sample.test":   to(302, "/"+strings.Repeat("x", 3000)),
		"none.sample.test":   to(302, "http://nobody.sample.test/"),
		"lan.sample.test":    to(302, "http://127.0.0.1/"),
		"leaves.sample.test": to(302, "http://example.org/"),
		"ping.sample.test":   to(302, "http://pong.sample.test/"),
		"pong.sample.test":   to(302, "http://ping.sample.test/"),
	})
	tests := []struct {
		target Target
		class  string
		reason string
		hops   int
		end    string // the last service's request
	}{
		{Target{URL: "http://hops.sample.test/xxx"}, ClassPaidOK, "asks for payment", 3, ""},
		{Target{URL: "http://hops.sample.test/xxxx"}, ClassRedirect, "redirects more than 3 times", 3, ""},
		{Target{URL: "http://307.sample.test/", Method: "POST"}, ClassPaidOK, "asks for payment", 1, `POST "" `},
		{Target{URL: "http://308.sample.test/", Method: "PUT"}, ClassPaidOK, "asks for payment", 1, `PUT "" `},
		{Target{URL: "http://same.sample.test/", Method: "POST"}, ClassPaidOK, "asks for payment", 1,
			`POST "application/json" {}`},
		{Target{URL: "http://303.sample.test/", Method: "POST"}, ClassPaidOK, "asks for payment", 1, `GET "" `},
		{Target{URL: "http://302.sample.test/", Method: "POST"}, ClassPaidOK, "asks for payment", 1, `GET "" `},
		{Target{URL: "http://empty.sample.test/", Method: "GET"}, ClassRedirect,
			"answers 302 Found without an address to go to", 0, ""},
		{Target{URL: "http://bad.sample.test/", Method: "GET"}, ClassRedirect,
			"redirects to an invalid URL", 0, ""},
		{Target{URL: "http://long.sample.test/", Method: "GET"}, ClassRedirect,
			"redirects to a URL of more than 2048 bytes", 0, ""},
		{Target{URL: "http://none.sample.test/", Method: "GET"}, ClassUnreachable, "no such host", 1, ""},
		{Target{URL: "http://lan.sample.test/", Method: "GET"}, ClassRedirect,
			"redirects to an address that is not visited", 0, ""},
		{Target{URL: "http://leaves.sample.test/", Method: "GET"}, ClassRedirect,
			"redirects to another site, example.org", 0, ""},
		{Target{URL: "http://ping.sample.test/", Method: "GET"}, ClassRedirect, "redirects in a loop", 1, ""},
		{Target{URL: "http://nobody.sample.test/", Method: "GET"}, ClassUnreachable, "no such host", 0, ""},
	}
	for _, tt := range tests {
		seen = nil
		got := p.Probe(t.Context(), tt.target)
		if got.Class != tt.class || got.Reason != tt.reason || len(got.Redirects) != tt.hops {
			t.Errorf("%s: %s (%s) after %q, want %s (%s) after %d", tt.target.URL, got.Class, got.Reason, got.Redirects,
				tt.class, tt.reason, tt.hops)
		}
		if diff := cmp.Diff(tt.end, strings.Join(seen, "; ")); diff != "" {
			t.Errorf("%s: request of the last service (-want +got):\n%s", tt.target.URL, diff)
		}
	}
}

func redirectOnce(w http.ResponseWriter, r *http.Request, then http.HandlerFunc) {
	if r.URL.Path == "/" {
		w.Header().Set("Location", "/next")
		w.WriteHeader(http.StatusPermanentRedirect)
		return
	}
	then(w, r)
}

func TestMovedHost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ from, to, want string }{
		{"https://a.acme.com/x?q=1", "https://b.acme.com/x?q=1", "b.acme.com"},
		{"http://acme.com/x", "https://www.acme.com/x", "www.acme.com"},
		{"http://a.acme.co.uk/x", "https://b.acme.co.uk:8443/x", "b.acme.co.uk:8443"},
		{"http://acme.com/x", "https://acme.com/x", ""},                // another scheme
		{"http://a.acme.com/x", "http://b.acme.com/y", ""},             // another path
		{"http://a.acme.com/x", "http://b.acme.com/x?q=1", ""},         // another query
		{"http://acme.co.uk/x", "http://bolt.co.uk/x", ""},             // another domain
		{"http://a.vercel.app/x", "http://b.vercel.app/x", ""},         // a public suffix
		{"http://a.codesandbox.io/x", "http://b.codesandbox.io/x", ""}, // a host of free sites
		{"http://198.51.100.1/x", "http://198.51.100.2/x", ""},         // addresses
		{"http://localhost:1/x", "http://localhost:2/x", ""},           // no domain
	} {
		from, err := url.Parse(tt.from)
		if err != nil {
			t.Fatal(err)
		}
		to, err := url.Parse(tt.to)
		if err != nil {
			t.Fatal(err)
		}
		if got := movedHost(from, to); got != tt.want {
			t.Errorf("movedHost(%s, %s) = %q, want %q", from, to, got, tt.want)
		}
	}
}
