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

//go:embed filterwords.js
var filterScript []byte

//go:embed best.js
var rankingScript []byte

//go:embed results.js
var resultScript []byte

// Script is the JavaScript of the reading half of packages columns, search and results. It declares the constants
// search, columns, filterWords, newRanking and results, and needs ScriptTables.
var Script = slices.Concat(queryScript, columnScript, filterScript, rankingScript, resultScript)

// ScriptTables are the tables that Script reads snapshots by.
type ScriptTables struct {
	Columns      map[string]site.ColumnType `json:"columns"` // types by name
	Orders       []site.Order               `json:"orders"`
	RowsPerBlock int                        `json:"rows_per_block"`
	Text         Tables                     `json:"text"`
	Results      ResultTables               `json:"results"`
	Formula      formula                    `json:"formula"`
}

// ResultTables are the tables that Script writes results by.
type ResultTables struct {
	Orders       []site.Order `json:"orders"`
	Facets       []string     `json:"facets"`
	Fields       []string     `json:"fields"` // of a row that may match
	MaxEndpoints int          `json:"max_endpoints"`
	MaxNearest   int          `json:"max_nearest"`
	Advice       string       `json:"advice"` // column of verdicts
	DoNotPay     string       `json:"do_not_pay"`
	Best         string       `json:"best"`   // the order of recommendations
	Wanted       wantedBest   `json:"wanted"` // of services in that order
	Words        wordTables   `json:"words"`
}

// wantedBest is the part of wanted that no filter of a search says.
type wantedBest struct {
	Prefer string `json:"prefer"`
	Limit  int    `json:"limit"`
}

// wordTables are the tables that Script reads words as filters by.
type wordTables struct {
	Phrases    []routes.Phrase              `json:"phrases"`
	Words      []string                     `json:"words"`     // that are read in place of words that differ in one letter
	Spellings  map[string]map[string]string `json:"spellings"` // values by spellings, by the parameter
	Connectors string                       `json:"connectors"`
	Fillers    string                       `json:"fillers"`
	MinWeak    int                          `json:"min_weak"`
	MinCorrect int                          `json:"min_correct"`
}

func newWordTables() wordTables {
	t := wordTables{Phrases: routes.Phrases, Words: routes.PhraseWords, Spellings: map[string]map[string]string{},
		Connectors: routes.Connectors, Fillers: routes.Fillers, MinWeak: routes.MinWeak, MinCorrect: minCorrected}
	for i := range routes.Filters {
		if p := &routes.Filters[i]; p.Spellings != "" {
			t.Spellings[p.Name] = p.SpellingsOf(p.Spelled())
		}
	}
	return t
}

// NewScriptTables returns the tables of Script.
func NewScriptTables() ScriptTables {
	t := ScriptTables{Columns: map[string]site.ColumnType{}, Orders: site.ColumnOrders,
		RowsPerBlock: site.RowsPerBlock, Text: NewTables(), Results: ResultTables{Orders: site.SearchOrders,
			Facets: routes.Facets, Fields: site.SearchFields, MaxEndpoints: site.MaxResultEndpoints,
			MaxNearest: maxNearest, Advice: site.ColumnAdvice, DoNotPay: site.AdviceDoNotPay, Best: site.OrderBest,
			Wanted: wantedBest{site.PreferBalanced, routes.MaxRecommendations}, Words: newWordTables()}, Formula: newFormula()}
	for _, c := range site.Columns {
		t.Columns[c.Name] = c.Type
	}
	return t
}
