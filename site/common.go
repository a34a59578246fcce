package site

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// KindSnapshot is the type of a parameter that names a snapshot: SnapshotPattern, with a time that there is.
const KindSnapshot Kind = "snapshot"

// SnapshotPattern is how the id of a snapshot looks: the second it was built, and six digits of its digest.
const SnapshotPattern = "^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}$"

const paramSnapshot = "snapshot"

// Common are the parameters that every address takes beside those of its route. They choose where an answer is read,
// not what it says: they stand in no key.
var Common = []Param{
	{Name: paramSnapshot, Kind: KindSnapshot,
		About: "the snapshot to answer from, by the id that X-Snapshot told: a walk over pages sees one build, for an hour at least; the newest without it"},
}

// paramOf is the parameter with this name, the route's own or a common one, nil without. A file has no route.
func paramOf(r *Route, name string) *Param {
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

// checkSnapshot answers an id as it is.
func (p *Param) checkSnapshot(v string) (string, error) {
	const layout, digits = "20060102T150405Z", 6
	if len(v) == len(layout)+1+digits && v[len(layout)] == '-' && strings.Trim(v[len(layout)+1:], hexDigits) == "" {
		if t, err := time.Parse(layout, v[:len(layout)]); err == nil && t.Format(layout) == v[:len(layout)] {
			return v, nil
		}
	}
	return "", &ParamError{p.Name, fmt.Sprintf("got %s, may be the id of a snapshot, such as 20261120T234501Z-3f2a9c",
		quoteShort(v))}
}

// Paged says whether q's route answers a part of a list that another request goes on with.
func (q Query) Paged() bool {
	return q.Route != nil && (q.Route.Param("page") != nil || q.Route.Param("offset") != nil)
}

// Next is the request for what follows q's part of a list of total rows, or, where the size of a page can't be chosen,
// of total pages; false where nothing follows. q must be Paged.
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

// RawQuery spells the parameters that q was given, the common ones last, in the order of the table.
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
