package build_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"tollbook/build/judge"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/testgate"
)

// TestChangeLogsAtAnyMoment reads and judges change logs while changes are stored, hours are sealed and services are
// erased. The clocks of all of these differ and are set back. Each read must contain every row that the logs count.
func TestChangeLogsAtAnyMoment(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	db := open(t)
	ctx := t.Context()
	var listings []postgres.Listing
	for i := range 6 {
		slug := "s" + strconv.Itoa(i)
		listings = append(listings, postgres.Listing{Slug: slug, Name: slug, Description: "d",
			BaseURL: "https://" + slug + ".test", Category: "AI",
			Source: "imported:file", CreatedAt: moment,
			Endpoints: []postgres.ListedEndpoint{{Method: "GET", Path: "/a"}}})
	}
	if err := db.AddListings(ctx, listings); err != nil {
		t.Fatal(err)
	}
	due, err := db.TakeServices(ctx, "", moment, time.Minute, len(listings))
	if err != nil {
		t.Fatal(err)
	}
	const hours = 120
	seed := rand.Uint64()
	visits, seals := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
	stored := make(chan time.Time)
	var writers sync.WaitGroup
	writers.Go(func() {
		defer close(stored)
		for hour := range hours {
			at := moment.Add(time.Duration(hour)*time.Hour + time.Duration(visits.IntN(180)-120)*time.Minute)
			var batch []checks.Visit
			for i, s := range due {
				at := at.Add(time.Duration(i) * time.Second)
				v := checks.Visit{Check: checks.Check{ServiceID: s.ID, CheckedAt: at, ID: uuid.New(), Counted: true,
					Status: new("online"), IsUp: true}, NextCheckAt: at.Add(time.Minute)}
				for _, kind := range site.ChangeTypes {
					if visits.IntN(3) > 0 {
						v.Changes = append(v.Changes, checks.Change{ServiceID: s.ID, Type: kind, ObservedAt: at,
							Summary: json.RawMessage(`{}`), OldSnapshot: json.RawMessage(`[]`),
							NewSnapshot: json.RawMessage(`[]`)})
					}
				}
				batch = append(batch, v)
			}
			if err := db.RecordVisits(ctx, batch); err != nil {
				t.Errorf("seed %d: %v", seed, err)
				return
			}
			if hour%50 == 49 {
				if err := db.EraseService(ctx, "s"+strconv.Itoa(hour/50), "anna", "", at); err != nil &&
					!errors.Is(err, postgres.ErrNotFound) {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
			stored <- at
		}
	})
	sealing := make(chan time.Time, hours)
	writers.Go(func() {
		for at := range sealing {
			if err := db.SealLogs(ctx, at.Add(time.Duration(seals.IntN(300)-150)*time.Minute),
				time.Duration(seals.IntN(120))*time.Second); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
	})
	defer writers.Wait()
	defer close(sealing)
	read, rows := 0, int64(0)
	for at := range stored {
		sealing <- at
		now := at.Add(time.Duration(read%5-2) * 30 * time.Minute)
		var facts *postgres.Facts
		err := db.Read(ctx, func(r *postgres.Reader) (err error) {
			facts, err = r.Facts(ctx, now, 2*time.Minute)
			return err
		})
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		judged := judge.New(facts, judge.Options{Now: now, Next: now.Add(time.Minute)})
		judged.Survey(0, len(facts.Services), nil)
		judged.Prepare() // panics if a row is missing
		for i := range facts.Services {
			judged.Service(i)
		}
		s := judged.Snapshot
		// now goes back, too
		if total := s.Changes.Index.Total(); total >= rows-int64(len(due)*len(site.ChangeTypes)*8) {
			rows = max(rows, total)
		} else {
			t.Errorf("seed %d: the log has %d rows after %d", seed, total, rows)
		}
		read++
	}
	if read != hours && !t.Failed() || rows < hours {
		t.Errorf("seed %d: %d reads, %d rows", seed, read, rows)
	}
}
