package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/cmd/tollbook/report"
	"tollbook/crawl/chain/chaintest"
	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
)

// nodeKey is the secret in the URLs of an operator's nodes.
const nodeKey = "k3y-that-nobody-else-sees"

const settlerOnBase = "0xa0000000000000000000000000000000000000a1"

// nodes are two chains with a facilitator on both, behind URLs with keys. env contains the variables of a directory
// that knows the facilitator.
type nodes struct {
	base             *chaintest.Chain
	rpc              []string // --rpc of both
	list             string   // path of the facilitators' file
	env              []string
	mu               sync.Mutex
	down             map[string]bool
	requests, enough int // after enough requests, all further requests wait; 0 never
	waiting          chan struct{}
	spoil            func(body []byte) []byte // changes what the nodes answer; nil for nothing
}

func newNodes(t *testing.T) *nodes {
	t.Helper()
	n := &nodes{base: chaintest.New(8453, time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)), down: map[string]bool{}}
	n.base.Finality = 5
	n.pay(60)
	history, settlerOnSolana := chaintest.SolanaHistory(100)
	for network, h := range map[string]http.Handler{"eip155:8453": n.base,
		chaintest.SolanaID: chaintest.NewSolana(history)} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n.mu.Lock()
			n.requests++
			down, wait, waiting := n.down[network], n.enough > 0 && n.requests > n.enough, n.waiting
			spoil := n.spoil
			n.mu.Unlock()
			switch {
			case r.URL.Path != "/"+nodeKey || r.URL.Query().Get("apikey") != nodeKey:
				w.WriteHeader(http.StatusUnauthorized)
			case down:
				http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
			case wait:
				_, _ = io.Copy(io.Discard, r.Body) // the server detects a closed connection only after this
				waiting <- struct{}{}
				<-r.Context().Done()
			case spoil != nil:
				record := httptest.NewRecorder()
				h.ServeHTTP(record, r)
				w.Header().Set("Content-Type", record.Header().Get("Content-Type"))
				_, _ = w.Write(spoil(record.Body.Bytes()))
			default:
				h.ServeHTTP(w, r)
			}
		}))
		t.Cleanup(server.Close)
		n.rpc = append(n.rpc, "--rpc", network+"="+strings.Replace(server.URL, "http://", "http://user:"+nodeKey+"@",
			1)+"/"+nodeKey+"?apikey="+nodeKey)
	}
	file := filepath.Join(t.TempDir(), "list.json")
	write(t, file,
		fmt.Sprintf(
			`{"facilitators": [{"id": "acme", "name": "Acme", "facilitator_url": "https://acme.test/x402", "upstream_status": "merged", "addresses": [
		{"network": "eip155:8453", "address": %q, "tokens": ["0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"]}, {"network": %q, "address": %q, "tokens": [%q]}]}]}`,
			settlerOnBase, chaintest.SolanaID, settlerOnSolana, chaintest.SolanaUSDC))
	n.list, n.env = file, n.directory(t, file)
	return n
}

// set changes the behaviour of the nodes between requests.
func (n *nodes) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

// directory creates an empty database with the facilitators of a file. It returns the environment.
func (n *nodes) directory(t *testing.T, file string) []string {
	t.Helper()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	if code, _, stderr := tollbook(t, env, "facilitators", "import", file); code != 0 {
		t.Fatalf("import: exit %d\n%s", code, stderr)
	}
	return env
}

func word32(digits string) (h chaintest.Hash) {
	if _, err := hex.Decode(h[:], []byte(fmt.Sprintf("%064s", digits))); err != nil {
		panic(err)
	}
	return h
}

// pay adds blocks to Base with an authorised payment each.
func (n *nodes) pay(blocks int) {
	var usdc, settler chaintest.Address
	a, b := word32("833589fcd6edb6e08f4c7c32d4f71b54bda02913"), word32(settlerOnBase[2:])
	copy(usdc[:], a[12:])
	copy(settler[:], b[12:])
	for range blocks {
		number := n.base.Head().Number + 1
		payer, payee := word32(fmt.Sprintf("b%039d", number%5)), word32(fmt.Sprintf("c%039d", number%2))
		n.base.Add(time.Date(2026, 7, 1, 0, 0, 2*int(number), 0, time.UTC),
			chaintest.Tx{From: settler, To: usdc, Nonce: uint64(number), Logs: []chaintest.Log{
				{Contract: usdc,
					Topics: []chaintest.Hash{word32("98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"),
						payer, word32(fmt.Sprint(number))}},
				{Contract: usdc,
					Topics: []chaintest.Hash{word32("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"),
						payer, payee}, Data: big.NewInt(1000 + number).FillBytes(make([]byte, 32))},
			}})
	}
}

// once runs index --once --json and checks that no key is shown.
func (n *nodes) once(t *testing.T, env []string, args ...string) (code int, settlements map[string]int64,
	stderr string) {
	t.Helper()
	code, stdout, stderr := tollbook(t, env, append(append([]string{"index", "--once", "--json"}, n.rpc...), args...)...)
	if strings.Contains(stdout+stderr, nodeKey) {
		t.Errorf("a key is shown:\n%s%s", stdout, stderr)
	}
	settlements = map[string]int64{}
	if strings.HasPrefix(stdout, "{") {
		for _, r := range decode[struct{ Networks []report.Network }](t, stdout).Networks {
			settlements[r.Network] = r.Settlements
		}
	}
	return code, settlements, stderr
}

// sums returns the settlement sums of facilitators, by network and day.
func sums(t *testing.T, env []string) map[string]string {
	t.Helper()
	db, err := postgres.Open(t.Context(), strings.TrimPrefix(env[0], "DATABASE_URL="))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got := map[string]string{}
	err = db.Read(t.Context(), func(r *postgres.Reader) error {
		f, err := r.Facts(t.Context(), time.Date(2026, 7, 2, 0, 0, 0, 0, time.UTC), 0)
		if err != nil {
			return err
		}
		for _, flow := range f.Facilitators[0].Tokens {
			got[flow.Network] = fmt.Sprintf("%d settlements of %s by %d buyers, the last %s", flow.All.Settlements,
				flow.All.Amount, flow.BuyersAll, flow.All.LastAt.UTC().Format(time.DateTime))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestIndexCommand reads two chains from empty, then again, and then with one of them down.
func TestIndexCommand(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	for _, c := range []struct {
		name   string
		change func()
		args   []string
		want   map[string]int64
		code   int
		stderr string
	}{
		{"from empty", func() {}, nil, map[string]int64{"eip155:8453": 55, chaintest.SolanaID: 80}, 0, ""},
		{"again", func() {}, nil, map[string]int64{"eip155:8453": 0, chaintest.SolanaID: 0}, 0, ""},
		{"one of them, with fewer confirmations", func() { n.pay(10) },
			[]string{"--network", "base", "--confirmations", "eip155:8453=2"}, map[string]int64{"eip155:8453": 13}, 0,
			""},
		{"one node down", func() {
			n.pay(10)
			n.down[chaintest.SolanaID] = true
		}, nil, map[string]int64{"eip155:8453": 7, chaintest.SolanaID: 0}, 1,
			"tollbook: index " + chaintest.SolanaID + ": "},
	} {
		n.set(c.change)
		code, got, stderr := n.once(t, n.env, c.args...)
		if code != c.code || !strings.Contains(stderr, c.stderr) ||
			code == 0 && strings.Contains(stderr, "tollbook: ") {
			t.Errorf("%s: exit %d, want %d and %q:\n%s", c.name, code, c.code, c.stderr, stderr)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: settlements (-want +got):\n%s", c.name, diff)
		}
	}
	want := map[string]string{ // 1001 to 1075, and 1 to 99 without each fifth
		"eip155:8453":      "75 settlements of 77850 by 5 buyers, the last 2026-07-01 00:02:30",
		chaintest.SolanaID: "80 settlements of 4000 by 1 buyers, the last 2026-07-01 01:39:00",
	}
	if diff := cmp.Diff(want, sums(t, n.env)); diff != "" {
		t.Errorf("sums (-want +got):\n%s", diff)
	}
	code, stdout, _ := tollbook(t, n.env, append([]string{"index", "--once", "--network", "eip155:8453"}, n.rpc...)...)
	if code != 0 || !strings.HasPrefix(stdout, "Base (eip155:8453): 0 new settlements, 0 rolled back; ") {
		t.Errorf("exit %d, it says: %s", code, stdout)
	}
}

// TestIndexInterrupted checks that an interrupted index run says so. The next run produces the same result as an
// uninterrupted one.
func TestIndexInterrupted(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	for _, requests := range []int{3, 6, 9} {
		waiting := make(chan struct{}, 100) // its own: the last requests of an index may arrive after its end
		n.set(func() { n.requests, n.enough, n.waiting = 0, requests, waiting })
		p := command(t, n.env, append([]string{"index", "--once"}, n.rpc...)...).start(t)
		select {
		case <-waiting:
		case <-time.After(patience):
			t.Fatalf("it asks nothing:\n%s", p.said())
		}
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if code := p.status(t); code != 1 || !strings.Contains(p.said(), "tollbook: interrupted\n") {
			t.Errorf("interrupted after %d requests: exit %d\n%s", requests, code, p.said())
		}
	}
	n.set(func() { n.enough = 0 })
	if code, _, stderr := n.once(t, n.env); code != 0 {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	want := map[string]string{
		"eip155:8453":      "55 settlements of 56540 by 5 buyers, the last 2026-07-01 00:01:50",
		chaintest.SolanaID: "80 settlements of 4000 by 1 buyers, the last 2026-07-01 01:39:00",
	}
	if diff := cmp.Diff(want, sums(t, n.env)); diff != "" {
		t.Errorf("sums (-want +got):\n%s", diff)
	}
}

// TestIndexGoesOn checks that index without --once runs until a signal and reports its progress. A file alone
// configures it.
func TestIndexGoesOn(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	n.set(func() { n.down[chaintest.SolanaID] = true })
	var b strings.Builder
	for i := 1; i < len(n.rpc); i += 2 {
		id, address, _ := strings.Cut(n.rpc[i], "=")
		fmt.Fprintf(&b, "[[network]]\ncaip2 = %q\nrpc = [%q]\nstart = \"2026-06-01\"\n", id, address)
	}
	file := filepath.Join(t.TempDir(), "own.toml")
	write(t, file, b.String())
	p := command(t, n.env, "index", "--config", file, "--metrics", "127.0.0.1:0").start(t)
	figures := p.await(t, "Metrics on ")
	a := until(t, figures, "settlements", func(a answer) bool {
		return strings.Contains(a.body, `tollbook_index_settlements_total{network="eip155:8453"} 55`) &&
			strings.Contains(a.body, `tollbook_index_errors_total{kind="server",network="`+chaintest.SolanaID)
	})
	for _, want := range []string{`tollbook_index_lag_blocks{network="eip155:8453"} 0`,
		`tollbook_index_head_block{network="eip155:8453"} 55`, `tollbook_index_calls_total{network="eip155:8453"} `,
		`tollbook_index_errors_total{kind="server",network="` + chaintest.SolanaID + `"} `,
		"# TYPE tollbook_index_lag_seconds gauge"} {
		if !strings.Contains(a.body, want) {
			t.Errorf("the figures lack %s:\n%s", want, a.body)
		}
	}
	if got := get(t, strings.Replace(figures, "/metrics", "/healthz", 1)); got.status != 200 ||
		got.body != "{\"status\":\"ok\"}\n" {
		t.Errorf("healthz: %d %s", got.status, got.body)
	}
	p.interrupt(t, syscall.SIGTERM)
	if strings.Contains(p.said()+a.body, nodeKey) {
		t.Errorf("a key is shown:\n%s", p.said())
	}
}

// TestIndexAgain checks what index --again says and does: after a node lied about a chain, it is killed at several
// requests, which changes nothing, then it makes the figures right, and a second time finds nothing.
func TestIndexAgain(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	truth := n.directory(t, n.list)
	if code, _, stderr := n.once(t, truth); code != 0 {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	n.set(func() { n.spoil = lieAboutAmounts })
	if code, _, stderr := n.once(t, n.env); code != 0 {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	n.set(func() { n.spoil = nil })
	before, want := sums(t, n.env), sums(t, truth)
	if cmp.Equal(before, want) {
		t.Fatal("the node told the truth")
	}
	args := append([]string{"index", "--again", "base", "--from", "2026-07-01"}, n.rpc...)
	for _, requests := range []int{1, 3, 5} {
		waiting := make(chan struct{}, 100)
		n.set(func() { n.requests, n.enough, n.waiting = 0, requests, waiting })
		p := command(t, n.env, args...).start(t)
		select {
		case <-waiting:
		case <-time.After(patience):
			t.Fatalf("it asks nothing:\n%s", p.said())
		}
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		p.status(t)
		if diff := cmp.Diff(before, sums(t, n.env)); diff != "" {
			t.Errorf("killed after %d requests (-before +after):\n%s", requests, diff)
		}
	}
	n.set(func() { n.enough = 0 })
	code, stdout, stderr := tollbook(t, n.env, append(args, "--json")...)
	if code != 0 || strings.Contains(stdout+stderr, nodeKey) {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	got := decode[report.Again](t, stdout)
	got.Calls, got.Seconds = 0, 0
	if diff := cmp.Diff(report.Again{Network: "eip155:8453", From: "2026-07-01", LastBlock: 55, Before: 55, After: 55,
		Added: 55, Removed: 55, Changed: 55, Days: []string{"2026-07-01"}, Tokens: []report.AgainToken{{
			Token: "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913", Before: 55, After: 55, AmountBefore: "385",
			AmountAfter: "56540"}}}, got); diff != "" {
		t.Errorf("the report (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, sums(t, n.env)); diff != "" {
		t.Errorf("sums (-truth +got):\n%s", diff)
	}
	code, stdout, _ = tollbook(t, n.env, args...)
	if code != 0 || !strings.Contains(stdout, "\n55 settlements were stored; all are right\n") {
		t.Errorf("a second time: exit %d, it says: %s", code, stdout)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--again", "base"}, 2, "--from: give the first day"},
		{[]string{"--from", "2026-07-01"}, 2, "--again: give the CAIP-2 id"},
		{[]string{"--again", "base", "--from", "2999-01-01"}, 2, "--from: give the first day"},
		{[]string{"--again", "base", "--from", "2026-07-01", "--once"}, 2, "leave out --once"},
		{[]string{"--again", "polygon", "--from", "2026-07-01"}, 2, "eip155:137"},
		{[]string{"--again", "base", "--from", "2026-07-05"}, 1, "nothing was changed"},
	} {
		code, _, stderr := tollbook(t, n.env, append(append([]string{"index"}, c.args...), n.rpc...)...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit %d, it says: %s", c.args, code, stderr)
		}
	}
}

var amountOfLog = regexp.MustCompile(`"data":"0x[0-9a-f]{64}"`)

// lieAboutAmounts says that every payment is of 7 units.
func lieAboutAmounts(body []byte) []byte {
	return amountOfLog.ReplaceAll(body, []byte(`"data":"0x`+strings.Repeat("0", 63)+`7"`))
}
