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

// Responses says what each JSON route of the table answers, by the route's name: a value of the body's type, of which
// the type alone counts. The schemas of the OpenAPI document are read off these types; a route without a line here fails
// a test.
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
)

// Files are all of them.
var Files = []File{
	{"index", "/" + IndexFile, Index{}, "Every list with its total, and the slug of every service: what is not named here is empty or not there."},
	{"routes", "/" + RoutesFile, One[RouteTable]{}, "The table of routes, parameters and rules, for programs that answer requests from the files of a snapshot."},
	{"openapi", "/" + OpenAPIFile, map[string]any{}, "This description, as OpenAPI 3.1."},
	{"checks-log", "/v1/checks/log.json", LogIndex{}, "Which rows the log of all checks has, and where its blocks lie."},
	{"checks-block", "/v1/checks/block={block}.json", List[GlobalCheckEntry, BlockMeta]{}, "A block of the log of all checks, oldest row first, that no pack holds yet."},
	{"service-checks-log", "/v1/services/{slug}/checks/log.json", LogIndex{}, "Which rows the log of a service's checks has, and where its blocks lie."},
	{"service-checks-block", "/v1/services/{slug}/checks/block={block}.json", List[CheckEntry, BlockMeta]{}, "A block of the log of a service's checks, oldest row first, that no pack holds yet."},
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
