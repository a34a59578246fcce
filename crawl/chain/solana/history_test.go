package solana_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/chain/chaintest"
	"tollbook/site/postgres/ledger"
)

// TestSolanaCutPages checks that a page that the node cuts short does not end a walk, with and without a boundary.
func TestSolanaCutPages(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.SolanaHistory(60)
	node := newSolanaNode(t, all[:20])
	node.Spoil = spoilt("getSignaturesForAddress", forever, func(c *chaintest.SolanaCall) {
		if page, _ := c.Result.([]any); len(page) > 7 {
			c.Result = page[:7]
		}
	})
	s := newWalkStore(ledger.ScanSettler{Address: settler, Facilitator: "acme"})
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

// TestSolanaPlaceIgnored checks that a node that ignores the walk's position is detected: the walk would never end.
func TestSolanaPlaceIgnored(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.SolanaHistory(1500)
	node := newSolanaNode(t, all)
	node.Spoil = spoilt("getSignaturesForAddress", forever, func(c *chaintest.SolanaCall) {
		c.Params[1] = json.RawMessage(`{"limit":1000}`)
		node.Answer(c)
	})
	s := newWalkStore(ledger.ScanSettler{Address: settler, Facilitator: "acme"})
	_, err := solanaIndexer(t, s, nil, node).Once(t.Context())
	if err == nil || !strings.Contains(err.Error(), "appears twice") || len(s.commits) != 1 ||
		s.walks[settler].Until != "" {
		t.Errorf("%v, walk %+v", err, s.walks[settler])
	}
}

// TestSolanaHistories uses nodes with less history than the walk needs.
func TestSolanaHistories(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.SolanaHistory(1200)
	acme := ledger.ScanSettler{Address: settler, Facilitator: "acme"}
	for _, c := range []struct {
		name   string
		pruned []int // by node: number of oldest transactions that it lacks
		floor  int   // transaction from which the history is complete; 0 for all of it
		walk   ledger.Walk
		want   []int
		err    string // of the first round; the second succeeds
		logged string
	}{
		{name: "the end of the only history", pruned: []int{700}, floor: 700, walk: ledger.Walk{Settler: acme},
			want: successes(700, 1200)},
		{name: "the longer history", pruned: []int{700, 200}, floor: 200, walk: ledger.Walk{Settler: acme},
			want: successes(200, 1200)},
		{name: "a history that ends above the boundary", pruned: []int{700},
			walk: ledger.Walk{Settler: acme, Until: all[599].Signature},
			want: successes(700, 1200), logged: "settlements between may be missing"},
		{name: "another history that does not", pruned: []int{700, 100},
			walk: ledger.Walk{Settler: acme, Until: all[599].Signature}, want: successes(600, 1200)},
		{name: "a place that only one node knows", pruned: []int{700, 0},
			walk: ledger.Walk{Settler: acme, Newest: all[1199].Signature, Before: all[500].Signature},
			want: successes(0, 500)},
		{name: "a place that no node knows", pruned: []int{700}, floor: 700,
			walk: ledger.Walk{Settler: acme, Newest: all[1199].Signature, Before: all[500].Signature},
			want: successes(700, 1200), err: "no node has the signature at the walk's position"},
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
			if diff := cmp.Diff(floor, s.walks[settler].HistoryStart); diff != "" {
				t.Errorf("floor (-want +got):\n%s", diff)
			}
			if !strings.Contains(log.String(), c.logged) || c.logged == "" && log.Len() > 0 {
				t.Errorf("logged %q, want %q", log.String(), c.logged)
			}
		})
	}
}

// TestSolanaEndNeedsAll checks that the end of one node's history is not accepted while a node fails that may have
// more.
func TestSolanaEndNeedsAll(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.SolanaHistory(300)
	pruned, archive := newSolanaNode(t, all), newSolanaNode(t, all)
	pruned.Pruned = 200
	archive.Before = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	s := newWalkStore(ledger.ScanSettler{Address: settler, Facilitator: "acme"})
	_, err := solanaIndexer(t, s, nil, pruned, archive).Once(t.Context())
	if err == nil || !strings.Contains(err.Error(), "1 of 2 nodes did not answer") || s.walks[settler].Until != "" {
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
