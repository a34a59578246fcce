package results

import (
	"encoding/json"
	"fmt"
	"slices"

	"tollbook/site/routes"
	"tollbook/site/search"
)

// LocalScript returns the script that searches the files of a snapshot in a browser: the scripts of package search and
// their tables before the script of the page.
func LocalScript(script []byte) ([]byte, error) {
	params := slices.Clone(routes.ByName("search").Params)
	for i := range params {
		params[i].About = ""
	}
	data, err := json.Marshal(struct {
		search.ScriptTables
		Params []routes.Param     `json:"params"`
		Limits routes.TableLimits `json:"limits"`
	}{search.NewScriptTables(), params, routes.Table().Limits})
	if err != nil {
		return nil, fmt.Errorf("encode tables of the search: %w", err)
	}
	return slices.Concat(search.Script, []byte("const localTables = "), data, []byte(";\n"), script), nil
}
