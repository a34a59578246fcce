package search

import (
	_ "embed" // the parts of Script
	"slices"

	"tollbook/site"
	"tollbook/site/routes"
)

//go:embed search.js
var queryScript []byte

//go:embed columns.js
var columnScript []byte

//go:embed results.js
var resultScript []byte

// Script is the JavaScript of the reading half of packages columns, search and results. It declares the constants
// search, columns and results, and needs ScriptTables.
var Script = slices.Concat(queryScript, columnScript, resultScript)

// ScriptTables are the tables that Script reads snapshots by.
type ScriptTables struct {
	Columns      map[string]site.ColumnType `json:"columns"` // types by name
	Orders       []site.Order               `json:"orders"`
	RowsPerBlock int                        `json:"rows_per_block"`
	Text         Tables                     `json:"text"`
	Results      ResultTables               `json:"results"`
}

// ResultTables are the tables that Script writes results by.
type ResultTables struct {
	Orders       []site.Order `json:"orders"`
	Facets       []string     `json:"facets"`
	Fields       []string     `json:"fields"` // of a row that may match
	MaxEndpoints int          `json:"max_endpoints"`
}

// NewScriptTables returns the tables of Script.
func NewScriptTables() ScriptTables {
	t := ScriptTables{Columns: map[string]site.ColumnType{}, Orders: site.ColumnOrders,
		RowsPerBlock: site.RowsPerBlock, Text: NewTables(), Results: ResultTables{Orders: site.SearchOrders,
			Facets: routes.Facets, Fields: site.SearchFields, MaxEndpoints: site.MaxResultEndpoints}}
	for _, c := range site.Columns {
		t.Columns[c.Name] = c.Type
	}
	return t
}
