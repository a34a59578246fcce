package crawl

import (
	"testing"
	"time"

	"tollbook/site/postgres"
)

// TestIsAfterGap checks when failures before a visit are in a row with it: a service that failed once before and once
// after a day without visits did not fail for a day.
func TestIsAfterGap(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) *time.Time { return new(now.Add(-d)) }
	for _, test := range []struct {
		name    string
		seen    *time.Time // the latest conclusive response
		failing *time.Time
		want    bool
	}{
		{"the first visit", nil, nil, false},
		{"visited as planned", ago(15 * time.Minute), ago(15 * time.Minute), false},
		{"a visit was late", ago(time.Hour), ago(time.Hour), false},
		{"no visits for a day, one failure before", ago(26 * time.Hour), ago(26 * time.Hour), true},
		{"visited every hour after a day of failures", ago(70 * time.Minute), ago(50 * time.Hour), false},
		{"visited every day after a week of failures", ago(29 * time.Hour), ago(30 * 24 * time.Hour), false},
		{"no visits for three days after a month of failures", ago(72 * time.Hour), ago(30 * 24 * time.Hour), true},
	} {
		s := &postgres.DueService{Service: postgres.Service{CheckInterval: 15 * time.Minute, FailingSince: test.failing}}
		s.Endpoints = append(s.Endpoints, postgres.Endpoint{}, postgres.Endpoint{VerdictAt: test.seen})
		if got := isAfterGap(s, now); got != test.want {
			t.Errorf("%s: a gap %v, want %v", test.name, got, test.want)
		}
	}
}
