package objects

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestWebRedirects checks that a server can't redirect a reader to another host or port.
func TestWebRedirects(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer inside.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch name := strings.TrimPrefix(r.URL.Path, "/"); name {
		case "host":
			http.Redirect(w, r, strings.Replace(inside.URL, "127.0.0.1", "localhost", 1), http.StatusFound)
		case "port":
			http.Redirect(w, r, inside.URL, http.StatusFound)
		case "scheme":
			http.Redirect(w, r, "ftp://"+r.Host, http.StatusFound)
		case "loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "same":
			http.Redirect(w, r, "/there", http.StatusFound)
		}
	}))
	defer server.Close()
	web, err := OpenWeb(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"host", "port", "scheme", "loop"} {
		if _, err := web.Stat(t.Context(), name); !errors.Is(err, errRedirect) {
			t.Errorf("%s: %v, want %v", name, err, errRedirect)
		}
	}
	if _, err := web.Stat(t.Context(), "same"); err != nil {
		t.Errorf("same: %v", err)
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d requests to the other server, want 0", n)
	}
}

// TestAddressGuard checks that a name may not become private after it was public, in any form of address.
func TestAddressGuard(t *testing.T) {
	t.Parallel()
	private := []string{
		"127.0.0.1:80", "10.0.0.1:80", "192.168.1.1:80", "169.254.169.254:80", "0.0.0.0:80", "255.255.255.255:80",
		"[::1]:80", "[::]:80", "[fe80::1%lo]:80", "[fc00::1]:80", "[fd00:ec2::254]:80", "[::ffff:127.0.0.1]:80",
		"[::ffff:10.0.0.1]:80",
	}
	var operators addressGuard
	for _, address := range private {
		if err := operators.check("tcp", address, nil); err != nil {
			t.Errorf("%s from the start: %v", address, err)
		}
	}
	var strangers addressGuard
	for _, address := range []string{"93.184.216.34:443", "[2606:2800:220:1::1]:443"} {
		if err := strangers.check("tcp", address, nil); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range private {
		if err := strangers.check("tcp", address, nil); !errors.Is(err, errRebound) {
			t.Errorf("%s after a public address: %v, want %v", address, err, errRebound)
		}
	}
}
