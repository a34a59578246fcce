package chain_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mr-tron/base58"

	"tollbook/crawl/chain"
	"tollbook/crawl/chain/chaintest"
	"tollbook/crawl/chain/solana"
	"tollbook/crawl/chain/stellar"
	"tollbook/crawl/chain/xrpl"
	"tollbook/site"
)

// Recipients of these tests, with their token accounts for USDC.
const (
	splProgram   = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
	solanaPayee  = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4"
	solanaHeld   = "3XZXfFJHF5ox3yPop16oqYfSWxLpkjsEuvTe2S67G2rj"
	stellarPayee = "GCNHYYBV4VEBCS2Y2KXXHF7RWZTOVJRKLSFAAQU7Y77KNOBJAKCZDBOB"
	usdcIssuer   = "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"
	xrplPayee    = "r9cZA1mLK5R5Am25ArfXFmqgNwjZgnfk59"
)

// newHolding returns a token account as a node writes it.
func newHolding(mint string, state byte) map[string]any {
	data := make([]byte, 165)
	key, _ := base58.Decode(mint)
	copy(data, key)
	data[108] = state
	return map[string]any{"owner": splProgram, "data": []string{base64.StdEncoding.EncodeToString(data), "base64"}}
}

// solanaWith returns a node with the mint of USDC and accounts in pairs of address and answer.
func solanaWith(pairs ...any) http.Handler {
	n := chaintest.NewSolana(nil)
	n.Accounts = map[string]any{chaintest.SolanaUSDC: map[string]any{"owner": splProgram, "data": []string{"", "base64"}}}
	for i := 0; i < len(pairs); i += 2 {
		n.Accounts[pairs[i].(string)] = pairs[i+1]
	}
	return n
}

// stellarWith returns a server with an account that has these balances; with nil it has no account.
func stellarWith(balances []any) http.Handler {
	n := chaintest.NewStellar(nil)
	if balances != nil {
		n.Accounts = map[string]map[string]any{stellarPayee: {"account_id": stellarPayee, "balances": balances}}
	}
	return n
}

// trust returns a trust line for USDC on Stellar, after changes in pairs of member and value.
func trust(changes ...any) map[string]any {
	line := map[string]any{"asset_type": "credit_alphanum4", "asset_code": "USDC", "asset_issuer": usdcIssuer,
		"balance": "1.0000000", "limit": "922337203685.4775807", "buying_liabilities": "0.0000000", "is_authorized": true}
	for i := 0; i < len(changes); i += 2 {
		line[changes[i].(string)] = changes[i+1]
	}
	return line
}

// xrplWith returns a node with an account that has flags and trust lines.
func xrplWith(flags int64, lines ...any) http.Handler {
	n := chaintest.NewXRPL(nil)
	n.Flags, n.Lines = map[string]int64{xrplPayee: flags}, map[string][]any{xrplPayee: lines}
	return n
}

// line returns a trust line for RLUSD, after changes in pairs of member and value.
func line(changes ...any) map[string]any {
	currency, issuer, _ := strings.Cut(chaintest.XRPLRLUSD, ".")
	l := map[string]any{"account": issuer, "currency": currency, "balance": "0", "limit": "1000000000"}
	for i := 0; i < len(changes); i += 2 {
		l[changes[i].(string)] = changes[i+1]
	}
	return l
}

// failing answers each request with a page.
var failing = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "<html>down", http.StatusBadGateway)
})

// TestReceivers asks nodes about one recipient each.
func TestReceivers(t *testing.T) {
	t.Parallel()
	at := map[string]time.Time{"solana": chaintest.SolanaStart.Add(1_000_060 * time.Second),
		"stellar": chaintest.StellarStart.Add(time.Hour / 60), "xrpl": chaintest.XRPLStart.Add(time.Hour / 60)}
	solanaUSDC := chain.Recipient{Asset: chaintest.SolanaUSDC, Address: solanaPayee}
	stellarUSDC := chain.Recipient{Asset: chaintest.StellarUSDC, Address: stellarPayee}
	rlusd := chain.Recipient{Asset: chaintest.XRPLRLUSD, Address: xrplPayee}
	unknown := func(reason string) chain.Reception { return chain.Reception{Reason: reason} }
	held := newHolding(chaintest.SolanaUSDC, 1)
	for _, test := range []struct {
		name      string
		network   string
		recipient chain.Recipient
		nodes     []http.Handler
		want      chain.Reception
	}{
		{"a token account", chaintest.SolanaID, solanaUSDC, []http.Handler{solanaWith(solanaHeld, held)},
			chain.CanReceive()},
		{"no token account", chaintest.SolanaID, solanaUSDC, []http.Handler{solanaWith()},
			chain.CannotReceive(site.ReceptionNoTokenAccount)},
		{"somebody sent SOL to its address", chaintest.SolanaID, solanaUSDC, []http.Handler{solanaWith(solanaHeld,
			map[string]any{"owner": "11111111111111111111111111111111", "data": []string{"", "base64"}})},
			chain.CannotReceive(site.ReceptionNoTokenAccount)},
		{"a frozen token account", chaintest.SolanaID, solanaUSDC,
			[]http.Handler{solanaWith(solanaHeld, newHolding(chaintest.SolanaUSDC, 2))},
			chain.CannotReceive(site.ReceptionFrozen)},
		{"a token account of another mint", chaintest.SolanaID, solanaUSDC,
			[]http.Handler{solanaWith(solanaHeld, newHolding(solanaPayee, 1))}, unknown(chain.ReasonNodesFailed)},
		{"half a token account", chaintest.SolanaID, solanaUSDC, []http.Handler{solanaWith(solanaHeld,
			map[string]any{"owner": splProgram, "data": []string{"AAAA", "base64"}})}, unknown(chain.ReasonNodesFailed)},
		{"no mint", chaintest.SolanaID, chain.Recipient{Asset: solanaPayee, Address: solanaPayee},
			[]http.Handler{solanaWith()}, unknown(chain.ReasonAssetUnknown)},
		{"two nodes agree", chaintest.SolanaID, solanaUSDC, []http.Handler{solanaWith(), solanaWith()},
			chain.CannotReceive(site.ReceptionNoTokenAccount)},
		{"two nodes disagree", chaintest.SolanaID, solanaUSDC,
			[]http.Handler{solanaWith(solanaHeld, held), solanaWith()}, unknown(chain.ReasonNodesDisagree)},
		{"one of two nodes is down", chaintest.SolanaID, solanaUSDC, []http.Handler{solanaWith(), failing},
			unknown(chain.ReasonNodesFailed)},
		{"one of three nodes is down", chaintest.SolanaID, solanaUSDC,
			[]http.Handler{solanaWith(), failing, solanaWith()}, chain.CannotReceive(site.ReceptionNoTokenAccount)},
		{"the only node is down", chaintest.SolanaID, solanaUSDC, []http.Handler{failing},
			unknown(chain.ReasonNodesFailed)},
		{"a node of another chain", chaintest.SolanaID, solanaUSDC, []http.Handler{stellarWith(nil)},
			unknown(chain.ReasonNodesFailed)},

		{"a trust line", chaintest.StellarID, stellarUSDC, []http.Handler{stellarWith([]any{trust()})},
			chain.CanReceive()},
		{"no account", chaintest.StellarID, stellarUSDC, []http.Handler{stellarWith(nil)},
			chain.CannotReceive(site.ReceptionNoAccount)},
		{"lumens alone", chaintest.StellarID, stellarUSDC, []http.Handler{stellarWith([]any{
			map[string]any{"asset_type": "native", "balance": "5.0"}})}, chain.CannotReceive(site.ReceptionNoTrustLine)},
		{"USDC of somebody else", chaintest.StellarID, stellarUSDC,
			[]http.Handler{stellarWith([]any{trust("asset_issuer", stellarPayee)})},
			chain.CannotReceive(site.ReceptionNoTrustLine)},
		{"not authorised", chaintest.StellarID, stellarUSDC,
			[]http.Handler{stellarWith([]any{trust("is_authorized", false)})},
			chain.CannotReceive(site.ReceptionNotAuthorized)},
		{"a full trust line", chaintest.StellarID, stellarUSDC,
			[]http.Handler{stellarWith([]any{trust("limit", "1.5", "buying_liabilities", "0.5")})},
			chain.CannotReceive(site.ReceptionLimitReached)},
		{"a balance of text", chaintest.StellarID, stellarUSDC,
			[]http.Handler{stellarWith([]any{trust("balance", "many")})}, unknown(chain.ReasonNodesFailed)},
		{"a contract", chaintest.StellarID,
			chain.Recipient{Asset: chaintest.StellarUSDC, Address: chaintest.StellarUSDC},
			[]http.Handler{stellarWith(nil)}, chain.CanReceive()},
		{"a token that is in no table", chaintest.StellarID, chain.Recipient{Address: stellarPayee,
			Asset: "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMB"},
			[]http.Handler{stellarWith([]any{trust()})}, unknown(chain.ReasonAssetUnknown)},

		{"a trust line", chaintest.XRPLID, rlusd, []http.Handler{xrplWith(0, line())}, chain.CanReceive()},
		{"no trust line", chaintest.XRPLID, rlusd, []http.Handler{xrplWith(0)},
			chain.CannotReceive(site.ReceptionNoTrustLine)},
		{"a line of the other side", chaintest.XRPLID, rlusd, []http.Handler{xrplWith(0, line("limit", "0"))},
			chain.CannotReceive(site.ReceptionNoTrustLine)},
		{"another currency", chaintest.XRPLID, rlusd, []http.Handler{xrplWith(0, line("currency", "USD"))},
			chain.CannotReceive(site.ReceptionNoTrustLine)},
		{"no account", chaintest.XRPLID, rlusd, []http.Handler{chaintest.NewXRPL(nil)},
			chain.CannotReceive(site.ReceptionNoAccount)},
		{"deposits refused", chaintest.XRPLID, rlusd, []http.Handler{xrplWith(0x01000000, line())},
			chain.CannotReceive(site.ReceptionDepositsRefused)},
		{"a full trust line", chaintest.XRPLID, rlusd,
			[]http.Handler{xrplWith(0, line("limit", "5", "balance", "5"))},
			chain.CannotReceive(site.ReceptionLimitReached)},
		{"a deep freeze", chaintest.XRPLID, rlusd, []http.Handler{xrplWith(0, line("deep_freeze_peer", true))},
			chain.CannotReceive(site.ReceptionFrozen)},
		{"a limit of text", chaintest.XRPLID, rlusd, []http.Handler{xrplWith(0, line("limit", "all"))},
			unknown(chain.ReasonNodesFailed)},
		{"XRP", chaintest.XRPLID, chain.Recipient{Asset: "XRP", Address: xrplPayee}, []http.Handler{xrplWith(0)},
			chain.CanReceive()},
		{"XRP without an account", chaintest.XRPLID, chain.Recipient{Asset: "XRP", Address: xrplPayee},
			[]http.Handler{chaintest.NewXRPL(nil)}, unknown(site.ReceptionNoAccount)},
	} {
		namespace, _, _ := strings.Cut(test.network, ":")
		t.Run(namespace+": "+test.name, func(t *testing.T) {
			t.Parallel()
			n := chain.Network{ID: test.network}
			for _, h := range test.nodes {
				server := httptest.NewServer(h)
				t.Cleanup(server.Close)
				n.RPC = append(n.RPC, server.URL+"/")
			}
			o := chain.Options{Backoff: 100 * time.Microsecond, HTTP: &http.Client{}, Timeout: 2 * time.Second,
				Now: func() time.Time { return at[namespace] }}
			open := map[string]func(chain.Network, chain.Options) (*chain.Receivers, error){
				"solana": solana.NewReceivers, "stellar": stellar.NewReceivers, "xrpl": xrpl.NewReceivers,
			}[namespace]
			r, err := open(n, o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Ask(t.Context(), []chain.Recipient{test.recipient})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]chain.Reception{test.want}, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReceiversOfAStaleNode checks that a node that stopped an hour ago is not believed.
func TestReceiversOfAStaleNode(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(stellarWith([]any{trust()}))
	t.Cleanup(server.Close)
	r, err := stellar.NewReceivers(chain.Network{ID: chaintest.StellarID, RPC: []string{server.URL}}, chain.Options{
		Now: func() time.Time { return chaintest.StellarStart.Add(time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Ask(t.Context(), []chain.Recipient{{Asset: chaintest.StellarUSDC, Address: stellarPayee}})
	if err != nil || got[0].CanReceive != nil || got[0].Reason != chain.ReasonNodesFailed {
		t.Errorf("%+v, %v; want an unknown answer", got, err)
	}
}
