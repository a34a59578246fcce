package solana_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/chain"
	"tollbook/crawl/chain/chaintest"
	"tollbook/crawl/chain/solana"
	"tollbook/site/postgres/ledger"
)

// solanaIndexer returns a reader with short pauses between tries.
func solanaIndexer(t *testing.T, s chain.WalkStore, log *bytes.Buffer, nodes ...*solanaNode) *solana.Reader {
	t.Helper()
	n := chain.Network{ID: chaintest.SolanaID,
		Tokens: []chain.Token{{Address: chaintest.SolanaUSDC, Symbol: "USDC", Decimals: 6},
			{Address: ausdMint, Symbol: "AUSD", Decimals: 6}}}
	for _, node := range nodes {
		n.RPC = append(n.RPC, node.url)
	}
	o := chain.Options{Backoff: 100 * time.Microsecond, Timeout: time.Minute, HTTP: &http.Client{}}
	if log != nil {
		o.Logger = slog.New(slog.NewTextHandler(log, nil))
	}
	x, err := solana.New(n, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// successes returns the amounts of the settlements in a history of n transactions, from the one after from.
func successes(from, n int) (list []int) {
	for i := from + 1; i <= n; i++ {
		if i%5 != 0 {
			list = append(list, i)
		}
	}
	return list
}

// TestSolanaSettlements compares the settlements of each recorded transaction with the expected ones.
func TestSolanaSettlements(t *testing.T) {
	t.Parallel()
	entries, files, names := recordedSolana(t)
	node := newSolanaNode(t, entries)
	var settler string
	for address, name := range names {
		if name == "settler" {
			settler = address
		}
	}
	s := newWalkStore(ledger.ScanSettler{Address: settler, Facilitator: "acme",
		Tokens: []string{chaintest.SolanaUSDC}})
	report, err := solanaIndexer(t, s, nil, node).Once(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, x := range s.settlements {
		name := func(address string) string {
			if name := names[address]; name != "" {
				return name
			}
			return address
		}
		token := map[string]string{chaintest.SolanaUSDC: "USDC", ausdMint: "AUSD"}[x.Token]
		got[files[x.Transaction]] = append(got[files[x.Transaction]],
			fmt.Sprintf("%5d %s pays %s %s %s", x.LogIndex, name(x.Payer), name(x.Payee), x.Amount, token))
		e := entries[slices.IndexFunc(entries,
			func(e chaintest.SolanaTransaction) bool { return e.Signature == x.Transaction })]
		x.Payer, x.Payee, x.Amount, x.Token, x.LogIndex, x.Transaction = "", "", "", "", 0, ""
		want := ledger.Settlement{Network: chaintest.SolanaID, Block: e.Slot, Time: time.Unix(e.Time, 0).UTC(),
			Method: "spl", Facilitator: "acme", Settler: settler}
		if diff := cmp.Diff(want, x); diff != "" {
			t.Errorf("%s (-want +got):\n%s", files[e.Signature], diff)
		}
	}
	for _, list := range got {
		slices.Sort(list)
	}
	want := map[string][]string{
		"exact":     {" 2000 alice pays shop 10000 USDC"},
		"two":       {" 2000 alice pays shop 30000 USDC", " 3000 bob pays cafe 40000 USDC"},
		"inner":     {" 2001 vault pays shop 50000 USDC"},
		"token2022": {" 2000 alice pays shop 60000 AUSD"},
		"opened":    {" 3000 bob pays new shop 70000 USDC"},
		"passing":   {" 1000 alice pays vault 80000 USDC", " 2000 vault pays shop 80000 USDC"},
		"own":       {" 3000 alice pays shop 100000 USDC"},
		"delegate":  {" 2000 alice pays shop 18446744073709551615 USDC"},
		"hook":      {" 2000 alice pays shop 130000 AUSD", " 2002 alice pays vault 1000 AUSD"},
		"bytes":     {" 2000 bob pays shop 140000 USDC", " 3000 bob pays cafe 1 USDC"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settlements (-want +got):\n%s", diff)
	}
	if report.Settlements != int64(len(s.settlements)) || report.Blocks != int64(len(entries)) || report.Errors != 0 {
		t.Errorf("report %+v of %d settlements in %d transactions", report, len(s.settlements), len(entries))
	}
	if n := node.Count("getTransaction"); n != len(entries)-1 {
		t.Errorf("%d transactions requested: the failed one is not needed", n)
	}
}

// TestSolanaWalks walks over page boundaries, and then reads only new transactions.
func TestSolanaWalks(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 999, 1000, 1001, 2000} {
		all, settler := chaintest.SolanaHistory(n + 3)
		node := newSolanaNode(t, all[:n])
		s := newWalkStore(ledger.ScanSettler{Address: settler, Facilitator: "acme"})
		x := solanaIndexer(t, s, nil, node)
		for _, round := range []struct{ have, fresh int }{{n, len(successes(0, n))}, {n, 0},
			{n + 3, len(successes(n, n+3))}, {n + 3, 0}} {
			node.Grow(all[:round.have])
			report, err := x.Once(t.Context())
			if err != nil || report.Settlements != int64(round.fresh) {
				t.Fatalf("%d signatures of %d: %d settlements, %v; want %d", round.have, n, report.Settlements, err,
					round.fresh)
			}
			if got := node.Count("getTransaction"); got != round.fresh {
				t.Errorf("%d signatures of %d: %d transactions requested, want %d", round.have, n, got,
					round.fresh)
			}
			want := ledger.Walk{Settler: ledger.ScanSettler{Address: settler, Facilitator: "acme"},
				NewestSlot: s.head.Block, NewestTime: &s.head.Time}
			if round.have > 0 {
				want.Until = all[round.have-1].Signature
			}
			if diff := cmp.Diff(want, s.walks[settler]); diff != "" {
				t.Errorf("%d signatures of %d: walk (-want +got):\n%s", round.have, n, diff)
			}
		}
		if diff := cmp.Diff(successes(0, n+3), s.amounts()); diff != "" {
			t.Errorf("amounts of %d (-want +got):\n%s", n, diff)
		}
	}
}

// TestSolanaResumes checks that a walk continues at its last commit after a kill, and that its boundary has not moved.
func TestSolanaResumes(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.SolanaHistory(3500)
	node := newSolanaNode(t, all[:500])
	s := newWalkStore(ledger.ScanSettler{Address: settler, Facilitator: "acme"})
	if _, err := solanaIndexer(t, s, nil, node).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	node.Grow(all[:3200])
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	pages := 0
	s.refuse = func(ledger.Walk) error {
		if pages++; pages == 3 {
			kill()
		}
		return ctx.Err()
	}
	if _, err := solanaIndexer(t, s, nil, node).Once(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("killed: %v", err)
	}
	w := s.walks[settler]
	if w.Until != all[499].Signature || w.Newest != all[3199].Signature || w.Before != all[1200].Signature {
		t.Fatalf("after two pages the walk is %+v", w)
	}
	if diff := cmp.Diff(slices.Concat(successes(0, 500), successes(1200, 3200)), s.amounts()); diff != "" {
		t.Fatalf("after two pages (-want +got):\n%s", diff)
	}
	s.refuse = nil
	node.Grow(all[:3500])
	report, err := solanaIndexer(t, s, nil, node).Once(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := s.walks[settler].Until; got != all[3499].Signature {
		t.Errorf("the boundary is at %s", got)
	}
	if want := len(successes(500, 1200)) + len(successes(3200, 3500)); node.Count("getTransaction") != want ||
		report.Settlements != int64(want) {
		t.Errorf("%d transactions requested, %d settlements; want %d", node.Count("getTransaction"),
			report.Settlements, want)
	}
	if diff := cmp.Diff(successes(0, 3500), s.amounts()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
}

// TestSolanaSince checks that transactions before a settler's first day, or before the network's start, do not count,
// and that the walk reads no further back than it must.
func TestSolanaSince(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.SolanaHistory(3000) // one a minute: two days
	early, late := chaintest.SolanaStart.Add(12*time.Hour), chaintest.SolanaStart.AddDate(0, 0, 1)
	for _, c := range []struct {
		name  string
		since *time.Time
		start time.Time
		pages int
		want  []int
	}{
		{"the settler's day", &late, time.Time{}, 2, successes(24*60-1, 3000)},
		{"the network's, which is later", &early, late, 2, successes(24*60-1, 3000)},
		{"the network's, alone", nil, late, 2, successes(24*60-1, 3000)},
		{"the settler's, which is later", &late, early, 2, successes(24*60-1, 3000)},
		// three full pages, an empty one, and one to confirm the end
		{"neither", nil, time.Time{}, 5, successes(0, 3000)},
	} {
		node := newSolanaNode(t, all)
		s := newWalkStore(ledger.ScanSettler{Address: settler, Facilitator: "acme", Since: c.since})
		x, err := solana.New(chain.Network{ID: chaintest.SolanaID, RPC: []string{node.url}, Start: c.start}, s,
			chain.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, s.amounts()); diff != "" {
			t.Errorf("%s: amounts (-want +got):\n%s", c.name, diff)
		}
		if n := node.Count("getSignaturesForAddress"); n != c.pages {
			t.Errorf("%s: %d pages requested, want %d", c.name, n, c.pages)
		}
		if s.walks[settler].Until != all[2999].Signature {
			t.Errorf("%s: the walk is not finished: %+v", c.name, s.walks[settler])
		}
	}
}

// TestSolanaMoved checks that a walk that another process moved is read again, and that a lasting conflict is an error.
func TestSolanaMoved(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.SolanaHistory(20)
	node := newSolanaNode(t, all)
	for _, c := range []struct {
		times int
		fails bool
	}{{1, false}, {3, false}, {forever, true}} {
		s := newWalkStore(ledger.ScanSettler{Address: settler, Facilitator: "acme"})
		s.refuse = func(ledger.Walk) error {
			if c.times--; c.times >= 0 {
				return fmt.Errorf("commit: %w", ledger.ErrMoved)
			}
			return nil
		}
		_, err := solanaIndexer(t, s, nil, node).Once(t.Context())
		if errors.Is(err, ledger.ErrMoved) != c.fails || !c.fails &&
			(err != nil || len(s.settlements) != len(successes(0, 20))) {
			t.Errorf("%v, %d settlements", err, len(s.settlements))
		}
	}
}
