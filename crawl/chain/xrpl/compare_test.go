package xrpl_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/chain"
	"tollbook/crawl/chain/chaintest"
	"tollbook/crawl/chain/xrpl"
	"tollbook/site/testgate"
)

const lieLength = 430

// lies are histories that fit together, so that nothing in them shows that they are wrong. The newest payment stays, so
// that the newest ledger does.
func lies() map[string]func(rows []map[string]any) []map[string]any {
	each := func(change func(i int, row map[string]any)) func([]map[string]any) []map[string]any {
		return func(rows []map[string]any) []map[string]any {
			for i, row := range rows[:len(rows)-2] {
				change(i, row)
			}
			return rows
		}
	}
	pay := func(row map[string]any, value string) {
		row["meta"].(map[string]any)["delivered_amount"].(map[string]any)["value"] = value
	}
	return map[string]func([]map[string]any) []map[string]any{
		"no payments": each(func(_ int, row map[string]any) {
			row["tx_json"].(map[string]any)["Destination"] = "rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5De"
		}),
		"a payment left out": func(rows []map[string]any) []map[string]any { return slices.Delete(rows, 150, 151) },
		"half of the payments": func(rows []map[string]any) []map[string]any {
			n := 0
			return slices.DeleteFunc(rows, func(map[string]any) bool { n++; return n%4 < 2 && n < lieLength-2 })
		},
		"a payment added": func(rows []map[string]any) []map[string]any {
			other := chaintest.XRPLPayment(151, "r9cZA1mLK5R5Am25ArfXFmqgNwjZgnfk59", chaintest.XRPLRecipients[0], "7000")
			other["hash"] = strings.Repeat("AB", 32)
			other["meta"].(map[string]any)["TransactionIndex"] = 7
			return slices.Insert(rows, 151, other)
		},
		"an amount changed": func(rows []map[string]any) []map[string]any { pay(rows[151], "7000"); return rows },
		"amounts of one":    each(func(_ int, row map[string]any) { pay(row, "0.000000000000000001") }),
		"a failed payment that succeeded": func(rows []map[string]any) []map[string]any {
			rows[149]["meta"].(map[string]any)["TransactionResult"] = "tesSUCCESS"
			return rows
		},
		"times of a month before": each(func(_ int, row map[string]any) {
			at, err := time.Parse(time.RFC3339, row["close_time_iso"].(string))
			if err != nil {
				panic(err)
			}
			row["close_time_iso"] = at.AddDate(0, -1, 0).Format(time.RFC3339)
		}),
		"ledgers moved": each(func(_ int, row map[string]any) {
			row["ledger_index"] = row["ledger_index"].(int64) - 500
		}),
	}
}

func newNode(t *testing.T, rows []map[string]any) (*chaintest.XRPL, string) {
	n := chaintest.NewXRPL(rows)
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	return n, server.URL
}

// read runs rounds until one succeeds.
func read(t *testing.T, s *store, log *bytes.Buffer, nodes ...string) (err error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	x, err := xrpl.New(chain.Network{ID: chaintest.XRPLID, RPC: nodes}, s, chain.Options{Backoff: time.Microsecond,
		HTTP: client, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err = x.Once(t.Context()); err == nil {
			break
		}
	}
	return err
}

// TestLyingNode checks that the lies of one node are found by asking others: with three the index is the true one,
// wherever the liar stands; with two nothing wrong is stored, and an error names both until a third one decides.
func TestLyingNode(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	truth := newStore(chaintest.XRPLRecipients...)
	if _, err := newReader(t, truth, chaintest.NewXRPL(chaintest.XRPLHistory(lieLength))).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, lie := range lies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, liar := newNode(t, lie(chaintest.XRPLHistory(lieLength)))
			_, one := newNode(t, chaintest.XRPLHistory(lieLength))
			_, two := newNode(t, chaintest.XRPLHistory(lieLength))
			for _, nodes := range [][]string{{liar, one, two}, {one, liar, two}, {one, two, liar}} {
				s, log := newStore(chaintest.XRPLRecipients...), &bytes.Buffer{}
				if err := read(t, s, log, nodes...); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(truth.settlements, s.settlements); diff != "" {
					t.Errorf("three nodes (-want +got):\n%s", diff)
				}
				if nodes[0] == liar && !strings.Contains(log.String(), "is set aside") {
					t.Errorf("the log does not say what the liar said:\n%s", log)
				}
			}
			s, log := newStore(chaintest.XRPLRecipients...), &bytes.Buffer{}
			err := read(t, s, log, liar, one)
			if err == nil || !strings.Contains(err.Error(), "no third node says which is right") {
				t.Errorf("two nodes that differ: %v", err)
			}
			for key, got := range s.settlements {
				if diff := cmp.Diff(truth.settlements[key], got); diff != "" {
					t.Errorf("two nodes that differ (-want +got):\n%s", diff)
				}
			}
			if err := read(t, s, log, liar, one, two); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(truth.settlements, s.settlements); diff != "" {
				t.Errorf("a third node decides (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLyingHead checks that nothing is taken for read up to a ledger that one node alone claims to have, and that a
// node cannot lead another one on with a marker.
func TestLyingHead(t *testing.T) {
	t.Parallel()
	want := successes(0, lieLength)
	for name, spoil := range map[string]func(method string, params, result map[string]any) int{
		"a ledger that is not there": func(method string, params, result map[string]any) int {
			if method == "ledger" && params["ledger_index"] == "validated" {
				result["ledger_index"] = 4_000_000_000
			}
			return 0
		},
		"a marker far ahead": func(method string, _, result map[string]any) int {
			if method == "account_tx" && result["marker"] != nil {
				result["marker"] = map[string]any{"ledger": 1, "seq": 420}
			}
			return 0
		},
	} {
		liar, hostile := newNode(t, chaintest.XRPLHistory(lieLength))
		liar.Spoil = spoil
		_, one := newNode(t, chaintest.XRPLHistory(lieLength))
		_, two := newNode(t, chaintest.XRPLHistory(lieLength))
		s, log := newStore(chaintest.XRPLRecipients...), &bytes.Buffer{}
		if err := read(t, s, log, hostile, one, two); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, s.numbers()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := s.walks[mark.Address].Until; got != fmt.Sprint(100_000_001+lieLength/2) {
			t.Errorf("%s: read up to %s", name, got)
		}
		if strings.Contains(log.String(), "node="+one) || strings.Contains(log.String(), "node="+two) {
			t.Errorf("%s: an honest node is blamed:\n%s", name, log)
		}
	}
}

// TestNodesBehind checks that a node that lacks the newest ledgers, or the oldest ones, is not taken for a liar, and
// that what two nodes have is read.
func TestNodesBehind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		lag, first int64
		want       []int
	}{
		{"a little behind", 30, 32_570, successes(0, 371)},
		{"before the account was opened", 216, 32_570, nil},
		{"far behind", 1000, 32_570, successes(0, lieLength)}, // by more than half an hour: away
		{"without the oldest ledgers", 0, 100_000_100, successes(0, lieLength)},
	} {
		for _, behindFirst := range []bool{true, false} {
			other, a := newNode(t, chaintest.XRPLHistory(lieLength))
			other.Lag, other.First = c.lag, c.first
			_, b := newNode(t, chaintest.XRPLHistory(lieLength))
			nodes := []string{a, b}
			if !behindFirst {
				slices.Reverse(nodes)
			}
			s, log := newStore(chaintest.XRPLRecipients...), &bytes.Buffer{}
			if err := read(t, s, log, nodes...); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if diff := cmp.Diff(c.want, s.numbers()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.name, diff)
			}
			other.Set(func(n *chaintest.XRPL) { n.Lag = 0 })
			if err := read(t, s, log, nodes...); err != nil {
				t.Fatalf("%s, later: %v", c.name, err)
			}
			if diff := cmp.Diff(successes(0, lieLength), s.numbers()); diff != "" {
				t.Errorf("%s, later (-want +got):\n%s", c.name, diff)
			}
			if strings.Contains(log.String(), "set aside") {
				t.Errorf("%s: %s", c.name, log)
			}
		}
	}
}

// TestNodeChangesNetwork checks that a node that begins to serve another network is refused before the next round reads
// anything from it.
func TestNodeChangesNetwork(t *testing.T) {
	t.Parallel()
	all := chaintest.XRPLHistory(60)
	node := chaintest.NewXRPL(all[:40])
	s := newStore(chaintest.XRPLRecipients...)
	x := newReader(t, s, node)
	if _, err := x.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := s.walks[mark.Address]
	node.Grow(all)
	node.Set(func(n *chaintest.XRPL) {
		n.Spoil = func(method string, _, result map[string]any) int {
			if method == "server_info" {
				result["info"].(map[string]any)["network_id"] = 1
			}
			return 0
		}
	})
	if _, err := x.Once(t.Context()); err == nil || !strings.Contains(err.Error(), "serves xrpl:1, not xrpl:0") {
		t.Errorf("a node that changed its network: %v", err)
	}
	if diff := cmp.Diff(before, s.walks[mark.Address]); diff != "" {
		t.Errorf("the walk (-before +after):\n%s", diff)
	}
}
