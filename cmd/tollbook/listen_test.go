package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/cmd/tollbook/terminal"
	"tollbook/output"
)

func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	o := proxyOptions{TrustedProxies: []string{"10.0.0.0/8", " 192.0.2.7", "2001:db8::1/32", "::1", "::ffff:192.0.2.8"}}
	got, err := o.trusted()
	if err != nil {
		t.Fatal(err)
	}
	var networks []string
	for _, n := range got {
		networks = append(networks, n.String())
	}
	if diff := cmp.Diff([]string{"10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32", "::1/128", "192.0.2.8/32"},
		networks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, text := range []string{"proxy.example", "10.0.0.0/33", "", "fe80::1%eth0/64", "::ffff:10.0.0.0/104",
		"10.0.0.0-10.0.0.9"} {
		if got, err := (&proxyOptions{TrustedProxies: []string{text}}).trusted(); !errors.As(err, new(terminal.UsageError)) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if netip.MustParsePrefix("10.0.0.0/8") != got[0] {
		t.Errorf("got %v", got[0])
	}
}

// TestServePolicy runs serve with a rate limit, a trusted proxy and metrics, on a folder with one snapshot.
func TestServePolicy(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "public")
	folder, err := output.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := folder.Begin(t.Context(), output.BuildOptions{Now: time.Now(), Next: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Add("v1/tags.json", []byte("{\"data\":[]}\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	out, said := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := runServe(ctx, serveOptions{
			listenOptions: listenOptions{Listen: "127.0.0.1:0", RateLimit: 2},
			proxyOptions:  proxyOptions{TrustedProxies: []string{"127.0.0.1"}, Metrics: "127.0.0.1:0"},
			fromOptions:   fromOptions{From: dir},
		}, said)
		said.Close()
		ended <- err
	}()
	var addresses []string
	lines := make([]byte, 0, 1000)
	for buf := make([]byte, 1000); len(addresses) < 2; {
		n, err := out.Read(buf)
		if err != nil {
			t.Fatalf("%v after %q", err, lines)
		}
		lines = append(lines, buf[:n]...)
		addresses = addresses[:0]
		for line := range strings.Lines(string(lines)) {
			if _, rest, ok := strings.Cut(line, "http://"); ok {
				address, _, _ := strings.Cut(rest, "/")
				addresses = append(addresses, address)
			}
		}
	}
	get := func(address, path, client string) (int, string, http.Header) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Forwarded-For", client)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body), response.Header
	}
	var codes []int
	for _, client := range []string{"198.51.100.1", "198.51.100.1", "198.51.100.1", "198.51.100.2"} {
		code, _, header := get(addresses[0], "/v1/tags", client)
		codes = append(codes, code)
		if header.Get("RateLimit-Policy") != `"api";q=2;w=60` {
			t.Errorf("header %v", header)
		}
	}
	if diff := cmp.Diff([]int{200, 200, 429, 200}, codes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if code, _, _ := get(addresses[0], "/metrics", ""); code != 404 {
		t.Errorf("figures for readers: %d", code)
	}
	if code, body, _ := get(addresses[1], "/metrics", ""); code != 200 ||
		!strings.Contains(body, "tollbook_rate_limited_total 1\n") {
		t.Errorf("figures: %d %s", code, body)
	}
	for _, address := range addresses {
		if code, body, _ := get(address, "/readyz", ""); code != 200 || !strings.Contains(body, `"status":"ready"`) {
			t.Errorf("ready: %d %s", code, body)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("serve: %v", err)
	}
}
