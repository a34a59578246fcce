package facts

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRobots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		own        bool
		allowed    []string
		disallowed []string
	}{
		{"empty", "", false, []string{"/", "/openapi.json"}, nil},
		{"everybody", "User-agent: *\nDisallow: /private\n", false, []string{"/", "/robots.txt"},
			[]string{"/private", "/private/x", "/privately"}},
		{"everything", "user-agent:*\r\ndisallow:/\r\n", false, []string{"/robots.txt"}, []string{"/", "/a?b"}},
		{"nothing disallowed", "User-agent: *\nDisallow:\n", false, []string{"/"}, nil},
		{"ours before everybody's", "User-agent: *\nDisallow: /\n\nUser-agent: Tollbook\nDisallow: /x\n", true,
			[]string{"/", "/openapi.json"}, []string{"/x"}},
		{"ours with a version", "User-agent: TOLLBOOK/1.0\nDisallow: /\n", true, nil, []string{"/"}},
		{"others'", "User-agent: Tollbooks\nDisallow: /\nUser-agent: Toll\nDisallow: /\n", false, []string{"/"}, nil},
		{"several names for one group", "User-agent: a\nUser-agent: tollbook\nDisallow: /x\n", true, []string{"/"},
			[]string{"/x"}},
		{"groups of one name are one",
			"User-agent: tollbook\nDisallow: /x\nUser-agent: b\nDisallow: /\nUser-agent: tollbook\nDisallow: /y\n",
			true, []string{"/"}, []string{"/x", "/y"}},
		{"a group without rules", "User-agent: *\nDisallow: /\nUser-agent: tollbook\n", true, []string{"/"}, nil},
		{"the longest rule", "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\n", false,
			[]string{"/a/b", "/a/b/d"}, []string{"/a", "/a/b/c"}},
		{"allow among equals", "User-agent: *\nDisallow: /a\nAllow: /a\n", false, []string{"/a"}, nil},
		{"stars and ends", "User-agent: *\nDisallow: /*.json$\nDisallow: /a*b*c\n", false,
			[]string{"/x.json?a", "/acb"}, []string{"/x.json", "/a1b2c3"}},
		{"comments, marks, nonsense", "\ufeff# hello\nUser-agent: * # all\nCrawl-delay: 7\nnonsense\nDisallow: /x # " +
			"y\n\x00\xff: \xfe\n", false, []string{"/"}, []string{"/x"}},
		{"rules before any name", "Disallow: /\nUser-agent: *\nDisallow: /x\n", false, []string{"/"}, []string{"/x"}},
		{"percent encoding", "User-agent: *\nDisallow: /ä\nDisallow: /%7euser\nDisallow: /a%2fb\n", false,
			[]string{"/a/b"}, []string{"/%C3%A4", "/%c3%a4/x", "/~user", "/a%2Fb"}},
		{"a page", "<!DOCTYPE html><html>\nUser-agent: nobody", false, []string{"/"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rules := ReadRobots([]byte(c.text), Token)
			if rules.Own != c.own {
				t.Errorf("a group names us: %t, want %t", rules.Own, c.own)
			}
			for _, path := range c.allowed {
				if !rules.Allows(path) {
					t.Errorf("%s is disallowed", path)
				}
			}
			for _, path := range c.disallowed {
				if rules.Allows(path) {
					t.Errorf("%s is allowed", path)
				}
			}
		})
	}
}

// TestRobotsPatterns compares the matching of patterns with equivalent regular expressions.
func TestRobotsPatterns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := "/" + rapid.StringMatching(`[ab*]{0,8}\$?`).Draw(t, "pattern")
		path := "/" + rapid.StringMatching(`[ab]{0,8}`).Draw(t, "path")
		open, anchored := strings.CutSuffix(pattern, "$")
		expr := "^" + strings.ReplaceAll(regexp.QuoteMeta(open), `\*`, ".*")
		if anchored {
			expr += "$"
		}
		want := regexp.MustCompile(expr).MatchString(path)
		rules := ReadRobots([]byte("User-agent: *\nDisallow: "+pattern), Token)
		if got := !rules.Allows(path); got != want {
			t.Fatalf("%s matches %s: %t, want %t", pattern, path, got, want)
		}
	})
}

// TestLongRobots checks that rules up to 500 KiB count, as RFC 9309 asks, that the beginning of a rule beyond the limit
// is none, and that comments in another encoding do not hide rules.
func TestLongRobots(t *testing.T) {
	t.Parallel()
	rules := func(n int, end string) string {
		text := "User-agent: *\n" + strings.Repeat("Disallow: /private/\n", n/40)
		return "200 text/plain " + text + strings.Repeat("#", n-len(text)-len(end)-1) + "\n" + end
	}
	cut := "Disallow: /secret\n"
	for _, c := range []struct {
		name, robots string
		want         bool // /openapi.json is allowed
	}{
		{"300 KiB", rules(300<<10, "Disallow: /openapi.json\n"), false},
		{"500 KiB", rules(500<<10, "Disallow: /openapi.json\n"), false},
		{"a rule that is cut", rules(maxRobots+len(cut)-len("Disallow: /"), cut), true},
		{"a byte order mark and a rule that is cut", "200 text/plain \ufeff" +
			rules(maxRobots+len(cut)-len("Disallow: /")-3, cut)[len("200 text/plain "):], true},
		{"Latin-1", "200 text/plain # f\xfcr alle\nUser-agent: *\nDisallow: /openapi.json\n", false},
	} {
		_, f := newTown(t, map[string]http.Handler{"acme.test": pages{"/robots.txt": c.robots, "/openapi.json": sold}})
		got := f.Survey(t.Context(), "http://acme.test", "")
		if allowed := got.OpenAPI != nil; allowed != c.want || got.Robots == nil || !*got.Robots {
			t.Errorf("%s: /openapi.json allowed %t, want %t", c.name, allowed, c.want)
		}
	}
}
