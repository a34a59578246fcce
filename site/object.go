package site

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Content types by the extension of a key.
const (
	TypeJSON = "application/json; charset=utf-8"
	TypeHTML = "text/html; charset=utf-8"
)

var contentTypes = map[string]string{
	".json": TypeJSON,
	".html": TypeHTML,
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
	".md":   "text/markdown; charset=utf-8",
	".xml":  "application/xml; charset=utf-8",
	".pem":  "application/x-pem-file",
	".png":  "image/png",
	".ico":  "image/x-icon",
}

// ContentType is the type of the file with this key; what has no known extension is bytes.
func ContentType(key string) string {
	if key == SumsFile {
		return contentTypes[".txt"]
	}
	if t := contentTypes[path.Ext(key)]; t != "" {
		return t
	}
	return "application/octet-stream"
}

// ContentTypes are the types of all known extensions, ".json" among them.
func ContentTypes() map[string]string { return maps.Clone(contentTypes) }

// IsHashed says whether a name under assets/ has at least 8 hex digits of its content's hash before the extension, as
// "assets/style.3f2a9c01.css" has: its bytes never change.
func IsHashed(key string) bool {
	name, ok := strings.CutPrefix(key, "assets/")
	if !ok {
		return false
	}
	stem := strings.TrimSuffix(name, path.Ext(name))
	at := strings.LastIndexAny(stem, ".-")
	if at < 0 {
		return false
	}
	hash := stem[at+1:]
	return len(hash) >= 8 && strings.Trim(hash, "0123456789abcdef") == ""
}

// contractRoutes are the routes that every directory of this kind has; the others are ours.
var contractRoutes = []string{
	"services", "service", "uptime", "service-checks", "checks", "changes", "facilitators", "status", "networks",
	"tags", "stats", "categories",
}

// IsContract says whether a file answers a request of the contract by itself: what a bucket must hold where nothing but
// the contract is wanted of it.
func IsContract(key string) bool {
	address, rawQuery, err := Request(key)
	if err != nil {
		return false
	}
	q, err := ParseRequest(address, rawQuery)
	return err == nil && q.Route != nil && slices.Contains(contractRoutes, q.Route.Name) && q.Key() == key
}

// ExpandPhase orders files that are written one by one where readers look already: what others lead to first. 0 are the
// files of one thing, 1 lists of them, 2 the way in.
func ExpandPhase(key string) int {
	address, rawQuery, err := Request(key)
	if err != nil {
		return 0
	}
	q, err := ParseRequest(address, rawQuery)
	switch {
	case key == IndexFile || key == "index.html":
		return 2
	case err != nil || q.Route == nil || q.Slug != "" || q.Item != "":
		return 0
	}
	return 1
}
