package postgres_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/ledger"
)

func TestWalks(t *testing.T) {
	t.Parallel()
	db := open(t)
	const solana = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	f := facilitator("acme", "s1", "s2")
	for i := range f.Settlers {
		f.Settlers[i].Network = solana
	}
	if _, err := db.ImportFacilitators(t.Context(), []ledger.Facilitator{f}); err != nil {
		t.Fatal(err)
	}
	walks, err := db.Walks(t.Context(), solana)
	if err != nil || len(walks) != 2 || walks[0].Settler.Address != "s1" {
		t.Fatalf("walks %+v, error %v", walks, err)
	}
	began := start.Add(-time.Minute)
	paid := []ledger.Settlement{{Network: solana, Block: 70, Time: start.Add(-time.Hour), Transaction: "sig7",
		LogIndex: 2001, Method: "spl", Facilitator: "acme",
		Settler: "s1", Token: "usdc", Payer: "p", Payee: "q", Amount: "10000"}}
	was := walks[0]
	is := was
	is.Newest, is.Before, is.NewestSlot, is.NewestTime = "sig9", "sig7", 90, &began
	for i, want := range []error{nil, ledger.ErrMoved} {
		n, err := db.CommitWalk(t.Context(), solana, was, is, paid)
		if !errors.Is(err, want) || n != int64(1-i) {
			t.Errorf("commit %d: %d new, error %v, want %v", i, n, err, want)
		}
	}
	if c := chains(t, db, start); len(c) != 1 || c[0].At != nil || c[0].MeasuredSince != nil ||
		c[0].BackfillBlocks != 1 {
		t.Errorf("under way: %+v", c)
	}
	if walks, err = db.Walks(t.Context(), solana); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(is, walks[0]); diff != "" {
		t.Errorf("walk (-want +got):\n%s", diff)
	}
	for i, w := range walks {
		done := w
		at := began.Add(time.Duration(i) * time.Second)
		done.Until, done.Newest, done.Before, done.NewestTime = w.Newest, "", "", &at
		if _, err := db.CommitWalk(t.Context(), solana, w, done, paid); err != nil { // told twice
			t.Fatal(err)
		}
	}
	c := chains(t, db, start)[0]
	if c.At == nil || !c.At.Equal(began) || c.MeasuredSince == nil ||
		!c.MeasuredSince.Equal(start.Truncate(24*time.Hour)) || c.BackfillBlocks != 0 {
		t.Errorf("finished: %+v", c)
	}
	if _, err := db.ImportFacilitators(t.Context(), []ledger.Facilitator{facilitator("acme")}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.CommitWalk(t.Context(), solana, is, is, nil); !errors.Is(err, ledger.ErrMoved) {
		t.Errorf("a settler that left: %v, want ErrMoved", err)
	}
}

func TestLockIndex(t *testing.T) {
	t.Parallel()
	db := open(t)
	var got []bool
	var releases []func()
	lock := func(network string) {
		t.Helper()
		release, ok, err := db.LockIndex(t.Context(), network)
		if err != nil {
			t.Fatal(err)
		}
		got, releases = append(got, ok), append(releases, release)
	}
	lock(base)
	lock(base)
	lock("eip155:137")
	releases[0]()
	lock(base)
	for _, release := range releases[1:] {
		release()
	}
	if diff := gocmp.Diff([]bool{true, false, true, true}, got); diff != "" {
		t.Errorf("locks of base, base again, another network, base after its release (-want +got):\n%s", diff)
	}
}

func TestRecipients(t *testing.T) {
	t.Parallel()
	db := open(t)
	if err := db.AddListings(t.Context(), []postgres.Listing{listing("acme")}); err != nil {
		t.Fatal(err)
	}
	due, err := db.TakeServices(t.Context(), "", start, time.Minute, 1)
	if err != nil {
		t.Fatal(err)
	}
	network, other := base, "eip155:1"
	v := visit(due[0], start)
	e := checks.EndpointVisit{ID: due[0].Endpoints[0].ID, ProbedAt: start, Class: "c", PricesChanged: true}
	for i, p := range []checks.Price{{PayTo: "0xAb", NetworkCAIP2: &network},
		{PayTo: "0xab ", NetworkCAIP2: &network}, {PayTo: "0xCd", NetworkCAIP2: &network},
		{PayTo: "0xEf", NetworkCAIP2: &other}} {
		p.EndpointID, p.Since, p.Position, p.Amount = e.ID, start, i, "1"
		e.Prices = append(e.Prices, p)
	}
	e.AsksPayment, e.OffersChanged = true, true
	e.Offers = []checks.Offer{{Protocol: "mpp", NetworkCAIP2: base, PayTo: "0xF0"},
		{Protocol: "mpp", NetworkCAIP2: other, PayTo: "0xF1"}, {Protocol: "mpp", NetworkCAIP2: base}}
	v.Endpoints = []checks.EndpointVisit{e}
	if err := db.RecordVisits(t.Context(), []checks.Visit{v}); err != nil {
		t.Fatal(err)
	}
	got, err := db.Recipients(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff([]string{"0xab", "0xcd", "0xf0"}, got); diff != "" {
		t.Errorf("recipients (-want +got):\n%s", diff)
	}
}

// TestCommitRangesRefusesGaps checks that CommitRanges refuses ranges that are not consecutive ranges of one scan, and
// settlements outside their range.
func TestCommitRangesRefusesGaps(t *testing.T) {
	t.Parallel()
	db := open(t)
	openFirst(t, db)
	before := scans(t, db)
	of := func(first, last int64) ledger.Range {
		return ledger.Range{Scan: before[0].ID, Network: base, First: first, Last: last,
			Hash: fmt.Sprintf("0x%d", last), Time: blockTime(last)}
	}
	with := func(r ledger.Range, block int64) ledger.Range {
		r.Settlements = []ledger.Settlement{{Network: base, Block: block, Time: blockTime(block), Transaction: "0x1",
			Facilitator: "acme", Settler: "0xs0", Token: "usdc", Payer: "0xa", Payee: "0xb", Amount: "1"}}
		return r
	}
	another, elsewhere := of(10, 19), of(10, 19)
	another.Scan++
	elsewhere.Network = "eip155:137"
	for _, c := range []struct {
		name   string
		ranges []ledger.Range
	}{
		{"a gap", []ledger.Range{of(0, 9), of(11, 19)}},
		{"one block twice", []ledger.Range{of(0, 9), of(9, 19)}},
		{"the wrong way round", []ledger.Range{of(10, 19), of(0, 9)}},
		{"no block", []ledger.Range{of(0, 9), of(10, 9)}},
		{"of another scan", []ledger.Range{of(0, 9), another}},
		{"of another network", []ledger.Range{of(0, 9), elsewhere}},
		{"a settlement of the next range", []ledger.Range{with(of(0, 9), 10), of(10, 19)}},
		{"a settlement of the range before", []ledger.Range{of(0, 9), with(of(10, 19), 9)}},
	} {
		if n, err := db.CommitRanges(t.Context(), c.ranges...); err == nil || errors.Is(err, ledger.ErrMoved) ||
			n != 0 {
			t.Errorf("%s: %d new, error %v", c.name, n, err)
		}
	}
	if diff := gocmp.Diff(before, scans(t, db)); diff != "" {
		t.Errorf("scans after nothing was kept (-want +got):\n%s", diff)
	}
	if n, err := db.CommitRanges(t.Context(), with(of(0, 9), 9), with(of(10, 19), 10)); err != nil || n != 2 {
		t.Errorf("two that follow: %d new, error %v", n, err)
	}
}
