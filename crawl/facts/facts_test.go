package facts

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestBelow checks which URLs a service may declare: those on its own host, below its base path, each once.
func TestBelow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, url, want string }{
		{"https://api.example.com", "https://api.example.com/a", "/a"},
		{"https://api.example.com", "https://API.example.com:443/a?x=1#f", "/a?x=1"},
		{"https://api.example.com", "http://api.example.com/a", "/a"},
		{"https://api.example.com", "https://api.example.com", "/"},
		{"https://api.example.com/v1", "https://api.example.com/v1/a", "/a"},
		{"https://api.example.com/v1", "https://api.example.com/v1", "/"},
		{"https://api.example.com", "https://api.example.com/users/{id}", "/users/{id}"},
		{"https://api.example.com", "https://api.example.com/users/%7Bid%7D", "/users/{id}"},
		{"https://api.example.com", "https://api.example.com/a%2Fb", "/a%2Fb"},
		{"https://api.example.com:8443", "https://api.example.com:8443/a", "/a"},
		{"https://api.example.com/v1", "https://api.example.com/v10/a", ""},
		{"https://api.example.com/v1", "https://api.example.com/a", ""},
		{"https://api.example.com", "https://api.example.com:8443/a", ""},
		{"https://api.example.com", "https://www.example.com/a", ""},
		{"https://api.example.com", "https://user@api.example.com/a", ""},
		{"https://api.example.com", "ftp://api.example.com/a", ""},
		{"https://api.example.com", "https://api.example.com//evil.example.org", ""},
		{"https://api.example.com/v1", "https://api.example.com/v1/../admin", ""},
		{"https://api.example.com", "https://api.example.com/%2e%2e/admin", ""},
		{"https://api.example.com", "https://api.example.com/" + strings.Repeat("a", 500), ""},
		{"https://api.example.com", "https://api.example.com/%zz", ""},
		{"%zz", "https://api.example.com/a", ""},
	} {
		got := ""
		if paths := FilterBelow(c.base, []Declared{{URL: c.url}}); len(paths) == 1 {
			got = paths[0].Path
		}
		if got != c.want {
			t.Errorf("Below(%s, %.80s) = %q, want %q", c.base, c.url, got, c.want)
		}
	}
	var paths []string
	for _, e := range FilterBelow("https://a.example.com", []Declared{
		{Method: "GET", URL: "https://a.example.com/x?1"}, {Method: "GET", URL: "https://a.example.com/x?2"},
		{Method: "POST", URL: "https://a.example.com/x"},
		{Method: "GET", URL: "https://a.example.com/u/1", Template: "/u/:id"},
		{Method: "GET", URL: "https://a.example.com/u/2", Template: "/u/:id"},
	}) {
		paths = append(paths, e.Method+" "+e.Path)
	}
	if diff := cmp.Diff([]string{"GET /x?1", "POST /x", "GET /u/1"}, paths); diff != "" {
		t.Errorf("each URL and each template once (-want +got):\n%s", diff)
	}
}

// TestDomainOf checks registered names, names below private suffixes, and hosts without a registered name.
func TestDomainOf(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"example.com": "example.com", "api.Example.COM.": "example.com", "a.b.example.co.uk": "example.co.uk",
		"acme.vercel.app": "acme.vercel.app below vercel.app", "api.acme.uk.com": "acme.uk.com below uk.com",
		"xn--bcher-kva.example.de": "example.de", "com": "", "co.uk": "", "acme.sample.test": "", "localhost": "",
		"host.example": "",
		"10.0.0.1":     "", "::1": "", "": "", "a..com": "",
	} {
		got := ""
		if d, ok := DomainOf(host); ok {
			got = d.Name
			if d.Suffix != "" {
				got += " below " + d.Suffix
			}
		}
		if got != want {
			t.Errorf("DomainOf(%q) = %q, want %q", host, got, want)
		}
	}
}

func TestBootstrapServer(t *testing.T) {
	t.Parallel()
	b, err := ReadBootstrap([]byte(`{"version": "1.0", "services": [
		[["com", "NET"], ["http://rdap.example.net/com", "https://rdap.example.net/com/v1/"]],
		[["uk"], ["https://rdap.example.uk"]], [["co.uk"], ["https://co.example.uk/"]],
		[["nl"], ["https://listed.example.nl"]], [["bad"], ["ftp://x", 7]], ["x"], 7]}`))
	if err != nil {
		t.Fatal(err)
	}
	for domain, want := range map[string]string{
		"example.com": "https://rdap.example.net/com/v1/", "example.net": "https://rdap.example.net/com/v1/",
		"example.uk": "https://rdap.example.uk/", "example.co.uk": "https://co.example.uk/", "example.bad": "",
		"acme.io": "https://rdap.identitydigital.services/rdap/", "acme.co": "https://rdap.nic.co/",
		"acme.de": "https://rdap.denic.de/", "acme.com.de": "https://rdap.denic.de/", "acme.nl": "https://listed.example.nl/",
		"example.test": "",
	} {
		if got := b.Server(domain); got != want {
			t.Errorf("server of %s is %q, want %q", domain, got, want)
		}
	}
	for suffix, server := range unlistedServers {
		u, err := url.Parse(server)
		if err != nil || u.Scheme != "https" || !strings.HasSuffix(server, "/") || strings.Contains(suffix, ".") {
			t.Errorf("the server of .%s is %q, want https and a slash at the end", suffix, server)
		}
	}
	for _, doc := range []string{"", "<html>", "{}", `{"services": []}`} {
		if _, err := ReadBootstrap([]byte(doc)); err == nil {
			t.Errorf("%q is accepted as a list of RDAP servers", doc)
		}
	}
}
