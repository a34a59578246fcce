package stellar_test

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/chain/chaintest"
	"tollbook/site/postgres/ledger"
	"tollbook/site/testgate"
)

const lieLength = 330

// lies are histories that fit together, so that nothing in them shows that they are wrong. The newest transaction
// stays, so that the head does.
func lies() map[string]func(rows []map[string]any) []map[string]any {
	each := func(change func(i int, row map[string]any)) func([]map[string]any) []map[string]any {
		return func(rows []map[string]any) []map[string]any {
			for i, row := range rows[:len(rows)-1] {
				change(i, row)
			}
			return rows
		}
	}
	return map[string]func([]map[string]any) []map[string]any{
		"no transactions": each(func(_ int, row map[string]any) { row["source_account"], row["fee_account"] = "", "" }),
		"a transaction left out": func(rows []map[string]any) []map[string]any {
			return slices.Delete(rows, 150, 151)
		},
		"half of the transactions": func(rows []map[string]any) []map[string]any {
			n := 0
			return slices.DeleteFunc(rows, func(map[string]any) bool { n++; return n%2 == 0 && n < lieLength })
		},
		"a transaction added": func(rows []map[string]any) []map[string]any {
			other := chaintest.StellarTransfer(151, 7_000_000)
			other["paging_token"] = rows[150]["paging_token"].(string)[:len(rows[150]["paging_token"].(string))-1] + "9"
			return slices.Insert(rows, 151, other)
		},
		"an amount changed": func(rows []map[string]any) []map[string]any {
			rows[151] = chaintest.StellarTransfer(152, 7_000_000)
			return rows
		},
		"a success that failed": each(func(i int, row map[string]any) { row["successful"] = i%7 != 0 }),
		"times of a month before": each(func(_ int, row map[string]any) {
			at, err := time.Parse(time.RFC3339, row["created_at"].(string))
			if err != nil {
				panic(err)
			}
			row["created_at"] = at.AddDate(0, -1, 0).Format(time.RFC3339)
		}),
		"ledgers moved": each(func(i int, row map[string]any) {
			moved := row["ledger"].(int64) - 500
			row["ledger"], row["paging_token"] = moved, fmt.Sprint(moved<<32+int64(i+1)<<12)
		}),
	}
}

// TestLyingServer checks that the lies of one server are found by asking others: with three the index is the true one,
// wherever the liar stands; with two nothing wrong is stored, and an error names both until a third one decides.
func TestLyingServer(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	all, settler := chaintest.StellarHistory(lieLength)
	acme := ledger.ScanSettler{Address: settler, Facilitator: "acme"}
	truth := newStore(acme)
	if _, err := newReader(t, truth, nil, newServer(t, all)).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	read := func(s *store, log *bytes.Buffer, servers ...*server) (err error) {
		x := newReader(t, s, log, servers...)
		for range 20 {
			if _, err = x.Once(t.Context()); err == nil {
				break
			}
		}
		return err
	}
	for name, lie := range lies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, _ := chaintest.StellarHistory(lieLength)
			liar, honest := newServer(t, lie(rows)), []*server{newServer(t, all), newServer(t, all)}
			for _, servers := range [][]*server{{liar, honest[0], honest[1]}, {honest[0], liar, honest[1]},
				{honest[0], honest[1], liar}} {
				s, log := newStore(acme), &bytes.Buffer{}
				if err := read(s, log, servers...); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(truth.settlements, s.settlements); diff != "" {
					t.Errorf("three servers (-want +got):\n%s", diff)
				}
				if s.head.ComparedNodes != 3 {
					t.Errorf("%d servers are compared, want 3", s.head.ComparedNodes)
				}
				if servers[0] == liar && !strings.Contains(log.String(), "is set aside") {
					t.Errorf("the log does not say what the liar said:\n%s", log)
				}
			}
			s, log := newStore(acme), &bytes.Buffer{}
			err := read(s, log, liar, honest[0])
			if err == nil || !strings.Contains(err.Error(), "no third node says which is right") {
				t.Errorf("two servers that differ: %v", err)
			}
			for key, got := range s.settlements {
				if diff := cmp.Diff(truth.settlements[key], got); diff != "" {
					t.Errorf("two servers that differ (-want +got):\n%s", diff)
				}
			}
			if err := read(s, log, liar, honest[0], honest[1]); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(truth.settlements, s.settlements); diff != "" {
				t.Errorf("a third server decides (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLyingHead checks that nothing is taken for read up to a ledger that one server alone claims to have.
func TestLyingHead(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.StellarHistory(40)
	liar, honest := newServer(t, all), newServer(t, all)
	liar.Spoil = func(_ string, _ url.Values, answer map[string]any) int {
		if _, ok := answer["history_latest_ledger"]; ok {
			answer["history_latest_ledger"] = 99_000_000
		}
		return 0
	}
	s := newStore(ledger.ScanSettler{Address: settler, Facilitator: "acme"})
	if _, err := newReader(t, s, nil, liar, honest).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.head.Block > 61_000_100 || s.walks[settler].NewestSlot != s.head.Block {
		t.Errorf("head %d, read up to %d", s.head.Block, s.walks[settler].NewestSlot)
	}
}

// TestServersBehind checks that a server that lacks the newest ledgers, or the oldest ones, is not taken for a liar,
// and that what two servers have is read.
func TestServersBehind(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.StellarHistory(400)
	for _, c := range []struct {
		name       string
		lag, elder int64
		want       []int
	}{
		{"a little behind", 30, 1, successes(0, 361)},
		{"far behind", 1000, 1, successes(0, 400)}, // by more than half an hour: away
		{"without the oldest ledgers", 0, 61_000_100, successes(0, 400)},
	} {
		for _, first := range []bool{true, false} {
			other, honest := newServer(t, all), newServer(t, all)
			other.Lag, other.Elder = c.lag, c.elder
			servers := []*server{honest, other}
			if first {
				slices.Reverse(servers)
			}
			s, log := newStore(ledger.ScanSettler{Address: settler, Facilitator: "acme"}), &bytes.Buffer{}
			x := newReader(t, s, log, servers...)
			if _, err := x.Once(t.Context()); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if diff := cmp.Diff(c.want, s.amounts()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.name, diff)
			}
			other.Set(func(n *chaintest.Stellar) { n.Lag = 0 })
			if _, err := x.Once(t.Context()); err != nil {
				t.Fatalf("%s, later: %v", c.name, err)
			}
			if diff := cmp.Diff(successes(0, 400), s.amounts()); diff != "" {
				t.Errorf("%s, later (-want +got):\n%s", c.name, diff)
			}
			if strings.Contains(log.String(), "set aside") {
				t.Errorf("%s: %s", c.name, log)
			}
		}
	}
}
