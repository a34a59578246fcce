package money

import (
	"encoding/csv"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/render/chart"
	"tollbook/site"
)

// TestDays checks that each column is the total of its day, exactly and in all three charts. More parts than have a
// fill become others, and tokens of the same name are one.
func TestDays(t *testing.T) {
	t.Parallel()
	now := site.NewTime(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC))
	cal, s := chart.NewCalendar(now), &site.Snapshot{Now: now}
	sums, networks := map[string]*big.Rat{}, make([]site.NetworkCoverage, 9)
	for i := range networks {
		networks[i] = site.NetworkCoverage{NetworkCAIP2: fmt.Sprintf("n:%d", i), Measured: true,
			TimeseriesByToken: []site.TokenSeries{{AssetName: "USDC"}, {AssetName: "COIN"}, {AssetName: "EURC"}}}
	}
	for i := range 8 {
		f := site.FacilitatorDetail{FacilitatorListItem: site.FacilitatorListItem{FacilitatorID: fmt.Sprintf("f%d", i),
			Name: fmt.Sprintf("Facilitator %d", i)}}
		for _, day := range cal.Days {
			usd := site.Decimal(fmt.Sprintf("%d.%06d", 8-i, 7*i+1))
			p := site.VolumePoint{Date: day.Key, VolumeUSD: usd, TxCount: 1}
			f.Timeseries = append(f.Timeseries, p)
			if sums[day.Key] == nil {
				sums[day.Key] = new(big.Rat)
			}
			sums[day.Key].Add(sums[day.Key], p.VolumeUSD.Rational())
			n := &networks[i]
			n.Timeseries = append(n.Timeseries, p)
			token := &n.TimeseriesByToken[i%3/2*2]
			token.Timeseries = append(token.Timeseries, site.TokenPoint{Date: day.Key, VolumeUSD: &usd, TxCount: 1})
			coin := &n.TimeseriesByToken[1]
			coin.Timeseries = append(coin.Timeseries, site.TokenPoint{Date: day.Key, TxCount: 1})
		}
		s.Facilitators = append(s.Facilitators, f)
	}
	s.Coverage.Networks = networks
	days := NewDays(s, cal, func(id string) Chip { return Chip{Label: id} }, func(id string) string { return id },
		func([]string) *site.Time { return nil })
	var heads [][]string
	for _, split := range days.Splits {
		lines, err := csv.NewReader(strings.NewReader(string(split.CSV()))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		heads = append(heads, lines[0])
		if len(lines) != 1+chart.StripDays {
			t.Errorf("by %s: %d days, want %d", split.By, len(lines)-1, chart.StripDays)
		}
		for _, line := range lines[1:] {
			sum := new(big.Rat)
			for _, part := range line[2:] {
				sum.Add(sum, site.Decimal(part).Rational())
			}
			if total := site.Decimal(line[1]).Rational(); total.Cmp(sums[line[0]]) != 0 || sum.Cmp(total) != 0 {
				t.Errorf("by %s: %s has a total of %s, parts of %s; want %s", split.By, line[0], line[1],
					sum.FloatString(6), sums[line[0]].FloatString(6))
			}
		}
	}
	want := [][]string{{"day", "total", "f0", "f1", "f2", "f3", "f4", "f5", "others"},
		{"day", "total", "n:0", "n:1", "n:2", "n:3", "n:4", "n:5", "others"}, {"day", "total", "USDC", "EURC"}}
	if diff := cmp.Diff(want, heads); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Chip{{Label: "n:8"}}, days.Idle); diff != "" {
		t.Errorf("networks without settlements (-want +got):\n%s", diff)
	}
	if got := days.Splits[0].Parts[6]; got.Label != "2 others" || got.Volume != "270.00837" {
		t.Errorf("the last part is %q with %s, want 2 others with 270.00837", got.Label, got.Volume)
	}
}
