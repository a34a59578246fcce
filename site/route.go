package site

import (
	"strconv"
	"strings"
)

// Rule says how a request is answered when its key is not a file by itself.
type Rule string

const (
	RuleLiteral Rule = "literal" // a file or nothing
	RuleWindow  Rule = "window"  // cut from at most two neighbouring files of 100 rows
	RuleLog     Rule = "log"     // cut from at most two blocks of a log, newest row first
	RuleTrim    Rule = "trim"    // one file with all its history, of which the newest part is kept
	RuleSearch  Rule = "search"  // chosen among the rows of one shard, then cut as a window
	RuleLookup  Rule = "lookup"  // one row of one of 256 shards
)

// Kind is the type of a parameter's value.
type Kind string

const (
	KindChoice  Kind = "choice"  // one of Values
	KindText    Kind = "text"    // any text up to 100 characters
	KindInteger Kind = "integer" // decimal digits between Min and Max
	KindSet     Kind = "set"     // some of Values, separated by commas; sorted and each once in a key
)

// Param is one query parameter of a route.
type Param struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// chooses rows; without a default it stands in a key only when it is given, any other always
	Filter  bool     `json:"filter"`
	Echo    bool     `json:"echo,omitempty"`  // its value in effect is repeated in meta
	Trim    bool     `json:"trim,omitempty"`  // cut out of a larger answer: it stands in a key at its largest value
	Needs   string   `json:"needs,omitempty"` // "include=timeseries": without effect where include lacks timeseries
	Values  []string `json:"values,omitempty"`
	Default string   `json:"default,omitempty"`
	Min     int      `json:"min,omitempty"`
	Max     int      `json:"max,omitempty"`
	Rule    Rule     `json:"rule,omitempty"` // of a request that gives it, in place of the route's
	About   string   `json:"about"`
}

// Route is one row of the table: a path pattern, its parameters in the order they take in a key, and its rule.
type Route struct {
	Name    string  `json:"name"`
	Pattern string  `json:"pattern"` // "{slug}", "{facilitator}" and the like stand for one path segment
	Rule    Rule    `json:"rule"`
	Ext     string  `json:"ext"` // how a key ends: ".json" or ".html"
	Params  []Param `json:"params"`
	Framing Framing `json:"framing,omitzero"` // of a list that is not framed as data and meta
	About   string  `json:"about"`
}

// MaxText is the length in characters of a text parameter.
const MaxText = 100

var (
	paramPage = Param{Name: "page", Kind: KindInteger, Default: "1", Min: 1, Max: MaxPage,
		About: "which page of the list"}
	paramPerPage = Param{Name: "per_page", Kind: KindInteger, Default: "25", Min: 1, Max: MaxPageSize,
		About: "rows on a page"}
	paramOffset = Param{Name: "offset", Kind: KindInteger, Default: "0", Min: 0, Max: 1_000_000_000,
		About: "rows to pass over, counted from the newest"}
	paramPeriod = Param{Name: "period", Kind: KindChoice, Trim: true, Values: Periods, Default: "90d",
		About: "span that ends today"}
	paramStatus = Param{Name: "status", Kind: KindChoice, Filter: true,
		Values: []string{StatusOnline, StatusDegraded, StatusOffline}, About: "only services in this state"}
)

func paramLimit(standard string) Param {
	return Param{Name: "limit", Kind: KindInteger, Default: standard, Min: 1, Max: MaxPageSize, About: "rows to return"}
}

// Routes is the table that validation, keys, files and documents come from. There is no second list of parameters.
var Routes = []Route{
	{Name: "services", Pattern: "/v1/services", Rule: RuleWindow, Ext: ".json",
		About: "Listed services, filtered, ordered and paged.", Params: []Param{
			{Name: "network", Kind: KindText, Filter: true,
				About: "only services paid on the network with this abbreviation"},
			paramStatus,
			{Name: "category", Kind: KindText, Filter: true, About: "only services of this category"},
			{Name: "q", Kind: KindText, Filter: true, Rule: RuleSearch,
				About: "only services whose name has, for each word of this text, a word that begins so"},
			{Name: "sort", Kind: KindChoice, Values: Orders, Default: OrderNewest, About: "order of the list"},
			paramPerPage, paramPage,
		}},
	{Name: "service", Pattern: "/v1/services/{slug}", Rule: RuleLiteral, Ext: ".json",
		About: "A service with endpoints, prices, uptime and assessment."},
	{Name: "uptime", Pattern: "/v1/services/{slug}/uptime", Rule: RuleLiteral, Ext: ".json",
		About: "A service's uptime, a point a UTC day.", Params: []Param{
			{Name: "period", Kind: KindChoice, Values: Windows, Default: "30d", About: "span that ends today"},
		}},
	{Name: "evidence", Pattern: "/v1/services/{slug}/evidence", Rule: RuleLiteral, Ext: ".json",
		About: "What stands behind a service's current verdicts and its grade: requests, answers, and each check with its reason."},
	{Name: "service-checks", Pattern: "/v1/services/{slug}/checks", Rule: RuleLog, Ext: ".json",
		About: "A service's checks, newest first.", Params: []Param{paramLimit("20"), paramOffset}},
	{Name: "checks", Pattern: "/v1/checks", Rule: RuleLog, Ext: ".json", About: "Checks of all services, newest first.",
		Params: []Param{paramLimit("50"), paramOffset}},
	{Name: "changes", Pattern: "/v1/changes", Rule: RuleLog, Ext: ".json",
		About: "Records of changed schemas, prices and recipients, newest first. Counts in meta cover the days and the service, not the type.", Params: []Param{
			{Name: "service", Kind: KindText, Filter: true, About: "only the service with this slug"},
			{Name: "type", Kind: KindChoice, Filter: true, Values: ChangeTypes, About: "only records of this type"},
			{Name: "days", Kind: KindInteger, Default: "90", Min: 1, Max: ChangeDays,
				About: "UTC days to look back, today included"},
			paramPerPage, paramPage,
		}},
	{Name: "price", Pattern: "/v1/services/{slug}/price", Rule: RuleTrim, Ext: ".json", Framing: Series,
		About: "A service's prices by UTC day: the lowest and highest asked at any time of the day, in USD, and how many endpoints' amounts moved. Days on which none was set are left out.", Params: []Param{paramPeriod}},
	{Name: "scores", Pattern: "/v1/services/{slug}/scores", Rule: RuleTrim, Ext: ".json", Framing: Series,
		About: "A service's uptime, response time and price stability by UTC day. Days without a counted check are left out.", Params: []Param{paramPeriod}},
	{Name: "volume", Pattern: "/v1/services/{slug}/volume", Rule: RuleTrim, Ext: ".json", Framing: Series,
		About:  "What a service was paid on chain, by UTC day. Days without a settlement are left out.",
		Params: []Param{paramPeriod}},
	{Name: "buyers", Pattern: "/v1/services/{slug}/buyers", Rule: RuleTrim, Ext: ".json", Framing: Series,
		About: "How many different accounts paid a service on chain, by UTC day of the last 90. Days without a settlement are left out.", Params: []Param{paramPeriod}},
	{Name: "facilitators", Pattern: "/v1/facilitators", Rule: RuleWindow, Ext: ".json",
		About: "Who settles payments, by the volume that was seen settled on chain.", Params: []Param{
			{Name: "timeframe", Kind: KindChoice, Echo: true, Values: Timeframes, Default: Timeframe7d,
				About: "span whose volume orders the list, largest first"},
			{Name: "include", Kind: KindSet, Filter: true, Values: []string{IncludeChains, IncludeTimeseries},
				About: "what to embed in each row: the breakdown by network and token, the volume by day"},
			{Name: "days", Kind: KindInteger, Trim: true, Needs: "include=" + IncludeTimeseries, Default: "30", Min: 1,
				Max: SeriesDays, About: "length of the embedded timeseries"},
			paramPerPage, paramPage,
		}},
	{Name: "facilitator", Pattern: "/v1/facilitators/{facilitator}", Rule: RuleLiteral, Ext: ".json",
		About: "A facilitator with its networks, accounts and 90 days, who paid through it, and the listed services whose payments it settles."},
	{Name: "coverage", Pattern: "/v1/coverage", Rule: RuleLiteral, Ext: ".json",
		About: "What is measured on chain, up to when, and what is not known: who else sends such payments, and how much of the volume may show no trade."},
	{Name: "status", Pattern: "/v1/status", Rule: RuleLiteral, Ext: ".json",
		About: "Counts of services by state, and each service's state."},
	{Name: "networks", Pattern: "/v1/networks", Rule: RuleLiteral, Ext: ".json",
		About: "Networks on which listed services take payment."},
	{Name: "tags", Pattern: "/v1/tags", Rule: RuleLiteral, Ext: ".json",
		About: "Categories with their number of services."},
	{Name: "stats", Pattern: "/v1/stats", Rule: RuleLiteral, Ext: ".json", About: "Figures of the whole directory."},
	{Name: "categories", Pattern: "/v1/categories", Rule: RuleLiteral, Ext: ".json", About: "Categories in use."},
	{Name: "snapshots", Pattern: "/v1/snapshots", Rule: RuleLiteral, Ext: ".json",
		About: "Earlier snapshots that are still kept, newest first: what the parameter snapshot may name beside the one that answers, which X-Snapshot names. A snapshot lists those before it; its own id is made of its bytes."},
	{Name: "lookup-url", Pattern: lookupURLPattern, Rule: RuleLookup, Ext: ".json",
		About: "What to know before paying at an address, by the hash of its normal form."},
	{Name: "lookup-pay-to", Pattern: lookupPayToPattern, Rule: RuleLookup, Ext: ".json",
		About: "What to know before paying a recipient."},
	{Name: "discovery", Pattern: "/discovery/resources", Rule: RuleWindow, Ext: ".json", Framing: Catalogue,
		About: "Paid addresses in the shape of a facilitator's catalogue.", Params: []Param{
			{Name: "type", Kind: KindChoice, Filter: true, Values: []string{"http", "mcp"}, Default: "http",
				About: "only resources of this kind; all that is listed is http"},
			paramLimit("100"),
			{Name: "offset", Kind: KindInteger, Default: "0", Min: 0, Max: 1_000_000_000, About: "rows to pass over"},
		}},

	{Name: "home-page", Pattern: "/", Rule: RuleLiteral, Ext: ".html", About: "The directory at a glance."},
	{Name: "services-page", Pattern: "/services", Rule: RuleLiteral, Ext: ".html", About: "The list as pages.",
		Params: []Param{
			{Name: "sort", Kind: KindChoice, Values: Orders, Default: OrderNewest, About: "order of the list"},
			paramPage,
		}},
	{Name: "service-page", Pattern: "/services/{slug}", Rule: RuleLiteral, Ext: ".html", About: "A service as a page."},
	{Name: "compare-page", Pattern: "/compare", Rule: RuleLiteral, Ext: ".html",
		About: "Two to four services side by side, as a page; its script reads ?a=slug&b=slug&c=slug&d=slug."},
	{Name: "categories-page", Pattern: "/categories", Rule: RuleLiteral, Ext: ".html",
		About: "Categories in use, with services, prices and uptime, as a page."},
	{Name: "category-page", Pattern: "/categories/{category}", Rule: RuleLiteral, Ext: ".html",
		Params: []Param{paramPage}, About: "The services of a category as pages, lowest price first."},
	{Name: "networks-page", Pattern: "/networks", Rule: RuleLiteral, Ext: ".html",
		About: "Networks on which services are paid, with prices and uptime, as a page."},
	{Name: "network-page", Pattern: "/networks/{network}", Rule: RuleLiteral, Ext: ".html", Params: []Param{paramPage},
		About: "The services paid on a network as pages, lowest price first."},
	{Name: "changes-page", Pattern: "/changes", Rule: RuleLiteral, Ext: ".html",
		About: "The newest changes of prices, recipients and ways to pay, as a page."},
	{Name: "facilitators-page", Pattern: "/facilitators", Rule: RuleLiteral, Ext: ".html",
		About: "Facilitators, ranked, as a page."},
	{Name: "facilitator-page", Pattern: "/facilitators/{facilitator}", Rule: RuleLiteral, Ext: ".html",
		About: "A facilitator as a page."},
	{Name: "coverage-page", Pattern: "/coverage", Rule: RuleLiteral, Ext: ".html",
		About: "What is measured on chain and what is not known, as a page."},
	{Name: "reference-page", Pattern: "/reference", Rule: RuleLiteral, Ext: ".html", About: "The API for reading."},
	{Name: "about-page", Pattern: "/about", Rule: RuleLiteral, Ext: ".html",
		About: "What the directory is, who runs it, and how to cite and correct it."},
	{Name: "methodology-page", Pattern: "/methodology", Rule: RuleLiteral, Ext: ".html",
		About: "Every judgment with its formula, so that anybody can judge again."},
	{Name: "verify-page", Pattern: "/verify", Rule: RuleLiteral, Ext: ".html",
		About: "How to check a snapshot's sums and signature, and compute a figure again."},
	{Name: "hosting-page", Pattern: "/hosting", Rule: RuleLiteral, Ext: ".html",
		About: "How to bring a directory to its readers, and what each way costs."},
	{Name: "operations-page", Pattern: "/operations", Rule: RuleLiteral, Ext: ".html",
		About: "How to look after a directory: health, back-up and restore, moving it, floods."},
	{Name: "submit-page", Pattern: "/submit", Rule: RuleLiteral, Ext: ".html",
		About: "Submitting a service for listing."},
	{Name: "status-page", Pattern: "/status", Rule: RuleLiteral, Ext: ".html",
		About: "The state of every service as a page."},
}

// ByName is the route of the table with this name; it panics for a name that is not in the table, which is a
// programmer's error.
func ByName(name string) *Route {
	for i := range Routes {
		if Routes[i].Name == name {
			return &Routes[i]
		}
	}
	panic("site: no route " + name)
}

// Param is the route's parameter with this name, nil without.
func (r *Route) Param(name string) *Param {
	for i := range r.Params {
		if r.Params[i].Name == name {
			return &r.Params[i]
		}
	}
	return nil
}

// largest is the value that a trimmed parameter has in a key: its maximum, or the last of its values.
func (p *Param) largest() string {
	if p.Kind == KindInteger {
		return strconv.Itoa(p.Max)
	}
	return p.Values[len(p.Values)-1]
}

// Names of the variable parts of paths that are no slug of a service: the id of a facilitator, the slug of a category's
// or a network's pages.
const (
	segmentFacilitator = "facilitator"
	segmentCategory    = "category"
	segmentNetwork     = "network"
)

// variable is the route's pattern before, in and behind the braces of its variable part; all of it is head without one.
func (r *Route) variable() (head, name, tail string) {
	head, rest, _ := strings.Cut(r.Pattern, "{")
	name, tail, _ = strings.Cut(rest, "}")
	return head, name, tail
}

// match reports whether path has the route's pattern, and the segment that stood for its variable part.
func (r *Route) match(path string) (slug string, ok bool) {
	if r.Rule == RuleLookup {
		return "", false // lookupOf reads these
	}
	head, name, tail := r.variable()
	if name == "" {
		return "", path == r.Pattern
	}
	rest, ok := strings.CutPrefix(path, head)
	if !ok {
		return "", false
	}
	slug, ok = strings.CutSuffix(rest, tail)
	if !ok || slug == "" || strings.Contains(slug, "/") {
		return "", false
	}
	return slug, true
}

// routeOf finds the route of a decoded path, nil without.
func routeOf(path string) (*Route, string) {
	for i := range Routes {
		if slug, ok := Routes[i].match(path); ok {
			return &Routes[i], slug
		}
	}
	return nil, ""
}
