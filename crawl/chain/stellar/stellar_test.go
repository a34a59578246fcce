package stellar_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
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
	"tollbook/crawl/chain/stellar"
	"tollbook/site/postgres/ledger"
)

// server is a running Horizon server.
type server struct {
	*chaintest.Stellar
	url string
}

func newServer(t *testing.T, rows []map[string]any) *server {
	t.Helper()
	n := chaintest.NewStellar(rows)
	s := httptest.NewServer(n)
	t.Cleanup(s.Close)
	return &server{n, s.URL + "/key?apikey=secret"}
}

// store is a chain.WalkStore in memory: it refuses a commit if the walk has changed, and stores each settlement once.
type store struct {
	mu          sync.Mutex
	walks       map[string]ledger.Walk
	settlements map[string]ledger.Settlement
	commits     int
	head        ledger.Head
}

func newStore(settlers ...ledger.ScanSettler) *store {
	s := &store{walks: map[string]ledger.Walk{}, settlements: map[string]ledger.Settlement{}}
	for _, settler := range settlers {
		s.walks[settler.Address] = ledger.Walk{Settler: settler}
	}
	return s
}

func (s *store) LockIndex(context.Context, string) (func(), bool, error) { return func() {}, true, nil }

func (s *store) SetHead(_ context.Context, h ledger.Head) error { s.head = h; return nil }

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
	s.commits++
	return fresh, nil
}

// amounts returns the amounts of the stored settlements in ascending order. StellarHistory numbers them.
func (s *store) amounts() (list []int) {
	for _, x := range s.settlements {
		n, _ := new(big.Int).SetString(x.Amount, 10)
		list = append(list, int(n.Int64()))
	}
	slices.Sort(list)
	return list
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

// newReader returns a reader with short pauses between tries.
func newReader(t *testing.T, s *store, log *bytes.Buffer, servers ...*server) *stellar.Reader {
	t.Helper()
	n := chain.Network{ID: chaintest.StellarID}
	for _, server := range servers {
		n.RPC = append(n.RPC, server.url)
	}
	o := chain.Options{Backoff: 100 * time.Microsecond, Timeout: time.Minute, HTTP: &http.Client{}}
	if log != nil {
		o.Logger = slog.New(slog.NewTextHandler(log, nil))
	}
	x, err := stellar.New(n, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// fixtures returns the rows of testdata/horizon.txtar, oldest first, the names of files by hash, and those of accounts
// by address.
func fixtures(t *testing.T) (rows []map[string]any, files, names map[string]string) {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/horizon.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files, names = map[string]string{}, map[string]string{}
	for _, f := range archive.Files {
		var row map[string]any
		if err := json.Unmarshal(f.Data, &row); err != nil {
			t.Fatal(err)
		}
		if f.Name == "names.json" {
			for name, address := range row {
				names[address.(string)] = name
			}
			continue
		}
		rows, files[row["hash"].(string)] = append(rows, row), strings.TrimSuffix(f.Name, ".json")
	}
	return rows, files, names
}

func addressOf(names map[string]string, name string) string {
	for address, is := range names {
		if is == name {
			return address
		}
	}
	return ""
}

// TestSettlements compares the settlements of all fixtures with the expected ones.
func TestSettlements(t *testing.T) {
	t.Parallel()
	rows, files, names := fixtures(t)
	node, settler := newServer(t, rows), addressOf(names, "settler")
	s := newStore(ledger.ScanSettler{Address: settler, Facilitator: "acme", Tokens: []string{chaintest.StellarUSDC}})
	report, err := newReader(t, s, nil, node).Once(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, x := range s.settlements {
		got[files[x.Transaction]] = fmt.Sprintf("%s pays %s %s", names[x.Payer], names[x.Payee], x.Amount)
		row := rows[slices.IndexFunc(rows, func(r map[string]any) bool { return r["hash"] == x.Transaction })]
		at, _ := time.Parse(time.RFC3339, row["created_at"].(string))
		x.Payer, x.Payee, x.Amount, x.Transaction = "", "", "", ""
		want := ledger.Settlement{Network: chaintest.StellarID, Block: int64(row["ledger"].(float64)), Time: at,
			Method: "sep41", Facilitator: "acme", Settler: settler, Token: chaintest.StellarUSDC}
		if diff := cmp.Diff(want, x); diff != "" {
			t.Errorf("%s (-want +got):\n%s", files[row["hash"].(string)], diff)
		}
	}
	want := map[string]string{
		"exact":            "alice pays shop 10000",
		"bumped":           "bob pays cafe 200000",
		"wallet":           "wallet pays shop 30000",
		"muxed":            "alice pays shop 7 40000",
		"large":            "alice pays shop 1267650600228229401496703205376",
		"preconditions":    "bob pays wallet 50000",
		"operation source": "alice pays shop 60000",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settlements (-want +got):\n%s", diff)
	}
	if report.Settlements != 7 || report.Errors != 0 || report.Blocks != int64(len(rows)-1) {
		t.Errorf("report %+v of %d transactions, one of which is another account's", report, len(rows))
	}
}

// TestWalks walks over page boundaries, and then reads only new transactions.
func TestWalks(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 200, 250, 251, 1000} { // 200 and 1000 successful ones fill pages
		all, settler := chaintest.StellarHistory(n + 3)
		node := newServer(t, all[:n])
		acme := ledger.ScanSettler{Address: settler, Facilitator: "acme"}
		s := newStore(acme)
		x := newReader(t, s, nil, node)
		for _, round := range []struct{ have, fresh int }{{n, len(successes(0, n))}, {n, 0},
			{n + 3, len(successes(n, n+3))}, {n + 3, 0}} {
			node.Grow(all[:round.have])
			report, err := x.Once(t.Context())
			if err != nil || report.Settlements != int64(round.fresh) {
				t.Fatalf("%d transactions of %d: %d settlements, %v; want %d", round.have, n, report.Settlements, err,
					round.fresh)
			}
			if got, want := node.Count("transactions"), (round.fresh+199)/200+1; got != want {
				t.Errorf("%d transactions of %d: %d pages requested, want %d", round.have, n, got, want)
			}
			want := ledger.Walk{Settler: acme, NewestSlot: s.head.Block, NewestTime: &s.head.Time}
			if done := successes(0, round.have); len(done) > 0 {
				want.Until = all[done[len(done)-1]-1]["paging_token"].(string)
			}
			if diff := cmp.Diff(want, s.walks[settler]); diff != "" {
				t.Errorf("%d transactions of %d: walk (-want +got):\n%s", round.have, n, diff)
			}
		}
		if diff := cmp.Diff(successes(0, n+3), s.amounts()); diff != "" {
			t.Errorf("amounts of %d (-want +got):\n%s", n, diff)
		}
	}
}

// TestHistories uses servers with less history than a walk needs.
func TestHistories(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.StellarHistory(600)
	ledgerAt := func(i int) int64 { return all[i]["ledger"].(int64) }
	token := func(i int) string { return all[i]["paging_token"].(string) }
	later := chaintest.StellarStart.Add(time.Hour) // after all transactions
	acme := ledger.ScanSettler{Address: settler, Facilitator: "acme"}
	for _, c := range []struct {
		name   string
		elder  []int64 // by server: its first ledger
		walk   ledger.Walk
		since  int64 // ledger since which the settler counts as measured; 0 for all
		want   []int
		logged string
	}{
		{"the end of the only history", []int64{ledgerAt(301)}, ledger.Walk{Settler: acme}, ledgerAt(301),
			successes(301, 600), ""},
		{"the longer history", []int64{ledgerAt(301), ledgerAt(101)}, ledger.Walk{Settler: acme}, ledgerAt(101),
			successes(101, 600), ""},
		{"a whole history", []int64{ledgerAt(301), 1}, ledger.Walk{Settler: acme}, 0, successes(0, 600), ""},
		{"a settler that began later", []int64{ledgerAt(301)},
			ledger.Walk{Settler: ledger.ScanSettler{Address: settler, Facilitator: "acme", Since: &later}}, 0, nil, ""},
		{"a walk that goes on", []int64{ledgerAt(301)}, ledger.Walk{Settler: acme, Newest: token(399)}, 0,
			successes(400, 600), ""},
		{"a walk that was idle for long", []int64{ledgerAt(301)},
			ledger.Walk{Settler: acme, Until: token(100), NewestSlot: ledgerAt(401), NewestTime: &later}, 0,
			successes(301, 600), ""},
		{"a gap", []int64{ledgerAt(301)},
			ledger.Walk{Settler: acme, Until: token(100), NewestSlot: ledgerAt(101), NewestTime: &later},
			ledgerAt(301), successes(301, 600), "settlements between may be missing"},
		{"another history that has no gap", []int64{ledgerAt(301), ledgerAt(51)},
			ledger.Walk{Settler: acme, Until: token(100), NewestSlot: ledgerAt(101), NewestTime: &later}, 0,
			successes(101, 600), ""},
	} {
		var servers []*server
		for _, elder := range c.elder {
			one := newServer(t, all)
			one.Elder = elder
			servers = append(servers, one)
		}
		s, log := newStore(), &bytes.Buffer{}
		s.walks[settler] = c.walk
		if _, err := newReader(t, s, log, servers...).Once(t.Context()); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, s.amounts()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		var since int64
		if at := s.walks[settler].HistoryStart; at != nil {
			since = 61_000_000 + int64(at.Sub(chaintest.StellarStart)/(5*time.Second))
		}
		if since != c.since {
			t.Errorf("%s: measured since ledger %d, want %d", c.name, since, c.since)
		}
		if c.logged == "" && log.Len() > 0 || !strings.Contains(log.String(), c.logged) {
			t.Errorf("%s: logged %q, want %q", c.name, log, c.logged)
		}
	}
}

// TestResumes checks that a walk continues at its last commit after a kill.
func TestResumes(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.StellarHistory(1000)
	node := newServer(t, all)
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	pages := 0
	node.Spoil = func(path string, _ url.Values, _ map[string]any) int {
		if strings.HasSuffix(path, "/transactions") {
			if pages++; pages == 3 {
				kill()
			}
		}
		return 0
	}
	s := newStore(ledger.ScanSettler{Address: settler, Facilitator: "acme"})
	if _, err := newReader(t, s, nil, node).Once(ctx); err == nil {
		t.Fatal("no error after the kill")
	}
	w := s.walks[settler]
	if done := successes(0, 500); w.Until != "" || w.Newest != all[499-1]["paging_token"] || len(done) != 400 {
		t.Fatalf("after two pages the walk is %+v", w)
	}
	node.Grow(all)
	if _, err := newReader(t, s, nil, node).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := node.Count("transactions"); n != 3 {
		t.Errorf("%d pages requested for the rest, want 3", n)
	}
	if diff := cmp.Diff(successes(0, 1000), s.amounts()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
}

// TestSince checks that settlements before a settler's first day do not count.
func TestSince(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.StellarHistory(100)
	since, _ := time.Parse(time.RFC3339, all[59]["created_at"].(string))
	s := newStore(ledger.ScanSettler{Address: settler, Facilitator: "acme", Since: &since})
	if _, err := newReader(t, s, nil, newServer(t, all)).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(successes(59, 100), s.amounts()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
}
