package card

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// TestNew checks that a badge says the advice, in its colour.
func TestNew(t *testing.T) {
	t.Parallel()
	colours := Colours{Up: "up", Degraded: "degraded", Danger: "down", Unknown: "unknown"}
	for _, c := range []struct {
		level, status string
		uptime        *float64
		message       string
		color         string
	}{
		{site.AdviceGood, site.StatusOnline, new(99.4), "online, 99.4% uptime over 30 days", colours.Up},
		{site.AdviceCaution, site.StatusOnline, new(94.99), "caution: online, 94.99% uptime over 30 days", colours.Degraded},
		{site.AdviceCaution, site.StatusOnline, nil, "caution: online", colours.Degraded},
		{site.AdviceCaution, site.StatusDegraded, new(80.0), "caution: degraded, 80% uptime over 30 days", colours.Degraded},
		{site.AdviceCaution, site.StatusUnknown, nil, "caution: unknown", colours.Degraded},
		{site.AdviceDoNotPay, site.StatusOnline, new(100.0), "do not pay: online, 100% uptime over 30 days", colours.Danger},
		{site.AdviceDoNotPay, site.StatusOffline, new(40.0), "do not pay: offline, 40% uptime over 30 days", colours.Danger},
		{site.AdviceUnknown, site.StatusOnline, new(100.0), "unknown: online, 100% uptime over 30 days", colours.Unknown},
		{site.AdviceUnknown, site.StatusOffline, new(0.0), "unknown: offline, 0% uptime over 30 days", colours.Unknown},
		{site.AdviceUnknown, site.StatusUnknown, nil, "unknown", colours.Unknown},
		{"", site.StatusOnline, new(100.0), "unknown: online, 100% uptime over 30 days", colours.Unknown},
	} {
		d := &site.ServiceDetail{Status: c.status}
		d.Uptime.D30, d.Assessment.Advice.Level = c.uptime, c.level
		want := site.Badge{SchemaVersion: 1, Label: "x402", Message: c.message, Color: c.color}
		if diff := cmp.Diff(want, NewBadge(d, colours)); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", c.level, c.status, diff)
		}
	}
}
