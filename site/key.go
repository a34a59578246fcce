package site

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// File names that are no route of their own.
const (
	IndexFile = "v1/index.json" // every list with its total, and every slug: see Index
	SumsFile  = "SHA256SUMS"    // the sha256 of every other file
	logFile   = "log.json"      // of a log: its LogIndex
)

// Key is the canonical name of the file that answers q: the path and Ext without parameters; with any, the route, then
// name=value for each filter that is present and each other parameter at its value or default, in the table's order; a
// trimmed one stands at its largest value.
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

// basePath is the path without its first slash; the root is "index".
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

// ListKey names the list that q pages through: the route and its filters, without order and page. It is what Index
// counts.
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

// writeEscaped writes bytes outside [A-Za-z0-9._-] as ~2f.
func writeEscaped(b *strings.Builder, s string) {
	for i := range len(s) {
		c := s[i]
		if c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-' {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('~')
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
	}
}

func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '~' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", fmt.Errorf("unescape %q: short escape", s)
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

// Request is the inverse of Key: the path and query, as they stand in a request line, that spell a key. Files that no
// route makes answer to their own path. It answers an error for a key with a broken escape.
func Request(key string) (path, rawQuery string, err error) {
	stem := strings.TrimSuffix(strings.TrimSuffix(key, ".json"), ".html")
	if stem == "index" {
		stem = ""
	}
	if hasKey(requestPath(stem), "", key) { // first, since a segment of a path may look like a value
		return requestPath(stem), "", nil
	}
	var segments, values []string
	for part := range strings.SplitSeq(stem, "/") {
		name, escaped, isValue := strings.Cut(part, "=")
		if !isValue {
			segments = append(segments, part)
			continue
		}
		v, err := unescape(escaped)
		if err != nil {
			return "", "", fmt.Errorf("request of key %s: %w", key, err)
		}
		values = append(values, name+"="+url.QueryEscape(v))
	}
	path, rawQuery = requestPath(strings.Join(segments, "/")), strings.Join(values, "&")
	if hasKey(path, rawQuery, key) {
		return path, rawQuery, nil
	}
	return requestPath(key), "", nil
}

func requestPath(name string) string { return (&url.URL{Path: "/" + name}).EscapedPath() }

// hasKey says whether a request is one of a route with this key.
func hasKey(path, rawQuery, key string) bool {
	q, err := ParseRequest(path, rawQuery)
	return err == nil && q.Route != nil && q.Key() == key
}

// parseFile says whether a path names a file by itself: it has an extension and plain segments, or is that of the sums.
func parseFile(path string) (string, bool) {
	name, rooted := strings.CutPrefix(path, "/")
	if rooted && name == SumsFile {
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

// Index is v1/index.json: what there is, so that nothing is taken for empty that is damaged.
type Index struct {
	Lists map[string]int `json:"lists"` // total of each list, by its ListKey
	Pages map[string]int `json:"pages"` // number of HTML pages of each list that has them, by its ListKey
	Slugs []string       `json:"slugs"` // every service, sorted

	Facilitators []string `json:"facilitators"` // every one's id, sorted
}

// Has says whether there is what q's path names: a service, a facilitator, a category or network with pages, or nothing
// in particular.
func (i *Index) Has(q Query) bool {
	if q.Slug == "" {
		return true
	}
	names := i.Slugs
	switch _, name, _ := q.Route.splitPattern(); name {
	case segmentFacilitator:
		names = i.Facilitators
	case segmentCategory, segmentNetwork:
		return i.Pages[q.ListKey()] > 0
	}
	_, ok := slices.BinarySearch(names, q.Slug)
	return ok
}
