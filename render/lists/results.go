package lists

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/invisible"
	"tollbook/site/routes"
)

// Settings are what results need of the directory whose page shows them. The page contains them for Fill and for the
// script.
type Settings struct {
	Search     string             `json:"search"`     // URL of the search page
	Service    string             `json:"service"`    // URL of the page of the service "_"
	Networks   map[string]Network `json:"networks"`   // by abbreviation
	Categories map[string]string  `json:"categories"` // URLs of the pages of categories, by name
	// values of filters by their other spellings in lower case, by the name of the filter
	Spellings map[string]map[string]string `json:"spellings"`
}

// Network is a network as results show it.
type Network struct {
	Name string `json:"name"`
	Href string `json:"href,omitempty"` // of its page
}

// Comments that delimit the part of the search page that Fill replaces.
const beginMark, endMark = "<!--results-->", "<!--/results-->"

// Part returns the part of the search page that Fill and the script replace, with its delimiters. facets lead to lists
// that are files. Where no server fills the page, a reader without script sees them.
func Part(s *Settings, facets []Facet) (template.HTML, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("encode settings of the search page: %w", err)
	}
	return renderPart(string(invisible.EscapeJSON(data)), "unfilled", NewFilters(s.Search, url.Values{}, facets))
}

// renderPart returns the part of the page with a template inside.
func renderPart(settings, name string, v any) (template.HTML, error) {
	inside, err := execute(name, v)
	if err != nil {
		return "", err
	}
	return template.HTML(beginMark + `<div id="results" data-settings="` + html.EscapeString(settings) + `"` +
		map[bool]string{true: "", false: ` data-filled="true"`}[name == "unfilled"] + `>` + string(inside) + `</div>` +
		endMark), nil
}

// view is the value of the template of results.
type view struct {
	Filters
	*body
	Settings *Settings
	Query    string
	Summary  string
	Problem  string
	Readings []site.Reading // of words that were not read as they were typed
	AsWords  string         // URL of the search whose words are not read as filters
	Nearest  []Link         // categories, if nothing matches
	Rows     []row
	Heads    []Head
	Without  []Link
	Prev     string
	Next     string
}

// body is the response of /v1/search.
type body struct {
	Data []row `json:"data"`
	Meta struct {
		site.PaginationMeta
		ReadAs  []site.Reading            `json:"read_as"`
		Filters []site.FilterReading      `json:"filters"`
		Text    *string                   `json:"text"`
		Nearest bool                      `json:"nearest"`
		Without map[string]int            `json:"without"`
		Facets  map[string]map[string]int `json:"facets"`
	} `json:"meta"`
}

// row is a result.
type row struct {
	site.ServiceListItem
	Endpoints []offer `json:"endpoints"`
	Reason    string  `json:"why"` // of its place; only in the order of recommendations
}

// offer is an endpoint of a result.
type offer struct {
	Method      string        `json:"method"`
	Path        string        `json:"path"`
	Description string        `json:"description"`
	Networks    []string      `json:"networks"`
	PriceUSD    *site.Decimal `json:"price_usd,string"`
	// PricesUSD are the prices by network, if they differ.
	PricesUSD map[string]string `json:"prices_usd"`
	// PriceCondition is what a buyer needs first for PriceUSD, PriceConditions for the prices on networks; both may be
	// absent.
	PriceCondition  *string           `json:"price_condition"`
	PriceConditions map[string]string `json:"price_conditions"`
	// Verdict on the endpoint; "" in a response if it is that on the service.
	Verdict string `json:"verdict"`
}

// setPrices sets the prices of endpoints, and their conditions, to those on a network.
func setPrices(offers []offer, network string) {
	for i := range offers {
		o := &offers[i]
		o.PriceCondition = nil
		if text, ok := o.PriceConditions[network]; ok {
			o.PriceCondition = &text
		}
		if o.PricesUSD != nil {
			o.PriceUSD, o.Networks = nil, []string{network}
			if price, ok := o.PricesUSD[network]; ok {
				o.PriceUSD = new(site.Decimal(price))
			}
		}
	}
}

// Uptime30d returns the uptime of 30 days, by which a search sorts.
func (r row) Uptime30d() *float64 {
	if r.Assessment == nil {
		return nil
	}
	return r.Assessment.ReliabilityUptime30d
}

// Why returns the reason of the row's place, if the response has one, or else the figures behind a recommendation that
// no column has: the grade, how many checks the uptime is of, and organic buyers. A row that is not advised has no such
// figures. Why contains no text of the service.
func (r row) Why() string {
	a := r.Assessment
	if r.Reason != "" {
		return r.Reason
	}
	if a == nil || !site.IsAdvised(r.AdviceLevel) {
		return ""
	}
	var parts, month []string
	if slices.Contains(site.Grades[:len(site.Grades)-1], a.ComplianceGrade) {
		parts = append(parts, "Grade "+a.ComplianceGrade)
	}
	if a.Checks30d > 0 {
		month = append(month, display.Plural(a.Checks30d, "check", "checks"))
	}
	if n := a.Traction.OrganicBuyers30d; n != nil {
		month = append(month, display.Plural(*n, "buyer", "buyers"))
	}
	if len(month) > 0 {
		parts = append(parts, strings.Join(month, " and ")+" in 30 days")
	}
	return strings.Join(parts, ", ")
}

// Offers returns the endpoints that the row shows. A service that is not advised shows none, so that no row recommends a
// payment that would be lost.
func (r row) Offers() []offer {
	if !site.IsAdvised(r.AdviceLevel) {
		return nil
	}
	offers := slices.Clone(r.Endpoints)
	for i := range offers {
		offers[i].Verdict = cmp.Or(offers[i].Verdict, r.AdviceLevel)
	}
	return offers
}

// Head is the head of a column that the reader can sort by.
type Head struct {
	Label string `json:"label"`
	Num   bool   `json:"num"`
	Sort  string `json:"sort"` // value of the parameter sort; "" if the column has no order
	Aria  string `json:"aria"` // "ascending" or "descending" if the column orders the list
	Href  string `json:"-"`
}

// heads are the columns of results.
var heads = []Head{{Label: "Service"}, {Label: "Status"},
	{Label: "Price from", Num: true, Sort: "price", Aria: "ascending"},
	{Label: "Uptime, 30 days", Num: true, Sort: "uptime", Aria: "descending"},
	{Label: "Response time, 24 hours", Num: true, Sort: "speed", Aria: "ascending"}, {Label: "Networks"}}

// NewHeads returns the heads of a list that is sorted by sort. href returns the URL of the list in another order.
func NewHeads(sort string, href func(sort string) string) []Head {
	columns := slices.Clone(heads)
	for i := range columns {
		h := &columns[i]
		if h.Sort != "" {
			h.Href = href(h.Sort)
		}
		if h.Sort != sort || h.Href == "" {
			h.Aria = ""
		}
	}
	return columns
}

// order is an order of a search in words.
type order struct {
	Value string `json:"value"` // of the parameter sort
	Label string `json:"label"`
	Text  string `json:"text"`
}

// orders are the labels of orders, by the value of the parameter sort.
var orders = []order{
	{site.OrderRelevance, "Relevance", "best match first"},
	{site.OrderBest, "Recommendation", "recommended first"}, {"price", "Price", "lowest price first"},
	{"uptime", "Uptime, 30 days", "highest uptime of 30 days first"}, {"speed", "Speed", "fastest first"},
	{site.OrderOrganicBuyers, "Buyers", "most organic buyers first"},
	{site.OrderOrganicVolume, "Organic volume", "largest organic volume first"},
	{site.OrderVolume, "Volume", "largest volume first"}, {"buyers", "All buyers", "most buyers first"},
	{site.OrderNewest, newest.Label, newest.Text}, {"uptime_24h", "Uptime, 24 hours", "highest uptime of 24 hours first"},
	{"endpoints", "Endpoints", "most endpoints first"}, {"grade", "Grade", "best grade first"},
}

// newest is what the order by relevance, which is the default, is without words.
var newest = order{"", "Newest", "newest first"}

// NewOrders returns links to the orders of a search.
func NewOrders(search string, values url.Values) []Link {
	return newOrders(search, values, cmp.Or(values.Get("sort"), site.OrderRelevance))
}

// newOrders returns links to the orders of a search that is in the order sort.
func newOrders(search string, values url.Values, sort string) []Link {
	var links []Link
	for _, o := range orders {
		if o.Value == site.OrderNewest && values.Get("q") == "" {
			continue // without words relevance is the same order
		}
		l := Link{Label: o.Label, Current: o.Value == sort}
		if o.Value == site.OrderRelevance {
			if o.Value = ""; values.Get("q") == "" {
				l.Label = newest.Label
			}
		}
		l.Href = with(search, values, "sort", o.Value)
		links = append(links, l)
	}
	return links
}

// OrderLabel returns the label of an order.
func OrderLabel(sort string) string {
	return orders[slices.IndexFunc(orders, func(o order) bool { return o.Value == sort })].Label
}

// orderText returns an order in words, "" for an unknown one.
func orderText(sort string, values url.Values) string {
	if sort == site.OrderRelevance && values.Get("q") == "" {
		return newest.Text
	}
	for _, o := range orders {
		if o.Value == sort {
			return o.Text
		}
	}
	return ""
}

var errNoPart = errors.New("fill search page: it contains no part for results; build the directory again")

// FillResults returns a search page with results: the response of /v1/search to values, or the reason why there is
// none.
func FillResults(page []byte, values url.Values, response []byte, problem string) ([]byte, error) {
	head, rest, begins := bytes.Cut(page, []byte(beginMark))
	old, tail, ends := bytes.Cut(rest, []byte(endMark))
	_, after, has := bytes.Cut(old, []byte(` data-settings="`))
	raw, _, closes := bytes.Cut(after, []byte(`"`))
	if !begins || !ends || !has || !closes {
		return nil, errNoPart
	}
	text := html.UnescapeString(string(raw))
	var s Settings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, fmt.Errorf("fill search page: read its settings: %w", err)
	}
	values = clean(values)
	v := view{Settings: &s, body: new(body), Query: display.Line(values.Get("q"), routes.MaxText), Problem: problem}
	if problem == "" {
		if err := json.Unmarshal(response, v.body); err != nil {
			return nil, fmt.Errorf("fill search page: read the response: %w", err)
		}
	}
	v.complete(values)
	part, err := renderPart(text, "results", v)
	if err != nil {
		return nil, err
	}
	if v.Query != "" {
		q := []byte(html.EscapeString(v.Query))
		head = bytes.Replace(head, []byte(`name="q" value="`), slices.Concat([]byte(`name="q" value="`), q), 1)
		head = bytes.Replace(head, []byte("<title>"), slices.Concat([]byte("<title>"), q, []byte(" · ")), 1)
	}
	return slices.Concat(head, []byte(part), tail), nil
}

// clean returns the parameters of a search that have a value, each once, with what their values mean.
func clean(values url.Values) url.Values {
	cleaned := url.Values{}
	for _, name := range parameters {
		if i := slices.IndexFunc(values[name], func(v string) bool { return v != "" }); i >= 0 {
			cleaned.Set(name, values[name][i])
		}
	}
	for i := range routes.Filters {
		if p := &routes.Filters[i]; cleaned.Has(p.Name) {
			cleaned.Set(p.Name, p.Typed(p.Spell(cleaned.Get(p.Name))))
		}
	}
	return cleaned
}

// complete derives what the template shows from the response and the values of the request.
func (v *view) complete(values url.Values) {
	s := v.Settings
	read := newReading(v.Meta.Filters, values)
	all := read.effective(values)
	v.Filters = NewFilters(s.Search, values, newFacets(s, values, read, v.Meta.Facets))
	v.Rows = v.Data
	if network := all.Get("network"); network != "" {
		for i := range v.Rows {
			setPrices(v.Rows[i].Endpoints, network)
		}
	}
	sort := cmp.Or(all.Get("sort"), site.OrderRelevance)
	v.Orders = newOrders(s.Search, values, sort)
	v.Heads = NewHeads(sort, func(sort string) string { return with(s.Search, values, "sort", sort) })
	for i := range routes.Filters {
		p := &routes.Filters[i]
		href := read.without(s, values, p.Name)
		if value := all.Get(p.Name); value != "" {
			v.Chosen = append(v.Chosen, Link{Label: s.describe(p, value), Href: href})
		}
		if n := v.Meta.Without[p.Name]; n > 0 {
			v.Without = append(v.Without, Link{Label: withoutText(n, p), Href: href})
		}
	}
	if f, ok := read["sort"]; ok {
		v.Chosen = append(v.Chosen, Link{Label: orderText(f.Value, all), Href: read.without(s, values, "sort")})
	}
	if len(v.Chosen) > 0 {
		q := values.Get("q")
		if v.Meta.Text != nil {
			q = *v.Meta.Text
		}
		v.Clear = SearchURL(s.Search, url.Values{"q": {q}, "sort": values["sort"]})
	}
	for _, r := range v.Meta.ReadAs {
		if r.As == site.ReadCorrected || r.As == site.ReadSynonym && !containsWords(r.To, r.Words) {
			v.Readings = append(v.Readings, r)
		}
	}
	v.AsWords = read.asWords(s, values)
	if v.Meta.Total == 0 && v.Problem == "" {
		for _, name := range slices.Sorted(maps.Keys(s.Categories)) {
			v.Nearest = append(v.Nearest, Link{Label: display.Line(name, display.MaxCode), Href: s.Categories[name]})
		}
	}
	v.paginate(values, orderText(sort, all))
}

// containsWords reports whether a text contains each of the words of another.
func containsWords(text, words string) bool {
	all := strings.Fields(text)
	return !slices.ContainsFunc(strings.Fields(words), func(w string) bool { return !slices.Contains(all, w) })
}

// paginate sets the summary and the links to other pages.
func (v *view) paginate(values url.Values, inOrder string) {
	m := v.Meta.PaginationMeta
	first := (m.Page-1)*m.PerPage + 1
	of := display.Plural(int64(m.Total), "service", "services")
	switch {
	case v.Meta.Nearest:
		v.Summary = "Nothing matches. These services are nearest."
	case len(v.Data) > 0:
		v.Summary = fmt.Sprintf("%s–%s of %s, %s.", display.Number(int64(first)),
			display.Number(int64(first+len(v.Data)-1)), of, inOrder)
	case m.Total > 0:
		v.Summary = "This page does not exist; there are " + of + "."
	}
	if m.Page > 1 {
		v.Prev = SearchURL(v.Search, set(values, "page", fmt.Sprint(min(m.Page-1, max(1, m.TotalPages)))))
	}
	if m.Page < m.TotalPages {
		v.Next = SearchURL(v.Search, set(values, "page", fmt.Sprint(m.Page+1)))
	}
}

// set returns values with one changed.
func set(values url.Values, name, value string) url.Values {
	changed := url.Values{}
	for n := range values {
		changed.Set(n, values.Get(n))
	}
	changed.Set(name, value)
	return changed
}
