package routes

import (
	"maps"
	"path"
	"slices"
	"strings"

	"tollbook/site/webbotauth"
)

// Content types.
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
	".csv":  "text/csv; charset=utf-8",
	".md":   "text/markdown; charset=utf-8",
	".xml":  "application/xml; charset=utf-8",
	".pem":  "application/x-pem-file",
	".png":  "image/png",
	".ico":  "image/x-icon",
	".ics":  "text/calendar; charset=utf-8",

	".woff2": "font/woff2",

	".parquet": "application/vnd.apache.parquet",
	".sqlite":  "application/vnd.sqlite3",
	".gz":      "application/gzip",
}

// ContentType returns the content type of the file with this key.
func ContentType(key string) string {
	switch key {
	case SumsFile:
		return contentTypes[".txt"]
	case webbotauth.DirectoryFile:
		return webbotauth.DirectoryType
	}
	if t := contentTypes[path.Ext(key)]; t != "" {
		return t
	}
	return "application/octet-stream"
}

// ContentTypes returns the content types by extension, such as ".json".
func ContentTypes() map[string]string { return maps.Clone(contentTypes) }

// IsHashed reports whether a name under assets/ contains at least 8 hexadecimal digits of its content's hash before the
// extension, as in "assets/style.3f2a9c01.css". Such a file never changes.
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

// contractRoutes are the names of the routes that every directory of this kind has. The other routes are Tollbook's
// own.
var contractRoutes = []string{
	"services", "service", "uptime", "service-checks", "checks", "changes", "facilitators", "status", "networks",
	"tags", "stats", "categories",
}

// IsContract reports whether a file is the response to a request of contractRoutes. A bucket that serves only those
// needs only these files.
func IsContract(key string) bool {
	address, rawQuery, err := Request(key)
	if err != nil {
		return false
	}
	q, err := ParseRequest(address, rawQuery)
	return err == nil && q.Route != nil && slices.Contains(contractRoutes, q.Route.Name) && q.Key() == key
}

const (
	dataFolder = "data/"
	dataIndex  = dataFolder + "datapackage.json"
)

// IsTable reports whether a file is a table: it is large, compressed by itself, and read by ranges.
func IsTable(key string) bool {
	return strings.HasPrefix(key, dataFolder) && slices.Contains([]string{".parquet", ".sqlite", ".gz"}, path.Ext(key))
}

// ExpandPhase returns when a file is written into a folder that is already being read, so that no file links to a
// missing one. Phase 0 writes files about one thing, phase 1 lists of them, phase 2 the index and the home page.
func ExpandPhase(key string) int {
	address, rawQuery, err := Request(key)
	if err != nil {
		return 0
	}
	q, err := ParseRequest(address, rawQuery)
	switch {
	case key == IndexFile || key == "index.html" || key == dataIndex:
		return 2
	case err != nil || q.Route == nil || q.Slug != "" || q.Item != "":
		return 0
	}
	return 1
}
