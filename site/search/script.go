package search

import (
	_ "embed" // search.js

	"tollbook/site"
)

// Script is the JavaScript of the reading half of packages columns and search. It declares the constant search and
// needs Tables.
//
//go:embed search.js
var Script []byte

// ScriptTables are the tables that Script reads snapshots by.
type ScriptTables struct {
	Columns      map[string]site.ColumnType `json:"columns"` // types by name
	Orders       []site.Order               `json:"orders"`
	RowsPerBlock int                        `json:"rows_per_block"`
}

// NewScriptTables returns the tables of Script.
func NewScriptTables() ScriptTables {
	t := ScriptTables{Columns: map[string]site.ColumnType{}, Orders: site.ColumnOrders, RowsPerBlock: site.RowsPerBlock}
	for _, c := range site.Columns {
		t.Columns[c.Name] = c.Type
	}
	return t
}
