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
	Meta       TotalMeta  `json:"meta"`
	Provenance Provenance `json:"provenance"`
}
