package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// TestWeeks checks that a week without a price has no column, and that the table has the newest week first.
func TestWeeks(t *testing.T) {
	t.Parallel()
	points := []site.CategoryWeek{{Week: "2026-10-26", MedianUSD: "0.02", OperatorCount: 3},
		{Week: "2026-11-09", MedianUSD: "0.01", OperatorCount: 4}}
	w := NewWeeks(points)
	if want := "$0.01 in the week of 9 Nov 2026; $0.02 in that of 26 Oct 2026."; w.Summary != want {
		t.Errorf("summary %q, want %q", w.Summary, want)
	}
	var rows []string
	for line := range strings.Lines(string(w.Rows)) {
		rows = append(rows, strings.Join(strings.Fields(stripTags(line)), " "))
	}
	if diff := cmp.Diff([]string{"9 Nov 2026 $0.01 4", "26 Oct 2026 $0.02 3"}, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if bars := `<path class="bar" d="M4 100V0M24 100V50"/>`; !strings.Contains(string(w.Plot), bars) {
		t.Errorf("the plot lacks %s:\n%s", bars, w.Plot)
	}
	data, width := WeekSpark(points)
	if data != "M0 0h2v3h-2zM4 10h2v3h-2z" || width != 6 {
		t.Errorf("a small chart of width %d: %s", width, data)
	}
}
