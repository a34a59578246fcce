package site_test

import (
	"strings"
	"testing"

	"tollbook/site"
)

func TestValidSlug(t *testing.T) {
	t.Parallel()
	for slug, want := range map[string]bool{
		"a": true, "acme": true, "a-b": true, "a--b": true, "0": true, strings.Repeat("a", 80): true,
		"": false, "-": false, "-a": false, "a-": false, "A": false, "a.b": false, "a b": false, "ü": false,
		"a\n": false, strings.Repeat("a", 81): false,
	} {
		if got := site.ValidSlug(slug); got != want {
			t.Errorf("ValidSlug(%.20q) = %t", slug, got)
		}
	}
}
