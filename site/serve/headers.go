package serve

import (
	"maps"
	"slices"

	"tollbook/site"
)

const (
	typeJSON = site.TypeJSON
	typeHTML = site.TypeHTML
)

// contentPolicy holds pages to what this server itself sends.
const contentPolicy = "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Header values that never change, ready for http.Header; nobody writes into them.
var (
	headerNosniff = []string{"nosniff"}
	headerAny     = []string{"*"}
	headerVary    = []string{"Accept-Encoding"}
	headerExpose  = []string{
		"ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, X-Snapshot, " +
			"X-Snapshot-Warning"}
	headerPinned  = []string{"public, max-age=86400, immutable"}
	headerForever = []string{"public, max-age=31536000, immutable"}
	headerNoStore = []string{"no-store"}
	headerPolicy  = []string{contentPolicy}
	headerGzip    = []string{"gzip"}
	headerStale   = []string{"stale"} // a newer snapshot can't be opened, or not even looked for
)

// headerTypes are the types of all files as header values.
var headerTypes = func() map[string][]string {
	types := map[string][]string{}
	for _, t := range append(slices.Collect(maps.Values(site.ContentTypes())), site.ContentType("")) {
		types[t] = []string{t}
	}
	return types
}()
