package solana_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/chain"
	"tollbook/crawl/chain/chaintest"
	"tollbook/crawl/chain/solana"
	"tollbook/site/postgres"
)

// solanaIndexer indexes a store from nodes, without waiting long between tries.
func solanaIndexer(t *testing.T, s solana.Store, log *bytes.Buffer, nodes ...*solanaNode) *solana.Reader {
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

// successes are the amounts of a history of n transactions that settle something, from the one after from.
func successes(from, n int) (list []int) {
	for i := from + 1; i <= n; i++ {
		if i%5 != 0 {
			list = append(list, i)
		}
	}
	return list
}

// TestSolanaSettlements reads each recorded transaction as the settlements that it holds.
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
	s := newWalkStore(postgres.ScanSettler{Address: settler, Facilitator: "acme",
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
		want := postgres.Settlement{Network: chaintest.SolanaID, Block: e.Slot, Time: time.Unix(e.Time, 0).UTC(),
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
		t.Errorf("%d transactions were asked for: the one that failed is not needed", n)
	}
}

// TestSolanaWalks goes over page boundaries, and then reads only what is new.
func TestSolanaWalks(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 999, 1000, 1001, 2000} {
		all, settler := chaintest.SolanaHistory(n + 3)
		node := newSolanaNode(t, all[:n])
		s := newWalkStore(postgres.ScanSettler{Address: settler, Facilitator: "acme"})
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
				t.Errorf("%d signatures of %d: %d transactions were asked for, want %d", round.have, n, got,
					round.fresh)
			}
			want := postgres.Walk{Settler: postgres.ScanSettler{Address: settler, Facilitator: "acme"},
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

// A walk that is killed goes on where its last commit left it, and its boundary has not moved.
func TestSolanaResumes(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.SolanaHistory(3500)
	node := newSolanaNode(t, all[:500])
	s := newWalkStore(postgres.ScanSettler{Address: settler, Facilitator: "acme"})
	if _, err := solanaIndexer(t, s, nil, node).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	node.Grow(all[:3200])
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	pages := 0
	s.refuse = func(postgres.Walk) error {
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
		t.Errorf("%d transactions were asked for, %d settlements; want %d", node.Count("getTransaction"),
			report.Settlements, want)
	}
	if diff := cmp.Diff(successes(0, 3500), s.amounts()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
}

// What a settler did before its day, or that of the network, is nobody's, and the walk goes no further back than it
// must.
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
		{"neither", nil, time.Time{}, 5, successes(0, 3000)}, // three full ones, an empty one, and what it means
	} {
		node := newSolanaNode(t, all)
		s := newWalkStore(postgres.ScanSettler{Address: settler, Facilitator: "acme", Since: c.since})
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
			t.Errorf("%s: %d pages were asked for, want %d", c.name, n, c.pages)
		}
		if s.walks[settler].Until != all[2999].Signature {
			t.Errorf("%s: the walk is not finished: %+v", c.name, s.walks[settler])
		}
	}
}

// A walk that moved while it was read, as when the lists change, is read anew; what stays so is an error.
func TestSolanaMoved(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.SolanaHistory(20)
	node := newSolanaNode(t, all)
	for _, c := range []struct {
		times int
		fails bool
	}{{1, false}, {3, false}, {forever, true}} {
		s := newWalkStore(postgres.ScanSettler{Address: settler, Facilitator: "acme"})
		s.refuse = func(postgres.Walk) error {
			if c.times--; c.times >= 0 {
				return fmt.Errorf("commit: %w", postgres.ErrMoved)
			}
			return nil
		}
		_, err := solanaIndexer(t, s, nil, node).Once(t.Context())
		if errors.Is(err, postgres.ErrMoved) != c.fails || !c.fails &&
			(err != nil || len(s.settlements) != len(successes(0, 20))) {
			t.Errorf("%v, %d settlements", err, len(s.settlements))
		}
	}
}

// spoilt answers a node's calls of a method wrongly, times times.
func spoilt(method string, times int, wrong func(c *chaintest.SolanaCall)) func(*chaintest.SolanaCall) {
	return func(c *chaintest.SolanaCall) {
		if c.Method == method && times > 0 {
			times--
			wrong(c)
		}
	}
}

const forever = 1 << 30

// asJSON gives an answer's result another form.
func asJSON(edit func(text string) string) func(c *chaintest.SolanaCall) {
	return func(c *chaintest.SolanaCall) {
		text, err := json.Marshal(c.Result)
		if err != nil {
			panic(err)
		}
		c.Result = json.RawMessage(edit(string(text)))
	}
}

// solanaFaults are ways in which a node answers badly.
func solanaFaults() map[string]func(times int) (spoil func(*chaintest.SolanaCall), before http.HandlerFunc) {
	call := func(method string, wrong func(c *chaintest.SolanaCall)) func(int) (func(*chaintest.SolanaCall),
		http.HandlerFunc) {
		return func(times int) (func(*chaintest.SolanaCall), http.HandlerFunc) {
			return spoilt(method, times, wrong), nil
		}
	}
	whole := func(answer http.HandlerFunc) func(int) (func(*chaintest.SolanaCall), http.HandlerFunc) {
		return func(times int) (func(*chaintest.SolanaCall), http.HandlerFunc) {
			return nil, func(w http.ResponseWriter, r *http.Request) {
				if times > 0 {
					times--
					answer(w, r)
				}
			}
		}
	}
	replace := func(old, new string) func(c *chaintest.SolanaCall) {
		return asJSON(func(text string) string { return strings.ReplaceAll(text, old, new) })
	}
	return map[string]func(int) (func(*chaintest.SolanaCall), http.HandlerFunc){
		"null for a transaction": call("getTransaction", func(c *chaintest.SolanaCall) { c.Result = nil }),
		"another transaction":    call("getTransaction", replace(`"slot":4`, `"slot":5`)),
		"a transaction cut short": call("getTransaction",
			replace(`"innerInstructions":[]`, `"innerInstructions":null`)),
		"a slot as a string": call("getTransaction",
			asJSON(func(s string) string { return strings.Replace(s, `"slot":400`, `"slot":"400`, 1) })),
		"an amount as a number": call("getTransaction", asJSON(func(s string) string {
			return strings.ReplaceAll(strings.ReplaceAll(s, `"amount":"`, `"amount":1`), `"}}}}]`, `}}}}]`)
		})),
		"an amount that is none": call("getTransaction", replace(`"amount":"`, `"amount":"-`)),
		"no success told":        call("getTransaction", replace(`"err":null`, `"er":null`)),
		"another form":           call("getTransaction", replace(`{"pubkey":`, `{"pubkeys":`)),
		"an error in a batch": call("getTransaction",
			func(c *chaintest.SolanaCall) { c.Fault = map[string]any{"code": -32603, "message": "Internal error"} }),
		"an answer dropped": call("getTransaction", func(c *chaintest.SolanaCall) { c.Drop = true }),
		"only confirmed":    call("getSignaturesForAddress", replace("finalized", "confirmed")),
		"a page out of order": call("getSignaturesForAddress",
			func(c *chaintest.SolanaCall) { list, _ := c.Result.([]any); c.Result = reversed(list) }),
		"a page twice over": call("getSignaturesForAddress",
			func(c *chaintest.SolanaCall) { list, _ := c.Result.([]any); c.Result = slices.Concat(list, list) }),
		"no signature": call("getSignaturesForAddress", replace(`"signature":"`, `"signature":"0`)),
		"a node that is behind": call("getSignaturesForAddress", func(c *chaintest.SolanaCall) {
			c.Fault = map[string]any{"code": -32005, "message": "Node is behind by 150 slots"}
		}),
		"another chain": call("getGenesisHash",
			func(c *chaintest.SolanaCall) { c.Result = "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG" }),
		"no time of the head": call("getBlockTime", func(c *chaintest.SolanaCall) { c.Result = nil }),
		"a slot that is text": call("getSlot", func(c *chaintest.SolanaCall) { c.Result = "0x17d7" }),
		"a page of HTML": whole(func(w http.ResponseWriter,
			_ *http.Request) {
			fmt.Fprint(w, "<html><title>Just a moment…</title>")
		}),
		"too many requests": whole(func(w http.ResponseWriter,
			_ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
		}),
		"a broken gateway": whole(func(w http.ResponseWriter,
			_ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
		}),
		"half an answer": whole(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `[{"jsonrpc":"2.0","id":1,`)
		}),
		"an empty answer": whole(func(w http.ResponseWriter,
			_ *http.Request) {
			w.WriteHeader(http.StatusOK)
		}),
		"a connection that is shut": whole(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
	}
}

func reversed(list []any) []any {
	out := slices.Clone(list)
	slices.Reverse(out)
	return out
}

// TestSolanaFaults meets each fault once at the only node, for ever at one of two, and for ever at the only one: then
// nothing is lost or invented, the boundary stays, and all is read once the node is well again.
func TestSolanaFaults(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.SolanaHistory(130)
	want := successes(0, 130)
	for name, fault := range solanaFaults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			once := newSolanaNode(t, all)
			once.Spoil, once.Before = fault(1)
			s := newWalkStore(postgres.ScanSettler{Address: settler, Facilitator: "acme"})
			report, err := solanaIndexer(t, s, nil, once).Once(t.Context())
			if name == "another chain" { // is left alone for minutes
				if err == nil || !strings.Contains(err.Error(), "serves solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1") ||
					len(s.commits) > 0 {
					t.Errorf("a node of another chain: %v", err)
				}
			} else if diff := cmp.Diff(want, s.amounts()); diff != "" || err != nil || report.Errors == 0 {
				t.Errorf("once: %v, %d errors (-want +got):\n%s", err, report.Errors, diff)
			}

			bad, good := newSolanaNode(t, all), newSolanaNode(t, all)
			bad.Spoil, bad.Before = fault(forever)
			s = newWalkStore(postgres.ScanSettler{Address: settler, Facilitator: "acme"})
			x := solanaIndexer(t, s, nil, bad, good)
			_, err = x.Once(t.Context())
			if diff := cmp.Diff(want, s.amounts()); diff != "" {
				t.Errorf("one of two: %v (-want +got):\n%s", err, diff)
			}
			if err != nil && !strings.Contains(err.Error(), "1 of 2 nodes can't be asked whether the history goes on") {
				t.Errorf("one of two: %v", err)
			}

			s = newWalkStore(postgres.ScanSettler{Address: settler, Facilitator: "acme"})
			x = solanaIndexer(t, s, nil, bad)
			if _, err = x.Once(t.Context()); err == nil || len(s.commits) > 0 || len(s.settlements) > 0 {
				t.Errorf("the only one: %v, %d settlements, walk %+v", err, len(s.settlements), s.walks[settler])
			}
			bad.Set(func(n *chaintest.Solana) { n.Spoil, n.Before = nil, nil })
			if _, err := solanaIndexer(t, s, nil, bad).Once(t.Context()); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(want, s.amounts()); diff != "" {
				t.Errorf("well again (-want +got):\n%s", diff)
			}
		})
	}
}

// A page that the node cuts short is not the end of a walk, whether it is asked for a boundary or not.
func TestSolanaCutPages(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.SolanaHistory(60)
	node := newSolanaNode(t, all[:20])
	node.Spoil = spoilt("getSignaturesForAddress", forever, func(c *chaintest.SolanaCall) {
		if page, _ := c.Result.([]any); len(page) > 7 {
			c.Result = page[:7]
		}
	})
	s := newWalkStore(postgres.ScanSettler{Address: settler, Facilitator: "acme"})
	for _, n := range []int{20, 60} {
		node.Grow(all[:n])
		if _, err := solanaIndexer(t, s, nil, node).Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(successes(0, n), s.amounts()); diff != "" {
			t.Errorf("of %d (-want +got):\n%s", n, diff)
		}
	}
}

// A node that ignores the place to go on from would lead in a circle.
func TestSolanaPlaceIgnored(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.SolanaHistory(1500)
	node := newSolanaNode(t, all)
	node.Spoil = spoilt("getSignaturesForAddress", forever, func(c *chaintest.SolanaCall) {
		c.Params[1] = json.RawMessage(`{"limit":1000}`)
		node.Answer(c)
	})
	s := newWalkStore(postgres.ScanSettler{Address: settler, Facilitator: "acme"})
	_, err := solanaIndexer(t, s, nil, node).Once(t.Context())
	if err == nil || !strings.Contains(err.Error(), "comes twice") || len(s.commits) != 1 ||
		s.walks[settler].Until != "" {
		t.Errorf("%v, walk %+v", err, s.walks[settler])
	}
}

// TestSolanaHistories has nodes that keep less than the walk looks for.
func TestSolanaHistories(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.SolanaHistory(1200)
	acme := postgres.ScanSettler{Address: settler, Facilitator: "acme"}
	for _, c := range []struct {
		name   string
		pruned []int // by node: how many of the oldest it has forgotten
		floor  int   // transaction from which on nothing is missing, as far as is known; 0: all of them are there
		walk   postgres.Walk
		want   []int
		err    string // of the first round; the second goes well
		logged string
	}{
		{name: "the end of the only history", pruned: []int{700}, floor: 700, walk: postgres.Walk{Settler: acme},
			want: successes(700, 1200)},
		{name: "the longer history", pruned: []int{700, 200}, floor: 200, walk: postgres.Walk{Settler: acme},
			want: successes(200, 1200)},
		{name: "a history that ends above the boundary", pruned: []int{700},
			walk: postgres.Walk{Settler: acme, Until: all[599].Signature},
			want: successes(700, 1200), logged: "settlements between may be missing"},
		{name: "another history that does not", pruned: []int{700, 100},
			walk: postgres.Walk{Settler: acme, Until: all[599].Signature}, want: successes(600, 1200)},
		{name: "a place that only one node knows", pruned: []int{700, 0},
			walk: postgres.Walk{Settler: acme, Newest: all[1199].Signature, Before: all[500].Signature},
			want: successes(0, 500)},
		{name: "a place that no node knows", pruned: []int{700}, floor: 700,
			walk: postgres.Walk{Settler: acme, Newest: all[1199].Signature, Before: all[500].Signature},
			want: successes(700, 1200), err: "no node knows the signature where the walk stood"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var nodes []*solanaNode
			for _, pruned := range c.pruned {
				node := newSolanaNode(t, all)
				node.Pruned = pruned
				nodes = append(nodes, node)
			}
			s := newWalkStore(acme)
			s.walks[settler] = c.walk
			var log bytes.Buffer
			x := solanaIndexer(t, s, &log, nodes...)
			if c.err != "" {
				if _, err := x.Once(t.Context()); err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("first round: %v, want %s", err, c.err)
				}
			}
			if _, err := x.Once(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, s.amounts()); diff != "" {
				t.Errorf("amounts (-want +got):\n%s", diff)
			}
			if w := s.walks[settler]; w.Until != all[1199].Signature || w.Newest != "" {
				t.Errorf("the walk is not finished: %+v", w)
			}
			var floor *time.Time
			if c.floor > 0 {
				floor = new(time.Unix(all[c.floor].Time, 0).UTC())
			}
			if diff := cmp.Diff(floor, s.walks[settler].Floor); diff != "" {
				t.Errorf("floor (-want +got):\n%s", diff)
			}
			if !strings.Contains(log.String(), c.logged) || c.logged == "" && log.Len() > 0 {
				t.Errorf("logged %q, want %q", log.String(), c.logged)
			}
		})
	}
}

// While a node that might have more history fails, the end that another shows is not believed.
func TestSolanaEndNeedsAll(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.SolanaHistory(300)
	pruned, archive := newSolanaNode(t, all), newSolanaNode(t, all)
	pruned.Pruned = 200
	archive.Before = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	s := newWalkStore(postgres.ScanSettler{Address: settler, Facilitator: "acme"})
	_, err := solanaIndexer(t, s, nil, pruned, archive).Once(t.Context())
	if err == nil || !strings.Contains(err.Error(), "1 of 2 nodes can't be asked") || s.walks[settler].Until != "" {
		t.Errorf("with the archive down: %v, walk %+v", err, s.walks[settler])
	}
	archive.Set(func(n *chaintest.Solana) { n.Before = nil })
	if _, err := solanaIndexer(t, s, nil, pruned, archive).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(successes(0, 300), s.amounts()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
}

// TestSolanaChaos has two nodes that each answer a third of all requests badly, in every way at once, one of which lags
// and keeps half the history, and an indexer that is killed at random. However long that takes, what is kept at the end
// is exactly what happened.
func TestSolanaChaos(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			source := rand.New(rand.NewPCG(seed, 5))
			random := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return source.IntN(n)
			}
			all, settler := chaintest.SolanaHistory(1600)
			faults := solanaFaults()
			delete(faults, "another chain") // would be left alone for minutes
			names := slices.Sorted(maps.Keys(faults))
			nodes := []*solanaNode{newSolanaNode(t, nil), newSolanaNode(t, nil)}
			for _, n := range nodes {
				n.Before = func(w http.ResponseWriter, req *http.Request) {
					n.Spoil = nil
					if random(3) > 0 {
						return
					}
					spoil, before := faults[names[random(len(names))]](1)
					n.Spoil = spoil
					if before != nil {
						before(w, req)
					}
				}
			}
			s := newWalkStore(postgres.ScanSettler{Address: settler, Facilitator: "acme"})
			s.refuse = func(postgres.Walk) error {
				if random(3) == 0 {
					return errors.New("killed")
				}
				return nil
			}
			for have := 0; have < len(all); {
				have = min(have+1100, len(all))
				for rounds := 0; s.walks[settler].Until != all[have-1].Signature; rounds++ {
					for i, n := range nodes {
						lag := 0
						if i == 1 && rounds < 5 { // it lags, and catches up
							lag = 20
						}
						n.Grow(all[:have-lag])
						n.Set(func(n *chaintest.Solana) { n.Pruned = i * have / 2 })
					}
					if rounds == 200 {
						t.Fatalf("the walk does not end: %+v", s.walks[settler])
					}
					_, _ = solanaIndexer(t, s, nil, nodes...).Once(t.Context()) // fails more often than not
				}
			}
			if diff := cmp.Diff(successes(0, len(all)), s.amounts()); diff != "" {
				t.Errorf("amounts (-want +got):\n%s", diff)
			}
		})
	}
}
