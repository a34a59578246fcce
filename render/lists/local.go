package lists

import (
	"encoding/json"
	"fmt"
	"slices"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/routes"
	"tollbook/site/search"
)

// LocalScript returns the script that searches the files of a snapshot in a browser: the scripts of package search and
// their tables before the script of the page.
func LocalScript(script []byte) ([]byte, error) {
	route := routes.ByName("search")
	params := slices.Clone(route.Params)
	spelled := map[string]map[string]string{} // other spellings of choices, by parameter
	for i := range params {
		p := &params[i]
		if p.About = ""; p.Kind == routes.KindChoice && p.Spellings != "" {
			spelled[p.Name] = map[string]string{}
			for _, other := range p.Accepted()[len(p.Values):] {
				spelled[p.Name][other] = p.Spell(other)
			}
		}
	}
	tables := struct {
		search.ScriptTables
		Omit    string                       `json:"omit"`
		Params  []routes.Param               `json:"params"`
		Limits  routes.TableLimits           `json:"limits"`
		Spelled map[string]map[string]string `json:"spelled"`
	}{search.NewScriptTables(), route.Omit, params, routes.Table().Limits, spelled}
	page, err := withTables("localTables", tables, script)
	return slices.Concat(search.Script, page), err
}

// SiteScript returns the script of all pages with its tables before it: how the levels of the advice are shown, the levels
// of risk and the statuses, the best first.
func SiteScript(script []byte) ([]byte, error) {
	return withTables("siteTables", struct {
		Verdicts map[string]display.Verdict `json:"verdicts"`
		Unknown  string                     `json:"unknown"` // what another level or status is
		Risks    []string                   `json:"risks"`
		Statuses []string                   `json:"statuses"`
	}{display.Verdicts(), site.AdviceUnknown, []string{site.RiskClean, site.RiskWarning, site.RiskDanger}, site.Statuses},
		script)
}

// PageScript returns the script of the search page with its tables before it: the filters and the orders of this
// package, in words.
func PageScript(script []byte) ([]byte, error) {
	type filter struct {
		Name string      `json:"name"`
		Kind routes.Kind `json:"kind"`
		routes.Words
	}
	var filters []filter
	for i := range routes.Filters {
		p := &routes.Filters[i]
		filters = append(filters, filter{p.Name, p.Kind, p.Words})
	}
	return withTables("searchTables", struct {
		Filters    []filter `json:"filters"`
		Orders     []order  `json:"orders"`
		Newest     order    `json:"newest"`
		Heads      []Head   `json:"heads"`
		Amount     string   `json:"amount"`
		MaxChoices int      `json:"max_choices"`
	}{filters, orders, newest, heads, routes.TypedAmount, maxChoices}, script)
}

// withTables returns a script with a constant before it.
func withTables(name string, tables any, script []byte) ([]byte, error) {
	data, err := json.Marshal(tables)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	return slices.Concat([]byte("const "+name+" = "), data, []byte(";\n"), script), nil
}
