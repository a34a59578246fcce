package data

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

func TestServiceDays(t *testing.T) {
	t.Parallel()
	cent, dime := site.Decimal("0.01"), site.Decimal("0.1")
	for _, c := range []struct {
		name   string
		files  site.ServiceFiles
		volume []site.VolumePoint
		want   string
	}{
		{name: "nothing is known", want: serviceDaysHeader},
		{
			name: "each series has days of its own",
			files: site.ServiceFiles{
				Scores: []site.ScorePoint{{Date: "2026-01-02", UptimePercentage: 99.5, AvgResponseTimeMS: new(120)},
					{Date: "2026-11-20", UptimePercentage: 0}},
				Uptime: []site.UptimeDataPoint{{TotalChecks: 4,
					PeriodStart: site.NewTime(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC))}},
				Prices: []site.PricePoint{{Date: "2026-01-02", MinPriceUSD: &cent, MaxPriceUSD: &dime},
					{Date: "2026-11-21"}},
				Buyers: []site.BuyersPoint{{Date: "2026-11-20", UniqueBuyers: 2}},
			},
			volume: []site.VolumePoint{{Date: "2025-12-31", VolumeUSD: "0.25", TxCount: 3},
				{Date: "2026-11-20", VolumeUSD: "0", TxCount: 2}, {Date: "2026-11-22", VolumeUSD: "1", TxCount: 1}},
			want: serviceDaysHeader +
				"2025-12-31,,,,,,,0.25,3,\r\n" +
				"2026-01-02,99.5,120,,,0.01,0.1,,,\r\n" +
				"2026-11-20,0,,4,0,0.01,0.1,0,2,2\r\n" + // prices of the day before
				"2026-11-21,,,,,,,,,\r\n" + // no price any more
				"2026-11-22,,,,,,,1,1,\r\n",
		},
	} {
		l := &site.Listing{ListingDetail: &site.ListingDetail{ServiceFiles: &c.files}}
		if diff := cmp.Diff(c.want, string(AppendServiceDays(nil, l, c.volume))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
