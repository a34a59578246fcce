package routes

import (
	"strconv"
	"strings"

	"tollbook/site"
)

const catalogueColumns = "discovery/columns/"

// CatalogueServicesFile is the key of the column with the place of each row's service in Index.Slugs, which ascends
// within a type.
const CatalogueServicesFile = "discovery/services.json"

// CatalogueColumnKey returns the key of a column of the catalogue.
func CatalogueColumnKey(name string) string { return catalogueColumns + name + ".json" }

// hasCatalogueKey reports whether key is the key of a column of the catalogue.
func hasCatalogueKey(key string) bool {
	for _, c := range site.CatalogueColumns {
		if CatalogueColumnKey(c.Name) == key {
			return true
		}
	}
	return key == CatalogueServicesFile
}

// catalogueFilters returns the filters that clients of the bazaar extension send.
func catalogueFilters() []Param {
	filter := func(name string, kind Kind, column, entry, about string) Param {
		return Param{Name: name, Kind: kind, Filter: true, Rule: RuleCatalogue, Column: column, Compare: CompareHas,
			Entry: entry, About: about}
	}
	const accepts = "accepts" // one payment option must pass all of these filters
	payTo := filter("payTo", KindAddress, "pay_to", accepts,
		"Only resources with a payment option for this recipient; case matters unless the address starts with 0x")
	payTo.Max = maxRecipient
	return []Param{
		{Name: "type", Kind: KindChoice, Filter: true, Values: site.CatalogueTypes, Default: site.CatalogueHTTP,
			About: "Only resources of this kind: HTTP endpoints, or tools of MCP servers"},
		payTo,
		filter("scheme", KindText, "scheme", accepts,
			"Only resources with a payment option of this scheme; one option must match payTo, scheme and network"),
		filter("network", KindText, "network", accepts,
			"Only resources with a payment option on the network with this CAIP-2 id"),
		filter("extensions", KindText, "extensions", "", "Only resources that have the extension with this key"),
	}
}

// CatalogueSpan returns where the columns of the catalogue contain the rows of a type, and the number of their values.
func (i *Index) CatalogueSpan(kind string) (from, to, total int) {
	list := Query{Route: ByName("discovery")}
	for _, other := range site.CatalogueTypes {
		rows := i.Lists[list.With("type", other).ListKey()]
		if other == kind {
			from, to = total, total+rows
		}
		total += rows
	}
	return from, to, total
}

// Unfiltered returns q without the filters that name a column.
func (q Query) Unfiltered() Query {
	for i := range q.Route.Params {
		if p := &q.Route.Params[i]; p.Column != "" && q.Text(p.Name) != "" {
			q = q.With(p.Name, "")
		}
	}
	return q
}

// paramCursor is the parameter with a cursor: the id of a snapshot, a dot and the number of results to skip. Its id
// selects the snapshot, so that all pages come from one.
const paramCursor = "cursor"

// maxCursorDigits is the maximum length of the number in a cursor.
const maxCursorDigits = 9

// catalogueSearchParams returns the parameters of /discovery/search.
func catalogueSearchParams() []Param {
	query := Param{Name: "query", Kind: KindText, Filter: true, Max: 400,
		About: "What the service must do, in words, as q of /v1/search"}
	return append(append([]Param{query}, catalogueFilters()...), paramLimit("20"),
		Param{Name: paramCursor, Kind: KindCursor, Filter: true,
			About: "The cursor of the response before, which reads the next page from the same snapshot"})
}

// ErrCursorSnapshot is the error for the cursor of a snapshot that is not stored any more.
var ErrCursorSnapshot error = &ParamError{paramCursor,
	"is of a snapshot that is not available any more; search again without it"}

// checkCursor returns an error for a text that is not a cursor.
func (p *Param) checkCursor(v string) error {
	id, skip, _ := strings.Cut(v, ".")
	n, err := strconv.Atoi(skip)
	if _, wrong := p.checkSnapshot(id); wrong != nil || err != nil || n < 0 || strconv.Itoa(n) != skip ||
		len(skip) > maxCursorDigits {
		return &ParamError{p.Name, "must be the cursor of a response; got " + quoteShort(v)}
	}
	return nil
}

// Cursor returns the number of results that q's cursor skips, and whether q has a cursor.
func (q Query) Cursor() (skip int, ok bool) {
	_, digits, ok := strings.Cut(q.value[paramCursor], ".")
	skip, _ = strconv.Atoi(digits) // always valid: checkCursor accepted it
	return skip, ok
}

// NewCursor returns the cursor of the results of a snapshot after the first skip.
func NewCursor(snapshot string, skip int) string { return snapshot + "." + strconv.Itoa(skip) }
