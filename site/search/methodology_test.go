package search

import (
	"fmt"
	"strings"
	"testing"

	"tollbook/site"
	"tollbook/templates"
)

// TestMethodologyHasTheFormula checks that the methodology page has the weights, the caps and the codes of this
// package.
func TestMethodologyHasTheFormula(t *testing.T) {
	t.Parallel()
	text, err := templates.FS.ReadFile("pages/methodology.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## Recommendations\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	flat := strings.Join(strings.Fields(section), " ") // lines of the page end anywhere
	var want []string
	for _, prefer := range site.Preferences {
		w := weightsOf[prefer]
		if sum := w.Reliability + w.Compliance + w.Price + w.Traction + w.Recency; sum != 100 {
			t.Errorf("the weights of %s add up to %d", prefer, sum)
		}
		want = append(want, fmt.Sprintf("| `%s` | %d | %d | %d | %d | %d | %d |", prefer, w.Reliability, w.Compliance,
			w.Price, w.Traction, w.Recency, w.SpeedShare))
	}
	for _, grade := range site.Grades {
		if limit := gradeCap[grade]; limit < full && grade != "unknown" {
			want = append(want, fmt.Sprintf("| %s | %d |", grade, limit/10))
		}
	}
	for _, code := range site.ExclusionCodes {
		want = append(want, "`"+code+"`")
	}
	want = append(want,
		fmt.Sprintf("| unknown grade | %d |", gradeCap["unknown"]/10),
		fmt.Sprintf("| warning | %d |", riskCap[site.RiskWarning]/10),
		fmt.Sprintf("%d for grade A, %d for B, %d for C, %d for D, %d for F and unknown", gradeTerm["A"],
			gradeTerm["B"],
			gradeTerm["C"], gradeTerm["D"], gradeTerm["F"]),
		fmt.Sprintf("relevance of the text search / %d,", completeMatch),
		fmt.Sprintf("%d%% of it count", generalMatch),
		fmt.Sprintf("less %d,", uptimeZero), fmt.Sprintf("(*n* + %d)", uptimeDoubt),
		fmt.Sprintf("/ (%d + `response_p95_ms`)", speedHalf), fmt.Sprintf("a price above $%d counts as $%d", maxDollars,
			maxDollars),
		fmt.Sprintf("at most %d buyers", buyersFull), fmt.Sprintf("at most $%d", dollarsFull),
		fmt.Sprintf("at most %d (7 days)", recencyWindow), fmt.Sprintf("at most %d of them", maxRead),
		fmt.Sprintf("lists the first %d,", site.MaxExcluded), fmt.Sprintf("row (at most %d)", site.MaxRowEndpoints))
	for _, text := range want {
		if !strings.Contains(flat, text) {
			t.Errorf("the page does not have %q", text)
		}
	}
}
