package chart

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// TestGrades checks since when a grade is said to be what it is, and which days are one row.
func TestGrades(t *testing.T) {
	t.Parallel()
	cal := NewCalendar(site.NewTime(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)))
	point := func(date, grade, risk string, failed ...string) site.ScorePoint {
		p := site.ScorePoint{Date: date}
		if grade != "" {
			p.ComplianceGrade, p.RiskLevel, p.FailedChecks, p.RiskFlags = &grade, &risk, &failed, &[]string{}
		}
		return p
	}
	judged := point("2026-11-24", "A", "warning")
	judged.VerdictLevel = new(site.AdviceGood)
	for _, test := range []struct {
		name    string
		points  []site.ScorePoint
		summary string
		rows    []string
	}{
		{"nothing recorded", []site.ScorePoint{point("2026-11-22", "", "")}, "", nil},
		{"one grade", []site.ScorePoint{point("2026-11-20", "", ""), point("2026-11-21", "A", "clean"),
			point("2026-11-23", "A", "clean")}, "Recorded by day since 21 Nov 2026.", nil},
		{"another grade, then another risk", []site.ScorePoint{point("2026-01-01", "F", "clean"),
			point("2026-11-20", "C", "clean", "payto_shape", "price_sane"), point("2026-11-21", "A", "clean"),
			point("2026-11-22", "A", "clean"), point("2026-11-23", "A", "warning"), judged},
			"Grade A since 21 Nov 2026. Recorded by day since 20 Nov 2026.",
			[]string{"24 Nov 2026 A none warning none Safe to pay",
				"23 Nov 2026 A none warning none —", "21 Nov 2026 to 22 Nov 2026 A none clean none —",
				"20 Nov 2026 C payto_shape, price_sane clean none —"}},
	} {
		g := NewGrades(test.points, cal)
		if g.Summary != test.summary {
			t.Errorf("%s: %q, want %q", test.name, g.Summary, test.summary)
		}
		var rows []string
		for line := range strings.Lines(string(g.Rows)) {
			rows = append(rows, strings.Join(strings.Fields(stripTags(line)), " "))
		}
		if diff := cmp.Diff(test.rows, rows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// stripTags replaces each tag by a space.
func stripTags(s string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(s, "<") {
		_, text, ok := strings.Cut(part, ">")
		if !ok {
			text = part
		}
		b.WriteString(" " + text)
	}
	return b.String()
}
