package routes

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// TestCheckNames checks which networks and categories a list of services accepts, and what an error suggests.
func TestCheckNames(t *testing.T) {
	t.Parallel()
	index := &Index{Lists: map[string]int{"v1/services": 3, "v1/services/category=Weather": 1, "v1/services/network=X1": 2},
		Slugs: []string{"acme-quotes", "treadmill-jobs"}, Values: map[string][]string{"method": {"GET", "TOOL"}, "source": {}}}
	for _, c := range []struct{ path, query, want string }{
		{"/v1/services", "network=base&category=ai", ""},
		{"/v1/search", "q=x&network=X1&category=Weather", ""}, // not in the tables, but listed
		{"/v1/best", "q=x&network=eip155:137", ""},            // known, and no service accepts it
		{"/v1/services", "network=bas", ""},                   // named in the response
		{"/v1/services", "network=bas&strict=1", "parameter network: must be a known network; got \"bas\"; did you mean base or BLS or ABS?"},
		{"/v1/best", "q=x&network=polygn", "parameter network: must be a known network; got \"polygn\"; did you mean polygon?"},
		{"/v1/search", "category=Dta&q=x", "parameter category: must be a known category; got \"Dta\"; did you mean Data?"},
		{"/v1/search", "category=Weathers", "parameter category: must be a known category; got \"Weathers\""},
		{"/v1/services", "network=nonsense-network&strict=1", "parameter network: must be a known network; got \"nonsense-network\""},
		{"/v1/services", "category=Gone&include=gone", ""}, // services that are gone are in no index
		{"/v1/changes", "service=nope", ""}, // named in the response
		{"/v1/changes", "service=acme-quotes&strict=1", ""},
		{"/v1/changes", "service=acme-quote&strict=1", "parameter service: must be a known service; got \"acme-quote\"; did you mean acme-quotes?"},
		{"/v1/search", "q=x&method=GTE", ""},
		{"/v1/search", "q=x&method=GTE&strict=1", "parameter method: must be a known method; got \"GTE\"; did you mean GET?"},
		{"/v1/best", "q=x&method=get&strict=1", "parameter method: must be a known method; got \"get\"; did you mean GET or PUT?"},
		{"/v1/services", "method=PATCH&source=submitted&strict=1", ""}, // known, and no service has it
		{"/v1/services", "source=submited&strict=1", "parameter source: must be a known source; got \"submited\"; did you mean submitted?"},
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

// TestUnknownValues checks the header that names unknown networks and categories, and that nothing in a value can end
// it.
func TestUnknownValues(t *testing.T) {
	t.Parallel()
	index := &Index{Lists: map[string]int{"v1/services": 3}, Values: map[string][]string{"method": {"TOOL"}}}
	for _, c := range []struct{ query, want string }{
		{"method=TOL&source=import", "source=import (did you mean imported?), method=TOL (did you mean TOOL?)"},
		{"method=TOOL&source=imported", ""},
		{"network=Base&category=ai", ""},
		{"network=polygn&category=Dta", "network=polygn (did you mean polygon?), category=Dta (did you mean Data?)"},
		{"category=" + strings.Repeat("x", 50), "category=" + strings.Repeat("x", 40) + "..."},
		{"category=a%0d%0aSet-Cookie:+b,%E2%80%AE", "category=a%0D%0ASet-Cookie%3A%20b%2C%E2%80%AE"},
		{"category=Dta&include=gone", ""},
	} {
		q, err := ParseRequest("/v1/services", c.query)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, UnknownValuesText(index.UnknownValues(q))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.query, diff)
		}
	}
}

// TestOrdersHaveOneName checks that the lists of services know the same orders by the same names, that a name means the
// same column in each, and that older names still work.
func TestOrdersHaveOneName(t *testing.T) {
	t.Parallel()
	columns := func(path string, orders []site.Order, name string) site.Order {
		q, err := ParseRequest(path, "sort="+name)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return site.Order{}
		}
		i := slices.IndexFunc(orders, func(o site.Order) bool { return o.Name == q.Text("sort") })
		return site.Order{Column: orders[i].Column, Descending: orders[i].Descending}
	}
	for _, name := range []string{site.OrderNewest, site.OrderPrice, site.OrderSpeed, site.OrderUptime24h,
		site.OrderUptime30d, site.OrderEndpoints, site.OrderVolume, site.OrderBuyers, site.OrderOrganicVolume,
		site.OrderOrganicBuyers, site.OrderGrade, site.OrderCheapest, site.OrderResponse} {
		list, search := columns("/v1/services", site.ColumnOrders, name), columns("/v1/search", site.SearchOrders, name)
		if list != search {
			t.Errorf("%s is %v in /v1/services and %v in /v1/search", name, list, search)
		}
	}
	for path, want := range map[string]string{"/v1/services": "uptime_24h", "/v1/search": "uptime_30d"} {
		orders := map[string][]site.Order{"/v1/services": site.ColumnOrders, "/v1/search": site.SearchOrders}[path]
		if got := columns(path, orders, site.OrderUptime).Column; got != want {
			t.Errorf("uptime is %s in %s", got, path)
		}
	}
}
