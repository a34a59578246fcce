package main

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/chain/chaintest"
	"tollbook/site/postgres/postgrestest"
)

// tempoStart is the time of the first block of the tests' Tempo.
var tempoStart = time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)

// addCharges adds n blocks to a chain of Tempo's id. Each has an MPP charge of pathUSD, whose amount is the block's
// number, and a transfer with another memo. Every third charge goes to the payer.
func addCharges(c *chaintest.Chain, n int) {
	digits := func(text string) (b []byte) {
		b, err := hex.DecodeString(text)
		if err != nil {
			panic(err)
		}
		return b
	}
	token := chaintest.Address(digits("20c0000000000000000000000000000000000000"))
	memo := chaintest.Hash(digits("ef1ed712011ece072f76bd8b82350e7521d1cadbcfa91eec657c1b16802b3047"))
	transfer := chaintest.Hash(digits("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"))
	withMemo := chaintest.Hash(digits("57bc7354aa85aed339e000bccffabbc529466af35f0772c8f8ee1145927de7f0"))
	account := func(kind byte, n int64) (h chaintest.Hash) {
		h[12] = kind
		binary.BigEndian.PutUint64(h[24:], uint64(n))
		return h
	}
	for range n {
		number := c.Head().Number + 1
		payer, payee := account(0xb, number%5), account(0xc, 1)
		if number%3 == 0 {
			payee = payer
		}
		var amount [32]byte
		binary.BigEndian.PutUint64(amount[24:], uint64(number))
		tx := chaintest.Tx{From: chaintest.Address(payer[12:]), To: token, Nonce: uint64(number)}
		for _, memo := range []chaintest.Hash{memo, {7}} {
			tx.Logs = append(tx.Logs,
				chaintest.Log{Contract: token, Topics: []chaintest.Hash{transfer, payer, payee}, Data: amount[:]},
				chaintest.Log{Contract: token, Topics: []chaintest.Hash{withMemo, payer, payee, memo}, Data: amount[:]})
		}
		c.Add(tempoStart.Add(time.Duration(number)*time.Minute), tx)
	}
}

// listQuotes lists and visits the service Quotes, which asks for MPP charges alone, to the recipient of addCharges.
func listQuotes(t *testing.T, env []string) {
	t.Helper()
	request := base64.RawURLEncoding.EncodeToString([]byte(`{"amount":"5","currency":` +
		`"0x20c0000000000000000000000000000000000000","methodDetails":{"chainId":4217},"recipient":"0x0c` +
		strings.Repeat("0", 37) + `1"}`))
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/quote" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("WWW-Authenticate", `Payment id="1", realm="quotes", method="tempo", intent="charge", `+
			`request="`+request+`"`)
		w.WriteHeader(http.StatusPaymentRequired)
	}))
	defer shop.Close()
	list := filepath.Join(t.TempDir(), "services.toml")
	write(t, list, fmt.Sprintf("[[service]]\nservice_name = \"Quotes\"\ndescription = \"Share prices.\"\nurl = %q\n"+
		"category = \"Finance\"\nendpoints = [\"/quote\"]\n", shop.URL))
	ran(t, env, "services", "apply", list)
	ran(t, env, "crawl", "--once", "--crawl-allow-private", shop.Listener.Addr().String(), "--crawl-host-gap", "1ms")
}

// TestIndexTempo reads MPP charges with the shipped list: from empty, again, and after a reorganisation. The figures
// are then in the snapshot, those of a service that speaks MPP alone too. A mark is published as a mark, and linked
// nowhere.
func TestIndexTempo(t *testing.T) {
	t.Parallel()
	c := chaintest.New(4217, tempoStart)
	c.Finality = 2
	addCharges(c, 92)
	server := httptest.NewServer(http.HandlerFunc(c.ServeHTTP))
	defer server.Close()
	dir := t.TempDir()
	data, config := filepath.Join(dir, "data"), filepath.Join(dir, "own.toml")
	write(t, config, fmt.Sprintf("[[network]]\ncaip2 = \"tempo\"\nrpc = [%q]\n", server.URL))
	dsn := postgrestest.NewDatabase(t)
	env := []string{"DATABASE_URL=" + dsn}
	ran(t, env, "facilitators", "import")
	for _, step := range []struct {
		name   string
		change func()
		want   int64 // settlements that are added in all
	}{
		{"from empty", func() {}, 90},
		{"again", func() {}, 0},
		{"after a reorganisation", func() { c.Cut(80); addCharges(c, 22) }, 10},
	} {
		step.change()
		report := decode[struct {
			Networks []struct {
				Settlements int64 `json:"settlements"`
				RolledBack  int64 `json:"rolled_back"`
			}
		}](t, ran(t, env, "index", "--once", "--json", "--config", config)).Networks
		if len(report) != 1 || report[0].Settlements-report[0].RolledBack != step.want ||
			(step.want == 10) != (report[0].RolledBack >= 10) {
			t.Errorf("%s: %+v, want %d more settlements", step.name, report, step.want)
		}
	}

	listQuotes(t, env)
	// The service named its recipient before the charges; otherwise none of them would be its own.
	if _, err := postgrestest.Connect(t, dsn).Exec(t.Context(),
		`UPDATE recipient_claims SET first_seen_at = '2026-06-30'`); err != nil {
		t.Fatal(err)
	}
	ran(t, env, "build", "--data", data, "--config", config)
	published := func(path string) string {
		text, err := os.ReadFile(filepath.Join(data, "public", "current", filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	mpp := decode[struct{ Data map[string]any }](t, published("v1/facilitators/mpp.json")).Data
	settlers, _ := mpp["settlers"].([]any)
	if len(settlers) != 1 {
		t.Fatalf("settlers %v, want one", mpp["settlers"])
	}
	want := map[string]any{"network_caip2": "eip155:4217", "address": "memo:0xef1ed71201", "kind": "memo",
		"source": "list", "last_seen_at": "2026-07-01T01:40:00.000Z"}
	got := map[string]any{}
	for member := range want {
		got[member] = settlers[0].(map[string]any)[member]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the mark (-want +got):\n%s", diff)
	}
	want = map[string]any{"volume_usd_all": 0.00505, "tx_count_all": 100.0, "settler_count": 1.0, // 1 to 100
		"verification": "on-chain"}
	got = map[string]any{}
	for member := range want {
		got[member] = mpp[member]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the entry (-want +got):\n%s", diff)
	}
	quotes := decode[struct {
		Data struct {
			Assessment struct{ Traction map[string]any }
		}
	}](t, published("v1/services/quotes.json")).Data.Assessment.Traction
	want = map[string]any{"status": "measured", "volume_usd_all_time": 0.003367, "tx_count_all_time": 67.0, // not by 3
		"volume_usd_30d": 0.0, "measured_networks": []any{"eip155:4217"}}
	got = map[string]any{}
	for member := range want {
		got[member] = quotes[member]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("traction of the service (-want +got):\n%s", diff)
	}
	page := published("facilitators/mpp.html")
	if !strings.Contains(page, "<code>memo:0xef1ed71201</code>") || !strings.Contains(page, "any payer can write one") {
		t.Errorf("the page does not show the mark as one:\n%s", page)
	}
	if strings.Contains(page, "address/memo") {
		t.Error("the page links the mark to a block explorer")
	}
}
