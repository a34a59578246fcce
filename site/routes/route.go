// Package routes defines how requests are read: the table of routes and their parameters, the keys of files, and the
// windows of lists and logs. A route names the type of its response, which package site defines.
//
// The package is pure. It never reads a file, and knows neither how a response is made nor who requests it.
package routes

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"tollbook/site"
	"tollbook/site/encode"
)

// Route is a path pattern, its parameters in the order that they have in a key, and its rule.
type Route struct {
	// Name of the route.
	Name string `json:"name"`
	// Pattern of the path; a name in braces, such as {slug}, matches one segment.
	Pattern string `json:"pattern"`
	// Rule that produces the response if no file has the request's key.
	Rule Rule `json:"rule"`
	// Extension of the key.
	Ext string `json:"ext"`
	// Query parameters, in the order that they have in a key.
	Params []Param `json:"params"`
	// Column of booleans: the response leaves out the services for which it is true, unless include contains the
	// column's name.
	Omit string `json:"omit,omitempty"`
	// With a network or a category that nothing knows, a list has no rows; only strict=1 makes that an error.
	Lenient bool `json:"lenient,omitempty"`
	// Members of a list that does not use data and meta.
	Framing encode.Framing `json:"framing,omitzero"`
	About   string         `json:"about"`
}

// bestParams returns the parameters of /v1/best. A price above max_price_usd is a reason to exclude a service, so that
// parameter compares no column.
func bestParams() []Param {
	filters := rowFilters("")
	for i := range filters {
		if p := &filters[i]; p.Name == "max_price_usd" {
			p.Column, p.Compare, p.Within = "", "", ""
			p.About = "Exclude services whose endpoint for this costs more US dollars, on the network if " +
				"network is given"
		}
	}
	return slices.Concat([]Param{paramText}, filters, []Param{
		{Name: "require_verified", Kind: KindBoolean, Filter: true, About: "Exclude services that are not verified"},
		{Name: "prefer", Kind: KindChoice, Values: site.Preferences, Default: site.PreferBalanced,
			About: "What counts most: see the weights on the methodology page"},
		{Name: "limit", Kind: KindInteger, Default: "5", Min: 1, Max: MaxRecommendations,
			About: "Recommendations to return"},
	})
}

// MaxRecommendations is the maximum number of recommendations in a response.
const MaxRecommendations = 20

// allowParams returns the parameters of /v1/allow. No file has a filtered list: each request is a scan.
func allowParams() []Param {
	var params []Param
	for _, p := range rowFilters(RuleScan) {
		switch p.Name {
		case "category", "network", "max_price_usd":
			params = append(params, p)
		case "verdict":
			p.Values, p.Default, p.Compare, p.Words = site.AdviceLevels[:2], site.AdviceGood, CompareAtLeast, Words{}
			p.About = "Only services with this verdict or a better one"
			params = append(params, p)
		}
	}
	return append(params, paramPerPage, paramPage)
}

// servicesParams returns the parameters of /v1/services. Lists by network, status and category are files, in the orders
// of the contract; any other filter or order is a scan.
func servicesParams() []Param {
	filters := rowFilters(RuleScan)
	for i := range filters {
		switch p := &filters[i]; p.Name {
		case "status":
			p.Values, p.Elsewhere = site.Statuses[:3], map[string]string{site.StatusUnknown: "/v1/search"}
			p.Rule = ""
		case "network", "category":
			p.Rule = ""
		}
	}
	scanned := []string{site.OrderVolume, site.OrderBuyers, site.OrderOrganicVolume, site.OrderOrganicBuyers,
		site.OrderGrade, site.OrderResponse, site.OrderUptime30d}
	return append(filters,
		Param{Name: "q", Kind: KindText, Filter: true, Rule: RuleScan, Column: "name", Compare: CompareWords,
			About: "Only services whose name has, for each word of this text, a word that starts with it"},
		Param{Name: "include", Kind: KindSet, Filter: true, Values: []string{site.IncludeAssessment, site.IncludeGone},
			Rule: RuleScan, About: "What to add: assessment for the compact assessment of each row, gone for the " +
				"services that are gone"},
		Param{Name: "sort", Kind: KindChoice, Values: slices.Concat(site.Orders, scanned), Default: site.OrderNewest,
			Rule: RuleScan, RuleValues: scanned, Spellings: spelledOrders,
			About: "Order of the list, by the names of /v1/search. cheapest is price, response is speed, and uptime is " +
				"uptime_24h"},
		paramPerPage, paramPage)
}

// All is the only list of routes and parameters: requests are validated by it, and keys, files and documents are
// derived from it.
var All = []Route{
	// The contract does not say which services are listed, so leaving out those that are gone adds to it: each row and
	// total means the same, a gone service keeps its own paths, and include=gone, which the contract lacks, lists all.
	// By contract a filter that nothing matches has no rows.
	{Name: "services", Pattern: "/v1/services", Rule: RuleWindow, Ext: ".json", Omit: site.ColumnGone,
		Lenient: true, About: "Listed services, filtered, sorted and paginated.", Params: servicesParams()},
	{Name: "search", Pattern: "/v1/search", Rule: RuleFind, Ext: ".json", Omit: site.ColumnGone,
		About:  "Services that match a description, with their endpoints, filtered, sorted and paginated.",
		Params: searchParams()},
	{Name: "best", Pattern: "/v1/best", Rule: RuleRank, Ext: ".json", Omit: site.ColumnGone, Params: bestParams(),
		About: "Recommended services for a need, best first, each with its score, the parts of the score and the " +
			"reason. Services that match but are excluded are in meta, with reasons."},
	{Name: "allow", Pattern: "/v1/allow", Rule: RuleScan, Ext: ".json", Omit: site.ColumnGone, Params: allowParams(),
		About: "What a policy for payments may allow: the services that are safe to pay, by slug, with the hosts, " +
			"recipients, tokens and prices of their endpoints."},
	{Name: "service", Pattern: "/v1/services/{slug}", Rule: RuleLiteral, Ext: ".json",
		About: "One service with its endpoints, prices, uptime and assessment."},
	{Name: "uptime", Pattern: "/v1/services/{slug}/uptime", Rule: RuleLiteral, Ext: ".json",
		About: "Uptime of a service, one point per whole UTC day with a counted check, oldest first.", Params: []Param{
			{Name: "period", Kind: KindChoice, Values: site.Windows, Default: "30d",
				About: "UTC days up to today; 24h has today and yesterday, so its points cover more than uptime_24h"},
		}},
	{Name: "evidence", Pattern: "/v1/services/{slug}/evidence", Rule: RuleLiteral, Ext: ".json",
		About: "The evidence behind a service's current verdicts and grade: requests, responses, and each " +
			"conformance check with its reason."},
	{Name: "service-checks", Pattern: "/v1/services/{slug}/checks", Rule: RuleLog, Ext: ".json",
		About: "Checks of one service, newest first.", Params: []Param{paramLimit("20"), paramOffset}},
	{Name: "checks", Pattern: "/v1/checks", Rule: RuleLog, Ext: ".json", About: "Checks of all services, newest first.",
		Params: []Param{paramLimit("50"), paramOffset}},
	{Name: "changes", Pattern: "/v1/changes", Rule: RuleLog, Ext: ".json",
		About: "Changes of payment schemas, prices, recipients and grades, newest first. The counts in meta cover " +
			"the days and the service, regardless of the type.", Params: []Param{
			{Name: "service", Kind: KindText, Filter: true, Among: amongSlugs,
				About: "Only changes of the service with this slug"},
			{Name: "type", Kind: KindChoice, Filter: true, Values: site.ChangeTypes,
				About: "Only changes of this type"},
			{Name: "days", Kind: KindInteger, Default: "90", Min: 1, Max: site.ChangeDays,
				About: "Number of UTC days to look back, including today"},
			paramPerPage, paramPage,
		}},
	{Name: "price", Pattern: "/v1/services/{slug}/price", Rule: RuleTrim, Ext: ".json", Framing: site.Series,
		About: "Prices of a service's active endpoints by UTC day: the lowest and highest price at any time of the " +
			"day, in USD, how many times amounts changed, and which endpoint asked for what. Days without a point " +
			"are like the point before them.",
		Params: []Param{paramPeriod}},
	{Name: "scores", Pattern: "/v1/services/{slug}/scores", Rule: RuleTrim, Ext: ".json", Framing: site.Series,
		About: "Uptime, response time, price stability, grade and risk of a service by UTC day. Days without a " +
			"counted check are left out.", Params: []Param{paramPeriod}},
	{Name: "volume", Pattern: "/v1/services/{slug}/volume", Rule: RuleTrim, Ext: ".json", Framing: site.Series,
		About:  "On-chain payments to a service, by UTC day. Days without a settlement are left out.",
		Params: []Param{paramPeriod}},
	{Name: "buyers", Pattern: "/v1/services/{slug}/buyers", Rule: RuleTrim, Ext: ".json", Framing: site.Series,
		About: "Number of different accounts that paid a service on chain, by UTC day of the last 90 days. Days " +
			"without a settlement are left out.", Params: []Param{paramPeriod}},
	{Name: "settlements", Pattern: "/v1/services/{slug}/settlements", Rule: RuleLiteral, Ext: ".json",
		About: "The settlements from which a service's traction is computed: by day, payer and amount."},
	{Name: "facilitators", Pattern: "/v1/facilitators", Rule: RuleWindow, Ext: ".json",
		About: "Facilitators, which settle payments, ranked by the volume measured on chain.", Params: []Param{
			{Name: "timeframe", Kind: KindChoice, Echo: true, Values: site.Timeframes, Default: site.Timeframe7d,
				About: "Period whose volume orders the list, largest first"},
			{Name: "include", Kind: KindSet, Filter: true, Values: []string{site.IncludeChains, site.IncludeTimeseries},
				About: "What to embed in each row: chains for the breakdown by network and token, timeseries for " +
					"the volume by day"},
			{Name: "days", Kind: KindInteger, Trim: true, Needs: "include=" + site.IncludeTimeseries, Default: "30",
				Min: 1,
				Max: site.SeriesDays, About: "Length of the embedded timeseries in days"},
			paramPerPage, paramPage,
		}},
	{Name: "facilitator-matrix", Pattern: "/v1/facilitators/matrix", Rule: RuleLiteral, Ext: ".json",
		About: "Facilitator support by network: the schemes, networks and tokens that facilitators announce, " +
			"their uptime and latency, and the tokens that they settled on chain."},
	{Name: "facilitator", Pattern: "/v1/facilitators/{facilitator}", Rule: RuleLiteral, Ext: ".json",
		About: "One facilitator: its networks, accounts and days, its payers, and the listed services whose payments " +
			"it settles.",
		Params: []Param{
			{Name: "period", Kind: KindChoice, Values: site.SeriesPeriods, Default: site.Timeframe30d,
				About: "UTC days of the series, up to today; all begins with the first settlement"},
			{Name: "series_by", Kind: KindChoice, Values: site.SeriesBy, Default: site.SeriesTotal,
				About: "Whether the series is of all networks together or of each"},
		}},
	{Name: "flow", Pattern: "/v1/flow", Rule: RuleLiteral, Ext: ".json",
		About: "Where payments go: the settlements of 30 days from facilitators over networks and categories to services."},
	{Name: "coverage", Pattern: "/v1/coverage", Rule: RuleLiteral, Ext: ".json",
		About: "What is measured on chain and up to when, and what is not known: possible settlers that are not " +
			"listed, and the volume that may not be real trade."},
	{Name: "sources", Pattern: "/v1/sources", Rule: RuleLiteral, Ext: ".json",
		About: "Public directories and catalogues that are read: what each lists, when it was read last, and how " +
			"many resources it has in common with each other."},
	{Name: "data", Pattern: "/v1/data", Rule: RuleLiteral, Ext: ".json",
		About: "The tables of the directory as Parquet, SQLite and CSV files, and what they answer as of the " +
			"snapshot."},
	{Name: "source", Pattern: "/v1/sources/{source}", Rule: RuleLiteral, Ext: ".json",
		About: "One public source: its newest answers, how many resources it listed by day, the services that it " +
			"lists, and what it dropped and when."},
	{Name: "assets", Pattern: "/v1/assets", Rule: RuleLiteral, Ext: ".json",
		About: "The tables by which payment options are judged and settlements counted: networks, tokens, forms of " +
			"addresses, burn addresses and domains of free hosting."},
	{Name: "status", Pattern: "/v1/status", Rule: RuleLiteral, Ext: ".json",
		About: "Number of services by status, and the status of each service."},
	{Name: "incidents", Pattern: "/v1/incidents", Rule: RuleWindow, Ext: ".json",
		About: "Incidents of all services that had not ended before the last 90 UTC days, newest first: failed " +
			"checks in a row, when they began and ended, and whether many services failed at the same time.",
		Params: []Param{paramPerPage, paramPage}},
	{Name: "incident", Pattern: "/v1/incidents/{incident}", Rule: RuleLiteral, Ext: ".json",
		About: "An incident of the last 90 UTC days: what went wrong, at which endpoints, and which other " +
			"services had an incident at the same time."},
	{Name: "networks", Pattern: "/v1/networks", Rule: RuleLiteral, Ext: ".json",
		About: "Networks on which listed services accept payment."},
	{Name: "tags", Pattern: "/v1/tags", Rule: RuleLiteral, Ext: ".json",
		About: "Categories and the number of services in each."},
	{Name: "stats", Pattern: "/v1/stats", Rule: RuleLiteral, Ext: ".json", About: "Statistics of the whole directory."},
	{Name: "categories", Pattern: "/v1/categories", Rule: RuleLiteral, Ext: ".json", About: "Categories in use."},
	{Name: "snapshots", Pattern: "/v1/snapshots", Rule: RuleLiteral, Ext: ".json",
		About: "Previous snapshots that are still available, newest first. The parameter snapshot accepts their " +
			"ids. The id of the snapshot that answers is in the header X-Snapshot, not in this list, because it " +
			"depends on the snapshot's own bytes."},
	{Name: "lookup-url", Pattern: lookupURLPattern, Rule: RuleLookup, Ext: ".json",
		About: "What to know before paying at a URL, by the hash of its normal form.", Params: lookupParams},
	{Name: "lookup-pay-to", Pattern: lookupPayToPattern, Rule: RuleLookup, Ext: ".json",
		About: "What to know before paying a recipient.", Params: lookupParams},
	{Name: "discovery", Pattern: "/discovery/resources", Rule: RuleWindow, Ext: ".json", Framing: site.Catalogue,
		About: "Paid endpoints in the format of a facilitator's catalogue.", Params: append(catalogueFilters(),
			paramLimit("100"),
			Param{Name: "offset", Kind: KindInteger, Default: "0", Min: 0, Max: 1_000_000_000, About: "Rows to skip"},
		)},
	{Name: "discovery-search", Pattern: "/discovery/search", Rule: RuleCatalogue, Ext: ".json",
		Framing: site.CatalogueSearch,
		About: "Paid endpoints of the services that match a description, in the format of a facilitator's catalogue: " +
			"the best services first, and their endpoints that match before the others. Without a text, all endpoints.",
		Params: catalogueSearchParams()},

	{Name: "home-page", Pattern: "/", Rule: RuleLiteral, Ext: ".html", About: "Overview of the directory."},
	{Name: "services-page", Pattern: "/services", Rule: RuleLiteral, Ext: ".html", About: "The list of services " +
		"as HTML pages.",
		Params: []Param{
			{Name: "sort", Kind: KindChoice, Values: site.PageOrders, Default: site.OrderNewest,
				About: "Order of the list; uptime is that of 30 days"},
			paramPage,
		}},
	{Name: "service-page", Pattern: "/services/{slug}", Rule: RuleLiteral, Ext: ".html", About: "One service as " +
		"an HTML page."},
	{Name: "search-page", Pattern: "/search", Rule: RuleLiteral, Ext: ".html",
		About: "Search by what services do, as an HTML page; its parameters are those of /v1/search."},
	{Name: "compare-page", Pattern: "/compare", Rule: RuleLiteral, Ext: ".html",
		About: "Two to four services side by side, as an HTML page; its script reads ?a=slug&b=slug&c=slug&d=slug."},
	{Name: "categories-page", Pattern: "/categories", Rule: RuleLiteral, Ext: ".html",
		About: "Categories in use, with services, prices and uptime, as an HTML page."},
	{Name: "category-page", Pattern: "/categories/{category}", Rule: RuleLiteral, Ext: ".html",
		Params: []Param{paramPage}, About: "The services of a category as HTML pages, lowest price first."},
	{Name: "networks-page", Pattern: "/networks", Rule: RuleLiteral, Ext: ".html",
		About: "Networks on which services accept payment, with prices and uptime, as an HTML page."},
	{Name: "network-page", Pattern: "/networks/{network}", Rule: RuleLiteral, Ext: ".html", Params: []Param{paramPage},
		About: "The services that accept payment on a network as HTML pages, lowest price first."},
	{Name: "changes-page", Pattern: "/changes", Rule: RuleLiteral, Ext: ".html",
		About: "The newest changes of prices, recipients and payment options, as an HTML page."},
	{Name: "facilitators-page", Pattern: "/facilitators", Rule: RuleLiteral, Ext: ".html",
		About: "Facilitators by volume or by growth, as an HTML page.", Params: []Param{
			{Name: "sort", Kind: KindChoice, Values: site.FacilitatorOrders, Default: site.OrderVolume,
				About: "Order of the list: by volume of 30 days, or by growth of 7 or of 30 days"},
		}},
	{Name: "facilitator-matrix-page", Pattern: "/facilitators/matrix", Rule: RuleLiteral, Ext: ".html",
		About: "Facilitator support by network, as an HTML page."},
	{Name: "market-page", Pattern: "/market", Rule: RuleLiteral, Ext: ".html",
		About: "Facilitators by network, the largest changes, demand by category, and charts to embed, as an HTML page."},
	{Name: "flow-page", Pattern: "/flow", Rule: RuleLiteral, Ext: ".html",
		About: "Where payments go, from facilitators over networks and categories to services, as an HTML page."},
	{Name: "facilitator-page", Pattern: "/facilitators/{facilitator}", Rule: RuleLiteral, Ext: ".html",
		About: "One facilitator as an HTML page."},
	{Name: "sources-page", Pattern: "/sources", Rule: RuleLiteral, Ext: ".html",
		About: "Public directories and catalogues that are read, and what they have in common, as an HTML page."},
	{Name: "source-page", Pattern: "/sources/{source}", Rule: RuleLiteral, Ext: ".html",
		About: "One public source as an HTML page."},
	{Name: "data-page", Pattern: "/data", Rule: RuleLiteral, Ext: ".html",
		About: "The tables of the directory as files, and ten questions that they answer, as an HTML page."},
	{Name: "coverage-page", Pattern: "/coverage", Rule: RuleLiteral, Ext: ".html",
		About: "What is measured on chain and what is not known, as an HTML page."},
	{Name: "reference-page", Pattern: "/reference", Rule: RuleLiteral, Ext: ".html",
		About: "Reference of the API, as an HTML page."},
	{Name: "reference-files-page", Pattern: "/reference/files", Rule: RuleLiteral, Ext: ".html",
		About: "Reference of the files at paths of their own, as an HTML page."},
	{Name: "types-page", Pattern: "/reference/types", Rule: RuleLiteral, Ext: ".html",
		About: "The types of the API's responses by name, as an HTML page."},
	{Name: "types-services-page", Pattern: "/reference/types/services", Rule: RuleLiteral, Ext: ".html",
		About: "The types of responses about services with their fields, as an HTML page."},
	{Name: "types-directory-page", Pattern: "/reference/types/directory", Rule: RuleLiteral, Ext: ".html",
		About: "The types of responses about the directory with their fields, as an HTML page."},
	{Name: "types-submissions-page", Pattern: "/reference/types/submissions", Rule: RuleLiteral, Ext: ".html",
		About: "The types of submissions and errors with their fields, as an HTML page."},
	{Name: "types-files-page", Pattern: "/reference/types/files", Rule: RuleLiteral, Ext: ".html",
		About: "The types of files at paths of their own with their fields, as an HTML page."},
	{Name: "about-page", Pattern: "/about", Rule: RuleLiteral, Ext: ".html",
		About: "What the directory is, who runs it, and how to cite or correct it."},
	{Name: "methodology-page", Pattern: "/methodology", Rule: RuleLiteral, Ext: ".html",
		About: "The formula of every judgment, so that anybody can repeat it."},
	{Name: "verify-page", Pattern: "/verify", Rule: RuleLiteral, Ext: ".html",
		About: "How to check a snapshot's checksums and signature, and how to recompute a figure."},
	{Name: "before-you-pay-page", Pattern: "/before-you-pay", Rule: RuleLiteral, Ext: ".html",
		About: "How to check a payment before it is signed: verdicts, limits, and the file that answers."},
	{Name: "owners-page", Pattern: "/owners", Rule: RuleLiteral, Ext: ".html",
		About: "How the owner of a service corrects what is shown, and has a host left out."},
	{Name: "hosting-page", Pattern: "/hosting", Rule: RuleLiteral, Ext: ".html",
		About: "How to host a directory: one machine, a bucket, many machines."},
	{Name: "costs-page", Pattern: "/costs", Rule: RuleLiteral, Ext: ".html",
		About: "What each way of hosting a directory costs a month, and how that is calculated."},
	{Name: "operations-page", Pattern: "/operations", Rule: RuleLiteral, Ext: ".html",
		About: "How to operate a directory: where the four pages below it say what."},
	{Name: "operations-start-page", Pattern: "/operations/start", Rule: RuleLiteral, Ext: ".html",
		About: "The first week of a directory with every command, and the ways to run it on a schedule."},
	{Name: "operations-daily-page", Pattern: "/operations/daily", Rule: RuleLiteral, Ext: ".html",
		About: "What an operator does every day: health, the list of services, submissions, public sources."},
	{Name: "operations-repair-page", Pattern: "/operations/repair", Rule: RuleLiteral, Ext: ".html",
		About: "What to do when a directory breaks: faults, backup and restore, moving it."},
	{Name: "operations-reference-page", Pattern: "/operations/reference", Rule: RuleLiteral, Ext: ".html",
		About: "What operators look up: signed requests, chains, a language model, the crawler, disk space."},
	{Name: "configuration-page", Pattern: "/configuration", Rule: RuleLiteral, Ext: ".html",
		About: "Every setting with its key, flag, variable and default."},
	{Name: "upgrading-page", Pattern: "/upgrading", Rule: RuleLiteral, Ext: ".html",
		About: "How to install a newer version and how to go back."},
	{Name: "changelog-page", Pattern: "/changelog", Rule: RuleLiteral, Ext: ".html",
		About: "What each version of Tollbook changed."},
	{Name: "troubleshooting-page", Pattern: "/troubleshooting", Rule: RuleLiteral, Ext: ".html",
		About: "Error messages of the commands, their meaning and their remedy."},
	{Name: "contributing-page", Pattern: "/contributing", Rule: RuleLiteral, Ext: ".html",
		About: "How to test and extend Tollbook."},
	{Name: "submit-page", Pattern: "/submit", Rule: RuleLiteral, Ext: ".html",
		About: "Form that submits a service for listing."},
	{Name: "suggest-page", Pattern: "/suggest", Rule: RuleLiteral, Ext: ".html",
		About: "Form that suggests a correction, a feature or a service."},
	{Name: "incident-page", Pattern: "/incidents/{incident}", Rule: RuleLiteral, Ext: ".html",
		About: "One incident as an HTML page."},
	{Name: "status-page", Pattern: "/status", Rule: RuleLiteral, Ext: ".html",
		About: "The status of every service, as an HTML page."},
}

// HasProvenance reports whether responses of the route have the member provenance.
func (r *Route) HasProvenance() bool { return r.Ext == ".json" && strings.HasPrefix(r.Pattern, "/v1/") }

// ByName returns the route with this name. It panics if the table has no such route.
func ByName(name string) *Route {
	for i := range All {
		if All[i].Name == name {
			return &All[i]
		}
	}
	panic("routes: no route " + name)
}

// Param returns the route's parameter with this name, or nil.
func (r *Route) Param(name string) *Param {
	for i := range r.Params {
		if r.Params[i].Name == name {
			return &r.Params[i]
		}
	}
	return nil
}

// largest returns the value that a trimmed parameter has in a key: its maximum, or the last of its values.
func (p *Param) largest() string {
	if p.Kind == KindInteger {
		return strconv.Itoa(p.Max)
	}
	return p.Values[len(p.Values)-1]
}

// Names of the variable path segments that do not contain a service's slug: the id of a facilitator or an incident,
// the name of a source, the slug of a category or network.
const (
	segmentFacilitator = "facilitator"
	segmentSource      = "source"
	segmentIncident    = "incident"
	segmentCategory    = "category"
	segmentNetwork     = "network"
)

// splitPattern splits the pattern into the text before the braces, the name in them and the text after them. Without
// braces, head is the whole pattern.
func (r *Route) splitPattern() (head, name, tail string) {
	head, rest, _ := strings.Cut(r.Pattern, "{")
	name, tail, _ = strings.Cut(rest, "}")
	return head, name, tail
}

// patterns are the patterns of All, split once, because each request is compared with most of them.
var patterns = func() (list []pattern) {
	for i := range All {
		head, name, tail := All[i].splitPattern()
		list = append(list, pattern{head, tail, name != "", All[i].Rule == RuleLookup})
	}
	return list
}()

// pattern is the pattern of a route.
type pattern struct {
	head, tail string // the text before and after the braces
	varies     bool   // it has braces
	isLookup   bool   // parsed by parseLookup
}

// match reports whether path matches the pattern, and returns the segment that the name in braces matches.
func (p *pattern) match(path string) (slug string, ok bool) {
	if !p.varies || p.isLookup {
		return "", path == p.head && !p.isLookup
	}
	rest, ok := strings.CutPrefix(path, p.head)
	if !ok {
		return "", false
	}
	slug, ok = strings.CutSuffix(rest, p.tail)
	if !ok || slug == "" || strings.Contains(slug, "/") {
		return "", false
	}
	return slug, true
}

// findRoute returns the first route that matches a decoded path, and the variable segment; nil if none matches.
func findRoute(path string) (*Route, string) {
	for i := range patterns {
		if slug, ok := patterns[i].match(path); ok {
			return &All[i], slug
		}
	}
	return nil, ""
}

// Call is an endpoint whose response is not a file of a snapshot, because it depends on a database.
type Call struct {
	Name     string
	Method   string
	Pattern  string // "{id}" matches one path segment
	Body     any    // request body, a value as in Responses; nil for none
	Status   int    // HTTP status of success
	Response any    // response body, a value as in Responses
	About    string
}

// Calls lists every call. A server that does not accept submissions serves none of them.
var Calls = []Call{
	{
		Name: "submit", Method: "POST", Pattern: "/v1/submit", Body: site.Submission{}, Status: 201,
		Response: site.Uncited[site.SubmissionResult]{},
		About: "Submits a service for listing. The submission is stored, its endpoints are probed once without " +
			"payment, and a person reviews it. " +
			"With an Idempotency-Key it is safe to repeat the request: the same submission gets the first " +
			"response again, a different one gets a 400.",
	},
	{
		Name: "suggestions", Method: "POST", Pattern: "/v1/suggestions", Body: site.Suggestion{}, Status: 201,
		Response: site.Uncited[site.SuggestionResult]{},
		About: "Suggests something to the operator of the directory. The suggestion is stored for a person to read, " +
			"and never published. Sending the same text again within a day gets the first response again.",
	},
	{
		Name: "recheck", Method: "POST", Pattern: "/v1/services/{slug}/recheck", Status: 202,
		Response: site.Uncited[site.RecheckResult]{},
		About: "Makes a service due for a visit at once. The request has no body. A service can be checked again " +
			"ten minutes after the last such request and twelve times in 24 hours; a client may ask for ten " +
			"re-checks an hour. The host's pace stays as it is.",
	},
	{
		Name: "submission", Method: "GET", Pattern: "/v1/submissions/{id}", Status: 200,
		Response: site.Uncited[site.SubmissionState]{},
		About:    "Status of a submission, for anybody who has its id.",
	},
}

// IsPost reports whether the call only accepts POST.
func (c *Call) IsPost() bool { return c != nil && c.Method == http.MethodPost }

var aliases = Table().Aliases

// FindCall returns the call whose pattern matches a path, or that path under an alias, and the variable segment of the
// path, "" without one. It returns nil if the path is not that of a call.
func FindCall(path string) (call *Call, segment string) {
	for _, alias := range aliases {
		if rest, ok := strings.CutPrefix(path, alias.From); ok {
			path = alias.To + rest
		}
	}
	for i := range Calls {
		head, tail, varies := strings.Cut(Calls[i].Pattern, "{")
		_, tail, _ = strings.Cut(tail, "}")
		rest, begins := strings.CutPrefix(path, head)
		segment, ends := strings.CutSuffix(rest, tail)
		if begins && ends && varies == (segment != "") && !strings.Contains(segment, "/") {
			return &Calls[i], segment
		}
	}
	return nil, ""
}

// CallByName returns the call with this name. It panics if there is none.
func CallByName(name string) *Call {
	for i := range Calls {
		if Calls[i].Name == name {
			return &Calls[i]
		}
	}
	panic("routes: no call " + name)
}
