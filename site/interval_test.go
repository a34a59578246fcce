package site_test

import (
	"testing"
	"time"

	"tollbook/site"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

func TestActive(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) *time.Time { return new(noon.Add(-d)) }
	for _, test := range []struct {
		name  string
		first time.Time
		paid  *time.Time
		want  bool
	}{
		{"seen just now", noon, nil, true},
		{"seen within a fortnight, never paid", *ago(14*day - 1), nil, true},
		{"seen a fortnight ago, never paid", *ago(14 * day), nil, false},
		{"old, paid within a fortnight", *ago(400 * day), ago(14*day - 1), true},
		{"old, paid a fortnight ago", *ago(400 * day), ago(14 * day), false},
		{"listed anew after it was paid", *ago(day), ago(20 * day), true},
		{"by a clock that runs ahead", noon.Add(time.Hour), nil, true},
	} {
		if got := site.IsActive(test.first, test.paid, noon); got != test.want {
			t.Errorf("%s: active is %t", test.name, got)
		}
	}
}

func TestInterval(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		own     time.Duration
		failing time.Duration // ago; 0 for a service that answers
		want    time.Duration
	}{
		{15 * time.Minute, 0, 15 * time.Minute},
		{15 * time.Minute, day - 1, 15 * time.Minute},
		{15 * time.Minute, day, time.Hour},
		{15 * time.Minute, 7*day - 1, time.Hour},
		{15 * time.Minute, 7 * day, day},
		{15 * time.Minute, 365 * day, day},
		{2 * time.Hour, day, 2 * time.Hour}, // never more often than it wants
		{2 * day, 7 * day, 2 * day},
	} {
		var since *time.Time
		if test.failing > 0 {
			since = new(noon.Add(-test.failing))
		}
		if got := site.Interval(test.own, since, noon); got != test.want {
			t.Errorf("own interval %s, failing for %s: %s, want %s", test.own, test.failing, got, test.want)
		}
	}
}
