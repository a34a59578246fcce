package listing_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tollbook/site/listing"
)

// TestNormalURL checks that normalising twice changes nothing, that no segment of dots remains, and that the result
// does not depend on which bytes of the path are escaped.
func TestNormalURL(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune("/..//%2eaAéz -%[]@:~")), rapid.Rune())).Draw(t,
			"path")
		path = "/" + strings.NewReplacer("?", "", "#", "").Replace(path)
		once, err := listing.NormalURL("https://api.acme.test" + path)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := listing.NormalURL(once); err != nil || twice != once {
			t.Fatalf("%q becomes %s, and that becomes %s, %v", path, once, twice, err)
		}
		for segment := range strings.SplitSeq(strings.TrimPrefix(once, "https://"), "/") {
			if segment == "." || segment == ".." {
				t.Fatalf("%q becomes %s, with a segment of dots", path, once)
			}
		}
		if u, err := url.Parse(once); err != nil || u.String() != once {
			t.Fatalf("%q becomes %s, which the standard library writes as %v, %v", path, once, u, err)
		}
		var escaped strings.Builder // every byte that may be escaped without a change of meaning
		for i := range len(path) {
			if c := path[i]; strings.IndexByte("!$&'()*+,;=:@/%", c) >= 0 {
				escaped.WriteByte(c)
			} else {
				fmt.Fprintf(&escaped, "%%%02x", c)
			}
		}
		if strings.Contains(path, "%") {
			return // an escape in it would be escaped twice
		}
		if got, err := listing.NormalURL("https://api.acme.test" + escaped.String()); err != nil || got != once {
			t.Fatalf("%q becomes %s, escaped %s becomes %s, %v", path, once, escaped.String(), got, err)
		}
	})
}

// FuzzNormalAddress checks that NormalURL never panics, and that normalising its result changes nothing.
func FuzzNormalAddress(f *testing.F) {
	for _, s := range []string{"https://api.acme.test/quote?x#y", "HTTP://u:p@[::1]:080/%2e%2e/%zz",
		"https://a/./..//%", "ftp://x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once, err := listing.NormalURL(s)
		if err != nil {
			return
		}
		if twice, err := listing.NormalURL(once); err != nil || twice != once ||
			strings.ContainsAny(once, "?# \x00") {
			t.Fatalf("%q becomes %q, and that becomes %q, %v", s, once, twice, err)
		}
	})
}
