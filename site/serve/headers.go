package serve

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/webbotauth"
)

const (
	typeJSON = routes.TypeJSON
	typeHTML = routes.TypeHTML
)

// contentPolicy allows pages to load only what this server sends.
const contentPolicy = "default-src 'none'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

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
	headerZstd    = []string{"zstd"}
	headerLicense = []string{"<" + site.LicenseURL + `>; rel="license"`}
	headerStale   = []string{"stale"} // a newer snapshot can't be opened, or the store can't be reached
)

// headerTypes contains the content types of all files as header values.
var headerTypes = func() map[string][]string {
	types := map[string][]string{}
	for _, t := range append(slices.Collect(maps.Values(routes.ContentTypes())), routes.ContentType(""),
		webbotauth.DirectoryType) {
		types[t] = []string{t}
	}
	return types
}()

// addLicense adds the licence of the data to a response with this content type, if it is JSON. A link to the next page
// stays the first.
func addLicense(header http.Header, mime string) {
	if !strings.Contains(mime, "json") {
		return
	}
	if next := header["Link"]; len(next) > 0 {
		header["Link"] = []string{next[0], headerLicense[0]}
		return
	}
	header["Link"] = headerLicense
}
