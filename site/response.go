package site

// One is the body of an answer about one thing.
type One[T any] struct {
	Data T `json:"data"`
}

// List is the body of an answer of rows, with what is said of all of them.
type List[T, M any] struct {
	Data []T `json:"data"`
	Meta M   `json:"meta"`
}

// CaveatList is the body of an answer of rows, with what they cannot say beside them.
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

// FacilitatorPaginationMeta is the meta of /v1/facilitators.
type FacilitatorPaginationMeta struct {
	PaginationMeta
	Timeframe string `json:"timeframe"` // in effect
}

// Shard is the body of a shard of look-ups, whose rows are sorted by hash.
type Shard[T any] struct {
	Data []struct {
		Hash string `json:"hash"`
		Data T      `json:"data"`
	} `json:"data"`
	Meta TotalMeta `json:"meta"`
}

// Responses says what each JSON route of the table answers, by the route's name: a value of the body's type, of which
// the type alone counts. The schemas of the OpenAPI document are read off these types; a route without a line here
// fails a test.
var Responses = map[string]any{
	"services":       List[ServiceListItem, PaginationMeta]{},
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
	"facilitator":    One[FacilitatorDetail]{},
	"coverage":       One[CoverageReport]{},
	"lookup-url":     One[AddressLookup]{},
	"lookup-pay-to":  One[RecipientLookup]{},
	"discovery":      CatalogueList{},
}

// File is a JSON file of the tree that answers to its own path and is no route's answer: what rules read, and what
// describes the rest.
type File struct {
	Name    string // as a route has one
	Pattern string // "{…}" stands for a part of a segment
	Body    any    // as in Responses
	About   string
}

// Names of the documents that describe the API.
const (
	RoutesFile  = "v1/routes.json"
	OpenAPIFile = "v1/openapi.json"
	LLMsFile    = "llms.txt"
)

// Files are all of them.
var Files = []File{
	{"index", "/" + IndexFile, Index{},
		"Every list with its total, and the slug of every service: what is not named here is empty or not there."},
	{"routes", "/" + RoutesFile, One[RouteTable]{},
		"The table of routes, parameters and rules, for programs that answer requests from the files of a snapshot."},
	{"openapi", "/" + OpenAPIFile, map[string]any{}, "This description, as OpenAPI 3.1."},
	{"checks-log", "/v1/checks/log.json", LogIndex{},
		"Which rows the log of all checks has, and where its blocks lie."},
	{"checks-block", "/v1/checks/block={block}.json", List[GlobalCheckEntry, BlockMeta]{},
		"A block of the log of all checks, oldest row first, that no pack holds yet."},
	{"service-checks-log", "/v1/services/{slug}/checks/log.json", LogIndex{},
		"Which rows the log of a service's checks has, and where its blocks lie."},
	{"service-checks-block", "/v1/services/{slug}/checks/block={block}.json", List[CheckEntry, BlockMeta]{},
		"A block of the log of a service's checks, oldest row first, that no pack holds yet."},
	{"changes-log", "/v1/changes/log.json", LogIndex{},
		"Which rows the logs of change records have, and where their blocks lie."},
	{"changes-block", "/v1/changes/block={block}.json", List[ChangeRecord, BlockMeta]{},
		"A block of the log of all change records, oldest row first, that no pack holds yet."},
	{"changes-type-block", "/v1/changes/type={type}/block={block}.json", List[ChangeRecord, BlockMeta]{},
		"A block of the log of one type of change records."},
	{"service-changes-log", "/v1/changes/service={slug}/log.json", LogIndex{},
		"Which rows the logs of a service's change records have, and where their blocks lie."},
	{"service-changes-block", "/v1/changes/service={slug}/block={block}.json", List[ChangeRecord, BlockMeta]{},
		"A block of the log of a service's change records."},
	{"service-changes-type-block", "/v1/changes/service={slug}/type={type}/block={block}.json",
		List[ChangeRecord, BlockMeta]{}, "A block of the log of one type of a service's change records."},
	{"search", "/" + SearchFile, SearchIndex{}, "What shards there are to search by, and how many rows each has."},
	{"search-shard", "/" + searchFolder + "{letters}.json", List[ServiceListItem, TotalMeta]{},
		"The services whose name has a word that begins with these letters, by slug."},
	{"feed", "/" + FeedFile, Feed{}, "The newest change records as a JSON Feed; /feed.xml is the same as Atom."},
	{"service-feed", "/services/{slug}/changes.json", Feed{},
		"A service's newest change records as a JSON Feed; changes.xml beside it is the same as Atom."},
	{"service-badge", "/services/{slug}/badge.json", Badge{},
		"How a service does, for makers of badges; badge.svg beside it is drawn already."},
	{"lookup", "/" + LookupFile, LookupIndex{}, "What shards of look-ups there are, and how many rows each has."},
	{"lookup-url-shard", "/v1/lookup/url/{shard}.json", Shard[AddressLookup]{},
		"The look-ups of addresses whose hash begins with these two digits."},
	{"lookup-pay-to-shard", "/v1/lookup/pay-to/{shard}.json", Shard[RecipientLookup]{},
		"The look-ups of recipients whose hash begins with these two digits."},
}

// Segment says what a variable part of a path is.
type Segment struct {
	Name      string `json:"name"`
	Pattern   string `json:"pattern"` // a regular expression over the whole of it
	MaxLength int    `json:"max_length"`
	About     string `json:"about"`
}

// Segments are the variable parts of the paths of routes and files.
var Segments = []Segment{
	{"slug", "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", MaxSlug, "slug of a listed service"},
	{segmentFacilitator, "^[A-Za-z0-9][A-Za-z0-9._-]*$", MaxFacilitatorID, "id of a facilitator"},
	{segmentCategory, "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", MaxSlug, "slug of a category's pages"},
	{segmentNetwork, "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", MaxSlug, "slug of a network's pages"},
	{"id", "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", 36, "id of a submission, as its answer told it"},
	{"sha256", "^[0-9a-f]{64}$", 64, "sha256 of the address in normal form, in hex"},
	{"caip2", "^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$", 41, "CAIP-2 id of the network"},
	{"address", "^[!-~]+$", maxRecipient, "recipient, as its network writes it"},
	{"letters", "^[A-Za-z0-9._~-]+$", 24, "one letter or two, folded; bytes outside A-Za-z0-9._- are written ~2f"},
	{"shard", "^[0-9a-f]{2}$", 2, "first two digits of a hash"},
	{"type", "^[a-z_]+$", 32, "type of change records"},
	{"block", "^(0|[1-9][0-9]*)$", 18, "number of a block of 100 rows, from 0"},
}

// SegmentByName is the segment with this name, nil without.
func SegmentByName(name string) *Segment {
	for i := range Segments {
		if Segments[i].Name == name {
			return &Segments[i]
		}
	}
	return nil
}
