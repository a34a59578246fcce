package results

import (
	"encoding/json"
	"fmt"
	"slices"

	"tollbook/site"
	"tollbook/site/search"
)

// LocalScript returns the script that searches the files of a snapshot in a browser: the scripts of package search and
// their tables before the script of the page.
func LocalScript(script []byte) ([]byte, error) {
	tables := search.NewScriptTables()
	tables.Orders = localOrders
	data, err := json.Marshal(struct {
		search.ScriptTables
		Params []site.Param `json:"params"`
		Facets []string     `json:"facets"`
	}{tables, localParams(), []string{"category", "network", "protocol", "status"}})
	if err != nil {
		return nil, fmt.Errorf("encode tables of the search: %w", err)
	}
	return slices.Concat(search.Script, []byte("const localTables = "), data, []byte(";\n"), script), nil
}

// localOrders are the orders of a search.
var localOrders = []site.Order{
	{Name: "price", Column: "prices_usd", Within: "network"},
	{Name: "uptime", Column: "uptime_30d", Descending: true},
	{Name: "speed", Column: "avg_response_time_ms"},
	{Name: "volume", Column: "volume_usd_30d", Descending: true},
	site.OrderByName(site.OrderNewest),
}

// localParams returns the parameters of /v1/search that a search over files reads.
func localParams() []site.Param {
	name := "services"
	if slices.ContainsFunc(site.Routes, func(r site.Route) bool { return r.Name == "search" }) {
		name = "search"
	}
	var params []site.Param
	for _, p := range site.ByName(name).Params {
		if p.Column != "" && p.Compare != site.CompareWords {
			params = append(params, p)
		}
	}
	return append(params,
		site.Param{Name: "q", Kind: site.KindText}, site.Param{Name: "include", Kind: site.KindSet},
		site.Param{Name: "sort", Kind: site.KindChoice, Default: relevance, Values: []string{relevance, "price", "uptime",
			"speed", "volume"}},
		site.Param{Name: "per_page", Kind: site.KindInteger, Default: "10", Min: 1, Max: site.MaxPageSize},
		site.Param{Name: "page", Kind: site.KindInteger, Default: "1", Min: 1, Max: site.MaxPage})
}
