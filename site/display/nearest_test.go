package display_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/display"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"verified", "network", "per_page", "page", "max_price_usd", "q"}
	for name, want := range map[string]string{
		"verifed": "verified", "Network": "network", "networks": "network", "pages": "page", "perpage": "per_page",
		"page": "page", "max_price_in_usd": "max_price_usd",
		"utm_source": "", "x": "", "": "", // one edit would replace all of x
	} {
		if got := display.Nearest(name, names); got != want {
			t.Errorf("Name(%q) = %q, want %q", name, got, want)
		}
	}
	if diff := cmp.Diff([]string{"page", "pages", "paged"}, display.NearestAll("page", []string{"pages", "q", "paged", "page"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := display.Hint("verifed", names), `; did you mean "verified"?`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := display.Hint("fbclid", names); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}
