package routes

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tollbook/site"
	"tollbook/site/webbotauth"
)

// Names of files that belong to no route.
const (
	IndexFile = "v1/index.json" // the Index
	SumsFile  = "SHA256SUMS"    // the SHA-256 of every other file
	logFile   = "log.json"      // the LogIndex of a log
)

// Key returns the name of the file with the response to q. Without parameters it is the path and Ext. With parameters
// the path is followed by name=value segments in the order of the table: for each filter that is present, and for each
// other parameter with its effective value. The value of a trimmed parameter is its largest.
func (q Query) Key() string {
	if q.file != "" {
		return q.file
	}
	base := q.basePath()
	if q.Bare {
		return base + q.Route.Ext
	}
	var b strings.Builder
	b.WriteString(base)
	for _, p := range q.Route.Params {
		v := q.Text(p.Name)
		if p.Trim {
			v = p.largest()
		}
		if v != "" {
			b.WriteByte('/')
			b.WriteString(p.Name)
			b.WriteByte('=')
			writeEscaped(&b, v)
		}
	}
	b.WriteString(q.Route.Ext)
	return b.String()
}

// basePath returns the path without its leading slash; "index" for the root.
func (q Query) basePath() string {
	if q.Route.Pattern == "/" {
		return "index"
	}
	if q.Item != "" {
		return q.Route.lookupPrefix() + q.Item
	}
	head, _, tail := q.Route.splitPattern()
	return head[1:] + q.Slug + tail
}

// ListKey returns the name of the list that q selects rows from: the path and its filters, without order and page.
// Index contains the number of rows by this name.
func (q Query) ListKey() string {
	var b strings.Builder
	b.WriteString(q.basePath())
	for _, p := range q.Route.Params {
		if v := q.Text(p.Name); p.Filter && v != "" {
			b.WriteByte('/')
			b.WriteString(p.Name)
			b.WriteByte('=')
			writeEscaped(&b, v)
		}
	}
	return b.String()
}

const hexDigits = "0123456789abcdef"

// writeEscaped writes bytes outside [A-Za-z0-9._-] as ~ and two hexadecimal digits, such as ~2f.
func writeEscaped(b *strings.Builder, s string) {
	for i := range len(s) {
		c := s[i]
		if isPlain(c) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('~')
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
	}
}

// isPlain reports whether a byte is in [A-Za-z0-9._-].
func isPlain(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '~' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", fmt.Errorf("unescape %q: ~ must be followed by two hexadecimal digits", s)
		}
		c, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", fmt.Errorf("unescape %q: %w", s, err)
		}
		b.WriteByte(byte(c))
		i += 2
	}
	return b.String(), nil
}

// Request is the inverse of Key: it returns the escaped path and the query string of the request with this key. For a
// file that belongs to no route it returns the file's own path. A key with an invalid escape is an error.
func Request(key string) (path, rawQuery string, err error) {
	stem := strings.TrimSuffix(strings.TrimSuffix(key, ".json"), ".html")
	if stem == "index" {
		stem = ""
	}
	// Values follow the path. A segment of a path may look like a value, so the longest path is tried first.
	for path, rawQuery = stem, ""; ; {
		if hasKey(requestPath(path), rawQuery, key) {
			return requestPath(path), rawQuery, nil
		}
		slash := strings.LastIndexByte(path, '/')
		name, escaped, isValue := strings.Cut(path[slash+1:], "=")
		if !isValue || slash < 0 {
			return requestPath(key), "", nil
		}
		v, err := unescape(escaped)
		if err != nil {
			return "", "", fmt.Errorf("request of key %s: %w", key, err)
		}
		path, rawQuery = path[:slash], joinQuery(name+"="+url.QueryEscape(v), rawQuery)
	}
}

// joinQuery puts a parameter before the others of a query string.
func joinQuery(first, rest string) string {
	if rest == "" {
		return first
	}
	return first + "&" + rest
}

func requestPath(name string) string { return (&url.URL{Path: "/" + name}).EscapedPath() }

// hasKey reports whether a request belongs to a route and has this key.
func hasKey(path, rawQuery, key string) bool {
	q, err := ParseRequest(path, rawQuery)
	return err == nil && q.Route != nil && q.Key() == key
}

// parseFile returns the file that a path names: it has an extension and plain segments, or is one of the two files
// without an extension.
func parseFile(path string) (string, bool) {
	name, rooted := strings.CutPrefix(path, "/")
	if rooted && (name == SumsFile || name == webbotauth.DirectoryFile) {
		return name, true
	}
	last := name[strings.LastIndexByte(name, '/')+1:]
	if !rooted || !strings.Contains(last, ".") || len(name) > 1000 {
		return "", false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.Trim(part, ".") == "" {
			return "", false
		}
	}
	return name, true
}

// Index: contents of a snapshot: every list with its number of rows, and every slug.
//
// It is v1/index.json. It lists everything in the snapshot, so that a missing file is recognised as damage and not
// taken for an empty list.
type Index struct {
	// Number of rows in each list, by the list's path and filters.
	Lists map[string]int `json:"lists"`
	// Number of HTML pages of each list that has pages.
	Pages map[string]int `json:"pages"`
	// Slugs of all services, sorted.
	Slugs []string `json:"slugs"`

	// Ids of all facilitators, sorted.
	Facilitators []string `json:"facilitators"`

	// Names of all public sources, sorted; left out if none was read.
	Sources []string `json:"sources,omitempty"`

	// Values that services have of filters whose values are no table, such as method: sorted, by the filter's name.
	Values map[string][]string `json:"values,omitempty"`

	// Services whose records are damaged, by slug.
	SetAside []SetAside `json:"set_aside,omitempty"`

	// Identity of the database that the snapshot was built from, a UUID; the same in each snapshot of a directory.
	Database string `json:"database,omitempty"`

	Provenance *site.Provenance `json:"provenance,omitempty"` // of all responses; nil in snapshots of older versions

	// Form of the snapshot, and the one that a reader must know; 0 in snapshots from before the first release.
	Format int `json:"format,omitempty"`
	Needs  int `json:"needs,omitempty"`
}

// SetAside is a service whose records are damaged.
//
// It is a service whose records the build could not read or judge. Its files are those of the last snapshot before, and
// it is missing in look-ups and the catalogue. A service without earlier files is not listed.
type SetAside struct {
	// As [site.ServiceListItem.Slug].
	Slug string `json:"slug"`
	// Time of the first build that set the service aside.
	Since site.Time `json:"since"`
	// The table that was read, and what is wrong.
	Reason string `json:"reason"`
}

// Has reports whether the service, facilitator, source, category or network in q's path exists. It is true for a path
// without a variable segment, and false for an incident, of which the index says nothing.
func (i *Index) Has(q Query) bool {
	if q.Slug == "" {
		return true
	}
	names := i.Slugs
	switch _, name, _ := q.Route.splitPattern(); name {
	case segmentFacilitator:
		names = i.Facilitators
	case segmentSource:
		names = i.Sources
	case segmentIncident:
		return false
	case segmentCategory, segmentNetwork:
		return i.Pages[q.ListKey()] > 0
	}
	_, ok := slices.BinarySearch(names, q.Slug)
	return ok
}

const (
	rowsFolder    = "v1/rows/"
	allowFolder   = "v1/allow/rows/"
	columnsFolder = "v1/columns/"
)

// RowsKey returns the key of the nth block of rows, from 0.
func RowsKey(n int) string { return rowsFolder + strconv.Itoa(n) + ".json" }

// AllowKey returns the key of the nth block of the allow-list, from 0. Its rows are those of the services in the block of
// rows with the same number.
func AllowKey(n int) string { return allowFolder + strconv.Itoa(n) + ".json" }

// ColumnKey returns the key of a column.
func ColumnKey(name string) string { return columnsFolder + name + ".json" }

// HasScanKey reports whether key is the key of a block of rows or of a column, of services or of the catalogue.
func (i *Index) HasScanKey(key string) bool {
	stem, isJSON := strings.CutSuffix(key, ".json")
	for _, folder := range []string{rowsFolder, allowFolder} {
		if number, ok := strings.CutPrefix(stem, folder); ok && isJSON {
			n, err := strconv.Atoi(number)
			return err == nil && strconv.Itoa(n) == number && n >= 0 && n*site.RowsPerBlock < len(i.Slugs)
		}
	}
	name, ok := strings.CutPrefix(stem, columnsFolder)
	return ok && isJSON && site.ColumnByName(name) != nil || hasCatalogueKey(key)
}

// DaysKey returns the key of the table of a service's days.
func DaysKey(slug string) string { return "v1/services/" + slug + "/days.csv" }

const termsFolder = "v1/terms/"

// TermShardKey returns the key of the file of terms with this name.
func TermShardKey(name string) string { return termsFolder + name + ".json" }

// HasTermShardKey reports whether key is the key of one of the files of terms that x lists.
func HasTermShardKey(x *site.TermIndex, key string) bool {
	name, ok := strings.CutPrefix(key, termsFolder)
	if name, isJSON := strings.CutSuffix(name, ".json"); ok && isJSON {
		return x.Shards[name] > 0
	}
	return false
}

// LogKey returns the file of the LogIndex of q's log.
func (q Query) LogKey() string { return q.ListKey() + "/" + logFile }

// IsLog reports whether a file is a LogIndex.
func IsLog(key string) bool { return strings.HasSuffix(key, "/"+logFile) }

// BlockKey returns the file of one block of q's log, in the snapshot or in a pack.
func (q Query) BlockKey(block int64) string {
	return q.ListKey() + "/block=" + strconv.FormatInt(block, 10) + q.Route.Ext
}
