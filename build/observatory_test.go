package build_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/sample"
	"tollbook/site"
	"tollbook/site/testgate"
)

// TestFilledMatrix builds the directory of the sample facilitators. The JSON of the matrix and its page must show what
// facilitators.toml says that they announce, and the account of Wayside, which no list names, as a candidate.
func TestFilledMatrix(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	db, dir := open(t), tempDir(t)
	if _, err := db.ImportFacilitators(t.Context(), sample.Facilitators(moment)); err != nil {
		t.Fatal(err)
	}
	if err := sample.WritePolls(t.Context(), db, moment); err != nil {
		t.Fatal(err)
	}
	run(t, db, dir, options(moment))
	read := func(name string, into any) []byte {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, "current", name))
		if err != nil {
			t.Fatal(err)
		}
		if into != nil {
			if err := json.Unmarshal(data, into); err != nil {
				t.Fatal(err)
			}
		}
		return data
	}
	var matrix struct{ Data site.FacilitatorMatrix }
	read("v1/facilitators/matrix.json", &matrix)
	var kinds []string
	for _, k := range matrix.Data.Kinds {
		token := "-"
		if k.AssetName != nil {
			token = *k.AssetName
		}
		kinds = append(kinds, strings.Join([]string{k.Network, k.Scheme, token,
			strings.Join(k.Facilitators, " ")}, " "))
	}
	if diff := cmp.Diff([]string{
		"POL exact - sample-harbour-pay",
		"ARB exact - sample-causeway",
		"ARB exact USDC sample-lockgate",
		"BSE batch-settlement - sample-drawbridge",
		"BSE exact - sample-drawbridge sample-harbour-pay sample-turnpike",
		"BSE exact EURC sample-lockgate",
		"BSE exact USDC sample-lockgate",
		"BSE upto - sample-harbour-pay",
		"BST exact - sample-harbour-pay",
		"SOL exact - sample-causeway sample-harbour-pay sample-turnpike",
	}, kinds); diff != "" {
		t.Errorf("kinds of the JSON (-want +got):\n%s", diff)
	}

	page, err := goquery.NewDocumentFromReader(bytes.NewReader(read("facilitators/matrix.html", nil)))
	if err != nil {
		t.Fatal(err)
	}
	rows := func(table string) (list []string) {
		page.Find(table + " tbody tr").Each(func(_ int, row *goquery.Selection) {
			var cells []string
			row.Find("th,td").Each(func(_ int, cell *goquery.Selection) {
				cells = append(cells, strings.Join(strings.Fields(cell.Text()), " "))
			})
			list = append(list, strings.Join(cells, " | "))
		})
		return list
	}
	if diff := cmp.Diff([]string{
		"Base | exact | none named | Drawbridge (sample), Harbour Pay (sample), Turnpike (sample)",
		"Solana | exact | none named | Causeway (sample), Harbour Pay (sample), Turnpike (sample)",
		"Polygon | exact | none named | Harbour Pay (sample)",
		"Arbitrum One | exact | none named | Causeway (sample)",
		"Arbitrum One | exact | USDC | Lockgate Settlement (sample)",
		"Base | batch-settlement | none named | Drawbridge (sample)",
		"Base | exact | EURC | Lockgate Settlement (sample)",
		"Base | exact | USDC | Lockgate Settlement (sample)",
		"Base | upto | none named | Harbour Pay (sample)",
		"Base Sepolia | exact | none named | Harbour Pay (sample)",
	}, rows("table.kinds")); diff != "" {
		t.Errorf("kinds of the page (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"Causeway (sample) | refused with an error status | 17 Nov 2026 | 93.1% | 101 ms | 4 | 2",
		"Drawbridge (sample) | answered | 20 Nov 2026 | 100% | 74 ms | 3 | 1",
		"Harbour Pay (sample) | answered | 20 Nov 2026 | 100% | 90 ms | 9 | 6",
		"Lockgate Settlement (sample) | answered | 20 Nov 2026 | 100% | 77 ms | 6 | 1",
		"Turnpike (sample) | answered | 20 Nov 2026 | 100% | 92 ms | 4 | 3",
	}, rows("table.asked")); diff != "" {
		t.Errorf("facilitators of the page (-want +got):\n%s", diff)
	}

	var coverage struct{ Data site.CoverageReport }
	read("v1/coverage.json", &coverage)
	var candidates []string
	for _, c := range coverage.Data.CandidateSettlers {
		candidates = append(candidates, c.Network+" "+c.Evidence+" "+c.AnnouncedBy[0].FacilitatorID)
	}
	if diff := cmp.Diff([]string{"BSE announced sample-turnpike"}, candidates); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
}
