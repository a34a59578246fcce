package routes

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// KindSnapshot is the type of a parameter that names a snapshot: text that matches SnapshotPattern and contains a valid
// time.
const KindSnapshot Kind = "snapshot"

// SnapshotPattern matches the id of a snapshot: the second when it was built, and six digits of its digest.
const SnapshotPattern = "^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}$"

// Names of the common parameters.
const (
	paramSnapshot = "snapshot"
	paramStrict   = "strict"
)

// Common lists the parameters that every path accepts in addition to those of its route. They are not part of a key.
var Common = []Param{
	{Name: paramSnapshot, Kind: KindSnapshot,
		About: "Id of the snapshot to read, from the header X-Snapshot, so that all pages of a list come from the " +
			"same snapshot. It stays available for at least an hour. The default is the newest snapshot."},
	{Name: paramStrict, Kind: KindChoice, Values: []string{"0", "1"}, Default: "0",
		About: "1 answers unknown parameters of a path with JSON with 400 instead of naming them in the header " +
			HeaderUnknown},
}

// findParam returns the route's parameter with this name, or the common one, or nil. A request for a file has no route.
func findParam(r *Route, name string) *Param {
	if r != nil {
		if p := r.Param(name); p != nil {
			return p
		}
	}
	for i := range Common {
		if Common[i].Name == name {
			return &Common[i]
		}
	}
	return nil
}

// checkSnapshot returns a valid snapshot id unchanged.
func (p *Param) checkSnapshot(v string) (string, error) {
	const layout, digits = "20060102T150405Z", 6
	if len(v) == len(layout)+1+digits && v[len(layout)] == '-' && strings.Trim(v[len(layout)+1:], hexDigits) == "" {
		if t, err := time.Parse(layout, v[:len(layout)]); err == nil && t.Format(layout) == v[:len(layout)] {
			return v, nil
		}
	}
	return "", &ParamError{p.Name, fmt.Sprintf("must be the id of a snapshot, such as 20261120T234501Z-3f2a9c; got %s",
		quoteShort(v))}
}

// isJSON reports whether the response to q is JSON.
func (q Query) isJSON() bool {
	if q.Route != nil {
		return q.Route.Ext == ".json"
	}
	return strings.HasSuffix(q.file, ".json")
}

// Paged reports whether the response to q is one part of a list.
func (q Query) Paged() bool {
	return q.Route != nil && (q.Route.Param("page") != nil || q.Route.Param("offset") != nil)
}

// Next returns the request for the next part of the list, and false if q's part is the last. The argument total is the
// number of rows, or of pages if the route has a fixed page size. q must be Paged.
func (q Query) Next(total int) (Query, bool) {
	name, next := "page", 0
	switch {
	case q.Route.Param("offset") != nil:
		name, next = "offset", q.Int("offset")+q.Int("limit")
		if next >= total {
			return q, false
		}
	case q.Route.Param("per_page") != nil:
		if next = q.Int("page") + 1; (next-1)*q.Int("per_page") >= total {
			return q, false
		}
	default:
		if next = q.Int("page") + 1; next > total {
			return q, false
		}
	}
	if next > q.Route.Param(name).Max {
		return q, false
	}
	return q.With(name, strconv.Itoa(next)), true
}

// RawQuery returns the parameters of q as a query string, in the order of the table, common ones last.
func (q Query) RawQuery() string {
	var b strings.Builder
	b.Grow(96)
	add := func(name, value string) {
		if value == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(name)
		b.WriteByte('=')
		b.WriteString(url.QueryEscape(value))
	}
	if q.Route != nil {
		for i := range q.Route.Params {
			add(q.Route.Params[i].Name, q.value[q.Route.Params[i].Name])
		}
	}
	add(paramSnapshot, q.Snapshot)
	return b.String()
}
