package serve

import (
	"bytes"
	"strings"
	"testing"

	"tollbook/site"
	"tollbook/site/routes"
)

// TestSearchDamage checks that a search and a recommendation are a logged 500 if a file of terms, a column or a block
// of rows is missing or too short, and never a shorter list.
func TestSearchDamage(t *testing.T) {
	t.Parallel()
	whole := searchPageFiles(t)
	short := func(name string) string { // without the first row
		lines := bytes.SplitAfter(whole[name], []byte("\n"))
		return string(lines[0]) + string(bytes.Join(lines[2:], nil))
	}
	terms := routes.TermShardKey("fo") // of forecast
	fewer := strings.Replace(string(whole[site.TermsFile]), `"services":24`, `"services":23`, 1)
	of, first := routes.RowsKey(23/site.RowsPerBlock), routes.RowsKey(0) // of the service that matches
	const search, best = "/v1/search?q=forecasts", "/v1/best?q=forecasts"
	checkDamage(t, whole, []damagedFile{
		{"whole", "v1/x.json", "", search, 200},
		{"whole, recommendation", "v1/x.json", "", best, 200},
		{"terms missing", terms, "", search, 500},
		{"terms missing, recommendation", terms, "", best, 500},
		{"terms missing, requested by themselves", terms, "", "/" + terms, 500},
		{"other terms missing", terms, "", "/v1/search?q=scribe", 200},
		{"fewer terms", terms, short(terms), search, 500},
		{"fewer terms, recommendation", terms, short(terms), best, 500},
		{"index of terms missing", site.TermsFile, "", search, 500},
		{"index of terms of fewer services", site.TermsFile, fewer, search, 500},
		{"index of terms of fewer services, recommendation", site.TermsFile, fewer, best, 500},
		{"vocabulary missing", site.VocabularyFile, "", "/v1/search?q=forecxst", 500},
		{"column missing", "v1/columns/status.json", "", search + "&status=online", 500},
		{"short column", "v1/columns/status.json", `{"data":["online"]}`, search + "&status=online", 500},
		{"block missing", of, "", search, 500},
		{"short block", of, short(of), search, 500},
		{"short block, the row is in it", first, short(first), "/v1/search?per_page=3", 500},
		{"block of others", of, string(whole[first]), search, 500},
	})
}
