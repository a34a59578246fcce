package card

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// TestNew checks that a badge says the advice, and is green only where nothing speaks against a payment.
func TestNew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		level, status string
		uptime        *float64
		message       string
		color         string
	}{
		{site.AdviceGood, site.StatusOnline, new(99.4), "online, 99.4% uptime over 30 days", green},
		{site.AdviceGood, site.StatusOnline, new(94.99), "online, 94.99% uptime over 30 days", amber},
		{site.AdviceGood, site.StatusOnline, nil, "online", amber},
		{site.AdviceCaution, site.StatusOnline, new(99.4), "caution: online, 99.4% uptime over 30 days", amber},
		{site.AdviceCaution, site.StatusDegraded, new(80.0), "caution: degraded, 80% uptime over 30 days", amber},
		{site.AdviceCaution, site.StatusUnknown, nil, "caution: unknown", grey},
		{site.AdviceDoNotPay, site.StatusOnline, new(100.0), "do not pay: online, 100% uptime over 30 days", red},
		{site.AdviceDoNotPay, site.StatusOffline, new(40.0), "do not pay: offline, 40% uptime over 30 days", red},
		{site.AdviceUnknown, site.StatusOnline, new(100.0), "unknown: online, 100% uptime over 30 days", grey},
		{site.AdviceUnknown, site.StatusUnknown, nil, "unknown", grey},
		{"", site.StatusOnline, new(100.0), "unknown: online, 100% uptime over 30 days", grey},
	} {
		d := &site.ServiceDetail{Status: c.status}
		d.Uptime.D30, d.Assessment.Advice.Level = c.uptime, c.level
		want := site.Badge{SchemaVersion: 1, Label: "x402", Message: c.message, Color: c.color}
		if diff := cmp.Diff(want, NewBadge(d)); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", c.level, c.status, diff)
		}
	}
}
