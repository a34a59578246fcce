package listing_test

import (
	"strings"
	"testing"

	"tollbook/site/listing"
)

func TestFreeHosts(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"vercel.app": true, "acme.vercel.app": true, "a.b.vercel.app": true, "ACME.Vercel.App": true,
		"acme.vercel.app.":    true,
		"x.trycloudflare.com": true, "acme.github.io": true, "app.github.dev": true,
		"": false, ".": false, "app": false, "example.com": false, "notvercel.app": false,
		"vercel.app.example.com": false, "github.com": false,
		"github.dev": false, "127.0.0.1": false, "[::1]": false, "..vercel.app": true, "x.tunnel.example": false,
	} {
		if got := (listing.FreeHosts{}).Has(host); got != want {
			t.Errorf("Has(%q) = %t", host, got)
		}
	}
}

// TestFreeHostsWith checks that an operator's lists are added to the shipped list and to each other, and change
// neither.
func TestFreeHostsWith(t *testing.T) {
	t.Parallel()
	var none listing.FreeHosts
	one, err := none.With([]byte("# tunnels\r\nTunnel.Example # ours\r\n\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	two, err := one.With([]byte("xn--bcher-kva.example"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		hosts listing.FreeHosts
		host  string
		want  bool
	}{
		{none, "a.tunnel.example", false}, {one, "a.tunnel.example", true}, {two, "a.tunnel.example", true},
		{one, "xn--bcher-kva.example", false}, {two, "xn--bcher-kva.example", true}, {two, "acme.vercel.app", true},
		{two, "example", false},
	} {
		if got := tt.hosts.Has(tt.host); got != tt.want {
			t.Errorf("%v: Has(%q) = %t", tt.hosts, tt.host, got)
		}
	}
	for list, want := range map[string]string{
		"a.example\nhttps://b.example\n": `line 2: "https://b.example" is not a domain`,
		"app":                            `line 1: "app" is not a domain`, "*.example.com": "line 1: ",
		"a..b":           "line 1: ",
		"\n\nb\xffx.com": "line 3: ", "10.0.0.1": "line 1: ", "-a.com": "line 1: ", "a.com b.com": "line 1: ",
		"a_b.com": "line 1: ", strings.Repeat("a", 64) + ".com": "line 1: ",
		strings.Repeat("#", 2000): "line 1: has 2000 bytes", "bücher.example": "line 1: ",
	} {
		if _, err := none.With([]byte(list)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", list, err, want)
		}
	}
}
