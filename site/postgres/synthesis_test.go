package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// inputs lists services as visited and looked at, with an input each, the later the newer.
func inputs(t *testing.T, db *postgres.DB, n int) {
	t.Helper()
	var listings []postgres.Listing
	for i := range n {
		l := listing(fmt.Sprintf("s%02d", i))
		l.BaseURL = fmt.Sprintf("https://s%02d.test", i)
		listings = append(listings, l)
	}
	if err := db.AddListings(t.Context(), listings); err != nil {
		t.Fatal(err)
	}
	for i, s := range dueSites(t, db, start) {
		v := postgres.SiteVisit{ServiceID: s.ID, Slug: s.Slug, At: start, NextAt: start.Add(24 * time.Hour),
			Facts: &postgres.SiteFacts{}}
		if err := db.RecordSite(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		visited(t, db, s.ID, i)
	}
	due, err := db.TakeInputs(t.Context(), start, time.Minute, 100)
	if err != nil || len(due) != n {
		t.Fatalf("%d inputs are due, want %d; error %v", len(due), n, err)
	}
	for i, s := range due {
		if err := db.RecordInput(t.Context(), s.ID, "hash", start.Add(time.Duration(i)*time.Second),
			start.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
}

// visited keeps one offline check of a service.
func visited(t *testing.T, db *postgres.DB, id int64, i int) {
	t.Helper()
	v := checks.Visit{Check: checks.Check{ServiceID: id, ID: postgres.EndpointID("check", "", fmt.Sprint(id)),
		CheckedAt: start.Add(time.Duration(i) * time.Millisecond)}, NextCheckAt: start.Add(time.Hour)}
	if err := db.RecordVisits(t.Context(), []checks.Visit{v}); err != nil {
		t.Fatal(err)
	}
}

func take(t *testing.T, db *postgres.DB, now time.Time, perDay int) (*postgres.ServiceFacts, error) {
	t.Helper()
	return db.TakeQuestion(t.Context(), now, "m", "1", perDay, time.Minute)
}

// TestTakeQuestion checks that the newest change is asked about first, not while it is leased, again when the lease
// ends, and not after an answer. Without a question, no request of the day is taken.
func TestTakeQuestion(t *testing.T) {
	t.Parallel()
	db := open(t)
	if s, err := take(t, db, start, 1); s != nil || err != nil {
		t.Errorf("from an empty directory: %v, error %v", s, err)
	}
	inputs(t, db, 2)
	first, err := take(t, db, start, 3)
	if err != nil || first == nil || first.Slug != "s01" || len(first.Endpoints) != 2 || first.Site == nil {
		t.Fatalf("%+v, error %v; want s01 with what its input is made of", first, err)
	}
	second, err := take(t, db, start, 3)
	if err != nil || second == nil || second.Slug != "s00" {
		t.Fatalf("%+v, error %v; want s00", second, err)
	}
	if s, err := take(t, db, start.Add(30*time.Second), 3); s != nil || err != nil {
		t.Errorf("both are asked about: %v, error %v", s, err)
	}
	fact := postgres.SynthesisFacts{Question: postgres.Question{InputHash: "hash", ModelID: "m", PromptVersion: "1"},
		AskedAt: start, Answer: site.Synthesis{CapabilityTags: site.SynthesisList{Value: []string{"a"}}}}
	if err := db.StoreSynthesis(t.Context(), second.ID, fact); err != nil {
		t.Fatal(err)
	}
	if s, err := take(t, db, start.Add(2*time.Minute), 3); err != nil || s == nil || s.Slug != "s01" {
		t.Errorf("after its lease: %v, error %v; want s01 again", s, err)
	}
	if _, err := take(t, db, start.Add(4*time.Minute), 3); !errors.Is(err, postgres.ErrDailyLimit) {
		t.Errorf("a fourth question of three: %v", err)
	}
	if diff := cmp.Diff(&fact, read(t, db, start)["s00"].Synthesis); diff != "" {
		t.Errorf("a build reads (-want +got):\n%s", diff)
	}
	if err := db.StoreSynthesis(t.Context(), 999, fact); err != nil {
		t.Errorf("of a service that is gone: %v", err)
	}
}

// TestTakeQuestionInParallel checks that concurrent takers take no more than the day's requests, and no question twice.
func TestTakeQuestionInParallel(t *testing.T) {
	t.Parallel()
	db := open(t)
	inputs(t, db, 10)
	var takers sync.WaitGroup
	var taken sync.Map
	var twice, spent atomic.Int32
	for range 30 {
		takers.Go(func() {
			s, err := db.TakeQuestion(t.Context(), start, "m", "1", 7, time.Minute)
			switch {
			case errors.Is(err, postgres.ErrDailyLimit):
				spent.Add(1)
			case err != nil:
				t.Error(err)
			case s == nil:
				t.Error("nothing to ask, with three left")
			default:
				if _, was := taken.LoadOrStore(s.ID, true); was {
					twice.Add(1)
				}
			}
		})
	}
	takers.Wait()
	n := 0
	taken.Range(func(_, _ any) bool { n++; return true })
	if n != 7 || twice.Load() != 0 || spent.Load() != 23 {
		t.Errorf("%d taken, %d twice, %d told that the day is over; want 7, 0, 23", n, twice.Load(), spent.Load())
	}
}

// TestSynthesisFailurePause checks that the pause doubles with each failure of the same question, up to a week, and
// starts again with another question.
func TestSynthesisFailurePause(t *testing.T) {
	t.Parallel()
	db := open(t)
	inputs(t, db, 1)
	s, err := take(t, db, start, 1000)
	if err != nil {
		t.Fatal(err)
	}
	q := postgres.Question{InputHash: "hash", ModelID: "m", PromptVersion: "1"}
	fail := func(q postgres.Question, notBefore time.Time) {
		t.Helper()
		if err := db.StoreSynthesisFailure(t.Context(), s.ID, q, "link", start, notBefore); err != nil {
			t.Fatal(err)
		}
	}
	askedAt := func(want time.Duration) {
		t.Helper()
		if s, err := take(t, db, start.Add(want-time.Second), 1000); s != nil || err != nil {
			t.Errorf("asked before %s: %v", want, err)
		}
		if s, err := take(t, db, start.Add(want), 1000); s == nil || err != nil {
			t.Errorf("not asked after %s: %v", want, err)
		}
	}
	for i := range 14 {
		fail(q, start)
		askedAt(min(15*time.Minute<<i, 7*24*time.Hour))
	}
	fail(postgres.Question{InputHash: "other", ModelID: "m", PromptVersion: "1"}, start)
	fail(q, start)
	askedAt(15 * time.Minute)
	fail(q, start.Add(5*time.Hour))
	askedAt(5 * time.Hour)
}
