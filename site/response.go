package site

import "strconv"

// One is the body of a response with one object.
type One[T any] struct {
	Data T `json:"data"`
}

// List is the body of a response with rows and the meta that counts them.
type List[T, M any] struct {
	Data []T `json:"data"`
	Meta M   `json:"meta"`
}

// CaveatList is the body of a response with rows and a caveat about what they leave out.
type CaveatList[T any] struct {
	Data   []T    `json:"data"`
	Caveat string `json:"caveat"`
}

// CatalogueList is the body of /discovery/resources.
type CatalogueList struct {
	X402Version int                 `json:"x402Version"`
	Items       []CatalogueItem     `json:"items"`
	Pagination  CataloguePagination `json:"pagination"`
}

// CatalogueSearchList is the body of /discovery/search.
type CatalogueSearchList struct {
	X402Version    int              `json:"x402Version"`
	PartialResults bool             `json:"partialResults"` // always false
	Resources      []CatalogueItem  `json:"resources"`
	Pagination     CursorPagination `json:"pagination"`
}

// FacilitatorPaginationMeta is the meta of /v1/facilitators.
type FacilitatorPaginationMeta struct {
	PaginationMeta
	Timeframe string `json:"timeframe"` // the effective value
}

// Shard is the body of a shard of look-ups. Its rows are sorted by hash.
type Shard[T any] struct {
	Data []struct {
		Hash string `json:"hash"`
		Data T      `json:"data"`
	} `json:"data"`
	Meta TotalMeta `json:"meta"`
}

// Responses contains the body of each JSON route's response, by the route's name. Only the type of the value matters:
// the schemas of the OpenAPI document are derived from it. A test fails for a route without an entry.
var Responses = map[string]any{
	"services":       List[ServiceListItem, PaginationMeta]{},
	"search":         List[SearchResult, SearchMeta]{},
	"best":           List[Recommendation, RankingMeta]{},
	"service":        One[ServiceDetail]{},
	"uptime":         One[[]UptimeDataPoint]{},
	"evidence":       One[Evidence]{},
	"service-checks": List[CheckEntry, TotalMeta]{},
	"checks":         List[GlobalCheckEntry, TotalMeta]{},
	"status":         One[StatusSummary]{},
	"networks":       One[[]Network]{},
	"tags":           One[[]Tag]{},
	"stats":          One[AggregateStats]{},
	"categories":     One[[]string]{},
	"snapshots":      One[[]PublishedSnapshot]{},
	"changes":        List[ChangeRecord, ChangesMeta]{},
	"price":          CaveatList[PricePoint]{},
	"scores":         CaveatList[ScorePoint]{},
	"facilitators":   List[FacilitatorListItem, FacilitatorPaginationMeta]{},
	"volume":         CaveatList[VolumePoint]{},
	"buyers":         CaveatList[BuyersPoint]{},
	"settlements":    One[Settlements]{},
	"assets":         One[AssetTables]{},
	"facilitator":    One[FacilitatorDetail]{},
	"coverage":       One[CoverageReport]{},
	"lookup-url":     One[AddressLookup]{},
	"lookup-pay-to":  One[RecipientLookup]{},
	"discovery":      CatalogueList{},

	"discovery-search": CatalogueSearchList{},
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
	RoutesFile  = "v1/routes.json"
	OpenAPIFile = "v1/openapi.json"
	LLMsFile    = "llms.txt"
)

// Files lists all of them.
var Files = []File{
	{"index", "/" + IndexFile, Index{},
		"Every list with its number of rows, and the slug of every service. A list that is not in the index is " +
			"empty; a slug that is not in it does not exist."},
	{"routes", "/" + RoutesFile, One[RouteTable]{},
		"Routes, parameters and rules, for programs that answer requests from the files of a snapshot."},
	{"openapi", "/" + OpenAPIFile, map[string]any{}, "This description, as OpenAPI 3.1."},
	{"checks-log", "/v1/checks/log.json", LogIndex{},
		"Index of the log of all checks: its rows and the location of its blocks."},
	{"checks-block", "/v1/checks/block={block}.json", List[GlobalCheckEntry, BlockMeta]{},
		"A block of the log of all checks, oldest row first, that is not in a pack yet."},
	{"service-checks-log", "/v1/services/{slug}/checks/log.json", LogIndex{},
		"Index of the log of a service's checks: its rows and the location of its blocks."},
	{"service-checks-block", "/v1/services/{slug}/checks/block={block}.json", List[CheckEntry, BlockMeta]{},
		"A block of the log of a service's checks, oldest row first, that is not in a pack yet."},
	{"changes-log", "/v1/changes/log.json", LogIndex{},
		"Index of the logs of change records: their rows and the location of their blocks."},
	{"changes-block", "/v1/changes/block={block}.json", List[ChangeRecord, BlockMeta]{},
		"A block of the log of all change records, oldest row first, that is not in a pack yet."},
	{"changes-type-block", "/v1/changes/type={type}/block={block}.json", List[ChangeRecord, BlockMeta]{},
		"A block of the log of one type of change records."},
	{"service-changes-log", "/v1/changes/service={slug}/log.json", LogIndex{},
		"Index of the logs of a service's change records: their rows and the location of their blocks."},
	{"service-changes-block", "/v1/changes/service={slug}/block={block}.json", List[ChangeRecord, BlockMeta]{},
		"A block of the log of a service's change records."},
	{"service-changes-type-block", "/v1/changes/service={slug}/type={type}/block={block}.json",
		List[ChangeRecord, BlockMeta]{}, "A block of the log of one type of a service's change records."},
	{"rows", "/" + rowsFolder + "{number}.json", List[ServiceRow, TotalMeta]{},
		"A block of " + strconv.Itoa(RowsPerBlock) + " services, in the order of the slugs in the index."},
	{"column", "/" + columnsFolder + "{column}.json", One[[]any]{},
		"One member of all services, in the order of the slugs in the index. The parameters in " + RoutesFile +
			" name the column that they compare."},
	{"terms", "/" + TermsFile, One[TermIndex]{}, "Index of the files of terms, with the number of terms in each."},
	{"terms-file", "/" + termsFolder + "{terms}.json", List[Term, TotalMeta]{},
		"A frequent term, or all terms with the same first two characters, each with the services that have it."},
	{"vocabulary", "/" + VocabularyFile, One[Vocabulary]{},
		"Every word of the directory, for the correction of typing errors."},
	{"feed", "/" + FeedFile, Feed{}, "The newest change records as a JSON Feed; /feed.xml contains the same in Atom."},
	{"service-feed", "/services/{slug}/changes.json", Feed{},
		"A service's newest change records as a JSON Feed; changes.xml in the same folder contains the same in Atom."},
	{"service-badge", "/services/{slug}/badge.json", Badge{},
		"Status of a service in the format of shields.io endpoint badges; badge.svg in the same folder is the " +
			"picture."},
	{"catalogue-services", "/" + CatalogueServicesFile, One[[]int]{},
		"The service of each row of the catalogue, as its place in the slugs of the index."},
	{"catalogue-column", "/" + catalogueColumns + "{column}.json", One[[][]string]{},
		"One member of all rows of the catalogue, in their order. The parameters in " + RoutesFile + " name the " +
			"column that they compare."},
	{"lookup", "/" + LookupFile, LookupIndex{}, "Index of the look-up shards, with the number of rows in each."},
	{"lookup-url-shard", "/v1/lookup/url/{shard}.json", Shard[AddressLookup]{},
		"Look-ups of URLs whose hash starts with these two digits."},
	{"lookup-pay-to-shard", "/v1/lookup/pay-to/{shard}.json", Shard[RecipientLookup]{},
		"Look-ups of recipients whose hash starts with these two digits."},
}

// Segment is a variable part of a path.
type Segment struct {
	Name      string `json:"name"`
	Pattern   string `json:"pattern"` // regular expression that matches the whole segment
	MaxLength int    `json:"max_length"`
	About     string `json:"about"`
}

// Segments are the variable parts of the paths of routes, files and calls.
var Segments = []Segment{
	{"slug", "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", MaxSlug, "Slug of a listed service"},
	{segmentFacilitator, "^[A-Za-z0-9][A-Za-z0-9._-]*$", MaxFacilitatorID, "Id of a facilitator"},
	{segmentCategory, "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", MaxSlug, "Slug of a category's pages"},
	{segmentNetwork, "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", MaxSlug, "Slug of a network's pages"},
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
