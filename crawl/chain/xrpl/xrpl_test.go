package xrpl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tollbook/crawl/chain"
	"tollbook/crawl/chain/chaintest"
	"tollbook/crawl/chain/xrpl"
	"tollbook/site/postgres/ledger"
)

// store is an xrpl.Store in memory: it refuses a commit if the walk has changed, and stores each settlement once.
type store struct {
	mu          sync.Mutex
	recipients  []string
	walks       map[string]ledger.Walk
	settlements map[string]ledger.Settlement
	onCommit    func()
}

var mark = ledger.ScanSettler{Address: fmt.Sprint("source_tag:", chaintest.XRPLTag), Facilitator: "t54"}

func newStore(recipients ...string) *store {
	return &store{recipients: recipients, walks: map[string]ledger.Walk{mark.Address: {Settler: mark}},
		settlements: map[string]ledger.Settlement{}}
}

func (s *store) LockIndex(context.Context, string) (func(), bool, error) { return func() {}, true, nil }

func (s *store) SetHead(context.Context, ledger.Head) error { return nil }

func (s *store) Recipients(context.Context, string) ([]string, error) {
	return slices.Clone(s.recipients), nil
}

func (s *store) Walks(context.Context, string) (list []ledger.Walk, err error) {
	for _, address := range slices.Sorted(maps.Keys(s.walks)) {
		list = append(list, s.walks[address])
	}
	return list, nil
}

func (s *store) CommitWalk(ctx context.Context, _ string, was, is ledger.Walk,
	list []ledger.Settlement) (fresh int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if !reflect.DeepEqual(s.walks[was.Settler.Address], was) {
		return 0, ledger.ErrMoved
	}
	for _, x := range list {
		if _, stored := s.settlements[x.Transaction]; !stored {
			s.settlements[x.Transaction] = x
			fresh++
		}
	}
	s.walks[is.Settler.Address] = is
	if s.onCommit != nil {
		s.onCommit()
	}
	return fresh, nil
}

// numbers returns the numbers of the stored payments of a history, in ascending order.
func (s *store) numbers() (list []int) {
	thousandth := new(big.Int).Exp(big.NewInt(10), big.NewInt(21), nil)
	for _, x := range s.settlements {
		n, _ := new(big.Int).SetString(x.Amount, 10)
		list = append(list, int(n.Div(n, thousandth).Int64()))
	}
	slices.Sort(list)
	return list
}

// successes returns the numbers of the settlements in a history of n payments, from the one after from.
func successes(from, n int) (list []int) {
	for i := from + 1; i <= n; i++ {
		if i%5 != 0 {
			list = append(list, i)
		}
	}
	return list
}

func newReader(t *testing.T, s *store, nodes ...http.Handler) *xrpl.Reader {
	t.Helper()
	n := chain.Network{ID: chaintest.XRPLID}
	for _, h := range nodes {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		n.RPC = append(n.RPC, server.URL)
	}
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	x, err := xrpl.New(n, s, chain.Options{Backoff: time.Microsecond, HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestReads reads a history of several pages: from empty, again, with new payments, and with a recipient that came
// later. A round without news asks once for each recipient.
func TestReads(t *testing.T) {
	t.Parallel()
	all := chaintest.XRPLHistory(1101)
	node := chaintest.NewXRPL(all[:1001])
	s := newStore(chaintest.XRPLRecipients[0], "no address")
	x := newReader(t, s, node)
	ofFirst := func(list []int) []int {
		return slices.DeleteFunc(list, func(i int) bool { return i%2 != 0 })
	}
	first, second := chaintest.XRPLRecipients[0], chaintest.XRPLRecipients[1]
	for _, c := range []struct {
		name   string
		change func()
		want   []int
		calls  []string // of account_tx
	}{
		{"from empty", func() {}, ofFirst(successes(0, 1001)), []string{first + " 32570 100000501",
			first + " 32570 100000501", first + " 32570 100000501"}},
		{"again", func() { node.Grow(all[:1001]) }, ofFirst(successes(0, 1001)), nil},
		{"new payments", func() { node.Grow(all[:1051]) }, ofFirst(successes(0, 1051)),
			[]string{first + " 100000502 100000526"}},
		{"a new recipient", func() { s.recipients = chaintest.XRPLRecipients; node.Grow(all) }, successes(0, 1101),
			[]string{second + " 32570 100000526", second + " 32570 100000526", second + " 32570 100000526",
				first + " 100000527 100000551", second + " 100000527 100000551"}},
	} {
		c.change()
		if _, err := x.Once(t.Context()); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, s.numbers()); diff != "" {
			t.Errorf("%s: payments (-want +got):\n%s", c.name, diff)
		}
		var calls []string
		for _, call := range node.Calls() {
			if text, ok := strings.CutPrefix(call, "account_tx "); ok {
				calls = append(calls, text)
			}
		}
		if diff := cmp.Diff(c.calls, calls); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", c.name, diff)
		}
	}
	w := s.walks[mark.Address]
	if w.Until != "100000551" || w.Newest != "" || w.Before != first+" "+second || w.NewestSlot != 100_000_551 ||
		w.HistoryStart != nil {
		t.Errorf("the walk is %+v", w)
	}
}

// TestBusyRecipient checks that a recipient with more transactions than a round reads keeps no other one from being
// read.
func TestBusyRecipient(t *testing.T) {
	t.Parallel()
	all := chaintest.XRPLHistory(1101)
	node := chaintest.NewXRPL(all[:1001])
	s := newStore(chaintest.XRPLRecipients...)
	x := newReader(t, s, node)
	x.LimitPages(2)
	want := successes(0, 800) // two pages of 200 transactions of each recipient
	for _, name := range []string{"history", "new payments"} {
		if _, err := x.Once(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, s.numbers()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		node.Grow(all)
		want = append(want, successes(1001, 1101)...)
	}
}

// TestResumes kills the reader at each commit in turn. The next reader finishes, and reads no recipient's history twice
// that was complete.
func TestResumes(t *testing.T) {
	t.Parallel()
	all := chaintest.XRPLHistory(900)
	for kill := 1; kill <= 4; kill++ {
		s := newStore(chaintest.XRPLRecipients...)
		ctx, cancel := context.WithCancel(t.Context())
		commits := 0
		s.onCommit = func() {
			if commits++; commits == kill {
				cancel()
			}
		}
		node := chaintest.NewXRPL(all)
		if _, err := newReader(t, s, node).Once(ctx); err == nil {
			t.Fatalf("no error after a kill at commit %d", kill)
		}
		cancel()
		done := len(strings.Fields(s.walks[mark.Address].Before))
		node.Grow(all)
		if _, err := newReader(t, s, node).Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(successes(0, 900), s.numbers()); diff != "" {
			t.Errorf("killed at commit %d: payments (-want +got):\n%s", kill, diff)
		}
		pages := 0
		for _, call := range node.Calls() {
			if strings.HasPrefix(call, "account_tx ") {
				pages++
			}
		}
		if want := 3 * (2 - done); pages != want {
			t.Errorf("killed at commit %d: %d pages requested after it, want %d", kill, pages, want)
		}
	}
}

// TestHistoryStart checks since when a mark counts as measured if no node has the whole history, and that a node with
// the longer history is asked for it.
func TestHistoryStart(t *testing.T) {
	t.Parallel()
	all := chaintest.XRPLHistory(600)
	short, long := chaintest.NewXRPL(all), chaintest.NewXRPL(all)
	short.First, long.First = 100_000_201, 100_000_101
	s := newStore(chaintest.XRPLRecipients...)
	if _, err := newReader(t, s, short, long).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(successes(199, 600), s.numbers()); diff != "" {
		t.Errorf("payments (-want +got):\n%s", diff)
	}
	want := chaintest.XRPLStart.Add(101 * 4 * time.Second)
	if got := s.walks[mark.Address].HistoryStart; got == nil || !got.Equal(want) {
		t.Errorf("measured since %v, want %v", got, want)
	}
}

// TestPayments reads transactions that the client library of the XRP Ledger signed: which are settlements, and of what.
func TestPayments(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/payments.txtar")
	if err != nil {
		t.Fatal(err)
	}
	account := strings.TrimSpace(string(archive.Files[0].Data))
	names := map[string]string{}
	var rows []map[string]any
	for _, f := range archive.Files[1:] {
		var row map[string]any
		if err := json.Unmarshal(f.Data, &row); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		row["ledger_index"] = int64(row["ledger_index"].(float64))
		names[row["hash"].(string)] = f.Name
		rows = append(rows, row)
	}
	s := newStore(account)
	if _, err := newReader(t, s, chaintest.NewXRPL(rows)).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	const payer = "r3sNTMefq5gsRumMYsNznnX6yzzxVH6dTC"
	at := time.Date(2026, 7, 1, 0, 0, 4, 0, time.UTC)
	got := map[string]ledger.Settlement{}
	for _, x := range s.settlements {
		name := names[x.Transaction]
		x.Transaction = ""
		got[name] = x
	}
	want := map[string]ledger.Settlement{}
	for name, amount := range map[string]string{
		"RLUSD": "10000000000000000000000",
		"XRP":   "250000",
		"a partial payment delivers what it delivers": "1000000000000000000",
		"sixteen digits":     "1234567890123456000000000000",
		"a small exponent":   "10000000000000000",
		"from another payer": "10000000000000000000000",
	} {
		x := ledger.Settlement{Network: chaintest.XRPLID, Block: 100_000_001, Time: at, Method: "source_tag",
			Facilitator: "t54", Settler: mark.Address, Token: chaintest.XRPLRLUSD, Payer: payer, Payee: account,
			Amount: amount}
		if name == "XRP" {
			x.Token = "XRP"
		}
		if strings.HasPrefix(name, "from another") {
			x.Payer = got[name].Payer
		}
		want[name] = x
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settlements (-want +got):\n%s", diff)
	}
}

// TestSince checks that payments before a mark's first day do not count.
func TestSince(t *testing.T) {
	t.Parallel()
	all := chaintest.XRPLHistory(100)
	since, _ := time.Parse(time.RFC3339, all[59]["close_time_iso"].(string))
	s := newStore(chaintest.XRPLRecipients...)
	w := s.walks[mark.Address]
	w.Settler.Since = &since
	s.walks[mark.Address] = w
	if _, err := newReader(t, s, chaintest.NewXRPL(all)).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(successes(59, 100), s.numbers()); diff != "" {
		t.Errorf("payments (-want +got):\n%s", diff)
	}
}
