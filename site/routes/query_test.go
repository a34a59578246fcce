package routes_test

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/routes"
)

// defaults is the end of a key of the list of services if the request contains only filters.
const defaults = "sort=newest/per_page=25/page=1.json"

// TestRequestsToKeys checks the keys of usual requests, and of unusual ones that are valid.
func TestRequestsToKeys(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, path, query, key string }{
		{"bare list", "/v1/services", "", "v1/services.json"},
		{"category, order and page", "/v1/services", "category=AI&sort=uptime&page=2",
			"v1/services/category=AI/sort=uptime/per_page=25/page=2.json"},
		{"network, status and size", "/v1/services", "network=BSE&status=online&per_page=100",
			"v1/services/network=BSE/status=online/sort=newest/per_page=100/page=1.json"},
		{"service", "/v1/services/acme", "", "v1/services/acme.json"},
		{"uptime", "/v1/services/acme/uptime", "", "v1/services/acme/uptime.json"},
		{"uptime of a period", "/v1/services/acme/uptime", "period=7d", "v1/services/acme/uptime/period=7d.json"},
		{"checks of a service", "/v1/services/acme/checks", "offset=40",
			"v1/services/acme/checks/limit=20/offset=40.json"},
		{"checks of all", "/v1/checks", "limit=100", "v1/checks/limit=100/offset=0.json"},
		{"front page", "/", "", "index.html"},
		{"page of the list", "/services", "page=3", "services/sort=newest/page=3.html"},
		{"page of a service", "/services/acme", "", "services/acme.html"},
		{"Markdown of a list", "/sources/index.md", "", "sources/index.md"},
		{"search", "/v1/services", "q=Web+Search&status=online",
			"v1/services/status=online/q=Web~20Search/" + defaults},
		{"catalogue", "/discovery/resources", "", "discovery/resources.json"},
		{"window of a catalogue", "/discovery/resources", "offset=40",
			"discovery/resources/type=http/limit=100/offset=40.json"},
		{"address", "/v1/lookup/url/" + strings.Repeat("3F", 32), "",
			"v1/lookup/url/" + strings.Repeat("3f", 32) + ".json"},
		{"address as a file", "/api/v1/lookup/url/" + strings.Repeat("3f", 32) + ".json", "x=1",
			"v1/lookup/url/" + strings.Repeat("3f", 32) + ".json"},
		{"recipient", "/v1/lookup/pay-to/eip155:8453/0x20Ab.json", "", "v1/lookup/pay-to/eip155:8453/0x20ab.json"},
		{"recipient with its assessment", "/v1/lookup/pay-to/eip155:8453/0x20Ab.json", "include=assessment",
			"v1/lookup/pay-to/eip155:8453/0x20ab/include=assessment.json"},
		{"recipient with escapes and a dot", "/v1/lookup/pay-to/near%3Amainnet/acme.near", "",
			"v1/lookup/pay-to/near:mainnet/acme.near.json"},
		{"shard of addresses", "/v1/lookup/url/3f.json", "", "v1/lookup/url/3f.json"},

		{"CAIP-2 id of a network", "/v1/services", "network=eip155:8453", "v1/services/network=BSE/" + defaults},
		{"name of a network", "/v1/services", "network=Base", "v1/services/network=BSE/" + defaults},
		{"name in version 1", "/v1/services", "network=base-sepolia", "v1/services/network=BST/" + defaults},
		{"abbreviation in small letters", "/v1/services", "network=bse", "v1/services/network=BSE/" + defaults},
		{"network that nobody knows", "/v1/services", "network=eip155:999999",
			"v1/services/network=eip155~3a999999/" + defaults},
		{"category in small letters", "/v1/services", "category=ai", "v1/services/category=AI/" + defaults},
		{"category of the operator", "/v1/services", "category=odds", "v1/services/category=odds/" + defaults},

		{"order of parameters", "/v1/services", "page=2&sort=uptime&category=AI",
			"v1/services/category=AI/sort=uptime/per_page=25/page=2.json"},
		{"defaults spelled out", "/v1/services", "page=1", "v1/services/" + defaults},
		{"leading zeros", "/v1/services", "page=0002", "v1/services/sort=newest/per_page=25/page=2.json"},
		{"empty is absent", "/v1/services", "category=&status=&page=", "v1/services.json"},
		{"name alone is absent", "/v1/services", "category", "v1/services.json"},
		{"first of repeated", "/v1/services", "category=AI&category=Data", "v1/services/category=AI/" + defaults},
		{"an empty one is no first", "/v1/services", "category=&category=Data",
			"v1/services/category=Data/" + defaults},
		{"a fault after the first does not matter", "/v1/services", "page=2&page=zwei",
			"v1/services/sort=newest/per_page=25/page=2.json"},
		{"unknown parameter", "/v1/services", "utm_source=x&fbclid=", "v1/services.json"},
		{"unknown with broken escapes", "/v1/services", "x=%zz&%zz=1", "v1/services.json"},
		{"parameter of another route", "/v1/services/acme", "page=99999999999", "v1/services/acme.json"},
		{"a semicolon separates nothing", "/v1/services", "category=AI;page=2",
			"v1/services/category=AI~3bpage~3d2/" + defaults},
		{"escaped name", "/v1/services", "%63ategory=AI", "v1/services/category=AI/" + defaults},
		{"plus is a blank", "/v1/services", "category=Web+Search", "v1/services/category=Web~20Search/" + defaults},
		{"an escaped plus is a plus", "/v1/services", "category=C%2B%2B", "v1/services/category=C~2b~2b/" + defaults},
		{"slash in a value", "/v1/services", "category=a%2fb", "v1/services/category=a~2fb/" + defaults},
		{"dots in a value", "/v1/services", "category=..", "v1/services/category=../" + defaults},
		{"tilde in a value", "/v1/services", "category=~2f", "v1/services/category=~7e2f/" + defaults},
		{"UTF-8 in a value", "/v1/services", "category=Gebühr", "v1/services/category=Geb~c3~bchr/" + defaults},
		{"the longest value", "/v1/services", "category=" + strings.Repeat("%C3%BC", 100),
			"v1/services/category=" + strings.Repeat("~c3~bc", 100) + "/" + defaults},
		{"largest page", "/v1/services", "page=1000000", "v1/services/sort=newest/per_page=25/page=1000000.json"},

		{"path of published clients", "/api/v1/services/acme", "", "v1/services/acme.json"},
		{"file of published clients", "/api/v1/services/acme.json", "", "v1/services/acme.json"},
		{"escaped letters of a path", "/v1/%73ervices/ac%6de", "", "v1/services/acme.json"},
		{"escaped slash of a path", "/v1%2fservices", "", "v1/services.json"},
		{"a key is its own path", "/v1/services/category=AI/sort=newest/per_page=25/page=1.json", "",
			"v1/services/category=AI/sort=newest/per_page=25/page=1.json"},
		{"and takes no parameters", "/v1/services.json", "page=0", "v1/services.json"},
		{"file that no route makes", "/favicon.svg", "", "favicon.svg"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			q, err := routes.ParseRequest(test.path, test.query)
			if err != nil {
				t.Fatal(err)
			}
			if got := q.Key(); got != test.key {
				t.Errorf("key of %s?%s\n got %s\nwant %s", test.path, test.query, got, test.key)
			}
		})
	}
}

func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"", "v1/services", "/v1", "/v1/", "/v1/nothing", "/v2/services", "/api/v1", "/api/v2/services", "/api/services",
		"/api/",
		"/v1/services/", "/v1//services", "//v1/services", "/v1/services/acme/", "/v1/services/acme/prices",
		"/v1/services/acme/uptime/7d",
		"/v1/services/Acme", "/v1/services/-acme", "/v1/services/acme-", "/v1/services/a_b",
		"/v1/services/" + strings.Repeat("a", 81),
		"/v1/services/%", "/v1/services/%zz", "/v1/services/%00", "/v1/services/acme%00.json", "/v1/services/%ff",
		"/v1/%c3%28.json",
		"/v1/services/..", "/v1/services/../checks", "/..", "/../checkpoint.json", "/v1/../../etc/passwd.json",
		"/v1/%2e%2e/x.json",
		"/v1/lookup/url/{sha256}", "/v1/lookup/url/3f", "/v1/lookup/url/" + strings.Repeat("g", 64),
		"/v1/lookup/pay-to/eip155:8453", "/v1/lookup/pay-to/{caip2}/{address}",
		"/v1/lookup/pay-to/eip155:8453/", "/v1/lookup/pay-to/eip155:1/../..", "/v1/lookup/pay-to/x:1/%00",
		"/v1/lookup/pay-to/x:1/" + strings.Repeat("a", 1000),
		"/v1/./services.json", "/.", "/...", "/v1/.../x.json", "//checkpoint.json", "/v1//x.json", "/x.json/",
		"/" + strings.Repeat("a", 1000) + ".json",
	} {
		if q, err := routes.ParseRequest(path, ""); !errors.Is(err, site.ErrNotFound) {
			t.Errorf("ParseRequest(%.60q) = key %q, error %v; want ErrNotFound", path, q.Key(), err)
		}
	}
}

// TestInvalidParameters checks that a 400 contains the parameter, the value and the permitted values.
func TestInvalidParameters(t *testing.T) {
	t.Parallel()
	const pages = "must be an integer from 1 to 1000000; got "
	const decimals = "must be a number such as 0.01, from 0 and with at most 18 digits before and after the point; got "
	for _, test := range []struct{ path, query, param, message string }{
		{"/v1/services", "page=0", "page", pages + `"0"`},
		{"/v1/services", "page=1000001", "page", pages + `"1000001"`},
		{"/v1/services", "page=-1", "page", pages + `"-1"`},
		{"/v1/services", "page=%2B1", "page", pages + `"+1"`},
		{"/v1/services", "page=+1", "page", pages + `" 1"`},
		{"/v1/services", "page=1e3", "page", pages + `"1e3"`},
		{"/v1/services", "page=1.0", "page", pages + `"1.0"`},
		{"/v1/services", "page=%D9%A1", "page", pages + `"١"`},
		{"/v1/services", "page=99999999999999999999999", "page", pages + `"99999999999999999999999"`},
		{"/v1/services", "page=" + strings.Repeat("9", 50), "page", pages + `"` + strings.Repeat("9", 40) + `…"`},
		{"/v1/services", "per_page=101", "per_page", `must be an integer from 1 to 100; got "101"`},
		{"/v1/services", "status=unknown", "status",
			`must be one of online, degraded, offline; got "unknown"; /v1/search accepts it`},
		{"/v1/services", "sort=Newest", "sort",
			`must be one of newest, uptime, cheapest, endpoints, volume, buyers, organic_volume, organic_buyers, grade, response, uptime_30d, price, speed, uptime_24h; got "Newest"`},
		{"/v1/services", "verified=1", "verified", `must be true or false; got "1"`},
		{"/v1/services", "max_price_usd=-0.1", "max_price_usd", decimals + `"-0.1"`},
		{"/v1/services", "max_price_usd=.5", "max_price_usd", decimals + `".5"`},
		{"/v1/services", "max_price_usd=1e-3", "max_price_usd", decimals + `"1e-3"`},
		{"/v1/services", "max_price_usd=0.0000000000000000001", "max_price_usd", decimals + `"0.0000000000000000001"`},
		{"/v1/services", "max_price_usd=1234567890123456789", "max_price_usd", decimals + `"1234567890123456789"`},
		{"/v1/services", "min_uptime_30d=100.1", "min_uptime_30d", `must be a number from 0 to 100; got "100.1"`},
		{"/v1/services", "category=" + strings.Repeat("x", 101), "category",
			"must have at most 100 characters; got 101"},
		{"/v1/services", "category=%", "category", `must be percent-encoded UTF-8; got "%"`},
		{"/v1/services", "category=a%zzb", "category", `must be percent-encoded UTF-8; got "a%zzb"`},
		{"/v1/services", "category=%ff", "category", `must be percent-encoded UTF-8; got "%ff"`},
		{"/v1/services", "category=a%00b", "category", `must be percent-encoded UTF-8; got "a%00b"`},
		{"/v1/services", "category=ok&page=zwei&sort=x", "page", pages + `"zwei"`},
		{"/v1/services", "x=" + strings.Repeat("y", 8<<10), "network", "the query string must have at most 8192 bytes"},
		{"/v1/services/acme/uptime", "period=1y", "period", `must be one of 24h, 7d, 30d, 90d; got "1y"`},
		{"/v1/services/acme/checks", "limit=0", "limit", `must be an integer from 1 to 100; got "0"`},
		{"/v1/checks", "offset=-1", "offset", `must be an integer from 0 to 1000000000; got "-1"`},
		{"/v1/checks", "offset=1000000001", "offset", `must be an integer from 0 to 1000000000; got "1000000001"`},
	} {
		_, err := routes.ParseRequest(test.path, test.query)
		var got *routes.ParamError
		if !errors.As(err, &got) {
			t.Errorf("ParseRequest(%s, %.60q) = %v, want a ParamError of %s", test.path, test.query, err, test.param)
			continue
		}
		if diff := cmp.Diff(&routes.ParamError{Param: test.param, Message: test.message}, got); diff != "" {
			t.Errorf("%s?%.60s (-want +got):\n%s", test.path, test.query, diff)
		}
	}
}

func TestEffectiveValues(t *testing.T) {
	t.Parallel()
	q, err := routes.ParseRequest("/v1/services", "category=AI&per_page=7")
	if err != nil {
		t.Fatal(err)
	}
	got := []string{q.Text("category"), q.Text("network"), q.Text("sort"), q.Text("per_page"), q.ListKey()}
	want := []string{"AI", "", "newest", "7", "v1/services/category=AI"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("effective values (-want +got):\n%s", diff)
	}
	if q.Int("page") != 1 || q.Int("per_page") != 7 {
		t.Errorf("page %d of %d rows, want 1 of 7", q.Int("page"), q.Int("per_page"))
	}
	before := q.Key()
	if with := q.With("page", "3").With("page", "4"); with.Int("page") != 4 || with.Text("category") != "AI" {
		t.Errorf("With lost a value: %s", with.Key())
	}
	if q.Key() != before {
		t.Errorf("With changed the query it was called on: %s, was %s", q.Key(), before)
	}
}

// TestRouteTable checks the properties of the table that the rest of the package depends on.
func TestRouteTable(t *testing.T) {
	t.Parallel()
	for _, r := range routes.All {
		if routes.ByName(r.Name).Pattern != r.Pattern {
			t.Errorf("%s: a second route has this name", r.Name)
		}
		if r.Ext != ".json" && r.Ext != ".html" {
			t.Errorf("%s: keys end in %q", r.Name, r.Ext)
		}
		if (strings.HasPrefix(r.Pattern, "/v1/") || strings.HasPrefix(r.Pattern, "/discovery/")) != (r.Ext == ".json") {
			t.Errorf("%s: pattern %s with extension %s", r.Name, r.Pattern, r.Ext)
		}
		for _, p := range r.Params {
			if !p.Filter && p.Default == "" {
				t.Errorf("%s: %s must be a filter or have a default", r.Name, p.Name)
			}
			if p.About == "" {
				t.Errorf("%s: parameter %s has no description", r.Name, p.Name)
			}
			path := strings.NewReplacer("{slug}", "acme", "{facilitator}", "x402.rs", "{source}", "index", "{category}",
				"ai", "{network}",
				"bse", "{sha256}", strings.Repeat("0", 64), "{caip2}", "eip155:1", "{address}",
				"0xabc").Replace(r.Pattern)
			if _, err := routes.ParseRequest(path, p.Name+"="+url.QueryEscape(p.Default)); err != nil {
				t.Errorf("%s: the default is invalid: %v", r.Name, err)
			}
		}
	}
}

// TestSegments checks that requests accept exactly the segments that the patterns match.
func TestSegments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slug string
		want bool
	}{{"acme", true}, {"a", true}, {"a-1", true}, {"-a", false}, {"a-", false}, {"A", false},
		{strings.Repeat("a", site.MaxSlug), true}, {strings.Repeat("a", site.MaxSlug+1), false}} {
		s := routes.SegmentByName("slug")
		if got := len(c.slug) <= s.MaxLength && regexp.MustCompile(s.Pattern).MatchString(c.slug); got != c.want ||
			site.ValidSlug(c.slug) != c.want {
			t.Errorf("slug %.20q: the segment matches: %t, ValidSlug: %t, want %t", c.slug, got,
				site.ValidSlug(c.slug),
				c.want)
		}
	}
}
