package site

// One is the body of a response with one object.
type One[T any] struct {
	Data       T          `json:"data"`
	Provenance Provenance `json:"provenance"`
}

// List is the body of a response with rows and the meta that counts them.
type List[T, M any] struct {
	Data       []T        `json:"data"`
	Meta       M          `json:"meta"`
	Provenance Provenance `json:"provenance"`
}

// Uncited is the body of a response with one object and without provenance: an answer to a call, which has no data of
// the directory, or a file that is no response of /v1.
type Uncited[T any] struct {
	Data T `json:"data"`
}

// UncitedList is the body of a block of a log, which has no provenance because packs are never written again.
type UncitedList[T, M any] struct {
	Data []T `json:"data"`
	Meta M   `json:"meta"`
}

// CaveatList is the body of a response with rows and a caveat about what they leave out.
type CaveatList[T any] struct {
	Data       []T        `json:"data"`
	Caveat     string     `json:"caveat"`
	Provenance Provenance `json:"provenance"`
}

// CatalogueList is the directory in the format of a facilitator's catalogue.
//
// It is the body of /discovery/resources.
type CatalogueList struct {
	X402Version int `json:"x402Version"`
	// The rows.
	Items []CatalogueItem `json:"items"`
	// Position of this page in the catalogue.
	Pagination CataloguePagination `json:"pagination"`
	// Parameters of the request that were not applied, because the path does not have them; absent if there are none.
	UnappliedFilters []string `json:"unappliedFilters,omitempty"`
}

// CatalogueSearchList: paid endpoints that a search found, in the format of a facilitator's catalogue.
//
// It is the body of /discovery/search.
type CatalogueSearchList struct {
	X402Version int `json:"x402Version"`
	// Always false: the cursor leads to every result.
	PartialResults bool `json:"partialResults"`
	// The endpoints, the best first.
	Resources []CatalogueItem `json:"resources"`
	// Position of this page in the results of the search.
	Pagination CursorPagination `json:"pagination"`
	// As [CatalogueList.UnappliedFilters].
	UnappliedFilters []string `json:"unappliedFilters,omitempty"`
}

// FacilitatorPaginationMeta: position of a page in its list, and the timeframe that orders the list.
//
// It is the meta of /v1/facilitators.
type FacilitatorPaginationMeta struct {
	PaginationMeta
	// Window whose volume orders the list.
	Timeframe string `json:"timeframe" enum:"Timeframes"` // the effective value
}

// Shard is the body of a shard of look-ups. Its rows are sorted by hash.
type Shard[T any] struct {
	Data []struct {
		Hash string `json:"hash"`
		Data T      `json:"data"`
	} `json:"data"`
	Meta       TotalMeta  `json:"meta"`
	Provenance Provenance `json:"provenance"`
}
