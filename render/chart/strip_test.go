package chart

import (
	"html/template"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/templates"
)

func TestStrip(t *testing.T) {
	t.Parallel()
	now := site.NewTime(time.Date(2026, 11, 20, 23, 45, 0, 0, time.UTC))
	ms := func(n int) *int { return &n }
	point := func(daysAgo int, ok, total int64, ms *int) site.UptimeDataPoint {
		start := now.Truncate(24*time.Hour).AddDate(0, 0, -daysAgo)
		p := site.UptimeDataPoint{PeriodStart: site.NewTime(start), TotalChecks: total, SuccessfulChecks: ok,
			KnownMS: total, UpMS: ok, AvgResponseTimeMS: ms}
		if total > 0 {
			p.UptimePercentage = site.Round2(100 * float64(ok) / float64(total))
		}
		return p
	}
	s := NewStrip([]site.UptimeDataPoint{
		point(90, 1, 1, ms(9000)), // before the first day shown
		point(89, 96, 96, ms(500)),
		point(3, 95, 96, ms(1000)),
		point(2, 0, 1, nil),
		point(1, 0, 0, nil), // a day without a check is a gap, not 0%
		point(0, 48, 96, ms(1)),
		point(-1, 1, 1, ms(9000)), // after now
	}, NewCalendar(now))

	for name, c := range map[string]struct {
		chart template.HTML
		want  []string // its axis and its marks
	}{
		"uptime": {s.Uptime, []string{
			"Uptime by UTC day, share of time", "100%", "50%", "0%", "grid M0 0H900M0 200H900M0 400H900",
			"up M4 400V0M864 400V4", "low M894 400V200", "down M874 0V400M894 0V180", "miss M864 410V440"}},
		"response times": {s.Speed, []string{
			"Average response time by UTC day, milliseconds", "1,000\u00a0ms", "500\u00a0ms", "0\u00a0ms",
			"grid M0 0H900M0 30H900", "bar M4 60V30M864 60V0M894 60V59"}},
	} {
		if diff := cmp.Diff(c.want, parts(c.chart, "gap")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if n := strings.Count(string(s.Uptime), "V370"); n != StripDays-4 {
		t.Errorf("%d marks of days without checks, want %d", n, StripDays-4)
	}
	rows := strings.Split(string(s.Rows), "\n")
	if len(rows) != 91 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, want := range map[int]string{
		86: `<tr><th scope="row"><time datetime="2026-11-17T00:00:00.000Z">17 Nov 2026</time></th><td ` +
			`class="num">98.96%</td><td ` +
			`class="num">96</td><td class="num">1,000` + "\u00a0ms</td></tr>",
		87: `<tr><th scope="row"><time datetime="2026-11-18T00:00:00.000Z">18 Nov 2026</time></th><td ` +
			`class="num">0%</td><td class="num">1</td><td class="num">` + string(noneHTML) +
			"</td></tr>",
		88: `<tr><th scope="row"><time datetime="2026-11-19T00:00:00.000Z">19 Nov 2026</time></th><td class="num ` +
			`quiet" colspan="3">no checks</td></tr>`,
	} {
		if diff := cmp.Diff(want, rows[i]); diff != "" {
			t.Errorf("row %d (-want +got):\n%s", i, diff)
		}
	}
	if s.Covered != 4 {
		t.Errorf("%d covered", s.Covered)
	}
	if want := "Checked on 4 of the last 90 days; lowest uptime 0% on 18 Nov 2026."; s.Summary != want {
		t.Errorf("summary %q, want %q", s.Summary, want)
	}
}

var partPattern = regexp.MustCompile(`<p class="title">([^<]*)|<span>([^<]*)|<path class="([a-z]*)" d="([^"]*)`)

// parts returns the title of a chart, the labels of its y axis, and the data of its paths except those of a class.
func parts(chart template.HTML, except string) []string {
	var list []string
	for _, m := range partPattern.FindAllStringSubmatch(string(chart), -1) {
		if except == "" || m[3] != except {
			list = append(list, strings.TrimSpace(m[1]+m[2]+m[3]+" "+m[4]))
		}
	}
	return list
}

func TestStripSummary(t *testing.T) {
	t.Parallel()
	now := site.NewTime(time.Date(2026, 11, 20, 23, 45, 0, 0, time.UTC))
	if s := NewStrip(nil, NewCalendar(now)); s.Covered != 0 || strings.Count(string(s.Rows), "no checks") != 90 ||
		s.Uptime != "" || s.Speed != "" || s.Summary != "No checks in the last 90 days." {
		t.Errorf("without points: %d covered, %s, %q", s.Covered, s.Rows, s.Summary)
	}
	whole := []site.UptimeDataPoint{{PeriodStart: now, UptimePercentage: 100, TotalChecks: 1, SuccessfulChecks: 1,
		KnownMS: 1, UpMS: 1}}
	if s := NewStrip(whole, NewCalendar(now)); s.Summary != "Checked on 1 of the last 90 days; no checks failed." {
		t.Errorf("a whole day: %q", s.Summary)
	}
}

// TestUptimeToScale checks that the column of a day or month ends where its uptime is on the axis, within the rounding
// of a unit, that failures hang from the top above a gap, and that failures too small to be seen have a mark below the
// scale. They differ from successes without a colour: by their place, and by dashes.
func TestUptimeToScale(t *testing.T) {
	t.Parallel()
	now := site.NewTime(time.Date(2026, 11, 20, 23, 45, 0, 0, time.UTC))
	find := func(chart template.HTML, class string, x int) (from, to int, ok bool) {
		data := regexp.MustCompile(`<path class="` + class + `" d="([^"]*)"`).FindStringSubmatch(string(chart))
		if data == nil {
			return 0, 0, false
		}
		m := regexp.MustCompile(`M` + strconv.Itoa(x) + ` (\d+)V(\d+)`).FindStringSubmatch(data[1])
		if m == nil {
			return 0, 0, false
		}
		from, _ = strconv.Atoi(m[1])
		to, _ = strconv.Atoi(m[2])
		return from, to, true
	}
	const last = (StripDays-1)*stripStep + stripBar/2
	for _, c := range []struct {
		ok, total int64
		mark      bool
	}{
		{0, 100, false}, {7835, 10000, false}, {88, 100, false}, {9474, 10000, true}, {95, 100, true}, {9901, 10000, true},
		{9999, 10000, true}, {100, 100, false},
	} {
		uptime := site.Round2(100 * float64(c.ok) / float64(c.total))
		point := site.UptimeDataPoint{PeriodStart: now, UptimePercentage: uptime, KnownMS: c.total, UpMS: c.ok}
		months := NewUptimeMonths([]site.ScorePoint{{Date: "2026-11-20", UptimePercentage: uptime}}, NewCalendar(now))
		days := site.UptimeDaysOf([]site.UptimeDataPoint{point}, now.Time)
		for name, chart := range map[string]struct {
			html  template.HTML
			x     int
			exact float64 // percent
		}{
			"days":   {NewStrip([]site.UptimeDataPoint{point}, NewCalendar(now)).Uptime, last, uptime},
			"months": {months.Plot, (leastMonths-1)*stripStep + stripBar/2, uptime},
			"small":  {SmallStrip(days), last, float64(100 * c.ok / c.total)},
		} {
			colour, other := "up", "low" // green from 95% on
			if chart.exact < 95 {
				colour, other = other, colour
			}
			if _, _, isDrawn := find(chart.html, other, chart.x); isDrawn {
				t.Errorf("%s: %v%% is drawn in the colour of %s", name, chart.exact, other)
			}
			from, to, isDrawn := find(chart.html, colour, chart.x)
			drawn := 100 * float64(from-to) / stripHeight
			if math.Abs(drawn-chart.exact) > 50.0/stripHeight || isDrawn != (c.ok > 0) || isDrawn && from != stripHeight {
				t.Errorf("%s: %v%% is drawn as %v%%", name, chart.exact, drawn)
			}
			top, end, hangs := find(chart.html, "down", chart.x)
			if failed := stripHeight - (from - to); hangs != (failed > downGap) || hangs && top != 0 ||
				hangs && isDrawn && end != failed-downGap {
				t.Errorf("%s: failures of %v%% hang from %d to %d", name, chart.exact, top, end)
			}
			if from, to, ok := find(chart.html, "miss", chart.x); ok != c.mark || ok && (from <= stripHeight || to <= from) {
				t.Errorf("%s: %v%% has a mark below the scale: %v, at %d to %d", name, chart.exact, ok, from, to)
			}
		}
	}
	css, err := templates.FS.ReadFile("chart.css")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`\.marks \.down[^}]*stroke-dasharray: \d`).Match(css) {
		t.Error("the stylesheet draws failures without dashes")
	}
}
