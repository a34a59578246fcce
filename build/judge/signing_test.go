package judge

import (
	"encoding/base64"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// USDC on Solana.
const (
	solanaID   = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	solanaUSDC = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
)

// TestJudgePayment checks whether an endpoint can be recommended by its verdict and its newest terms.
func TestJudgePayment(t *testing.T) {
	t.Parallel()
	row := func(network, amount, asset, extra string) string {
		return `{"scheme":"exact","network":"` + network + `","amount":"` + amount + `","asset":"` + asset +
			`","payTo":"0x116DB50EEaa0b480fA98c8ba9707538Da76cB71A","maxTimeoutSeconds":60,"extra":{"name":"USD Coin",` +
			`"version":"2"` + extra + `}}`
	}
	const usdc, other = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "0x1111111111111111111111111111111111111111"
	good := row("eip155:8453", "1000", usdc, "")
	received := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	solana := func(payTo string) string {
		return `{"scheme":"exact","network":"` + solanaID + `","amount":"1000","asset":"` + solanaUSDC +
			`","payTo":"` + payTo + `","maxTimeoutSeconds":60,"extra":{"feePayer":` +
			`"EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd"}}`
	}
	const closed, opened = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4", "CHNLxYvVA28MJP9PrFuDXccuoGXAx7jBacfLEkahyGsX"
	const unasked = "EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd"
	receptions := map[ledger.ReceptionKey]ledger.Reception{}
	for payTo, can := range map[string]bool{closed: false, opened: true} {
		key := ledger.ReceptionKey{Network: solanaID, Asset: solanaUSDC, PayTo: payTo}
		receptions[key] = ledger.Reception{ReceptionKey: key, CanReceive: &can, Reason: site.ReceptionNoTokenAccount}
	}
	for _, c := range []struct{ name, verdict, accepts, code, unsignable string }{
		{"never asked", "", good, "", "GET /x: not asked yet"},
		{"latest answer without terms", "open", good, "", "GET /x: its latest answer was open"},
		{"can be paid", "paid", good, "", ""},
		{"no row, but former prices", "paid", "", "price_unknown", "GET /x: no price is known"},
		{"a price of zero", "paid", row("eip155:8453", "0", usdc, ""), "price_implausible", ""},
		{"ten billion dollars", "paid", row("eip155:8453", "10000000000000000", usdc, ""), "price_implausible", ""},
		{"an unknown token", "paid", row("eip155:8453", "1000", other, ""), "token_unknown", ""},
		{"an unknown network", "paid", row("eip155:999999", "1000", usdc, ""), "token_unknown", ""},
		{"expired", "paid", row("eip155:8453", "1000", usdc, `,"validUntil":"2026-11-19T12:00:00Z"`), "offer_expired", ""},
		{"expired in seconds", "paid", row("eip155:8453", "1000", usdc, `,"expiresAt":1763600000`), "offer_expired", ""},
		{"valid for an hour", "paid", row("eip155:8453", "1000", usdc, `,"validUntil":"2026-11-20T13:00:00Z"`), "", ""},
		{"a network as version 1 writes it", "paid", row("base", "1000", usdc, ""), "not_payable",
			`GET /x, row 1: network "base" should be eip155:8453`},
		{"another row can be paid", "paid", row("base", "1000", usdc, "") + "," + good, "", ""},
		{"a recipient without a token account", "paid", solana(closed), "recipient_cannot_receive", ""},
		{"one that can receive", "paid", solana(opened), "", ""},
		{"one that nobody asked about", "paid", solana(unasked), "", ""},
		{"another row can receive", "paid", solana(closed) + "," + good, "", ""},
		{"another row may be paid, if its token is worth it", "paid", solana(closed) + "," +
			row("eip155:8453", "1000", other, ""), "token_unknown", ""},
		{"another row has a plausible price", "paid", row("eip155:8453", "0", usdc, "") + "," + good, "", ""},
	} {
		e := newPricedEndpoint(newPrice("100", alice, *ago(time.Hour), nil))
		if e.Verdict = &c.verdict; c.verdict == "" {
			e.Verdict = nil
		}
		e.Envelope = &checks.Envelope{ReceivedAt: received}
		terms := base64.StdEncoding.EncodeToString([]byte(`{"x402Version":2,"accepts":[` + c.accepts + `]}`))
		capture := x402.Evidence{Endpoint: "GET /x", Captured: x402.Capture(x402.Answer{Status: 402,
			Header: http.Header{"Payment-Required": {terms}}})}
		got := judgePayment(&e, &capture, receptions)
		if diff := cmp.Diff(c.unsignable, got.unsignable); diff != "" {
			t.Errorf("%s: why no client signs (-want +got):\n%s", c.name, diff)
		}
		if got.fault == nil {
			got.fault = &Payment{}
		}
		if diff := cmp.Diff(c.code, got.fault.Code); diff != "" {
			t.Errorf("%s: what is known against it (-want +got):\n%s", c.name, diff)
		}
	}
}
