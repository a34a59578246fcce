package judge

import (
	"encoding/base64"
	"net/http"
	"strings"
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

// TestJudgeEndpoint checks whether an endpoint can be recommended by its verdict and its newest terms.
func TestJudgeEndpoint(t *testing.T) {
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
	for _, c := range []struct{ name, verdict, accepts, want string }{
		{"never asked", "", good, "unknown not_asked"},
		{"latest answer without terms", "open", good, "unknown nothing_sold"},
		{"latest answer broken", "broken", good, "caution answer_faulty"},
		{"a test network", "paid", strings.Replace(row("eip155:84532", "1000",
			"0x036CbD53842c5426634e7929541eC2318f3dCF7e", ""), "USD Coin", "USDC", 1), "caution testnet"},
		{"can be paid", "paid", good, "good"},
		{"no row, but former prices", "paid", "", "unknown not_repeated"},
		{"a price of zero", "paid", row("eip155:8453", "0", usdc, ""), "unknown price_implausible"},
		{"ten billion dollars", "paid", row("eip155:8453", "10000000000000000", usdc, ""), "unknown price_implausible"},
		{"an unknown token", "paid", row("eip155:8453", "1000", other, ""), "unknown token_unknown"},
		{"an unknown network", "paid", row("eip155:999999", "1000", usdc, ""), "unknown token_unknown"},
		{"expired", "paid", row("eip155:8453", "1000", usdc, `,"validUntil":"2026-11-19T12:00:00Z"`), "do_not_pay terms_expired"},
		{"expired in seconds", "paid", row("eip155:8453", "1000", usdc, `,"expiresAt":1763600000`), "do_not_pay terms_expired"},
		{"valid for an hour", "paid", row("eip155:8453", "1000", usdc, `,"validUntil":"2026-11-20T13:00:00Z"`), "good"},
		{"a network as version 1 writes it", "paid", row("base", "1000", usdc, ""), "unknown not_payable"},
		{"another row can be paid", "paid", row("base", "1000", usdc, "") + "," + good, "good"},
		{"a recipient without a token account", "paid", solana(closed), "do_not_pay recipient_cannot_receive"},
		{"one that can receive", "paid", solana(opened), "good"},
		{"one that nobody asked about", "paid", solana(unasked), "good"},
		{"another row can receive", "paid", solana(closed) + "," + good, "good"},
		{"another row may be paid, if its token is worth it", "paid", solana(closed) + "," +
			row("eip155:8453", "1000", other, ""), "unknown token_unknown"},
		{"another row has a plausible price", "paid", row("eip155:8453", "0", usdc, "") + "," + good, "good"},
	} {
		e := newPricedEndpoint(newPrice("100", alice, *ago(time.Hour), nil))
		if e.Verdict = &c.verdict; c.verdict == "" {
			e.Verdict = nil
		}
		e.Envelope = &checks.Envelope{ReceivedAt: received}
		terms := base64.StdEncoding.EncodeToString([]byte(`{"x402Version":2,"accepts":[` + c.accepts + `]}`))
		capture := x402.Evidence{Endpoint: "GET /x", Captured: x402.Capture(x402.Answer{Status: 402,
			Header: http.Header{"Payment-Required": {terms}}})}
		of := site.Endpoint{Pricing: []site.PricingEntry{{}}}
		found := judgeEndpoint(&e, &capture, &of, receptions).found
		got := site.AdviceGood
		if found != nil {
			got = found.level + " " + found.reason.Code
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: verdict (-want +got):\n%s", c.name, diff)
		}
	}
}
