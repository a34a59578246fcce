package chart

import (
	"html/template"
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
			AvgResponseTimeMS: ms}
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
			"Uptime by UTC day, share of checks", "100%", "50%", "0%", "grid M0 0H900M0 20H900",
			"up M4 40V0M864 40V10M894 40V22", "down M864 0V8M874 0V40M894 0V20"}},
		"response times": {s.Speed, []string{
			"Average response time by UTC day, milliseconds", "1,000\u00a0ms", "500\u00a0ms", "0\u00a0ms",
			"grid M0 0H900M0 30H900", "bar M4 60V30M864 60V0M894 60V58"}},
	} {
		if diff := cmp.Diff(c.want, parts(c.chart, "gap")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if n := strings.Count(string(s.Uptime), "V37"); n != StripDays-4 {
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
	whole := []site.UptimeDataPoint{{PeriodStart: now, UptimePercentage: 100, TotalChecks: 1, SuccessfulChecks: 1}}
	if s := NewStrip(whole, NewCalendar(now)); s.Summary != "Checked on 1 of the last 90 days; no checks failed." {
		t.Errorf("a whole day: %q", s.Summary)
	}
}

// TestStripForm checks that failures differ from successes without a colour: they hang from the top, a space separates
// them from successes, and the stylesheet draws them with dashes.
func TestStripForm(t *testing.T) {
	t.Parallel()
	now := site.NewTime(time.Date(2026, 11, 20, 23, 45, 0, 0, time.UTC))
	for _, ok := range []int64{0, 1, 500, 990, 999} {
		s := NewStrip([]site.UptimeDataPoint{{PeriodStart: now, UptimePercentage: float64(ok) / 10, TotalChecks: 1000,
			SuccessfulChecks: ok}}, NewCalendar(now))
		down := regexp.MustCompile(`<path class="down" d="M894 (\d+)V(\d+)"/>`).FindStringSubmatch(string(s.Uptime))
		if down == nil || down[1] != "0" {
			t.Errorf("%d of 1000: failures do not hang from the top: %q", ok, down)
			continue
		}
		length, _ := strconv.Atoi(down[2])
		if length < minDown {
			t.Errorf("%d of 1000: failures are %d high, want %d at least", ok, length, minDown)
		}
		up := regexp.MustCompile(`<path class="up" d="M894 40V(\d+)"/>`).FindStringSubmatch(string(s.Uptime))
		if ok > 1 && (up == nil || up[1] != strconv.Itoa(length+downGap)) {
			t.Errorf("%d of 1000: failures end at %d, successes begin at %q", ok, length, up)
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
