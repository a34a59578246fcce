package postgres_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/load"
	"tollbook/site/postgres/postgrestest"
)

// record returns a change record that is identified by the number n.
func record(service int64, kind string, at time.Time, n int) checks.Change {
	return checks.Change{
		ServiceID: service, Type: kind, ObservedAt: at, Summary: json.RawMessage(fmt.Sprintf(`{"n": %d}`, n)),
		OldSnapshot: json.RawMessage(`[]`), NewSnapshot: json.RawMessage(`[]`),
	}
}

// numberOf returns the number of a record.
func numberOf(t *testing.T, c checks.Change) int {
	t.Helper()
	var s struct{ N int }
	if err := json.Unmarshal(c.Summary, &s); err != nil {
		t.Fatal(err)
	}
	return s.N
}

// changeLogID names a log of change records.
type changeLogID struct {
	service int64
	kind    string
}

// checkMoves checks that the changes of recipients of a service begin with those of its log, newest first.
func checkMoves(t *testing.T, s *postgres.ServiceFacts, now time.Time) {
	t.Helper()
	want, got := []int{}, []int{}
	for _, c := range slices.Backward(s.Records) {
		if c.Type == site.PayToChanged && now.Sub(c.ObservedAt) < 89*24*time.Hour && len(want) < 40 {
			want = append(want, numberOf(t, c))
		}
	}
	for _, c := range s.Moves[:min(len(s.Moves), len(want))] {
		got = append(got, numberOf(t, c))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes of recipients of %s (-log +read):\n%s", s.Slug, diff)
	}
}

// readChangeLogs reads every log completely: blocks from packs, the rest from the newest rows. Each block must be in
// one pack, and a day must begin at its first row.
func readChangeLogs(t *testing.T, db *postgres.DB, now time.Time,
	packs map[string][]checks.ChangeBlock) map[changeLogID][]int {
	t.Helper()
	got := map[changeLogID][]int{}
	err := db.Read(t.Context(), func(r *postgres.Reader) error {
		facts, err := r.Facts(t.Context(), now, 2*time.Minute)
		if err != nil {
			return err
		}
		for _, s := range facts.Services {
			checkMoves(t, &s, now)
		}
		hours, err := r.PackHours(t.Context())
		if err != nil {
			return err
		}
		for _, h := range hours {
			var blocks []checks.ChangeBlock
			err := r.ChangePack(t.Context(), h, func(b checks.ChangeBlock) error {
				blocks = append(blocks, b)
				return nil
			})
			if err != nil {
				return err
			}
			id := site.PackHour(h)
			if before, written := packs[id]; written { // a pack never changes
				if diff := cmp.Diff(before, blocks); diff != "" {
					t.Errorf("pack %s (-written +now):\n%s", id, diff)
				}
			}
			packs[id] = blocks
		}
		logs := func(service int64, facts []checks.ChangeLogFacts, rows []checks.Change) {
			for _, l := range facts {
				id := changeLogID{service, l.Type}
				numbers := make([]int, l.Next)
				held := make([]int, l.Next) // how many times each row occurs
				times := make([]time.Time, l.Next)
				put := func(number int64, c checks.Change) {
					numbers[number], times[number] = numberOf(t, c), c.ObservedAt
					held[number]++
				}
				for _, b := range l.Blocks {
					for _, p := range packs[site.PackHour(b.Hour)] {
						if p.ServiceID == service && p.Type == l.Type && p.Block == b.Block {
							for i, c := range p.Rows {
								put(b.Block*site.BlockSize+int64(i), c)
							}
						}
					}
				}
				var tail []checks.Change
				for _, c := range rows {
					if l.Type == "" || c.Type == l.Type {
						tail = append(tail, c)
					}
				}
				tail = tail[int64(len(tail))-(l.Next-l.From):]
				for i, c := range tail {
					if n := l.From + int64(i); n >= int64(len(l.Blocks))*site.BlockSize {
						put(n, c)
					} else if numberOf(t, c) != numbers[n] {
						t.Errorf("%+v: row %d is record %d in its pack and %d in the tail", id, n, numbers[n],
							numberOf(t, c))
					}
				}
				for n, times := range held {
					if times != 1 {
						t.Fatalf("%+v: row %d of %d is held %d times; %+v", id, n, l.Next, times, l)
					}
				}
				day := ""
				var days []checks.ChangeDay
				for n, at := range times {
					if d := at.UTC().Format(time.DateOnly); d != day {
						day = d
						days = append(days, checks.ChangeDay{Day: at.UTC().Truncate(24 * time.Hour), First: int64(n)})
					}
				}
				for i := range l.Days {
					l.Days[i].Day = l.Days[i].Day.UTC()
				}
				if diff := cmp.Diff(days, l.Days); diff != "" {
					t.Errorf("%+v: days (-want +got):\n%s", id, diff)
				}
				got[id] = numbers
			}
		}
		logs(0, facts.ChangeLogs, facts.Changes)
		for _, s := range facts.Services {
			logs(s.ID, s.ChangeLogs, s.Records)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestChangeNumbers records changes of three services over four days, and seals and reads in between as builds do. It
// compares every log, block and day with the plain list. A record never changes its number.
func TestChangeNumbers(t *testing.T) {
	t.Parallel()
	dsn := template.Database(t)
	ctx := t.Context()
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { db.Close() }()
	if err := db.AddListings(ctx, []postgres.Listing{listing("acme"), listing("bolt"), listing("cove")}); err != nil {
		t.Fatal(err)
	}
	due, err := db.TakeServices(ctx, "", start, time.Minute, 3)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(402, 3))
	want := map[changeLogID][]int{}
	packs := map[string][]checks.ChangeBlock{}
	number := 0
	var pending []func() // records that are younger than the log delay
	for hour := range 4 * 24 {
		at := start.Add(time.Duration(hour) * time.Hour)
		var visits []checks.Visit
		for i, s := range due {
			v := visit(s, at.Add(time.Duration(i)*time.Second))
			for _, kind := range site.ChangeTypes {
				if i == 2 && kind == site.SchemaChanged || random.IntN(10) == 0 {
					continue // cove never changes its schema
				}
				n := number
				number++
				v.Changes = append(v.Changes, record(s.ID, kind, v.Check.CheckedAt, n))
				pending = append(pending, func() {
					for _, id := range []changeLogID{{0, ""}, {0, kind}, {s.ID, ""}, {s.ID, kind}} {
						want[id] = append(want[id], n)
					}
				})
			}
			visits = append(visits, v)
		}
		if err := db.RecordVisits(ctx, visits); err != nil {
			t.Fatal(err)
		}
		if err := db.RecordVisits(ctx, visits[:1]); err != nil { // recorded twice
			t.Fatal(err)
		}
		if random.IntN(5) > 0 {
			continue
		}
		now := start.Add(time.Duration(hour)*time.Hour + time.Duration(10+random.IntN(49))*time.Minute)
		for _, enter := range pending {
			enter()
		}
		pending = nil
		if random.IntN(3) > 0 {
			for range 1 + random.IntN(2) { // sealing twice seals once
				if err := db.SealLogs(ctx, now, 2*time.Minute); err != nil {
					t.Fatal(err)
				}
			}
		}
		if random.IntN(4) == 0 { // a restart
			db.Close()
			if db, err = postgres.Open(ctx, dsn); err != nil {
				t.Fatal(err)
			}
		}
		got := readChangeLogs(t, db, now, packs)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(changeLogID{})); diff != "" {
			t.Fatalf("logs after %d hours (-want +got):\n%s", hour, diff)
		}
	}
	if len(packs) < 5 || len(want[changeLogID{}]) < 500 {
		t.Errorf("%d packs and %d records prove little", len(packs), len(want[changeLogID{}]))
	}
}

// TestChangesBeforeNumbering checks that records older than the first sealed hour are numbered with it. They are in its
// pack, which is not written yet.
func TestChangesBeforeNumbering(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	h := load.History{Slug: "acme"}
	for i := range 230 {
		h.Changes = append(h.Changes, record(0, site.PriceChanged, start.Add(time.Duration(i-400)*time.Hour), i))
	}
	at := start.Add(time.Minute)
	h.Checks = []checks.Check{visit(postgres.DueService{}, at).Check}
	if err := load.Sample(ctx, db, "sample", []postgres.Listing{listing("acme")}, []load.History{h}); err != nil {
		t.Fatal(err)
	}
	for _, later := range []time.Duration{30 * time.Minute, 3 * time.Hour, 30 * time.Hour} {
		if err := db.SealLogs(ctx, at.Add(later), time.Minute); err != nil {
			t.Fatal(err)
		}
		packs := map[string][]checks.ChangeBlock{}
		got := readChangeLogs(t, db, at.Add(later), packs)
		for id, rows := range got {
			for n, r := range rows {
				if n != r {
					t.Fatalf("%+v: row %d is record %d", id, n, r)
				}
			}
		}
		if len(got) != 4 || len(got[changeLogID{}]) != 230 {
			t.Errorf("%s later: %d logs, %d records", later, len(got), len(got[changeLogID{}]))
		}
		for id := range packs {
			if id != site.PackHour(start) {
				t.Errorf("%s later: pack %s", later, id)
			}
		}
	}
}

// TestChangesOutliveTheirService checks that numbers stay when a service is erased.
func TestChangesOutliveTheirService(t *testing.T) {
	t.Parallel()
	dsn := template.Database(t)
	ctx := t.Context()
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.AddListings(ctx, []postgres.Listing{listing("acme"), listing("bolt")}); err != nil {
		t.Fatal(err)
	}
	due, err := db.TakeServices(ctx, "", start, time.Minute, 2)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range due {
		v := visit(s, start.Add(time.Duration(i)*time.Minute))
		v.Changes = []checks.Change{record(s.ID, site.PriceChanged, v.Check.CheckedAt, i)}
		if err := db.RecordVisits(ctx, []checks.Visit{v}); err != nil {
			t.Fatal(err)
		}
	}
	exec(t, dsn, `DELETE FROM services WHERE slug = 'acme'`)
	now := start.Add(2 * time.Hour)
	if err := db.SealLogs(ctx, now, time.Minute); err != nil {
		t.Fatal(err)
	}
	got := readChangeLogs(t, db, now, map[string][]checks.ChangeBlock{})
	want := map[changeLogID][]int{{0, ""}: {0, 1}, {0, site.PriceChanged}: {0, 1}, {due[1].ID, ""}: {1},
		{due[1].ID, site.PriceChanged}: {1}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(changeLogID{})); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
}

// exec runs a statement outside the program.
func exec(t *testing.T, dsn, sql string, args ...any) {
	t.Helper()
	conn := postgrestest.Connect(t, dsn)
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// TestChangeBaselines checks that a record sets the baseline of its type and prevents another within the hour. A
// baseline is removed when nothing is left to record, and a failed comparison sets one.
func TestChangeBaselines(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	due := acme(t, db)
	s := due[0]
	for _, step := range []struct {
		about       string
		after       time.Duration
		change      string
		wantCleared []string
		untold      bool
		want        map[string]time.Duration // baselines afterwards
	}{
		{about: "a record", change: site.PriceChanged, want: map[string]time.Duration{site.PriceChanged: 0}},
		{about: "too early", after: 59 * time.Minute, change: site.PriceChanged,
			want: map[string]time.Duration{site.PriceChanged: 0}},
		{about: "another type", after: 59*time.Minute + time.Second, change: site.PayToChanged,
			want: map[string]time.Duration{site.PriceChanged: 0, site.PayToChanged: 59*time.Minute + time.Second}},
		{about: "an hour later", after: time.Hour, change: site.PriceChanged,
			want: map[string]time.Duration{site.PriceChanged: time.Hour,
				site.PayToChanged: 59*time.Minute + time.Second}},
		{about: "told, but too early to know", after: 100 * time.Minute,
			wantCleared: []string{site.PriceChanged, site.PayToChanged},
			want: map[string]time.Duration{site.PriceChanged: time.Hour,
				site.PayToChanged: 59*time.Minute + time.Second}},
		{about: "told", after: 2 * time.Hour, wantCleared: []string{site.PriceChanged, site.PayToChanged},
			want: map[string]time.Duration{}},
		{about: "not compared", after: 3 * time.Hour, untold: true,
			want: map[string]time.Duration{site.SchemaChanged: 2 * time.Hour, site.PriceChanged: 2 * time.Hour,
				site.PayToChanged: 2 * time.Hour}},
	} {
		v := visit(s, start.Add(step.after))
		v.ClearedTypes = step.wantCleared
		if step.change != "" {
			v.Changes = []checks.Change{record(s.ID, step.change, v.Check.CheckedAt, 0)}
		}
		if step.untold {
			v.BaselineAt = new(start.Add(2 * time.Hour))
		}
		if err := db.RecordVisits(ctx, []checks.Visit{v}); err != nil {
			t.Fatal(err)
		}
		due, err := db.TakeService(ctx, "", s.ID, v.NextCheckAt, time.Second)
		if err != nil || due == nil {
			t.Fatalf("take it for the next visit: %v, error %v", due, err)
		}
		got := map[string]time.Duration{}
		for kind, through := range due.Baselines {
			got[kind] = through.Sub(start)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s: marks (-want +got):\n%s", step.about, diff)
		}
	}
}
