package judge

import (
	"testing"
	"time"

	"tollbook/site"
)

// TestRiskFlags checks each flag at its limit and beside it.
func TestRiskFlags(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	moved := func(ago time.Duration) []site.PayToChange {
		return []site.PayToChange{{Endpoint: "GET /x", ObservedAt: site.NewTime(now.Add(-ago))},
			{Endpoint: "GET /y", ObservedAt: site.NewTime(now.Add(-ago - day))}}
	}
	price := func(d site.Decimal) *site.Decimal { return &d }
	five := pricesOf("0.01", "0.01", "0.02", "0.03", "1")
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
		{"no price", flagOutlier(five, nil, "AI"), ""},
		{"49 times the median", flagOutlier(five, price("0.999999"), "AI"), ""},
		{"50 times the median", flagOutlier(five, price("1"), "AI"), "warning price_outlier"},
		{"50 times the upper of two medians", flagOutlier(pricesOf("0.01", "0.01", "0.01", "0.02", "0.02", "1"),
			price("1"), "AI"), "warning price_outlier"},
		{"among four", flagOutlier(pricesOf("0.01", "0.02", "0.03", "1"), price("1000"), "AI"), ""},
		{"a median of nothing", flagOutlier(pricesOf("0", "0", "0", "0", "1"), price("1"), "AI"), ""},
		{"degraded", flagFailing(&site.ServiceDetail{Status: site.StatusDegraded, ConsecutiveFailures: 2}), ""},
		{"offline", flagFailing(&site.ServiceDetail{Status: site.StatusOffline, ConsecutiveFailures: 3}),
			"warning probe_failing"},
		{"https", flagPlainHTTP("https://acme.test"), ""},
		{"http", flagPlainHTTP("http://acme.test"), "warning plain_http"},
		{"some money", flagTestnet(&offer{}), ""},
		{"play money", flagTestnet(&offer{testnet: true}), "warning testnet_only"},
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
