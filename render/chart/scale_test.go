package chart

import (
	"html/template"
	"math"
	"regexp"
	"strconv"
	"testing"
	"time"

	"tollbook/site"
)

// scaleNow is a day in the middle of a month, so that a day's value is a month's.
var scaleNow = site.NewTime(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))

// barHeights returns the heights of columns and boxes in a path, by x.
func barHeights(t *testing.T, data string) map[int]float64 {
	t.Helper()
	heights := map[int]float64{}
	for _, m := range regexp.MustCompile(`M(\d+) (\d+)(?:V(\d+)|v-(\d+)|h\d+v(\d+))`).FindAllStringSubmatch(data, -1) {
		x, _ := strconv.Atoi(m[1])
		from, _ := strconv.ParseFloat(m[2], 64)
		switch {
		case m[3] != "":
			to, _ := strconv.ParseFloat(m[3], 64)
			heights[x] = from - to
		case m[4] != "":
			heights[x], _ = strconv.ParseFloat(m[4], 64)
		default: // a box, whose top is the value
			heights[x] = pricesHeight - from
		}
	}
	return heights
}

// pathOf returns the data of the path of a class.
func pathOf(chart template.HTML, class string) string {
	m := regexp.MustCompile(`class="` + class + `" d="([^"]*)"`).FindStringSubmatch(string(chart))
	if m == nil {
		return ""
	}
	return m[1]
}

// TestBarsToScale reads volumes, prices, response times and counts from charts, as pixels of the heights that the
// stylesheet sets, and compares them with what is published.
func TestBarsToScale(t *testing.T) {
	t.Parallel()
	cal := NewCalendar(scaleNow)
	const most, today, yesterday = 1000, StripDays - 1, StripDays - 2
	for _, value := range []int{1, 9, 47, 333, 501, 999, 1000} {
		amount := site.Decimal(strconv.Itoa(value))
		full := site.Decimal(strconv.Itoa(most))
		volumes := []site.VolumePoint{{Date: cal.Days[yesterday].Key, VolumeUSD: full, TxCount: 1},
			{Date: cal.Days[today].Key, VolumeUSD: amount, TxCount: 1}}
		months := []site.VolumePoint{{Date: "2026-10-20", VolumeUSD: full, TxCount: 1}, volumes[1]}
		prices := []site.PricePoint{{Date: cal.Days[yesterday].Key, MinPriceUSD: &full, MaxPriceUSD: &full},
			{Date: cal.Days[today].Key, MinPriceUSD: &amount, MaxPriceUSD: &amount}}
		var times []site.UptimeDataPoint
		for i, ms := range []int{most, value} {
			times = append(times, site.UptimeDataPoint{PeriodStart: site.NewTime(scaleNow.AddDate(0, 0, i-1)), TotalChecks: 1,
				SuccessfulChecks: 1, KnownMS: 1, UpMS: 1, UptimePercentage: 100, AvgResponseTimeMS: &ms})
		}
		source := site.SourceDetail{Days: []site.SourceDay{{Date: cal.Days[yesterday].Key, Resources: most, Listed: most},
			{Date: cal.Days[today].Key, Resources: value}}}
		source.Answer = new(site.SourceAnswer)
		for _, c := range []struct {
			name          string
			data          string
			x             int
			units, pixels float64 // of the scale
		}{
			{"volume", pathOf(NewBars("Volume", volumes, cal, nil).Plot, "bar"), today*stripStep + stripBar/2, barsHeight, 96},
			{"volume of months", pathOf(NewVolumeMonths(months, cal, nil).Plot, "bar"),
				(leastMonths-1)*stripStep + stripBar/2, barsHeight, 96},
			{"volume of parts", pathOf(NewStack("Volume", []Part{{Key: "x", Points: volumes}}, cal, nil).Plot, "part-1"),
				today*stripStep + stripBar/2, stackHeight, 192},
			{"volume in a row", Spark(volumes, cal), today * sparkStep, sparkHeight, 24},
			{"prices", pathOf(NewPrices(prices, nil, nil, cal).Plot, "bar"), today * stripStep, pricesHeight, 64},
			{"response times", pathOf(NewStrip(times, cal).Speed, "bar"), today*stripStep + stripBar/2, speedHeight, 64},
			{"listed", pathOf(NewListed(&source, cal).Plot, "bar"), today*stripStep + stripBar/2, barsHeight, 96},
		} {
			height, isDrawn := barHeights(t, c.data)[c.x]
			want := c.pixels * float64(value) / most
			if off := math.Abs(height/c.units*c.pixels - want); !isDrawn || off > 1.1 {
				t.Errorf("%s: %d of %d is %v of %v units high, %.2f pixels away from its value", c.name, value, most, height,
					c.units, off)
			}
		}
	}
}
