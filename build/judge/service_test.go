package judge

import (
	"testing"
	"time"

	"tollbook/site/postgres"
)

func TestServiceStatus(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	for _, c := range []struct {
		name string
		s    postgres.Service
		want string
	}{
		{"never checked", postgres.Service{}, "unknown"},
		{"only inconclusive visits", postgres.Service{LastCheckedAt: ago(time.Minute)}, "unknown"},
		{"online", postgres.Service{LastCheckedAt: ago(time.Minute), LastStatus: new("online")}, "online"},
		{"degraded", postgres.Service{LastCheckedAt: ago(time.Minute), LastStatus: new("degraded")}, "degraded"},
		{"offline twice", postgres.Service{LastCheckedAt: ago(time.Minute), LastStatus: new("offline"),
			ConsecutiveFailures: 2}, "degraded"},
		{"offline three times", postgres.Service{LastCheckedAt: ago(time.Minute), LastStatus: new("offline"),
			ConsecutiveFailures: 3}, "offline"},
		{"not seen for an hour", postgres.Service{LastCheckedAt: ago(time.Hour), LastStatus: new("online")}, "online"},
		{"not seen for longer", postgres.Service{LastCheckedAt: ago(time.Hour + time.Second),
			LastStatus: new("online")}, "unknown"},
		{"slower interval", postgres.Service{LastCheckedAt: ago(80 * time.Minute), LastStatus: new("online"),
			CheckInterval: 30 * time.Minute}, "online"},
		{"visited hourly after a day offline", postgres.Service{LastCheckedAt: ago(2 * time.Hour),
			LastStatus: new("offline"), ConsecutiveFailures: 99, FailingSince: ago(2 * day)}, "offline"},
		{"visited daily after a week offline", postgres.Service{LastCheckedAt: ago(2 * day), LastStatus: new("offline"),
			ConsecutiveFailures: 99, FailingSince: ago(8 * day)}, "offline"},
	} {
		if c.s.CheckInterval == 0 {
			c.s.CheckInterval = 15 * time.Minute
		}
		if got := serviceStatus(&c.s, now); got != c.want {
			t.Errorf("%s: status %s, want %s", c.name, got, c.want)
		}
	}
}

func TestValidUntil(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	if is, until := validUntil(nil, time.Hour, now); is || until != nil {
		t.Errorf("an event that never happened is valid until %v", until)
	}
	for ago, want := range map[time.Duration]bool{0: true, time.Hour - 1: true, time.Hour: false,
		2 * time.Hour: false} {
		seen := now.Add(-ago)
		if is, until := validUntil(&seen, time.Hour, now); is != want || until == nil {
			t.Errorf("an event %s ago: valid %v until %v", ago, is, until)
		}
	}
}
