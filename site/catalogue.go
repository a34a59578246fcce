package site

import "tollbook/site/encode"

// The rows of the catalogue are stored in files of MaxPageSize rows, those of each type in files of their own. A column
// of the catalogue is {"data":[…]} with one value per row, those of each type in the order of CatalogueTypes.

// CatalogueSearch is the framing of /discovery/search. Its results are always complete.
var CatalogueSearch = encode.Framing{Lead: `"x402Version":2,"partialResults":false,`, Rows: "resources",
	Meta: "pagination"}

// CursorPagination: position of a page in the results of a search.
//
// It is the pagination of /discovery/search.
type CursorPagination struct {
	// Number of rows requested.
	Limit int `json:"limit"`
	// Value of the parameter cursor for the next page; null on the last.
	Cursor *string `json:"cursor"`
}

// CatalogueColumn is a column of the catalogue. Its values are lists of texts.
type CatalogueColumn struct {
	Name  string
	Value func(*CatalogueItem) []string
}

// CatalogueColumns lists the columns of the catalogue. Those about payment options have one text for each option.
var CatalogueColumns = []CatalogueColumn{
	{"pay_to", func(i *CatalogueItem) []string {
		return i.ofAccepts(func(a *CatalogueAccept) string { return NormalAddress(a.PayTo) })
	}},
	{"scheme", func(i *CatalogueItem) []string {
		return i.ofAccepts(func(a *CatalogueAccept) string { return a.Scheme })
	}},
	{"network", func(i *CatalogueItem) []string {
		return i.ofAccepts(func(a *CatalogueAccept) string { return a.Network })
	}},
	{"extensions", func(*CatalogueItem) []string { return []string{"bazaar"} }},
}

func (i *CatalogueItem) ofAccepts(value func(*CatalogueAccept) string) []string {
	list := make([]string, len(i.Accepts))
	for k := range i.Accepts {
		list[k] = value(&i.Accepts[k])
	}
	return list
}
