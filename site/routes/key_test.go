package routes_test

import (
	"io/fs"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tollbook/site/routes"
)

// request draws a valid request for some route of the table, with parameters in any order and any escapes.
func request(t *rapid.T) (path, query string) {
	r := rapid.SampledFrom(routes.All).Draw(t, "route")
	path = r.Pattern
	for _, segment := range slices.Sorted(maps.Keys(segments)) { // in one order, so that a draw can be repeated
		if !strings.Contains(path, segment) {
			continue
		}
		path = strings.Replace(path, segment, rapid.StringMatching(segments[segment]).Draw(t, segment), 1)
	}
	var values []string
	for _, p := range rapid.Permutation(r.Params).Draw(t, "order") {
		if p.Kind == routes.KindCursor || !rapid.Bool().Draw(t, "has "+p.Name) { // a cursor names a snapshot
			continue
		}
		values = append(values, p.Name+"="+url.QueryEscape(value(t, p)))
	}
	return path, strings.Join(values, "&")
}

// segments generates values of the variable parts of paths.
var segments = map[string]string{
	"{slug}":        `[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?`,
	"{facilitator}": `[A-Za-z0-9]([A-Za-z0-9._-]{0,20}[A-Za-z0-9])?`,
	"{incident}":    `[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?-[0-9]{8}-[0-9]{6}`,
	"{source}":      `[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?`,
	"{category}":    `[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?`,
	"{network}":     `[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?`,
	"{sha256}":      `[0-9a-f]{64}|[0-9A-F]{64}`,
	"{caip2}":       `[a-z0-9]{3,8}:[A-Za-z0-9_=-]{1,32}(/[A-Z=]{2})?`,
	"{address}":     `[A-Za-z0-9._:=~*-]{0,60}[A-Za-z0-9]`,
}

func value(t *rapid.T, p routes.Param) string {
	switch p.Kind {
	case routes.KindChoice:
		return rapid.SampledFrom(p.Values).Draw(t, p.Name)
	case routes.KindInteger:
		return strconv.Itoa(rapid.IntRange(p.Min, p.Max).Draw(t, p.Name))
	case routes.KindBoolean:
		return strconv.FormatBool(rapid.Bool().Draw(t, p.Name))
	case routes.KindDecimal:
		return rapid.StringMatching(`[0-9]{1,2}(\.[0-9]{0,18})?`).Draw(t, p.Name)
	case routes.KindSet: // in any order, some of them twice, empty ones between
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(append(slices.Clone(p.Values), "")), 0, 5).Draw(t, p.Name),
			",")
	default:
		text := rapid.StringN(0, routes.MaxText, -1).Draw(t, p.Name)
		return strings.ReplaceAll(text, "\x00", "\x01")
	}
}

// TestRequestIsInverseOfKey checks that Request returns a request with the same key, for random requests.
func TestRequestIsInverseOfKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		path, query := request(t)
		q, err := routes.ParseRequest(path, query)
		if err != nil {
			t.Fatalf("ParseRequest(%q, %q): %v", path, query, err)
		}
		key := q.Key()
		if !fs.ValidPath(key) {
			t.Fatalf("key %q of %s?%s is not a valid path", key, path, query)
		}
		back, values, err := routes.Request(key)
		if err != nil {
			t.Fatal(err)
		}
		again, err := routes.ParseRequest(back, values)
		if err != nil || again.Key() != key || again.Route != q.Route {
			t.Fatalf("%s?%s has key %s; Request returns %s?%s with key %s, error %v", path, query, key, back, values,
				again.Key(), err)
		}
	})
}

// TestRequestOfFiles checks that files that belong to no route are served at their own path.
func TestRequestOfFiles(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"index.html":                        "/",
		"services.html":                     "/services",
		"services/sort=newest/page=2.html":  "/services?sort=newest&page=2",
		"v1/services.json":                  "/v1/services",
		"v1/services/acme/uptime.json":      "/v1/services/acme/uptime",
		"v1/checks/limit=7/offset=0.json":   "/v1/checks?limit=7&offset=0",
		"index.json":                        "/index.json",
		"v1/index.json":                     "/v1/index.json",
		"v1/index.html":                     "/v1/index.html",
		"v1/services.html":                  "/v1/services.html",
		"v1/checks/log.json":                "/v1/checks/log.json",
		"v1/checks/block=3.json":            "/v1/checks/block=3.json",
		"v1/services/acme/checks/log.json":  "/v1/services/acme/checks/log.json",
		"v1/services/page=2.json":           "/v1/services/page=2.json",           // not canonical: no route makes it
		"v1/services/page=2/sort=x.json":    "/v1/services/page=2/sort=x.json",    // nor this
		"v1/services/Not_A_Slug.json":       "/v1/services/Not_A_Slug.json",       // nor this
		"v1/checks/limit=7/offset=-1.json":  "/v1/checks/limit=7/offset=-1.json",  // nor this
		"v1/checks/limit=007/offset=0.json": "/v1/checks/limit=007/offset=0.json", // nor this
		"SHA256SUMS":                        "/SHA256SUMS",
		"100%.json":                         "/100%25.json",
	} {
		path, query, err := routes.Request(key)
		if query != "" {
			path += "?" + query
		}
		if err != nil || path != want {
			t.Errorf("Request(%s) = %s, error %v; want %s", key, path, err, want)
		}
	}
	for _, key := range []string{"v1/services/category=~.json", "v1/services/category=~f.json",
		"v1/services/category=~zz.json"} {
		if path, query, err := routes.Request(key); err == nil {
			t.Errorf("Request(%s) = %s?%s, want an error because of the invalid escape", key, path, query)
		}
	}
}
