package chart

import (
	"html/template"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// Grades is the history of a service's grade, risk and verdict in the last 90 days.
type Grades struct {
	Summary string        // since when the grade is what it is
	Rows    template.HTML // of a table, the newest days first; "" if nothing changed since the first recorded day
}

// NewGrades returns the history of the grades of scores, oldest first. Days without a recorded grade are left out.
func NewGrades(points []site.ScorePoint, cal *Calendar) Grades {
	var spans []gradeSpan
	for i := range points {
		p := &points[i]
		at, shown := cal.index[p.Date]
		if !shown || p.ComplianceGrade == nil || p.RiskLevel == nil {
			continue
		}
		if n := len(spans); n > 0 && spans[n-1].isLike(p) {
			spans[n-1].until, spans[n-1].point = at, p
			continue
		}
		spans = append(spans, gradeSpan{since: at, until: at, point: p})
	}
	if len(spans) == 0 {
		return Grades{}
	}
	last := spans[len(spans)-1]
	since := last.since
	for i := len(spans) - 1; i >= 0 && *spans[i].point.ComplianceGrade == *last.point.ComplianceGrade; i-- {
		since = spans[i].since
	}
	g := Grades{Summary: "Recorded by day since " + cal.Days[spans[0].since].Date + "."}
	if since > spans[0].since {
		g.Summary = "Grade " + *last.point.ComplianceGrade + " since " + cal.Days[since].Date + ". " + g.Summary
	}
	if len(spans) > 1 {
		g.Rows = gradeRows(spans, cal)
	}
	return g
}

// gradeSpan is a time in which each recorded day had the same grade, failed checks, risk, flags and
// verdict.
type gradeSpan struct {
	since, until int // days of the calendar
	point        *site.ScorePoint
}

func (s *gradeSpan) isLike(p *site.ScorePoint) bool {
	return *s.point.ComplianceGrade == *p.ComplianceGrade && *s.point.RiskLevel == *p.RiskLevel &&
		verdictOf(s.point) == verdictOf(p) &&
		slices.Equal(listOf(s.point.FailedChecks), listOf(p.FailedChecks)) &&
		slices.Equal(listOf(s.point.RiskFlags), listOf(p.RiskFlags))
}

// verdictOf returns the verdict of a day in words, "—" for a day on which it was not recorded.
func verdictOf(p *site.ScorePoint) string {
	if p.VerdictLevel == nil {
		return "—"
	}
	return display.AdviceLevel(*p.VerdictLevel)
}

// gradeRows returns the rows of a table, the newest first.
func gradeRows(spans []gradeSpan, cal *Calendar) template.HTML {
	m := newMarkup(400 * len(spans))
	for _, s := range slices.Backward(spans) {
		first, last := cal.Days[s.since], cal.Days[s.until]
		m.raw(`<tr><th scope="row">`).time(first.ISO, first.Date)
		if s.until > s.since {
			m.raw(` to `).time(last.ISO, last.Date)
		}
		m.raw(`</th><td>`).text(display.Line(*s.point.ComplianceGrade, display.MaxCode))
		m.raw(`</td><td>`).codes(s.point.FailedChecks)
		m.raw(`</td><td>`).text(display.Line(*s.point.RiskLevel, display.MaxCode))
		m.raw(`</td><td>`).codes(s.point.RiskFlags)
		m.raw(`</td><td>`).text(verdictOf(s.point)).raw("</td></tr>\n")
	}
	return m.html()
}

// codes appends a list of identifiers, or "none".
func (m *markup) codes(list *[]string) *markup {
	if len(listOf(list)) == 0 {
		return m.raw(`<span class="quiet">none</span>`)
	}
	return m.raw(`<code><bdi>`).text(display.Line(strings.Join(*list, ", "), display.MaxLine)).raw(`</bdi></code>`)
}

// listOf returns a list, nil for null.
func listOf(list *[]string) []string {
	if list == nil {
		return nil
	}
	return *list
}
