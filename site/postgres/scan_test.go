package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
)

// commit keeps blocks next to last of a scan, with what the edit adds.
func commit(t *testing.T, db *postgres.DB, s ledger.Scan, last int64, edit func(*ledger.Range)) int64 {
	t.Helper()
	r := ledger.Range{Scan: s.ID, Network: s.Network, First: s.Next, Last: last, Hash: fmt.Sprintf("0x%d", last),
		Time: blockTime(last)}
	if edit != nil {
		edit(&r)
	}
	fresh, err := db.CommitRanges(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return fresh
}

func scans(t *testing.T, db *postgres.DB) []ledger.Scan {
	t.Helper()
	list, err := db.Scans(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// describeScans is a scan in a word: its blocks, whether it counts, and for whom it looks.
func describeScans(list []ledger.Scan) []string {
	var out []string
	for _, s := range list {
		end, settlers := "head", ""
		if s.End != nil {
			end = fmt.Sprint(*s.End)
		}
		for _, x := range s.Settlers {
			settlers += " " + x.Address
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d-%s %v%s", s.Next, end, s.Counts, settlers)))
	}
	return out
}

func chains(t *testing.T, db *postgres.DB, now time.Time) []ledger.ChainFacts {
	t.Helper()
	var facts *postgres.Facts
	if err := db.Read(t.Context(), func(r *postgres.Reader) (err error) {
		facts, err = r.Facts(t.Context(), now, 0)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return facts.Chains
}

// TestOpenScans checks that one scan counts each block, that a new settler is scanned from its own first day, and that
// blocks below the counted ones are counted then.
func TestOpenScans(t *testing.T) {
	t.Parallel()
	db := open(t)
	list := func(settlers ...string) []ledger.ScanSettler {
		t.Helper()
		if _, err := db.ImportFacilitators(t.Context(),
			[]ledger.Facilitator{facilitator("acme", settlers...)}); err != nil {
			t.Fatal(err)
		}
		fresh, err := db.NewSettlers(t.Context(), base)
		if err != nil {
			t.Fatal(err)
		}
		return fresh
	}
	register := func(fresh []ledger.ScanSettler, first, head int64) {
		t.Helper()
		for range 2 {
			if err := db.OpenScans(t.Context(), base, fresh, first, blockTime(first), head); err != nil {
				t.Fatal(err)
			}
		}
	}
	expect := func(what string, want ...string) {
		t.Helper()
		if diff := gocmp.Diff(want, describeScans(scans(t, db))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	register(list("0xs0"), 50, 100)
	expect("first run", "100-head true 0xs0", "50-100 true 0xs0")
	before := scans(t, db)[0]
	commit(t, db, before, 119, nil)
	register(list("0xs0", "0xs1"), 80, 119)
	expect("a settler that begins within what is counted", "120-head true 0xs0 0xs1", "50-100 true 0xs0",
		"80-120 false 0xs1")
	if _, err := db.CommitRanges(t.Context(), ledger.Range{Scan: before.ID, Network: base, First: 120, Last: 120,
		Hash: "0x"}); !errors.Is(err, ledger.ErrMoved) {
		t.Errorf("what was found without the new settler: %v, want ErrMoved", err)
	}
	register(list("0xs0", "0xs1", "0xs2"), 10, 119)
	expect("one that begins below", "120-head true 0xs0 0xs1 0xs2", "50-100 true 0xs0", "80-120 false 0xs1",
		"50-120 false 0xs2", "10-50 true 0xs2")
	list("0xs0", "0xs2")
	expect("one that left", "120-head true 0xs0 0xs2", "50-100 true 0xs0", "50-120 false 0xs2", "10-50 true 0xs2")
	register(list("0xs0", "0xs1", "0xs2"), 80, 119)
	expect("and came back", "120-head true 0xs0 0xs1 0xs2", "50-100 true 0xs0", "50-120 false 0xs2", "10-50 true 0xs2",
		"80-120 false 0xs1")

	f := facilitator("acme", "0xs0", "0xs1", "0xs2")
	f.Settlers[0].Deprecated = true
	if _, err := db.ImportFacilitators(t.Context(), []ledger.Facilitator{f}); err != nil {
		t.Fatal(err)
	}
	if fresh, err := db.NewSettlers(t.Context(), base); err != nil || len(fresh) != 0 ||
		!scans(t, db)[0].Settlers[0].Deprecated {
		t.Errorf("a settler that is only deprecated by now is looked for anew: %+v, error %v", fresh, err)
	}

	since := func() string {
		t.Helper()
		c := chains(t, db, start)[0]
		if c.MeasuredSince == nil {
			return fmt.Sprint("nothing ", c.BackfillBlocks)
		}
		return fmt.Sprint(c.MeasuredSince.Equal(blockTime(50)), c.MeasuredSince.Equal(blockTime(10)), c.BackfillBlocks)
	}
	got := []string{since()}
	commit(t, db, scans(t, db)[1], 99, nil)
	got = append(got, since())
	for list := scans(t, db); len(list) > 1; list = scans(t, db) {
		commit(t, db, list[1], *list[1].End-1, nil)
	}
	got = append(got, since())
	if diff := gocmp.Diff([]string{"nothing 200", "true false 150", "false true 0"}, got); diff != "" {
		t.Errorf("measured since block 50, 10, and blocks to fill (-want +got):\n%s", diff)
	}
}

// TestAuthorizationsAndCandidates checks that a backfill that attributes settlements lowers the number of unattributed
// ones, that a listed candidate disappears, and that a roll-back subtracts everything.
func TestAuthorizationsAndCandidates(t *testing.T) {
	t.Parallel()
	db := open(t)
	if _, err := db.ImportFacilitators(t.Context(), []ledger.Facilitator{facilitator("acme", "0xs0")}); err != nil {
		t.Fatal(err)
	}
	register := func() {
		t.Helper()
		fresh, err := db.NewSettlers(t.Context(), base)
		if err == nil {
			err = db.OpenScans(t.Context(), base, fresh, 0, blockTime(0), 0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	settlement := func(settler string, block int64, n int) ledger.Settlement {
		return ledger.Settlement{Network: base, Block: block, Time: blockTime(block),
			Transaction: fmt.Sprintf("0x%064x", n), Method: "eip3009", Facilitator: "acme",
			Settler: settler, Token: "usdc", Payer: "0xp", Payee: "0xq", Amount: "5"}
	}
	register()
	commit(t, db, scans(t, db)[0], 3, func(r *ledger.Range) {
		r.Settlements = []ledger.Settlement{settlement("0xs0", 2, 1)}
		r.Authorizations = []ledger.AuthorizationDay{{Token: "usdc", Day: blockTime(0), Authorizations: 4}}
		r.Senders = []ledger.SenderDay{{Sender: "0xs1", Day: blockTime(0), Token: "usdc", Payments: 2, Amount: "10",
			Recipients: 2}}
	})
	commit(t, db, scans(t, db)[0], 9, func(r *ledger.Range) {
		r.Authorizations = []ledger.AuthorizationDay{{Token: "usdc", Day: blockTime(8), Authorizations: 3}}
		r.Senders = []ledger.SenderDay{
			{Sender: "0xs1", Day: blockTime(0), Token: "usdc", Payments: 1, Amount: "7", Recipients: 1},
			{Sender: "0xz", Day: blockTime(8), Token: "usdc", Payments: 3, Amount: "30", Recipients: 3}}
	})
	now := blockTime(9)
	expect := func(what string, seen []ledger.AuthorizationFacts, candidates ...ledger.CandidateFacts) {
		t.Helper()
		c := chains(t, db, now)[0]
		if diff := gocmp.Diff(seen, c.Authorizations); diff != "" {
			t.Errorf("%s: seen (-want +got):\n%s", what, diff)
		}
		if diff := gocmp.Diff(append([]ledger.CandidateFacts{}, candidates...),
			append([]ledger.CandidateFacts{}, c.Candidates...)); diff != "" {
			t.Errorf("%s: candidates (-want +got):\n%s", what, diff)
		}
	}
	day0, day1 := blockTime(0), blockTime(8)
	s1 := ledger.CandidateFacts{Sender: "0xs1", Token: "usdc", Payments: 3, Amount: "17", Recipients: 2, FirstDay: day0,
		LastDay: day0}
	z := ledger.CandidateFacts{Sender: "0xz", Token: "usdc", Payments: 3, Amount: "30", Recipients: 3, FirstDay: day1,
		LastDay: day1}
	expect("at first", []ledger.AuthorizationFacts{{Token: "usdc", Authorizations: 7, Attributed: 1}}, s1, z)

	if _, err := db.ImportFacilitators(t.Context(),
		[]ledger.Facilitator{facilitator("acme", "0xs0", "0xs1")}); err != nil {
		t.Fatal(err)
	}
	register()
	commit(t, db, scans(t, db)[1], 9, func(r *ledger.Range) {
		r.Settlements = []ledger.Settlement{settlement("0xs1", 1, 2), settlement("0xs1", 9, 3)}
	})
	expect("with the candidate listed", []ledger.AuthorizationFacts{{Token: "usdc", Authorizations: 7, Attributed: 3}},
		z)
	if _, err := db.CommitRanges(t.Context(), ledger.Range{Scan: scans(t, db)[0].ID, Network: base, First: 10, Last: 10,
		Hash: "0x", Time: now,
		Settlements: []ledger.Settlement{settlement("0xs0", 9, 9)}}); err == nil ||
		!strings.Contains(err.Error(), "block 9 is not of blocks 10 to 10") {
		t.Errorf("a settlement outside its range: %v", err)
	}

	// the fill's range straddles it and leaves whole
	if n, err := db.RollBack(t.Context(), base, 3); err != nil || n != 2 {
		t.Fatalf("rolled back %d, error %v, want 2", n, err)
	}
	if _, err := db.ImportFacilitators(t.Context(), []ledger.Facilitator{facilitator("acme", "0xs0")}); err != nil {
		t.Fatal(err)
	}
	s1.Payments, s1.Amount = 2, "10"
	expect("rolled back to block 3", []ledger.AuthorizationFacts{{Token: "usdc", Authorizations: 4, Attributed: 1}}, s1)
	if diff := gocmp.Diff([]string{"4-head true 0xs0"}, describeScans(scans(t, db))); diff != "" {
		t.Errorf("scans (-want +got):\n%s", diff)
	}
}

// TestRollBackSettlementOfTwoScans checks that a settlement that two scans found is removed with the range that found
// it last, because the other scan may not read it again.
func TestRollBackSettlementOfTwoScans(t *testing.T) {
	t.Parallel()
	db := open(t)
	register := func(first, head int64, settlers ...string) {
		t.Helper()
		_, err := db.ImportFacilitators(t.Context(), []ledger.Facilitator{facilitator("acme", settlers...)})
		var fresh []ledger.ScanSettler
		if err == nil {
			fresh, err = db.NewSettlers(t.Context(), base)
		}
		if err == nil {
			err = db.OpenScans(t.Context(), base, fresh, first, blockTime(first), head)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	paid := func(r *ledger.Range) {
		if r.First <= 85 && r.Last >= 85 {
			r.Settlements = []ledger.Settlement{{Network: base, Block: 85, Time: blockTime(85), Transaction: "0x1",
				Method: "eip3009", Facilitator: "acme",
				Settler: "0xs1", Token: "usdc", Payer: "0xp", Payee: "0xq", Amount: "5"}}
		}
	}
	back := func(ancestor, removed int64, want ...string) {
		t.Helper()
		n, err := db.RollBack(t.Context(), base, ancestor)
		if err != nil || n != removed {
			t.Errorf("back to %d: %d left, error %v, want %d", ancestor, n, err, removed)
		}
		if diff := gocmp.Diff(want, describeScans(scans(t, db))); diff != "" {
			t.Errorf("scans after going back to %d (-want +got):\n%s", ancestor, diff)
		}
	}
	register(0, 0, "0xs0")
	commit(t, db, scans(t, db)[0], 79, nil)
	commit(t, db, scans(t, db)[0], 99, nil)
	register(80, 99, "0xs0", "0xs1")
	for _, last := range []int64{84, 89, 99} {
		commit(t, db, scans(t, db)[1], last, paid)
	}
	back(92, 0, "80-head true 0xs0 0xs1") // the head's second range straddles it, so the head comes by at 85 itself
	if n := commit(t, db, scans(t, db)[0], 86, paid); n != 0 {
		t.Errorf("found again: %d new, want none", n)
	}
	commit(t, db, scans(t, db)[0], 97, nil)
	back(88, 0, "87-head true 0xs0 0xs1") // the fill's range from 85 on leaves, and nobody goes back to 85
	back(83, 1, "80-head true 0xs0 0xs1")
}

// openFirst opens the scan of one settler, from block 0.
func openFirst(t *testing.T, db *postgres.DB) {
	t.Helper()
	if _, err := db.ImportFacilitators(t.Context(), []ledger.Facilitator{facilitator("acme", "0xs0")}); err != nil {
		t.Fatal(err)
	}
	fresh, err := db.NewSettlers(t.Context(), base)
	if err == nil {
		err = db.OpenScans(t.Context(), base, fresh, 0, blockTime(0), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestRangesArePruned checks that ranges far below the head are deleted, and that a roll-back below them is refused and
// changes nothing.
func TestRangesArePruned(t *testing.T) {
	t.Parallel()
	db := open(t)
	openFirst(t, db)
	for _, last := range []int64{9, 99, 50_000, 100_050} {
		commit(t, db, scans(t, db)[0], last, func(r *ledger.Range) {
			r.Senders = []ledger.SenderDay{{Sender: "0xz", Day: start, Token: "usdc", Payments: 1, Amount: "1",
				Recipients: 100_000 - last/2}}
		})
	}
	ends, err := db.RangeEnds(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff([]ledger.RangeEnd{{Last: 100_050, Hash: "0x100050"}, {Last: 50_000, Hash: "0x50000"},
		{Last: 99, Hash: "0x99"}}, ends); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
	if _, err := db.RollBack(t.Context(), base, 8); !errors.Is(err, ledger.ErrTooDeep) {
		t.Errorf("rolling back below: %v, want ErrTooDeep", err)
	}
	if _, err := db.RollBack(t.Context(), base, 9); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff([]string{"10-head true 0xs0"}, describeScans(scans(t, db))); diff != "" {
		t.Errorf("scans (-want +got):\n%s", diff)
	}
	if c := chains(t, db, start)[0].Candidates; len(c) != 1 || c[0].Payments != 1 || c[0].Recipients != 100_000-4 {
		t.Errorf("what the forgotten range saw: %+v", c)
	}
}
