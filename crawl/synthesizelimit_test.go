package crawl

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/model/modeltest"
)

// TestSynthesizeBudget checks that two crawlers together never ask more than the day allows, nor twice about a service.
// A restart keeps the count; the next UTC day starts a new one.
func TestSynthesizeBudget(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprintf("s%02d", i))
	}
	a := newAsker(t, func(modeltest.Request) modeltest.Reply {
		return modeltest.Reply{Content: answerWith("", nil, 0)}
	}, names...)
	both := func(perDay int) {
		var crawls sync.WaitGroup
		for range 2 {
			c := a.crawler(t, perDay, 0)
			crawls.Go(func() {
				if _, err := c.Synthesize(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		crawls.Wait()
	}
	countAsked := func() (n int, twice bool) {
		seen := map[string]bool{}
		for _, q := range a.Requests() {
			twice = twice || seen[about(q)]
			seen[about(q)] = true
		}
		return len(a.Requests()), twice
	}
	for _, step := range []struct {
		now    time.Time
		perDay int
		want   int
	}{
		{dawn, 11, 11}, {dawn, 11, 11}, // a restart
		{dawn.Add(time.Hour), 12, 12}, // one more is allowed
		{dawn.AddDate(0, 0, 1), 11, 23}, {dawn.AddDate(0, 0, 2), 1000, 30},
	} {
		a.clock.set(step.now)
		both(step.perDay)
		if n, twice := countAsked(); n != step.want || twice {
			t.Errorf("%s with %d a day: asked %d times, want %d; one of them twice: %t", step.now, step.perDay, n,
				step.want, twice)
		}
	}
	days := a.strings(t, `SELECT day || ' ' || requests FROM synthesis_days ORDER BY day`)
	want := []string{dawn.Format(time.DateOnly) + " 12", dawn.AddDate(0, 0, 1).Format(time.DateOnly) + " 11",
		dawn.AddDate(0, 0, 2).Format(time.DateOnly) + " 7"}
	if diff := cmp.Diff(want, days); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
}

// TestSynthesizeGivesUp checks that a round gives up on an endpoint that keeps failing.
func TestSynthesizeGivesUp(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("s%02d", i))
	}
	a := newAsker(t, func(modeltest.Request) modeltest.Reply {
		return modeltest.Reply{Status: 500, Body: []byte(`{}`)}
	}, names...)
	got := synthesize(t, a.crawler(t, 1000, 0))
	if got.Asked < faultsInARow || got.Asked >= faultsInARow+maxQuestions ||
		got.Stopped != "ask the model: status-500" {
		t.Errorf("%+v", got)
	}
}

// TestSynthesizeWaits checks that a service is asked about only after it was visited and its site documents were read,
// or after an hour.
func TestSynthesizeWaits(t *testing.T) {
	t.Parallel()
	a := newAsker(t, func(modeltest.Request) modeltest.Reply {
		return modeltest.Reply{Content: answerWith("", nil, 0)}
	})
	a.list(t, oneEndpoint("acme", "https://acme.com", "/x"))
	c := a.crawler(t, 10, 0)
	for _, step := range []struct {
		sql  string
		now  time.Time
		want int
	}{
		{`SELECT`, dawn, 0},
		{`UPDATE service_states SET last_checked_at = created_at FROM services WHERE id = service_id`, dawn, 0},
		{`INSERT INTO site_facts (service_id, next_at) SELECT id, created_at FROM services`, dawn, 0},
		{`SELECT`, dawn.Add(2 * time.Hour), 1},
	} {
		if _, err := a.conn.Exec(t.Context(), step.sql); err != nil {
			t.Fatal(err)
		}
		a.clock.set(step.now)
		synthesize(t, c)
		if n := len(a.Requests()); n != step.want {
			t.Errorf("after %s at %s: asked %d times, want %d", step.sql, step.now, n, step.want)
		}
	}
}

// TestSynthesizeWithoutSchema checks that an endpoint that accepts no schema is asked again without one in the same
// round, and that both requests count as questions of the day.
func TestSynthesizeWithoutSchema(t *testing.T) {
	t.Parallel()
	a := newAsker(t, func(q modeltest.Request) modeltest.Reply {
		if q.ResponseFormat != nil {
			return modeltest.Reply{Status: 400,
				Body: []byte(`{"error":{"message":"'response_format' is not supported"}}`)}
		}
		return modeltest.Reply{Content: answerWith("", nil, 0)}
	}, "acme")
	if diff := cmp.Diff(SynthesisReport{Asked: 2, Accepted: 1, Refused: map[string]int{"no-schema": 1}},
		synthesize(t, a.crawler(t, 2, 0))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
