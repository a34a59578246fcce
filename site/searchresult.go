package site

// SearchResult is a row of /v1/search: a service that matches, and its endpoints that pass the filters.
type SearchResult struct {
	ServiceListItem
	Score     int              `json:"score"`
	Matched   []string         `json:"matched"` // any of SearchFields
	Endpoints []SearchEndpoint `json:"endpoints"`
}

// SearchEndpoint is an endpoint of a SearchResult.
type SearchEndpoint struct {
	RowEndpoint
	Matched []string `json:"matched"` // path, description
}

// Members of a row that a query may match.
const (
	FieldName        = "name"
	FieldTags        = "tags"
	FieldCategory    = "category"
	FieldDescription = "description"
	FieldEndpoints   = "endpoints"
	FieldPath        = "path"
)

// SearchFields are the members of a service that a query may match, in the order in which results list them.
var SearchFields = []string{FieldName, FieldTags, FieldCategory, FieldDescription, FieldEndpoints}

// MaxResultEndpoints is the maximum number of endpoints of a SearchResult.
const MaxResultEndpoints = 3

// SearchMeta is the meta of /v1/search.
type SearchMeta struct {
	PaginationMeta
	ReadAs []Reading `json:"read_as"`
	// Without is the number of services that match without one of the filters, by the filter; only if none matches.
	Without map[string]int `json:"without,omitempty"`
	// Facets is the number of services by the value of a filter, which pass all other filters; only on request.
	Facets map[string]map[string]int `json:"facets,omitempty"`
}

// IncludeFacets is the value of include for SearchMeta.Facets.
const IncludeFacets = "facets"

// OrderRelevance is the order of /v1/search by score. Without a query it is the newest first.
const OrderRelevance = "relevance"

// SearchOrders are the other orders of /v1/search.
var SearchOrders = []Order{
	{Name: "price", Column: "prices_usd", Within: "network"},
	{Name: "uptime", Column: "uptime_30d", Descending: true},
	{Name: "speed", Column: "avg_response_time_ms"},
	{Name: "volume", Column: "volume_usd_30d", Descending: true},
}
