package render

import (
	"html/template"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/render/chart"
	"tollbook/site"
	"tollbook/site/display"
)

// TestRowsByGo: the rows of tables that Go writes are those that html/template would make, escapes and all.
func TestRowsByGo(t *testing.T) {
	t.Parallel()
	p, err := NewPages(Site{BaseURL: "https://tollbook.example"})
	if err != nil {
		t.Fatal(err)
	}
	made := func(source string, data any) string {
		t.Helper()
		page, err := p.parse(template.New("rows").Funcs(p.funcs()), "parts.html")
		if err == nil {
			_, err = page.Parse(source)
		}
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := page.Execute(&b, data); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	at := site.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC))
	checks := []site.CheckEntry{
		{CheckedAt: at, IsUp: true, StatusCode: new(402), ResponseTimeMS: new(12345), EndpointsFound: 1000},
		{CheckedAt: at, ErrorMessage: new("</td><script>alert('1')</script> \"&\" \u202ereversed\x00" + strings.Repeat("ä", 400))},
		{CheckedAt: at, StatusCode: new(0), ResponseTimeMS: new(0), ErrorMessage: new("")},
	}
	want := made(`{{range .}}<tr><td class="nowrap">{{template "time" second .CheckedAt}}</td><td>{{template "answered" .IsUp}}</td><td class="num">{{if .StatusCode}}{{.StatusCode}}{{else}}{{template "none"}}{{end}}</td><td class="num">{{template "value" millis .ResponseTimeMS}}</td><td class="num">{{count .EndpointsFound}}</td><td class="error">{{with .ErrorMessage}}<bdi>{{line .}}</bdi>{{end}}</td></tr>
{{end}}`, checks)
	if diff := cmp.Diff(want, string(chart.CheckRows(checks))); diff != "" {
		t.Errorf("checks (-html/template +Go):\n%s", diff)
	}
	points := []site.UptimeDataPoint{{PeriodStart: at, UptimePercentage: 50, TotalChecks: 2, SuccessfulChecks: 1, AvgResponseTimeMS: new(7)}, {PeriodStart: site.NewTime(at.AddDate(0, 0, -1)), TotalChecks: 1}}
	cal := chart.NewCalendar(at)
	s := chart.NewStrip(points, cal)
	type row struct{ ISO, Date, Uptime, Checks, Response string }
	rows := make([]row, chart.StripDays)
	for i, d := range cal.Days {
		rows[i] = row{ISO: d.ISO, Date: d.Date}
	}
	for i, p := range points {
		r := &rows[chart.StripDays-1-i]
		r.Uptime, r.Checks, r.Response = display.Percent(&p.UptimePercentage), display.Plural(p.TotalChecks, "check", "checks"), display.Millis(p.AvgResponseTimeMS)
	}
	want = made(`{{range .}}<tr><th scope="row"><time datetime="{{.ISO}}">{{.Date}}</time></th>{{if .Checks}}<td class="num">{{.Uptime}}</td><td class="num">{{.Checks}}</td><td class="num">{{if .Response}}{{.Response}}{{else}}{{template "none"}}{{end}}</td>{{else}}<td class="num quiet" colspan="3">no check</td>{{end}}</tr>
{{end}}`, rows)
	if diff := cmp.Diff(want, string(s.Rows)); diff != "" {
		t.Errorf("days (-html/template +Go):\n%s", diff)
	}
}
