package postgres_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
)

// TestTokens checks that the facts of each token have its latest configuration, for each network.
func TestTokens(t *testing.T) {
	t.Parallel()
	db := open(t)
	if _, err := db.ImportFacilitators(t.Context(), []ledger.Facilitator{facilitator("acme", "0xa1")}); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 7, 2, 0, 0, 0, 0, time.UTC)
	for i, s := range []ledger.Settlement{{Network: "eip155:8453", Token: "own"},
		{Network: "eip155:8453", Token: "usdc"}, {Network: "eip155:10", Token: "own"}} {
		s.Block, s.Time, s.Transaction, s.LogIndex, s.Facilitator, s.Settler = int64(i), now.Add(-time.Hour), "x", i,
			"acme", "0xa1"
		s.Payer, s.Payee, s.Amount = "p", "q", "1"
		if _, err := db.RecordSettlements(t.Context(), []ledger.Settlement{s}); err != nil {
			t.Fatal(err)
		}
	}
	dollar := ledger.Token{Network: "eip155:8453", Address: "own", Symbol: "OWN", Decimals: 18, USD: true}
	coin := ledger.Token{Network: "eip155:8453", Address: "usdc", Symbol: "COIN", Decimals: 6}
	elsewhere := ledger.Token{Network: "eip155:10", Address: "own", Symbol: "ELSE", Decimals: 0}
	renamed := dollar
	renamed.Symbol = "NEW"
	for _, c := range []struct {
		name    string
		network string
		list    []ledger.Token
		want    map[string]*ledger.Token
	}{
		{"none", "eip155:8453", nil, map[string]*ledger.Token{"eip155:8453 own": nil, "eip155:8453 usdc": nil,
			"eip155:10 own": nil}},
		{"two", "eip155:8453", []ledger.Token{dollar, coin},
			map[string]*ledger.Token{"eip155:8453 own": &dollar, "eip155:8453 usdc": &coin, "eip155:10 own": nil}},
		{"another network", "eip155:10", []ledger.Token{elsewhere},
			map[string]*ledger.Token{"eip155:8453 own": &dollar, "eip155:8453 usdc": &coin,
				"eip155:10 own": &elsewhere}},
		{"one in their place", "eip155:8453", []ledger.Token{renamed},
			map[string]*ledger.Token{"eip155:8453 own": &renamed, "eip155:8453 usdc": nil,
				"eip155:10 own": &elsewhere}},
		{"none again", "eip155:8453", nil, map[string]*ledger.Token{"eip155:8453 own": nil, "eip155:8453 usdc": nil,
			"eip155:10 own": &elsewhere}},
	} {
		if err := db.SetTokens(t.Context(), c.network, c.list); err != nil {
			t.Fatal(err)
		}
		got := map[string]*ledger.Token{}
		err := db.Read(t.Context(), func(r *postgres.Reader) error {
			f, err := r.Facts(t.Context(), now, 0)
			if err != nil {
				return err
			}
			for _, flow := range f.Facilitators[0].Tokens {
				got[flow.Network+" "+flow.Token] = flow.Configured
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestNewTokenIsScanned checks that every settler is scanned again from its first day for a new token, and not for a
// changed name or price.
func TestNewTokenIsScanned(t *testing.T) {
	t.Parallel()
	db := open(t)
	if _, err := db.ImportFacilitators(t.Context(), []ledger.Facilitator{facilitator("acme", "0xa1")}); err != nil {
		t.Fatal(err)
	}
	look := func() []string {
		t.Helper()
		fresh, err := db.NewSettlers(t.Context(), base)
		if err != nil {
			t.Fatal(err)
		}
		if len(fresh) > 0 {
			if err := db.OpenScans(t.Context(), base, fresh, 100, blockTime(100), 1000); err != nil {
				t.Fatal(err)
			}
		}
		return describeScans(scans(t, db))
	}
	look()
	for _, s := range scans(t, db) {
		if s.End != nil {
			commit(t, db, s, 999, nil)
		}
	}
	usdc := ledger.Token{Network: base, Address: "usdc", Symbol: "USDC", Decimals: 6, USD: true}
	own := ledger.Token{Network: base, Address: "own", Symbol: "OWN", Decimals: 18}
	renamed := usdc
	renamed.Symbol, renamed.USD = "USD", false
	read, anew := []string{"1000-head true 0xa1"}, []string{"1000-head true 0xa1", "100-1000 false 0xa1"}
	for _, c := range []struct {
		name string
		list []ledger.Token
		want []string
	}{
		{"none, as before", nil, read},
		{"two for those that the program knows", []ledger.Token{usdc, own}, anew},
		{"the same", []ledger.Token{usdc, own}, read},
		{"another name", []ledger.Token{renamed, own}, read},
		{"one less", []ledger.Token{renamed}, read},
		{"it again", []ledger.Token{renamed, own}, anew},
		{"none", nil, anew},
	} {
		if err := db.SetTokens(t.Context(), base, c.list); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, look()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		for _, s := range scans(t, db) {
			if s.End != nil {
				commit(t, db, s, *s.End-1, nil)
			}
		}
	}
}
