package source_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/source"
)

// TestAliases checks that www. is dropped before a registrable domain and nowhere else.
func TestAliases(t *testing.T) {
	t.Parallel()
	for host, want := range map[string][]string{
		"example.com":          {"example.com", "www.example.com"},
		"www.example.com":      {"www.example.com", "example.com"},
		"www.example.co.uk:81": {"www.example.co.uk:81", "example.co.uk:81"},
		"www.api.example.com":  {"www.api.example.com"}, // anybody may have given api away
		"api.example.com":      {"api.example.com"},
		"www.seller.github.io": {"www.seller.github.io", "seller.github.io"}, // a customer of the host
		"www.github.io":        {"www.github.io", "www.www.github.io"},       // the name of a customer
		"github.io":            {"github.io"},
		"www.com":              {"www.com", "www.www.com"},
		"www.127.0.0.1":        {"www.127.0.0.1"},
		"127.0.0.1:80":         {"127.0.0.1:80"},
		"[::1]:80":             {"[::1]:80"},
		"localhost":            {"localhost"},
		"":                     {""},
	} {
		if diff := cmp.Diff(want, source.Aliases(host)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", host, diff)
		}
	}
	a := source.Row{URL: "http://WWW.Example.com:80/q?x=1", Method: "GET"}
	b := source.Row{URL: "https://example.com:443/q", Method: "GET"}
	if a.Identity() != b.Identity() {
		t.Errorf("%+v and %+v are two resources, want one", a.Identity(), b.Identity())
	}
}
