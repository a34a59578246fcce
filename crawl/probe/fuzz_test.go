package probe

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// checkCanonical checks what must be true of every URL that the guard lets through by its text.
func checkCanonical(t *testing.T, g *Guard, u *url.URL) {
	t.Helper()
	host := u.Hostname()
	if u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "" || host == "" {
		t.Fatalf("%q is let through", u)
	}
	if a, err := netip.ParseAddr(host); err == nil {
		if kind := forbiddenKind(a); kind != "" {
			t.Fatalf("%q is %s", u, kind)
		}
	} else if ip := net.ParseIP(host); ip != nil {
		t.Fatalf("other programs read %q as the address %s", u, ip)
	} else if last := host[strings.LastIndexByte(host, '.')+1:]; strings.Trim(last, "0123456789") == "" ||
		strings.HasPrefix(last, "0x") || last == host {
		t.Fatalf("%q ends in a number or is a single label", u)
	} else if strings.ToLower(host) != host ||
		strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' }) {
		t.Fatalf("%q is not in lower-case ASCII", u)
	}
	if err := checkPort(u.Port()); err != nil {
		t.Fatalf("%q: %v", u, err)
	}
	// The text that is sent must parse to what was checked, by the same parser and by a second pass.
	again, err := url.Parse(u.String())
	if err != nil || again.Host != u.Host || again.Scheme != u.Scheme {
		t.Fatalf("%q parses as %v, %v", u, again, err)
	}
	if twice, err := g.canonical(again); err != nil || twice.String() != u.String() {
		t.Fatalf("%q is %v, %v the second time", u, twice, err)
	}
}

func seeds(f *testing.F) (urls []string) {
	f.Helper()
	for _, path := range []string{"testdata/forbidden_urls.txt", "testdata/public_urls.txt"} {
		for _, line := range linesOf(f, path) {
			first, _, _ := strings.Cut(line, "\t")
			urls = append(urls, first)
		}
	}
	return urls
}

func FuzzCheckURL(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	var g Guard
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.Parse(text)
		if err != nil {
			return
		}
		before := u.String()
		c, err := g.canonical(u)
		if u.String() != before {
			t.Fatalf("%q became %q", before, u)
		}
		if err != nil {
			if !errors.Is(err, ErrRefused) || len(err.Error()) > 400 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		checkCanonical(t, &g, c)
	})
}

func FuzzRedirect(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add("https://api.example.com/v1?x=1", s)
	}
	for _, s := range []string{"/x", "//b.example.com", "?q", "..", "\\\\evil.org", "/\\evil.org", "https:evil.org",
		"///evil.org", "https://example.com.evil.org"} {
		f.Add("https://api.example.com/v1", s)
		f.Add("http://8.8.8.8:8080/", s)
	}
	p := New(Options{})
	f.Fuzz(func(t *testing.T, text, location string) {
		u, err := url.Parse(text)
		if err != nil {
			return
		}
		from, err := p.guard.canonical(u)
		if err != nil {
			return
		}
		c := call{method: "POST", url: from, body: []byte("{}"), contentType: "application/json"}
		next, err := p.followRedirect(c, 307, location)
		if err != nil {
			return
		}
		checkCanonical(t, p.guard, next.url)
		here, there := from.Hostname(), next.url.Hostname()
		switch {
		case from.Scheme == "https" && next.url.Scheme != "https":
			t.Fatalf("%q to %q leaves https", from, next.url)
		case here != there && domainOf(here) != domainOf(there):
			t.Fatalf("%q to %q leaves the site", from, next.url)
		case here != there && next.body != nil:
			t.Fatalf("%q to %q sends the body to another host", from, next.url)
		}
	})
}

// FuzzForbidden compares the guard with the standard library's properties of an address. The guard may be stricter,
// never laxer.
func FuzzForbidden(f *testing.F) {
	for _, line := range linesOf(f, "testdata/forbidden_addresses.txt") {
		a := netip.MustParseAddr(line[strings.LastIndexByte(line, ' ')+1:])
		f.Add(a.AsSlice())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		if forbiddenKind(a) != "" {
			return
		}
		plain := a.Unmap()
		if plain.IsPrivate() || plain.IsLoopback() || plain.IsMulticast() || plain.IsLinkLocalUnicast() ||
			plain.IsUnspecified() || !plain.IsGlobalUnicast() {
			t.Fatalf("%s is let through", a)
		}
		if a.Is4() && forbiddenKind(netip.AddrFrom16(a.As16())) != "" {
			t.Fatalf("%s is let through, its mapped form is not", a)
		}
	})
}
