package build

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
	"tollbook/site/postgres"
)

// TestClock: until when each answer holds.
func TestClock(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	end := midnight(now).Add(day)
	for _, test := range []struct {
		about string
		ask   func(c *clock)
		until time.Time
	}{
		{"the day", func(c *clock) { c.today() }, end},
		{"what has come", func(c *clock) { c.reached(now) }, end},
		{"what comes today", func(c *clock) { c.reached(now.Add(time.Hour)) }, now.Add(time.Hour)},
		{"the first of two", func(c *clock) { c.reached(now.Add(2 * time.Hour)); c.reached(now.Add(time.Hour)) }, now.Add(time.Hour)},
		{"what comes tomorrow", func(c *clock) { c.reached(now.Add(day)) }, end},
		{"days", func(c *clock) { c.days(now.Add(-3*day + time.Minute)) }, now.Add(time.Minute)},
		{"days since now", func(c *clock) { c.days(now) }, end},
		{"days of what comes", func(c *clock) { c.days(now.Add(time.Minute)) }, end},
		{"the moment itself", func(c *clock) { c.instant() }, now},
	} {
		c := at(now)
		if test.ask(c); !c.until.Equal(test.until) {
			t.Errorf("%s holds until %v, want %v", test.about, c.until, test.until)
		}
	}
}

// TestJudgmentHolds judges services whose times lie near enough that the day brings something: until their clock says so,
// nothing that is judged of them changes.
func TestJudgmentHolds(t *testing.T) {
	t.Parallel()
	changed := 0
	rapid.Check(t, func(t *rapid.T) {
		near := func(name string, days ...int) time.Time {
			return now.AddDate(0, 0, -rapid.SampledFrom(days).Draw(t, name+" days ago")).Add(time.Duration(rapid.IntRange(-40, 700).Draw(t, name+" minutes on")) * time.Minute)
		}
		moved := near("moved", 7, 30)
		e := priced(price("100", alice, *ago(2000 * time.Hour), &moved), price("100", bob, moved, nil))
		e.FirstSeenAt, e.LastPaidAt = *ago(2000 * time.Hour), new(near("paid", int(site.ActiveFor/(24*time.Hour))))
		f := service(e, priced(price("100", alice, moved, nil)))
		f.Endpoints[1].FirstSeenAt = near("first seen", int(site.ActiveFor/(24*time.Hour)), 1)
		f.Domain = &postgres.DomainFacts{Domain: "acme.test", CreatedAt: new(near("registered", 1, 30))}
		f.LastCheckedAt = new(near("checked", 0))
		f.Days = []postgres.Rollup{{Start: midnight(now), Checks: 1, Counted: 1, Up: 1}}
		facts := &postgres.Facts{Services: []postgres.ServiceFacts{*f}}
		j := newJudgment(facts, sumHours(facts, now), now, now, "https://tollbook.example", site.FreeHosts{})
		b, c := j.basis(0), at(now)
		text := func(c *clock) string {
			l := complete(b, c)
			data, err := json.Marshal([]any{l.Detail, l.Uptime, l.Checks, l.Changes, l.Terms, l.Evidence, l.ChangeLogs, l.Prices, l.Scores, l.Volume, l.Buyers})
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		want := text(c)
		if c.until.After(now) {
			later := rapid.Int64Range(0, int64(c.until.Sub(now))-1).Draw(t, "later")
			for _, d := range []time.Duration{time.Duration(later), c.until.Sub(now) - 1} {
				if diff := cmp.Diff(want, text(at(now.Add(d)))); diff != "" {
					t.Errorf("it holds until %v, but not %s later (-want +got):\n%s", c.until, d, diff)
				}
			}
		}
		if c.until.After(now) && c.until.Before(midnight(now).AddDate(0, 0, 1)) && text(at(c.until)) != want {
			changed++
		}
	})
	if changed == 0 {
		t.Error("no clock ended before something changed: this proves little")
	}
}
