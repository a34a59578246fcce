package site

// SearchResult is a service that matches a query.
//
// It is a row of /v1/search: a service that matches, and its endpoints that pass the filters.
type SearchResult struct {
	ServiceListItem
	// How well it matches, in thousandths of the score of a service in which every term has its whole weight; 0 without
	// a query.
	Score int `json:"score"`
	// Members of the service that have a term of the query.
	Matched []string `json:"matched"` // any of SearchFields
	// Up to three endpoints that pass the filters by network, method and price, those that match the query first.
	Endpoints []SearchEndpoint `json:"endpoints"`
	// Figures behind the place of the service, as [Recommendation.Why], or why it is not recommended; only with sort=best.
	Why string `json:"why,omitempty"`
}

// SearchEndpoint is an endpoint that passes the filters.
type SearchEndpoint struct {
	RowEndpoint
	// Members of the endpoint that have a term of the query.
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

// SearchMeta: position of a page in its list, and how the query was read.
//
// It is the meta of /v1/search.
type SearchMeta struct {
	PaginationMeta
	ReadAs []Reading `json:"read_as"`
	// Words of the query that were read as filters or as the order; only with read_filters=true.
	Filters []FilterReading `json:"filters,omitempty"`
	// The other words of the query, which services were matched with; absent without filters.
	Text *string `json:"text,omitempty"`
	// Whether no service matches, so that the nearest ones are listed; only with read_filters=true.
	Nearest bool `json:"nearest,omitempty"`
	// If no service matches: by each filter of the request, how many match without that filter.
	Without map[string]int `json:"without,omitempty"`
	// By category, network, protocol, status and verdict: how many services have each value and pass all other filters; only
	// with include=facets.
	Facets map[string]map[string]int `json:"facets,omitempty"`
	// As [ServicesMeta.UnknownValues].
	UnknownValues []UnknownValue `json:"unknown_values,omitempty"`
}

// FilterReading: words of a query that were read as a filter or as the order.
type FilterReading struct {
	// The words.
	Words string `json:"words"`
	// Parameter of /v1/search.
	Name string `json:"name"`
	// Its value.
	Value string `json:"value"`
	// The query without these words.
	Without string `json:"without"`
}

// IncludeFacets is the value of include for SearchMeta.Facets.
const IncludeFacets = "facets"

// OrderRelevance is the order of /v1/search by score. Without a query it is the newest first.
const OrderRelevance = "relevance"

// OrderBest is the order of /v1/best, with services that it excludes at the end.
const OrderBest = "best"

// SearchOrders are the other orders of /v1/search.
var SearchOrders = []Order{
	{Name: OrderPrice, Column: "prices_usd", Within: "network"},
	{Name: OrderUptime, Column: "uptime_30d", Descending: true},
	{Name: OrderSpeed, Column: "avg_response_time_ms"},
	{Name: OrderVolume, Column: "volume_usd_30d", Descending: true},
	{Name: OrderOrganicVolume, Column: "organic_volume_usd_30d", Descending: true},
	{Name: OrderOrganicBuyers, Column: "organic_buyers_30d", Descending: true},
	{Name: OrderNewest, Column: "created_at", Descending: true},
	{Name: OrderUptime24h, Column: "uptime_24h", Descending: true},
	{Name: OrderEndpoints, Column: "endpoint_count", Descending: true},
	{Name: OrderBuyers, Column: "unique_buyers_30d", Descending: true},
	{Name: OrderGrade, Column: "grade"},
}
