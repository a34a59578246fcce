package chart

import (
	"html/template"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/display"
)

// partsSource defines what the methods of markup append, as templates.
const partsSource = `
{{define "none"}}<span class="none" title="not known"><span aria-hidden="true">—</span>` +
	`<span class="hidden">not known</span></span>{{end}}
{{define "value"}}{{if .}}{{.}}{{else}}{{template "none"}}{{end}}{{end}}
{{define "time"}}{{if .}}<time datetime="{{.ISO}}">{{.Text}}</time>{{else}}{{template "none"}}{{end}}{{end}}
{{define "mark"}}<svg class="mark" aria-hidden="true"><use href="#mark-{{.}}"/></svg>{{end}}
{{define "online"}}<span class="state state-online">{{template "mark" .}}{{end}}
{{define "offline"}}<span class="state state-offline">{{template "mark" "offline"}}{{end}}
{{define "verdict"}}{{if .}}{{template "online" "pass"}}pass</span>` +
	`{{else}}{{template "offline"}}fail</span>{{end}}{{end}}
{{define "answered"}}{{if .}}{{template "online" "online"}}up</span>` +
	`{{else}}{{template "offline"}}down</span>{{end}}{{end}}
{{define "recipient"}}{{if .}}<code class="recipient" title="{{line .}}"><bdi>{{short .}}</bdi></code>` +
	`{{else}}{{template "none"}}{{end}}{{end}}`

// execute returns what html/template makes of a source that may use the parts.
func execute(t *testing.T, source string, data any) string {
	t.Helper()
	tmpl, err := template.New("rows").Funcs(template.FuncMap{
		"second": display.Second, "millis": display.Millis, "percent": display.Percent, "short": display.Short,
		"count": func(n int) string { return display.Number(int64(n)) }, "count64": display.Number,
		"line": func(s string) string { return display.Line(s, display.MaxLine) },
		"code": func(s string) string { return display.Line(s, display.MaxCode) },
	}).Parse(partsSource)
	if err == nil {
		tmpl, err = tmpl.Parse(source)
	}
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := tmpl.Execute(&b, data); err != nil {
		t.Fatal(err)
	}
	return strings.TrimLeft(b.String(), "\n")
}

// hostile is text that ends an element, an attribute and a line unless it is escaped.
var hostile = "</td><script>alert('1')</script> \"&\" \u202ereversed\x00" + strings.Repeat("ä", 400)

var rowsTime = site.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC))

// TestRows checks that rows are what html/template would make of the same values, escapes included.
func TestRows(t *testing.T) {
	t.Parallel()
	checks := []site.CheckEntry{
		{CheckedAt: rowsTime, IsUp: true, StatusCode: new(402), ResponseTimeMS: new(12345), EndpointsFound: 1000,
			Counted: true},
		{CheckedAt: rowsTime, ErrorMessage: new(hostile)},
		{CheckedAt: rowsTime, StatusCode: new(0), ResponseTimeMS: new(0), ErrorMessage: new("")},
	}
	payments := []Payment{
		{Network: "Base", NetworkID: "eip155:8453", Amount: "$0.01", Exact: "10,000 atomic units",
			PricingEntry: site.PricingEntry{
				Scheme: "exact", AssetName: "USDC", AssetAddress: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
				PayTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
			}},
		{Network: hostile, NetworkID: hostile, Amount: hostile, Exact: hostile, Maximum: true,
			PricingEntry: site.PricingEntry{
				Scheme: hostile, AssetName: hostile, AssetAddress: hostile, PayTo: hostile,
			}},
		{},
	}
	results := []ComplianceResult{
		{ComplianceCheck: site.ComplianceCheck{ID: "payload_captured", Label: "Payment terms captured", Pass: true}},
		{ComplianceCheck: site.ComplianceCheck{ID: "price_sane", Label: "Price makes sense"}, Reason: new("no price"),
			Mend: new("Ask for one.")},
		{ComplianceCheck: site.ComplianceCheck{ID: `x"y`, Label: hostile}, Reason: new(hostile), Mend: new(hostile)},
	}
	windows := &site.UptimeWindows{H24: new(100.0), D7: new(99.5), Coverage: site.Coverage{
		H24: site.CoverageWindow{DaysCovered: 2, CheckCount: 96},
		D90: site.CoverageWindow{DaysCovered: 80, CheckCount: 7000},
	}}
	type window struct {
		Label  string
		Uptime *float64
		Days   int
		site.CoverageWindow
	}
	for _, c := range []struct {
		name, source string
		data         any
		got          template.HTML
	}{
		{"checks",
			`{{range .}}<tr><td class="nowrap">{{template "time" second .CheckedAt}}</td><td>{{if .Counted}}{{template "answered" ` +
				`.IsUp}}{{else}}<span class="quiet">not counted</span>{{end}}</td>` +
				`<td class="num">{{if .StatusCode}}{{.StatusCode}}{{else}}{{template "none"}}{{end}}</td><td ` +
				`class="num">{{template "value" millis .ResponseTimeMS}}</td>` +
				`<td class="num">{{count .EndpointsFound}}</td><td class="error">{{with .ErrorMessage}}<bdi>{{line ` +
				`.}}</bdi>{{end}}</td></tr>` + "\n{{end}}",
			checks, CheckRows(checks)},
		{"payments", `{{range .}}<tr><td data-label="Network" title="{{.NetworkID}}"><bdi>{{.Network}}</bdi></td>` +
			`<td data-label="Asset" title="{{line .AssetAddress}}"><bdi>{{code .AssetName}}</bdi></td><td ` +
			`data-label="Scheme"><bdi>{{code .Scheme}}</bdi></td>` +
			`<td data-label="Price" class="num price" title="{{.Exact}}">{{if .Maximum}}<small class="nowrap">up to</small> ` +
			`{{end}}{{template "value" .Amount}}</td>` +
			`<td data-label="Recipient" class="wide">{{template "recipient" .PayTo}}</td></tr>` + "\n{{end}}",
			payments, PaymentRows(payments)},
		{"compliance",
			`{{range .}}<li title="{{code .ID}}">{{template "verdict" .Pass}} <div>{{if .Pass}}<span>{{line ` +
				`.Label}}</span>` +
				`{{else}}<a href="/methodology.html#{{.ID}}">{{line .Label}}</a>{{end}}{{with .Reason}}<p ` +
				`class="found"><bdi>{{line .}}</bdi></p>{{end}}` +
				`{{with .Mend}}<p class="mend"><bdi>{{line .}}</bdi></p>{{end}}</div></li>` + "\n{{end}}",
			results, ComplianceItems(results, "/methodology.html")},
		{"uptime",
			`{{range .}}<tr><th scope="row">{{.Label}}</th><td class="num">{{template "value" percent .Uptime}}</td>` +
				`<td class="num">{{count .DaysCovered}}{{if .Days}} of {{.Days}}{{end}}</td><td ` +
				`class="num">{{count64 .CheckCount}}</td></tr>` + "\n{{end}}",
			[]window{
				{"24 hours", windows.H24, 0, windows.Coverage.H24}, {"7 days", windows.D7, 7, windows.Coverage.D7},
				{"30 days", windows.D30, 30, windows.Coverage.D30}, {"90 days", windows.D90, 90, windows.Coverage.D90},
			}, UptimeRows(windows)},
	} {
		if diff := cmp.Diff(execute(t, c.source, c.data), string(c.got)); diff != "" {
			t.Errorf("%s (-html/template +Go):\n%s", c.name, diff)
		}
	}
}

// TestStripRows checks the same of the days of a strip.
func TestStripRows(t *testing.T) {
	t.Parallel()
	points := []site.UptimeDataPoint{
		{PeriodStart: rowsTime, UptimePercentage: 50, TotalChecks: 2, SuccessfulChecks: 1, KnownMS: 2, UpMS: 1,
			AvgResponseTimeMS: new(7)},
		{PeriodStart: site.NewTime(rowsTime.AddDate(0, 0, -1)), TotalChecks: 1, KnownMS: 1},
	}
	cal := NewCalendar(rowsTime)
	type row struct{ ISO, Text, Uptime, Checks, Response string }
	rows := make([]row, StripDays)
	for i, d := range cal.Days {
		rows[i] = row{ISO: d.ISO, Text: d.Date}
	}
	for i, p := range points {
		r := &rows[StripDays-1-i]
		r.Uptime, r.Checks, r.Response = display.Percent(&p.UptimePercentage),
			display.Number(p.TotalChecks), display.Millis(p.AvgResponseTimeMS)
	}
	want := execute(t,
		`{{range .}}<tr><th scope="row">{{template "time" .}}</th>{{if .Checks}}<td class="num">{{.Uptime}}</td><td `+
			`class="num">{{.Checks}}</td>`+
			`<td class="num">{{template "value" .Response}}</td>{{else}}<td class="num quiet" colspan="3">no `+
			`checks</td>{{end}}</tr>`+"\n{{end}}", rows)
	if diff := cmp.Diff(want, string(NewStrip(points, cal).Rows)); diff != "" {
		t.Errorf("days (-html/template +Go):\n%s", diff)
	}
}

// TestValues checks the functions that templates use.
func TestValues(t *testing.T) {
	t.Parallel()
	for source, got := range map[string]template.HTML{
		`{{template "none"}}`:         None(),
		`{{template "value" .}}`:      Value(hostile),
		`{{template "value" ""}}`:     Value(""),
		`{{template "recipient" .}}`:  Recipient(hostile, ""),
		`{{template "recipient" ""}}`: Recipient("", "https://e.example/"),
		`<a rel="nofollow noopener" href="https://e.example/?a&amp;b">` +
			`{{template "recipient" .}}</a>`: Recipient(hostile, "https://e.example/?a&b"),
		`{{template "answered" true}}`:       Answered(true),
		`{{template "answered" false}}`:      Answered(false),
		`{{template "time" false}}`:          Time(nil),
		`<time datetime="a">` + `b</time>`:   Time(&display.Moment{ISO: "a", Text: "b"}),
		`<time datetime="&#34;">&lt;</time>`: Time(&display.Moment{ISO: `"`, Text: "<"}),
	} {
		if want := execute(t, source, hostile); string(got) != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}
