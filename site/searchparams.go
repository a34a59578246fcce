package site

// searchParams returns the parameters of /v1/search.
func searchParams() []Param {
	params := []Param{{Name: "q", Kind: KindText, Filter: true, About: "What the service must do, in words: searched " +
		"in names, tags, categories, descriptions, and paths and descriptions of endpoints"}}
	params = append(params, rowFilters("")...)
	sorts := []string{OrderRelevance}
	for _, o := range SearchOrders {
		sorts = append(sorts, o.Name)
	}
	perPage := paramPerPage
	perPage.Default = "10"
	return append(params,
		Param{Name: "include", Kind: KindSet, Filter: true, Values: []string{IncludeFacets},
			About: "What to add to meta: facets for the number of services by category, network, protocol and status"},
		Param{Name: "sort", Kind: KindChoice, Values: sorts, Default: OrderRelevance,
			About: "Order of the list; without q, relevance is the newest first"},
		perPage, paramPage)
}
