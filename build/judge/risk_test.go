package judge

import (
	"testing"
	"time"

	"tollbook/build/judge/price"
	"tollbook/site"
	"tollbook/site/postgres/checks"
)

// TestRiskFlags checks each flag at its limit, and next to the limit.
func TestRiskFlags(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	moved := func(ago time.Duration) []site.PayToChange {
		beside := site.PayToChange{Endpoint: "GET /z", NewPayTo: new(alice), ObservedAt: site.NewTime(now)}
		at := func(endpoint string, ago time.Duration) site.PayToChange {
			return site.PayToChange{Endpoint: endpoint, OldPayTo: new(alice), NewPayTo: new(bob),
				ObservedAt: site.NewTime(now.Add(-ago))}
		}
		return []site.PayToChange{beside, at("GET /x", ago), at("GET /y", ago+day)}
	}
	play := checks.Price{Scheme: "exact", NetworkCAIP2: new("eip155:84532"), Amount: "1"}
	offerOf := func(prices ...checks.Price) *price.Offer {
		var o price.Offer
		o.Add(&site.Endpoint{}, prices, nil)
		return &o
	}
	for _, test := range []struct {
		name string
		got  *site.RiskFlag
		want string // level and code, "" for none
	}{
		{"no move", flagPayToChanged(nil, now), ""},
		{"moved just now", flagPayToChanged(moved(0), now), "danger pay_to_changed"},
		{"moved within 7 days", flagPayToChanged(moved(7*day-time.Second), now), "danger pay_to_changed"},
		{"moved 7 days ago", flagPayToChanged(moved(7*day), now), "warning pay_to_changed"},
		{"moved within 30 days", flagPayToChanged(moved(30*day-time.Second), now), "warning pay_to_changed"},
		{"moved 30 days ago", flagPayToChanged(moved(30*day), now), ""},
		{"paid alike", flagDivergence([]site.Endpoint{{}}), ""},
		{"paid elsewhere",
			flagDivergence([]site.Endpoint{{},
				{PayToDivergence: &site.PayToDivergence{Expected: []string{"a"}, Observed: []string{"b"}}}}),
			"warning pay_to_divergence"},
		{"no outlier", flagOutlier(price.Rank{}, new(site.Decimal("1")), "AI"), ""},
		{"an outlier", flagOutlier(price.Rank{Outlier: new(site.Decimal("0.02"))}, new(site.Decimal("1")), "AI"),
			"warning price_outlier"},
		{"degraded", flagFailing(&site.ServiceDetail{Status: site.StatusDegraded, ConsecutiveFailures: 2}), ""},
		{"offline", flagFailing(&site.ServiceDetail{Status: site.StatusOffline, ConsecutiveFailures: 3}),
			"warning probe_failing"},
		{"https", flagPlainHTTP("https://acme.test"), ""},
		{"http", flagPlainHTTP("http://acme.test"), "warning plain_http"},
		{"some money", flagTestnet(offerOf(play, newPrice("1", alice, now, nil))), ""},
		{"play money", flagTestnet(offerOf(play)), "warning testnet_only"},
	} {
		got := ""
		if test.got != nil {
			got = test.got.Level + " " + test.got.Code
		}
		if got != test.want {
			t.Errorf("%s raises %q, want %q", test.name, got, test.want)
		}
	}
}
