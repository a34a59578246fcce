package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/testgate"
)

// lie changes what a node says of a range: settlements that are left out, invented, of other accounts, amounts and days,
// and wrong counts. It says the truth of blocks before a time.
func (c *chainModel) lie(r ledger.Range, from time.Time) ledger.Range {
	random := rand.New(rand.NewPCG(c.seed, uint64(r.First)))
	list := r.Settlements
	r.Settlements = nil
	for _, s := range list {
		if s.Time.Before(from) {
			r.Settlements = append(r.Settlements, s)
			continue
		}
		switch random.IntN(9) {
		case 0:
			continue
		case 1:
			s.Payee = "0xthief"
		case 2:
			s.Amount = "7"
		case 3:
			s.Time = s.Time.AddDate(0, 0, random.IntN(40)-20)
		case 4:
			s.Payer, s.Method = "0xthief", "eip3009"
		case 5:
			s.BlockHash = fmt.Sprintf("0x%064x", random.Uint64())
		case 6:
			other := s
			other.Transaction, other.Payee = fmt.Sprintf("0x%064x", random.Uint64()), "0xnobody"
			r.Settlements = append(r.Settlements, other)
		case 7:
			s.LogIndex++
		}
		r.Settlements = append(r.Settlements, s)
	}
	for i := range r.Authorizations {
		if a := &r.Authorizations[i]; !a.Day.Before(from) {
			a.Authorizations = int64(random.IntN(9))
		}
	}
	for i := range r.Senders {
		if s := &r.Senders[i]; !s.Day.Before(from) {
			s.Payments, s.Sender = 5, "0xthief"
		}
	}
	return r
}

// replace reads the chain again from a day on, in random ranges.
func (m *indexModel) replace(ctx context.Context, t fataler, from time.Time) ledger.Replaced {
	t.Helper()
	r, err := m.db.BeginReplacement(ctx, ledger.ReplacementOptions{Network: base, From: from,
		Tokens: []string{"usdc", "eurc"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	settlers, err := r.NewSettlers(ctx, base)
	if err != nil {
		t.Fatal(err)
	}
	first := int64(0)
	for blockTime(first).Before(from) {
		first++
	}
	if err := r.OpenScans(ctx, base, settlers, first, blockTime(first), m.chain.head()); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(m.chain.seed, 3))
	for !r.Finished() {
		scans, err := r.Scans(ctx, base)
		if err != nil {
			t.Fatal(err)
		}
		s := scans[random.IntN(len(scans))]
		one := m.chain.read(s, s.Next, min(s.Next+random.Int64N(9), *s.End-1))
		if _, err := r.CommitRanges(ctx, one); err != nil {
			t.Fatal(err)
		}
	}
	done, err := r.Apply(ctx, blockTime(m.chain.head()))
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// TestReplacementEqualsFreshIndex checks that after a liar was read for a while, reading its stretch again makes every
// table that of an index that only read the truth: also if settlers joined later, after a reorganisation, and twice.
func TestReplacementEqualsFreshIndex(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	ctx := t.Context()
	dsn, freshDSN := template.Database(t), template.Database(t)
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 5))
		draw := func(least, most int) int { return least + random.IntN(most-least+1) }
		chain := &chainModel{seed: seed}
		chain.grow(draw(1, 60))
		from := blockTime(int64(draw(0, 8)) * 8)
		chain.lieFrom = &from
		m := newIndexModel(ctx, t, dsn, chain)
		var settlers []ledger.Settler
		list := func(m *indexModel, s ledger.Settler) {
			m.list(ctx, t, []string{"acme", "bolt"}[int(s.Address[3]-'0')%2], s, true)
		}
		for i := range draw(1, 4) {
			s := ledger.Settler{Network: base, Address: fmt.Sprintf("0xs%d", i), Tokens: []string{"usdc"}}
			if day := draw(0, 5); day > 0 && i > 0 {
				since := blockTime(int64(day) * 8)
				s.Since = &since
			}
			settlers = append(settlers, s)
			list(m, s)
			m.finish(ctx, t, 1)
			chain.grow(draw(1, 30))
			if draw(0, 1) == 1 {
				chain.reorganise(draw(1, 20), draw(1, 30))
			}
		}
		for chain.head() < 9*8 {
			chain.grow(8)
		}
		m.finish(ctx, t, 2)
		chain.lieFrom = nil
		before := dump(ctx, t, dsn)
		done := m.replace(ctx, t, from)
		fresh := newIndexModel(ctx, t, freshDSN, chain)
		for _, s := range settlers {
			list(fresh, s)
		}
		fresh.finish(ctx, t, 1)
		compare := func(what string) {
			if diff := gocmp.Diff(dump(ctx, t, freshDSN), dump(ctx, t, dsn)); diff != "" {
				t.Fatalf("seed %d, %s: not as a fresh index (-fresh +got):\n%s", seed, what, diff)
			}
		}
		compare("read again")
		after := dump(ctx, t, dsn)
		if n := int64(len(after["settlements"]) - len(before["settlements"])); n != done.Added-done.Removed ||
			n != done.After-done.Before || done.Changed > done.Added {
			t.Fatalf("seed %d: %d more settlements than before, but %+v", seed, n, done)
		}
		again := m.replace(ctx, t, from)
		if again.Added+again.Removed+int64(len(again.Days)) != 0 || again.Before != done.After {
			t.Fatalf("seed %d, the second time: %+v after %+v", seed, again, done)
		}
		compare("read again twice")
		chain.reorganise(draw(1, 40), draw(1, 50))
		m.finish(ctx, t, 2)
		fresh.finish(ctx, t, 1)
		compare("a reorganisation after it")
		m.db.Close()
		fresh.db.Close()
	}
}

// TestReplacementOfUnfinished checks that a network is not read again before it was read, nor twice at once.
func TestReplacementOfUnfinished(t *testing.T) {
	t.Parallel()
	db := open(t)
	o := ledger.ReplacementOptions{Network: base, From: start}
	begin := func() error {
		r, err := db.BeginReplacement(t.Context(), o)
		if err == nil {
			r.Close()
		}
		return err
	}
	if err := begin(); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("a network that was never read: %v", err)
	}
	if _, err := db.ImportFacilitators(t.Context(), []ledger.Facilitator{facilitator("acme", "0xs0")}); err != nil {
		t.Fatal(err)
	}
	fresh, err := db.NewSettlers(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.OpenScans(t.Context(), base, fresh, 10, blockTime(10), 100); err != nil {
		t.Fatal(err)
	}
	if err := begin(); !errors.Is(err, ledger.ErrUnfinished) {
		t.Errorf("a network with a backfill: %v", err)
	}
	commit(t, db, scans(t, db)[1], 99, nil)
	if err := begin(); err != nil {
		t.Errorf("a network without one: %v", err)
	}
}
