package crawl

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mr-tron/base58"

	"tollbook/crawl/chain"
	"tollbook/crawl/chain/chaintest"
	"tollbook/site/postgres/ledger"
)

// TestRecipients lists a service that asks to be paid on Solana, and asks a node about its recipient: once a day, again
// after an hour if nobody knows, and no more once the price is gone.
func TestRecipients(t *testing.T) {
	t.Parallel()
	const payee, held = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4", "3XZXfFJHF5ox3yPop16oqYfSWxLpkjsEuvTe2S67G2rj"
	const program = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		row := `{"scheme":"exact","network":"` + chaintest.SolanaID + `","amount":"10000","asset":"` +
			chaintest.SolanaUSDC + `","payTo":"` + payee + `","maxTimeoutSeconds":60,"extra":{"feePayer":"` +
			`EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd"}}`
		pay(w, `{"x402Version":2,"resource":{"url":"http://x"},"accepts":[`+row+`]}`)
	}))
	m := open(t)
	now := &clock{}
	now.set(chaintest.SolanaStart.Add(1_000_060 * time.Second))
	l := oneEndpoint("acme", base, "/x")
	l.CreatedAt = now.Now()
	m.list(t, l)
	c := crawler(t, m, Options{Now: now.Now}, o)
	round(t, c)

	node := chaintest.NewSolana(nil)
	mint := map[string]any{"owner": program, "data": []string{"", "base64"}}
	node.Accounts = map[string]any{chaintest.SolanaUSDC: mint}
	down := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		node.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	networks := []chain.Network{{ID: "eip155:8453", RPC: []string{server.URL}},
		{ID: chaintest.SolanaID, RPC: []string{server.URL}}}
	asked := func() RecipientsReport {
		t.Helper()
		r, err := NewRecipients(m.DB, networks, chain.Options{HTTP: &http.Client{}, Backoff: time.Microsecond,
			Timeout: time.Second, Now: now.Now})
		if err != nil {
			t.Fatal(err)
		}
		reports, err := r.Round(t.Context(), nil)
		if err != nil || len(reports) != 1 {
			t.Fatalf("reports %v, %v", reports, err)
		}
		return reports[0]
	}
	answer := func() any {
		t.Helper()
		f := m.facts(t, now.Now())["acme"]
		r, ok := f.Receptions[ledger.ReceptionKey{Network: chaintest.SolanaID, Asset: chaintest.SolanaUSDC, PayTo: payee}]
		switch {
		case !ok:
			return nil
		case r.CanReceive == nil:
			return r.Reason
		}
		return *r.CanReceive
	}
	none := RecipientsReport{Network: chaintest.SolanaID}
	expect := func(what string, want RecipientsReport, stored any) {
		t.Helper()
		want.Network = chaintest.SolanaID
		if diff := cmp.Diff(want, asked()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		if diff := cmp.Diff(stored, answer()); diff != "" {
			t.Errorf("%s: stored (-want +got):\n%s", what, diff)
		}
	}
	expect("no token account", RecipientsReport{Cannot: 1}, false)
	expect("not again on this day", none, false)
	key, _ := base58.Decode(chaintest.SolanaUSDC)
	data := make([]byte, 165)
	copy(data, key)
	data[108] = 1
	node.Set(func(n *chaintest.Solana) {
		n.Accounts[held] = map[string]any{"owner": program,
			"data": []string{base64.StdEncoding.EncodeToString(data), "base64"}}
	})
	forget(t, m, 25*time.Hour)
	expect("a token account a day later", RecipientsReport{Can: 1}, true)
	down = true
	forget(t, m, 25*time.Hour)
	expect("a node that is down takes nothing back", RecipientsReport{Unknown: 1}, true)
	forget(t, m, 30*time.Hour)
	expect("after two days nobody knows", RecipientsReport{Unknown: 1}, chain.ReasonNodesFailed)
	expect("an unknown answer is not asked at once", none, chain.ReasonNodesFailed)
	down = false
	forget(t, m, time.Hour)
	expect("but after an hour", RecipientsReport{Can: 1}, true)

	if _, err := m.conn.Exec(t.Context(), `UPDATE prices SET until = now()`); err != nil {
		t.Fatal(err)
	}
	if err := m.Retain(t.Context(), now.Now()); err != nil {
		t.Fatal(err)
	}
	if left := m.strings(t, `SELECT pay_to FROM recipient_checks`); len(left) > 0 {
		t.Errorf("answers about %v are left without a price", left)
	}
}

// forget makes every answer older.
func forget(t *testing.T, m *memory, by time.Duration) {
	t.Helper()
	if _, err := m.conn.Exec(t.Context(), `UPDATE recipient_checks SET checked_at = checked_at - $1::interval`,
		by); err != nil {
		t.Fatal(err)
	}
}
