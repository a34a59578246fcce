package facts

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOptOut checks which documents opt out, which do not, and when a host says nothing about it.
func TestOptOut(t *testing.T) {
	t.Parallel()
	const wellKnown, robots = "http://acme.test/.well-known/tollbook", "http://acme.test/robots.txt"
	shown := func(text string) pages { return pages{"/.well-known/tollbook": "200 text/plain " + text} }
	rules := func(text string) pages { return pages{"/robots.txt": "200 text/plain " + text} }
	for _, c := range []struct {
		name string
		site http.Handler
		want string // "" for no opt-out, "unknown" without an answer
	}{
		{"nothing", pages{}, ""},
		{"the line", shown("opt-out"), wellKnown},
		{"the line beside a token", shown("tollbook-ABC\r\n Opt-Out \r\n"), wellKnown},
		{"after a byte order mark", shown("\ufeffopt-out\n"), wellKnown},
		{"a binary type", pages{"/.well-known/tollbook": "200 application/octet-stream opt-out\n"}, wellKnown},
		{"another line", shown("opt-out=false"), ""},
		{"a page that says it", shown("<html><p>opt-out</p></html>"), ""},
		{"after 4 KiB", shown(strings.Repeat("x\n", 3<<10) + "opt-out\n"), ""},
		{"a redirect on the site", pages{"/.well-known/tollbook": "302 - /t.txt", "/t.txt": "200 text/plain opt-out"},
			wellKnown},
		{"a redirect to another site", pages{"/.well-known/tollbook": "302 - http://evil.test/out"}, ""},
		{"a redirect to a private host", pages{"/.well-known/tollbook": "302 - http://127.0.0.1/out"}, ""},
		{"payment asked", pages{"/.well-known/tollbook": "402 application/json {}"}, ""},
		{"gone", pages{"/.well-known/tollbook": "410 text/plain opt-out"}, ""},
		{"refused", pages{"/.well-known/tollbook": "403 text/plain opt-out"}, "unknown"},
		{"busy", pages{"/.well-known/tollbook": "429 text/plain -"}, "unknown"},
		{"broken", pages{"/.well-known/tollbook": "500 text/plain -"}, "unknown"},
		{"robots.txt for us", rules("User-agent: tollbook\nDisallow: /\n"), robots},
		{"robots.txt for us and others", rules("User-agent: x\nUser-agent: Tollbook/1.0\nDisallow: /*\n"), robots},
		{"robots.txt for everybody", rules("User-agent: *\nDisallow: /\n"), ""},
		{"robots.txt that allows a part", rules("User-agent: Tollbook\nDisallow: /\nAllow: /pay\n"), ""},
		{"robots.txt for a part", rules("User-agent: Tollbook\nDisallow: /private\n"), ""},
		{"robots.txt that allows all", rules("User-agent: Tollbook\nDisallow:\n"), ""},
		{"robots.txt that fails", pages{"/robots.txt": "500 text/plain -", "/.well-known/tollbook": "200 - opt-out"},
			"unknown"},
		{"everybody is excluded, and the line", pages{"/robots.txt": "200 text/plain User-agent: *\nDisallow: /",
			"/.well-known/tollbook": "200 text/plain opt-out"}, wellKnown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, f := newTown(t, map[string]http.Handler{"acme.test": c.site,
				"evil.test": pages{"/out": "200 text/plain opt-out"}})
			got, err := f.OptOut(t.Context(), "http://acme.test/v1", false)
			if errors.Is(err, ErrNoAnswer) {
				got = "unknown"
			} else if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			requests := w.log()
			if got == robots && len(requests) > 0 {
				t.Errorf("requested %s although robots.txt excludes us", requests)
			}
			for _, r := range requests {
				if strings.HasPrefix(r, "evil") {
					t.Errorf("requested %s", r)
				}
			}
		})
	}
	_, f := newTown(t, nil)
	for _, base := range []string{"", "%zz", "http://127.0.0.1/x", "ftp://acme.test"} {
		if got, err := f.OptOut(t.Context(), base, true); got != "" || !errors.Is(err, ErrNoAnswer) {
			t.Errorf("%q: %q, %v", base, got, err)
		}
	}
}

// TestOwnershipToken checks which documents show a token: those with it on a line of its own.
func TestOwnershipToken(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"tollbook-1": true, "a\r\n tollbook-1 \r\nb": true, "\ufefftollbook-1\n": true, "tollbook-12": false, "": false,
		"token: tollbook-1": false,
	} {
		_, f := newTown(t, map[string]http.Handler{"acme.test": pages{OwnershipPath: "200 text/plain " + text}})
		if err := f.CheckToken(t.Context(), "http://acme.test/v1", "tollbook-1"); (err == nil) != want {
			t.Errorf("%q shows the token: %v, want %t", text, err, want)
		}
	}
	for page, isMissing := range map[string]bool{"200 text/plain x": true, "404 text/plain x": true, "410 text/plain x": true,
		"403 text/plain x": false, "503 text/plain tollbook-1": false} {
		_, f := newTown(t, map[string]http.Handler{"acme.test": pages{OwnershipPath: page}})
		if err := f.CheckToken(t.Context(), "http://acme.test/v1", "tollbook-1"); err == nil ||
			errors.Is(err, ErrNotShown) != isMissing {
			t.Errorf("%q: %v, want a missing token: %t", page, err, isMissing)
		}
	}
}
