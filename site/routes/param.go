package routes

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tollbook/site"
)

// Rule is the rule that produces a response if no file has the request's key.
type Rule string

const (
	RuleLiteral Rule = "literal" // the file with the request's key, or 404
	RuleWindow  Rule = "window"  // a page, cut from at most two neighbouring files of 100 rows
	RuleLog     Rule = "log"     // rows of a log, cut from at most two blocks, newest first
	RuleTrim    Rule = "trim"    // the newest part of one file with the whole history
	RuleScan    Rule = "scan"    // the services that columns select and order, then cut as a window
	RuleLookup  Rule = "lookup"  // one row of one of 256 shards
	RuleFind    Rule = "find"    // the services whose text matches, filtered and ordered by columns
	RuleRank    Rule = "rank"    // the services that package search ranks by columns and rows

	// RuleCatalogue is the rule for the rows of the catalogue that its columns select.
	RuleCatalogue Rule = "catalogue"
)

// Kind is the type of a parameter's value.
type Kind string

const (
	KindChoice  Kind = "choice"  // one of Values
	KindText    Kind = "text"    // any text up to Max characters, or 100
	KindInteger Kind = "integer" // decimal digits between Min and Max
	KindSet     Kind = "set"     // any of Values, separated by commas; sorted and without duplicates in a key
	KindBoolean Kind = "boolean" // true or false
	KindDecimal Kind = "decimal" // an exact number from 0 with up to 18 digits before and after the point
	KindCursor  Kind = "cursor"  // where the next page of a response starts, as that response says
	KindAddress Kind = "address" // a recipient's address up to Max characters; in a key as NormalAddress
)

// Compare is how a filter compares its value with a column.
type Compare string

const (
	CompareIs      Compare = "is"       // the column has the value
	CompareHas     Compare = "has"      // the column's set contains the value
	CompareAtMost  Compare = "at_most"  // the column has a number up to the value
	CompareAtLeast Compare = "at_least" // the column has a number from the value on, or one of Values up to it
	CompareWords   Compare = "words"    // each word of the value begins a word of the column
)

// Param is one query parameter of a route.
type Param struct {
	// Name of the parameter.
	Name string `json:"name"`
	// Type of its value.
	Kind Kind `json:"kind" enum:"Kinds"`
	// Whether the parameter is part of a key only when a request contains it; any other is always part.
	Filter bool `json:"filter"`
	// Whether meta repeats the effective value.
	Echo bool `json:"echo,omitempty"`
	// Whether the response is cut from a larger one; the key then contains the largest value.
	Trim bool `json:"trim,omitempty"`
	// Value of another parameter without which this one has no effect.
	Needs string `json:"needs,omitempty"` // "include=timeseries": no effect unless include contains timeseries
	// All permitted values.
	Values []string `json:"values,omitempty"`
	// Name of the table of spellings of its values.
	Spellings string `json:"spellings,omitempty"`
	// Which names of the index the values of a text are among: slugs, or values of the parameter. The response to any
	// other value names the nearest of them.
	Among string `json:"among,omitempty"`
	// Values that are known although no service has them.
	Known []string `json:"known,omitempty"`
	// Value if the parameter is absent.
	Default string `json:"default,omitempty"`
	// Smallest permitted value; 0 if absent.
	Min int `json:"min,omitempty"`
	// Largest permitted value.
	Max int `json:"max,omitempty"`
	// Rule that replaces the route's rule if a request contains the parameter.
	Rule Rule `json:"rule,omitempty"`
	// Values of the parameter for which its rule applies; absent if it applies to all.
	RuleValues []string `json:"rule_values,omitempty"`
	// Column that the parameter compares with its value.
	Column string `json:"column,omitempty"`
	// How it compares: is for the same value, has for a set with the value, at_most and at_least for numbers, or for
	// the place among values, and words for a text with words that begin like the value's.
	Compare Compare `json:"compare,omitempty" enum:"Comparisons"`
	// Parameter whose value is the entry of the column to compare; without it any entry counts.
	Within string `json:"within,omitempty"`
	// Same for filters that one entry of a row must pass.
	//
	// Their columns list entries in the same order.
	Entry string `json:"entry,omitempty"`
	// Paths that accept values which this route refuses, by value.
	Elsewhere map[string]string `json:"elsewhere,omitempty"`
	// Description.
	About string `json:"about"`

	// Texts that are not published with the table.

	// Brief is About for agents, which pay for each byte. Without it, they know a filter that names a column by its
	// name, its type and its values, and read About of any other parameter.
	Brief string `json:"-"`
	Usage string `json:"-"` // About for the command line, with the name of the value in backquotes; "" for About
	Words Words  `json:"-"` // of a filter of services
}

// Names of the index that the values of a text are among.
const (
	amongSlugs  = "slugs"
	AmongValues = "values" // of Index.Values
)

// MaxText is the maximum length of a text parameter in characters.
const MaxText = 100

var (
	paramPage = Param{Name: "page", Kind: KindInteger, Default: "1", Min: 1, Max: site.MaxPage,
		About: "Page of the list, from 1"}
	paramPerPage = Param{Name: "per_page", Kind: KindInteger, Default: "25", Min: 1, Max: site.MaxPageSize,
		About: "Rows on a page"}
	paramOffset = Param{Name: "offset", Kind: KindInteger, Default: "0", Min: 0, Max: 1_000_000_000,
		About: "Rows to skip, counted from the newest"}
	paramPeriod = Param{Name: "period", Kind: KindChoice, Trim: true, Values: site.Periods, Default: "90d",
		About: "Period that ends today"}
)

// paramText is the text of a search by what services do.
var paramText = Param{Name: "q", Kind: KindText, Filter: true, Brief: briefText,
	About: "What the service must do, in words. Their stems, synonyms and the beginning of the last word are found " +
		"in names, descriptions, tags and endpoints; typing errors are corrected"}

// briefText is the brief description of the text of a search.
const briefText = "What the service must do, in words"

func paramLimit(standard string) Param {
	return Param{Name: "limit", Kind: KindInteger, Default: standard, Min: 1, Max: site.MaxPageSize,
		About: "Rows to return"}
}

// ParamReadFilters is the parameter of /v1/search with which words of the text are read as filters.
const ParamReadFilters = "read_filters"

// searchParams returns the parameters of /v1/search.
func searchParams() []Param {
	params := []Param{{Name: "q", Kind: KindText, Filter: true, Brief: briefText, About: "What the service must do, in words: searched " +
		"in names, tags, categories, descriptions, and paths and descriptions of endpoints"}}
	params = append(params, rowFilters("")...)
	sorts := []string{site.OrderRelevance, site.OrderBest}
	for _, o := range site.SearchOrders {
		sorts = append(sorts, o.Name)
	}
	perPage := paramPerPage
	perPage.Default = "10"
	return append(params,
		Param{Name: "include", Kind: KindSet, Filter: true,
			Values: []string{site.IncludeAssessment, site.IncludeFacets, site.IncludeGone},
			About: "What to add: assessment for the compact assessment of each row, facets for the number of " +
				"services by category, network, protocol, status and verdict in meta, gone for the services that are gone"},
		Param{Name: ParamReadFilters, Kind: KindBoolean, Filter: true,
			About: "true reads words of q such as under $0.01, on Base or cheapest as filters and order, and names them " +
				"in meta.filters; quoted words are not read. The best verdicts come first, and if nothing matches, the " +
				"nearest services are listed"},
		Param{Name: "sort", Kind: KindChoice, Values: sorts, Default: site.OrderRelevance, Spellings: spelledSearches,
			Brief: "Order",
			About: "Order of the list, by the names of /v1/services; without q, relevance is the newest first. best is the " +
				"order of /v1/best, then services that it excludes, with reasons in why. cheapest " +
				"is price, response is speed, and uptime is uptime_30d"},
		perPage, paramPage)
}

// Sets returns every value that a set parameter can have in a key, sorted; "" means absent.
func (p *Param) Sets() []string {
	names := slices.Sorted(slices.Values(p.Values))
	sets := make([]string, 0, 1<<len(names))
	for bits := range 1 << len(names) {
		var in []string
		for i, name := range names {
			if bits&(1<<i) != 0 {
				in = append(in, name)
			}
		}
		sets = append(sets, strings.Join(in, ","))
	}
	slices.Sort(sets)
	return sets
}

// Has reports whether the effective value of a set parameter contains a name.
func (q Query) Has(param, name string) bool {
	for v := range strings.SplitSeq(q.Text(param), ",") {
		if v == name {
			return true
		}
	}
	return false
}

// Omit returns the column of booleans of the services that the response leaves out, "" for none.
func (q Query) Omit() string {
	omit := q.Route.Omit
	if q.Route.Param("include") != nil && q.Has("include", omit) {
		return ""
	}
	return omit
}

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
			HeaderUnknown + ", and a network or category that nothing knows with 400 instead of no rows"},
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
