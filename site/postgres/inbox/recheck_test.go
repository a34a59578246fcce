package inbox_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// listing returns a service to be listed.
func listing(slug string) postgres.Listing {
	return postgres.Listing{Slug: slug, Name: slug, Description: "d", BaseURL: "https://" + slug + ".example",
		Category: "Data", Source: "imported", CreatedAt: noon.Add(-time.Hour)}
}

// openChecked returns a database with these services, all checked at noon and due at a quarter past.
func openChecked(t *testing.T, slugs ...string) *postgres.DB {
	t.Helper()
	db := open(t)
	for _, slug := range slugs {
		if err := db.AddListings(t.Context(), []postgres.Listing{listing(slug)}); err != nil {
			t.Fatal(err)
		}
	}
	due, err := db.TakeServices(t.Context(), "", noon.Add(-time.Minute), time.Hour, 100)
	if err != nil || len(due) != len(slugs) {
		t.Fatalf("%d services are due: %v", len(due), err)
	}
	for _, s := range due {
		visit(t, db, &s, noon)
	}
	return db
}

// visit stores a visit of a leased service, which makes it due after a quarter of an hour.
func visit(t *testing.T, db *postgres.DB, s *postgres.DueService, at time.Time) {
	t.Helper()
	err := db.RecordVisits(t.Context(), []checks.Visit{{Lease: s.NextCheckAt, NextCheckAt: at.Add(15 * time.Minute),
		Check: checks.Check{ServiceID: s.ID, CheckedAt: at, Counted: true, ID: uuid.New()}}})
	if err != nil {
		t.Fatal(err)
	}
}

// ask requests a re-check. It returns the result as text: when the service is due, when it may be asked for again, or
// why not.
func ask(t *testing.T, db *postgres.DB, slug, client string, after time.Duration) string {
	t.Helper()
	result, err := db.RequestRecheck(t.Context(), site.IncomingRecheck{Slug: slug, Client: client, At: noon.Add(after)})
	var over *site.SubmissionLimitError
	var not *site.UnvisitedError
	switch {
	case errors.As(err, &over):
		return "wait " + over.RetryAfter.String()
	case errors.As(err, &not):
		return not.Message
	case errors.Is(err, site.ErrNotFound):
		return "not found"
	case err != nil:
		t.Error(err)
		return "failed"
	}
	return "due " + result.NextCheckAt.Format("15:04:05")
}

// TestRequestRecheck checks which re-checks make a service due, and which are refused until when.
func TestRequestRecheck(t *testing.T) {
	t.Parallel()
	db := openChecked(t, "a", "b", "fresh", "paused", "hidden", "retired")
	err := db.ChangeListings(t.Context(), "ada", noon, func(l postgres.Listed) (c postgres.ListingChanges, _ error) {
		for _, s := range l.Services {
			if slices.Contains([]string{postgres.StatePaused, postgres.StateHidden, postgres.StateRetired}, s.Slug) {
				c.Change = append(c.Change, postgres.ListingChange{Listing: listing(s.Slug), ID: s.ID, State: s.Slug,
					Action: s.Slug})
			}
		}
		return c, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, slug, client string
		after              time.Duration
		want               string
	}{
		{"nothing has this slug", "nope", "1", time.Hour, "not found"},
		{"a hidden service", "hidden", "1", 5 * time.Minute, "not found"},
		{"a paused service", "paused", "1", 5 * time.Minute, "checks of this service are paused"},
		{"a delisted service", "retired", "1", 5 * time.Minute, "this service is delisted; its checks have ended"},
		{"half a minute after a check", "a", "1", 30 * time.Second, "wait 30s"},
		{"a minute after a check", "a", "1", time.Minute, "due 12:01:00"},
		{"again", "a", "1", 2 * time.Minute, "wait 9m0s"},
		{"by another client", "a", "2", 11*time.Minute - time.Millisecond, "wait 1ms"},
		{"another service", "b", "1", 2 * time.Minute, "due 12:02:00"},
		{"after ten minutes", "a", "2", 11 * time.Minute, "due 12:11:00"},
	} {
		if got := ask(t, db, tt.slug, tt.client, tt.after); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	due, err := db.TakeServices(t.Context(), "", noon.Add(2*time.Minute), time.Minute, 100)
	if err != nil {
		t.Fatal(err)
	}
	var slugs []string
	for _, s := range due {
		slugs = append(slugs, s.Slug)
	}
	if diff := cmp.Diff([]string{"a", "b"}, slugs); diff != "" {
		t.Errorf("due before their time (-want +got):\n%s", diff)
	}
}

// TestRecheckLease checks that a re-check takes no service away from a worker that visits it, whose result is stored,
// and that a service that is due keeps its place among those that wait.
func TestRecheckLease(t *testing.T) {
	t.Parallel()
	db := openChecked(t, "a")
	quarter := noon.Add(15 * time.Minute)
	if got := ask(t, db, "a", "1", 20*time.Minute); got != "due 12:20:00" {
		t.Errorf("while it is due: %s", got)
	}
	due, err := db.TakeServices(t.Context(), "", quarter, time.Hour, 1)
	if err != nil || len(due) != 1 {
		t.Fatalf("it is no longer due at its time: %v, %v", due, err)
	}
	if got := ask(t, db, "a", "1", 31*time.Minute); got != "due 12:31:00" {
		t.Errorf("while it is visited: %s", got)
	}
	if n, err := db.CountDue(t.Context(), noon.Add(31*time.Minute)); n != 0 || err != nil {
		t.Errorf("a service that is visited is due: %d, %v", n, err)
	}
	visit(t, db, &due[0], noon.Add(32*time.Minute))
	if got := ask(t, db, "a", "1", 32*time.Minute); got != "wait 1m0s" {
		t.Errorf("the visit was not stored: %s", got)
	}
	one, err := db.TakeService(t.Context(), "", due[0].ID, noon.Add(47*time.Minute), time.Hour)
	if err != nil || one == nil {
		t.Fatalf("it is not due a quarter of an hour later: %v, %v", one, err)
	}
	if got := ask(t, db, "a", "1", 48*time.Minute); got != "due 12:48:00" {
		t.Errorf("while a job visits it: %s", got)
	}
	if n, err := db.CountDue(t.Context(), noon.Add(48*time.Minute)); n != 0 || err != nil {
		t.Errorf("a service that a job visits is due: %d, %v", n, err)
	}
}

// TestRecheckLimits checks the limits of a service in a day and of a client in an hour.
func TestRecheckLimits(t *testing.T) {
	t.Parallel()
	slugs := []string{"a"}
	for i := range site.RechecksPerHour {
		slugs = append(slugs, fmt.Sprint("s", i))
	}
	db := openChecked(t, slugs...)
	for i := range site.RechecksPerDay {
		if got := ask(t, db, "a", fmt.Sprint(i), time.Duration(i+1)*time.Hour); got[:4] != "due " {
			t.Errorf("re-check %d of a day: %s", i, got)
		}
	}
	if got := ask(t, db, "a", "x", 13*time.Hour); got != "wait 12h0m0s" {
		t.Errorf("one more: %s", got)
	}
	if got := ask(t, db, "a", "x", 25*time.Hour); got != "due 13:00:00" {
		t.Errorf("a day after the first: %s", got)
	}
	for i := range site.RechecksPerHour {
		if got := ask(t, db, fmt.Sprint("s", i), "y", 26*time.Hour+time.Duration(i)*time.Minute); got[:4] != "due " {
			t.Errorf("re-check %d of a client: %s", i, got)
		}
	}
	if got := ask(t, db, "a", "y", 26*time.Hour+10*time.Minute); got != "wait 50m0s" {
		t.Errorf("one more of that client: %s", got)
	}
}

// TestRechecksAtOnce checks that of many requests for one service at one moment one is accepted.
func TestRechecksAtOnce(t *testing.T) {
	t.Parallel()
	db := openChecked(t, "a")
	var accepted atomic.Int64
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if ask(t, db, "a", fmt.Sprint(i%5), time.Hour) == "due 13:00:00" {
				accepted.Add(1)
			}
		})
	}
	all.Wait()
	if n := accepted.Load(); n != 1 {
		t.Errorf("%d requests were accepted", n)
	}
}

// TestRecheckMessages checks that a refusal says to people when to ask again.
func TestRecheckMessages(t *testing.T) {
	t.Parallel()
	db := openChecked(t, "a")
	request := func(after time.Duration) string {
		_, err := db.RequestRecheck(t.Context(), site.IncomingRecheck{Slug: "a", Client: "1", At: noon.Add(after)})
		var over *site.SubmissionLimitError
		if !errors.As(err, &over) {
			return fmt.Sprint(err)
		}
		return over.Message
	}
	const requested = "a re-check of this service was requested within the last 10 minutes; ask again in "
	for _, tt := range []struct {
		after time.Duration
		want  string
	}{
		{0, "this service was checked 0 seconds ago; ask again in 60 seconds"},
		{time.Minute - time.Millisecond, "this service was checked 59 seconds ago; ask again in 1 second"},
		{time.Minute, "<nil>"},
		{time.Minute + time.Second, requested + "10 minutes"},
		{9*time.Minute - time.Second, requested + "3 minutes"},
		{9 * time.Minute, requested + "120 seconds"},
	} {
		if got := request(tt.after); got != tt.want {
			t.Errorf("after %s: %s; want %s", tt.after, got, tt.want)
		}
	}
}

// TestRecheckOfFrequentVisits checks that a service that is visited every 15 seconds, as in a demo, may be asked for a third
// of that after a visit.
func TestRecheckOfFrequentVisits(t *testing.T) {
	t.Parallel()
	db := open(t)
	l := listing("a")
	l.Interval = 15 * time.Second
	if err := db.AddListings(t.Context(), []postgres.Listing{l}); err != nil {
		t.Fatal(err)
	}
	due, err := db.TakeServices(t.Context(), "", noon, time.Hour, 1)
	if err != nil || len(due) != 1 {
		t.Fatalf("due: %v, %v", due, err)
	}
	visit(t, db, &due[0], noon)
	for _, tt := range []struct {
		after time.Duration
		want  string
	}{{4 * time.Second, "4 seconds ago; ask again in 1 second"}, {5 * time.Second, "<nil>"}} {
		_, err := db.RequestRecheck(t.Context(), site.IncomingRecheck{Slug: "a", Client: "1", At: noon.Add(tt.after)})
		if got := fmt.Sprint(err); !strings.Contains(got, tt.want) {
			t.Errorf("after %s: %s; want %s", tt.after, got, tt.want)
		}
	}
}
