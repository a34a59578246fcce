package routes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCheckNames checks which networks and categories a list of services accepts, and what an error suggests.
func TestCheckNames(t *testing.T) {
	t.Parallel()
	index := &Index{Lists: map[string]int{"v1/services": 3, "v1/services/category=Weather": 1, "v1/services/network=X1": 2}}
	for _, c := range []struct{ path, query, want string }{
		{"/v1/services", "network=base&category=ai", ""},
		{"/v1/search", "q=x&network=X1&category=Weather", ""}, // not in the tables, but listed
		{"/v1/best", "q=x&network=eip155:137", ""},            // known, and no service accepts it
		{"/v1/services", "network=bas", ""},
		{"/v1/services", "network=bas&strict=1", "parameter network: must be a known network; got \"bas\"; did you mean base or BLS or ABS?"},
		{"/v1/best", "q=x&network=polygn", "parameter network: must be a known network; got \"polygn\"; did you mean polygon?"},
		{"/v1/search", "category=Dta&q=x", "parameter category: must be a known category; got \"Dta\"; did you mean Data?"},
		{"/v1/search", "category=Weathers", "parameter category: must be a known category; got \"Weathers\""},
		{"/v1/services", "network=nonsense-network&strict=1", "parameter network: must be a known network; got \"nonsense-network\""},
		{"/v1/services", "category=Gone&include=gone", ""}, // services that are gone are in no index
		{"/v1/changes", "service=nope", ""},
	} {
		q, err := ParseRequest(c.path, c.query)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := index.CheckNames(q); err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s?%s (-want +got):\n%s", c.path, c.query, diff)
		}
	}
}
