package routes

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"tollbook/site"
	"tollbook/site/webbotauth"
)

// Responses contains the body of each JSON route's response, by the route's name. Only the type of the value matters:
// the schemas of the OpenAPI document are derived from it. A test fails for a route without an entry.
var Responses = map[string]any{
	"services":       site.List[site.ServiceListItem, site.ServicesMeta]{},
	"search":         site.List[site.SearchResult, site.SearchMeta]{},
	"allow":          site.List[site.Allowance, site.PaginationMeta]{},
	"best":           site.List[site.Recommendation, site.RankingMeta]{},
	"service":        site.One[site.ServiceDetail]{},
	"uptime":         site.One[[]site.UptimeDataPoint]{},
	"evidence":       site.One[site.Evidence]{},
	"service-checks": site.List[site.CheckEntry, site.TotalMeta]{},
	"checks":         site.List[site.GlobalCheckEntry, site.TotalMeta]{},
	"status":         site.One[site.StatusSummary]{},
	"incidents":      site.List[site.Incident, site.PaginationMeta]{},
	"networks":       site.One[[]site.Network]{},
	"tags":           site.One[[]site.Tag]{},
	"stats":          site.One[site.AggregateStats]{},
	"categories":     site.One[[]string]{},
	"snapshots":      site.One[[]site.PublishedSnapshot]{},
	"changes":        site.List[site.ChangeRecord, site.ChangesMeta]{},
	"price":          site.CaveatList[site.PricePoint]{},
	"scores":         site.CaveatList[site.ScorePoint]{},
	"facilitators":   site.List[site.FacilitatorListItem, site.FacilitatorPaginationMeta]{},
	"volume":         site.CaveatList[site.VolumePoint]{},
	"buyers":         site.CaveatList[site.BuyersPoint]{},
	"settlements":    site.One[site.Settlements]{},
	"assets":         site.One[site.AssetTables]{},
	"facilitator":    site.One[site.FacilitatorDetail]{},
	"sources":        site.One[[]site.Source]{},
	"source":         site.One[site.SourceDetail]{},
	"incident":       site.One[site.IncidentDetail]{},
	"coverage":       site.One[site.CoverageReport]{},
	"flow":           site.One[site.Flow]{},
	"data":           site.One[site.Dataset]{},

	"facilitator-matrix": site.One[site.FacilitatorMatrix]{},

	"lookup-url":    site.One[site.AddressLookup]{},
	"lookup-pay-to": site.One[site.RecipientLookup]{},
	"discovery":     site.CatalogueList{},

	"discovery-search": site.CatalogueSearchList{},
}

// File is a JSON file that is served at its own path but belongs to no route: an index or block that rules read, or a
// document that describes the API.
type File struct {
	Name    string // in the style of the names of routes
	Pattern string // a name in braces matches a part of a segment
	Body    any    // as in Responses
	About   string
}

// Names of the documents that describe the API.
const (
	TableFile   = "v1/routes.json"
	OpenAPIFile = "v1/openapi.json"
	LLMsFile    = "llms.txt"
)

// Files lists all of them.
var Files = []File{
	{"index", "/" + IndexFile, Index{},
		"Every list with its number of rows, and the slug of every service. A list that is not in the index is " +
			"empty; a slug that is not in it does not exist."},
	{"routes", "/" + TableFile, site.One[RouteTable]{},
		"Routes, parameters and rules, for programs that answer requests from the files of a snapshot."},
	{"openapi", "/" + OpenAPIFile, map[string]any{}, "This description, as OpenAPI 3.1."},
	{"datapackage", "/data/datapackage.json", map[string]any{},
		"All tables of the directory as files to download, with their columns: a data package of the Frictionless " +
			"standard."},
	{"checks-log", "/v1/checks/log.json", site.LogIndex{},
		"Index of the log of all checks: its rows and the location of its blocks."},
	{"checks-block", "/v1/checks/block={block}.json", site.UncitedList[site.GlobalCheckEntry, site.BlockMeta]{},
		"A block of the log of all checks, oldest row first, that is not in a pack yet."},
	{"service-checks-log", "/v1/services/{slug}/checks/log.json", site.LogIndex{},
		"Index of the log of a service's checks: its rows and the location of its blocks."},
	{"service-checks-block", "/v1/services/{slug}/checks/block={block}.json",
		site.UncitedList[site.CheckEntry, site.BlockMeta]{},
		"A block of the log of a service's checks, oldest row first, that is not in a pack yet."},
	{"changes-log", "/v1/changes/log.json", site.LogIndex{},
		"Index of the logs of change records: their rows and the location of their blocks."},
	{"changes-block", "/v1/changes/block={block}.json", site.UncitedList[site.ChangeRecord, site.BlockMeta]{},
		"A block of the log of all change records, oldest row first, that is not in a pack yet."},
	{"changes-type-block", "/v1/changes/type={type}/block={block}.json",
		site.UncitedList[site.ChangeRecord, site.BlockMeta]{},
		"A block of the log of one type of change records."},
	{"service-changes-log", "/v1/changes/service={slug}/log.json", site.LogIndex{},
		"Index of the logs of a service's change records: their rows and the location of their blocks."},
	{"service-changes-block", "/v1/changes/service={slug}/block={block}.json",
		site.UncitedList[site.ChangeRecord, site.BlockMeta]{},
		"A block of the log of a service's change records."},
	{"service-changes-type-block", "/v1/changes/service={slug}/type={type}/block={block}.json",
		site.UncitedList[site.ChangeRecord, site.BlockMeta]{},
		"A block of the log of one type of a service's change records."},
	{"rows", "/" + rowsFolder + "{number}.json", site.List[site.ServiceRow, site.TotalMeta]{},
		"A block of " + strconv.Itoa(site.RowsPerBlock) + " services, in the order of the slugs in the index."},
	{"allow-rows", "/" + allowFolder + "{number}.json", site.List[site.Allowance, site.TotalMeta]{},
		"What a policy for payments may allow of a block of services, in the order of the slugs in the index."},
	{"column", "/" + columnsFolder + "{column}.json", site.One[[]any]{},
		"One member of all services, in the order of the slugs in the index. The parameters in " + TableFile +
			" name the column that they compare."},
	{"terms", "/" + site.TermsFile, site.One[site.TermIndex]{},
		"Index of the files of terms, with the number of terms in each."},
	{"terms-block", "/" + termsFolder + "{terms}.json", site.List[site.Term, site.TotalMeta]{},
		"A frequent term, or all terms with the same first two characters, each with the services that have it."},
	{"vocabulary", "/" + site.VocabularyFile, site.One[site.Vocabulary]{},
		"Every word of the directory, for the correction of typing errors."},
	{"feed", "/" + site.FeedFile, site.Feed{},
		"The newest change records as a JSON Feed; /feed.xml contains the same in Atom."},
	{"incidents-feed", "/" + site.IncidentsFile, site.Feed{},
		"The newest incidents as a JSON Feed; /incidents.xml contains the same in Atom, /incidents.ics as a calendar."},
	{"service-feed", "/services/{slug}/changes.json", site.Feed{},
		"A service's newest change records as a JSON Feed; changes.xml in the same folder contains the same in Atom."},
	{"service-badge", "/services/{slug}/badge.json", site.Badge{},
		"Status of a service in the format of shields.io endpoint badges; badge.svg in the same folder is the " +
			"picture."},
	{"catalogue-services", "/" + CatalogueServicesFile, site.Uncited[[]int]{},
		"The service of each row of the catalogue, those of type http before those of type mcp, as its place in the " +
			"slugs of the index."},
	{"catalogue-column", "/" + catalogueColumns + "{column}.json", site.Uncited[[][]string]{},
		"One member of all rows of the catalogue, those of type http before those of type mcp. The parameters in " +
			TableFile + " name the column that they compare."},
	{"lookup", "/" + LookupFile, LookupIndex{}, "Index of the look-up shards, with the number of rows in each."},
	{"lookup-url-shard", "/v1/lookup/url/{shard}.json", site.Shard[site.AddressLookup]{},
		"Look-ups of URLs whose hash starts with these two digits."},
	{"lookup-pay-to-shard", "/v1/lookup/pay-to/{shard}.json", site.Shard[site.RecipientLookup]{},
		"Look-ups of recipients whose hash starts with these two digits."},
}

// CSV is a table in CSV with figures of the API. It is a file, not another form of a response, so that a host that only
// sends files has it too.
type CSV struct {
	Name    string // in the style of the names of routes
	Pattern string // a name in braces matches a part of a segment
	About   string
}

// CSVs lists all of them.
var CSVs = []CSV{
	{"days", "/v1/services/{slug}/days.csv",
		"A service by UTC day, oldest day first: uptime, response time, checks, lowest and highest price, volume, " +
			"settlements and buyers. The columns are members of the routes uptime, scores, price, volume and buyers, " +
			"and an empty value is one that they do not have: checks and buyers go back 90 days, the others to the " +
			"first day. Prices are filled in from the day before."},
	{"volume-by-facilitator", "/v1/coverage/by-facilitator.csv",
		"Measured volume in US dollars by UTC day of the last 90 days, in all and by facilitator; by-facilitator.svg is " +
			"a picture."},
	{"volume-by-network", "/v1/coverage/by-network.csv",
		"Measured volume in US dollars by UTC day of the last 90 days, in all and by network; by-network.svg is " +
			"a picture."},
	{"volume-by-token", "/v1/coverage/by-token.csv",
		"Measured volume in US dollars by UTC day of the last 90 days, in all and by token; by-token.svg is " +
			"a picture."},
	{"networks", "/v1/networks.csv", "The networks of /v1/networks."},
	{"tags", "/v1/tags.csv", "The categories of /v1/tags."},
	{"tag-prices", "/v1/tags/prices.csv", "How many services of each category of /v1/tags have which lowest prices."},
	{"tag-weeks", "/v1/tags/weeks.csv", "The prices of each category of /v1/tags by week."},
	{"incidents", "/v1/incidents.csv", "All incidents of /v1/incidents, newest first."},
	{"coverage-networks", "/v1/coverage/networks.csv", "The networks of /v1/coverage: how far each is read."},
	{"coverage-tokens", "/v1/coverage/tokens.csv",
		"The tokens of /v1/coverage: authorisations by network and token."},
	{"coverage-facilitators", "/v1/coverage/facilitators.csv",
		"The facilitators of /v1/coverage: what each settles on each network in 30 days, and in the 30 before."},
	{"candidate-settlers", "/v1/coverage/candidate_settlers.csv",
		"The possible settlement accounts of /v1/coverage."},
	{"flow-links", "/v1/flow/links.csv", "The links of /v1/flow: what flows from one node to another."},
	{"flow-nodes", "/v1/flow/nodes.csv", "The nodes of /v1/flow."},
	{"matrix-facilitators", "/v1/facilitators/matrix/facilitators.csv",
		"The facilitators that are polled."},
	{"matrix-kinds", "/v1/facilitators/matrix/kinds.csv", "The kinds of payment that facilitators announce."},
	{"matrix-settled", "/v1/facilitators/matrix/settled.csv", "The tokens in which facilitators settled payments."},
	{"facilitator-days", "/v1/facilitators/{facilitator}/timeseries.csv",
		"Volume and settlements of a facilitator by UTC day."},
	{"facilitator-chains", "/v1/facilitators/{facilitator}/chains.csv", "A facilitator by network and token."},
	{"facilitator-services", "/v1/facilitators/{facilitator}/services.csv",
		"The listed services that a facilitator settles for."},
	{"facilitator-kinds", "/v1/facilitators/{facilitator}/kinds.csv",
		"The kinds of payment that a facilitator announces."},
	{"facilitator-signers", "/v1/facilitators/{facilitator}/signers.csv",
		"The accounts that a facilitator announces as its own."},
	{"source-days", "/v1/sources/{source}/days.csv", "Resources of a public source by UTC day."},
	{"source-pulls", "/v1/sources/{source}/pulls.csv", "The newest answers of a public source."},
	{"source-dropped", "/v1/sources/{source}/dropped.csv",
		"Resources of listed services that a public source dropped."},
	{"source-services", "/v1/sources/{source}/services.csv", "The listed services that a public source lists."},
}

// Segment is a variable part of a path.
type Segment struct {
	// Name, as in a pattern.
	Name string `json:"name"`
	// Regular expression that matches the whole segment.
	Pattern string `json:"pattern"`
	// Maximum length in characters.
	MaxLength int    `json:"max_length"`
	About     string `json:"about"`
}

// Segments are the variable parts of the paths of routes, files and calls.
var Segments = []Segment{
	{"slug", "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", site.MaxSlug, "Slug of a listed service"},
	{segmentFacilitator, "^[A-Za-z0-9][A-Za-z0-9._-]*$", MaxFacilitatorID, "Id of a facilitator"},
	{segmentSource, "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", site.MaxSlug, "Name of a public source"},
	{segmentIncident, incidentPattern, maxIncidentID, "Id of an incident"},
	{segmentCategory, "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", site.MaxSlug, "Slug of a category's pages"},
	{segmentNetwork, "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", site.MaxSlug, "Slug of a network's pages"},
	{"id", "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", 36, "Id of a submission, from the response to it"},
	{"sha256", "^[0-9a-f]{64}$", 64, "SHA-256 of the URL in normal form, in hexadecimal"},
	{"caip2", "^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$", 41, "CAIP-2 id of the network"},
	{"address", "^[!-~]+$", maxRecipient, "Address of the recipient, as its network writes it"},
	{"shard", "^[0-9a-f]{2}$", 2, "First two digits of a hash"},
	{"type", "^[a-z_]+$", 32, "Type of change records"},
	{"terms", "^(_[0-9a-f]{2}|[a-z0-9][a-z0-9-]*)$", 64, "A term, or its first two characters; _ and the last two " +
		"hexadecimal digits of the first character's code point if that is not in a-z or 0-9"},
	{"column", "^[a-z0-9_]+$", 32, "Name of a column"},
	{"number", "^(0|[1-9][0-9]*)$", 18, "Number of a block of rows of services, from 0"},
	{"block", "^(0|[1-9][0-9]*)$", 18, "Number of a block of 100 rows, from 0"},
}

// SegmentByName returns the segment with this name, or nil.
func SegmentByName(name string) *Segment {
	for i := range Segments {
		if Segments[i].Name == name {
			return &Segments[i]
		}
	}
	return nil
}

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
	".bin":     "application/octet-stream",
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

// IsTable reports whether a file is a table, or the one that payers ask: it is large, or needs no compression, and is
// read by ranges.
func IsTable(key string) bool {
	return strings.HasPrefix(key, dataFolder) && slices.Contains([]string{".parquet", ".sqlite", ".gz", ".bin"}, path.Ext(key))
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
