package serve

import (
	"maps"
	"slices"

	"tollbook/site/routes"
)

const (
	typeJSON = routes.TypeJSON
	typeHTML = routes.TypeHTML
)

// contentPolicy allows pages to load only what this server sends.
const contentPolicy = "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Constant header values, ready for http.Header. They must not be modified.
var (
	headerNosniff = []string{"nosniff"}
	headerAny     = []string{"*"}
	headerVary    = []string{"Accept-Encoding"}
	headerExpose  = []string{
		"ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, X-Snapshot, " +
			"X-Snapshot-Warning, " + routes.HeaderUnknown}
	headerPinned  = []string{"public, max-age=86400, immutable"}
	headerForever = []string{"public, max-age=31536000, immutable"}
	headerNoStore = []string{"no-store"}
	headerPolicy  = []string{contentPolicy}
	headerGzip    = []string{"gzip"}
	headerStale   = []string{"stale"} // a newer snapshot can't be opened, or the store can't be reached
)

// headerTypes contains the content types of all files as header values.
var headerTypes = func() map[string][]string {
	types := map[string][]string{}
	for _, t := range append(slices.Collect(maps.Values(routes.ContentTypes())), routes.ContentType("")) {
		types[t] = []string{t}
	}
	return types
}()
