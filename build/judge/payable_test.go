package judge

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

const (
	zero = "0x0000000000000000000000000000000000000000"
	dead = "0x000000000000000000000000000000000000dEaD"
	sol  = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
)

// newAsking returns an endpoint that was asked an hour ago. It names these recipients of USDC on Base, in this order,
// both in its recorded response and in its stored prices.
func newAsking(recipients ...string) postgres.EndpointFacts {
	var rows []string
	e := newPricedEndpoint()
	for i, to := range recipients {
		rows = append(rows, fmt.Sprintf(`{"scheme":"exact","network":%q,"amount":"100","asset":%q,"payTo":%q,`+
			`"maxTimeoutSeconds":60,"extra":{"name":"USD Coin","version":"2"}}`, base, usdc, to))
		p := newPrice("100", to, *ago(time.Hour), nil)
		p.Position = i
		e.Prices = append(e.Prices, p)
	}
	e.Verdict, e.LastPaidAt = new("paid"), ago(time.Hour)
	e.Envelope = &checks.Envelope{ReceivedAt: *ago(time.Hour), StatusCode: 402, URL: "https://acme.test/a",
		TLSVerified: true, Header: http.Header{"Payment-Required": {base64.StdEncoding.EncodeToString(
			[]byte(`{"x402Version":2,"accepts":[` + strings.Join(rows, ",") + `]}`))}}}
	return e
}

// movesOf returns the change records of a service whose endpoints replaced their recipients.
func movesOf(t *testing.T, f *postgres.ServiceFacts) (moves []checks.Change) {
	t.Helper()
	for _, e := range f.Endpoints {
		for i, p := range e.Prices {
			if i == 0 || p.Since.Equal(e.Prices[i-1].Since) {
				continue
			}
			text, err := json.Marshal(site.PayToSummary{PayToChanges: []site.RecipientChange{{Network: base,
				Endpoint: e.Method + " " + e.Path, OldPayTo: &e.Prices[i-1].PayTo, NewPayTo: &p.PayTo}}})
			if err != nil {
				t.Fatal(err)
			}
			moves = append(moves, checks.Change{Type: site.PayToChanged, ObservedAt: p.Since, Summary: text})
		}
	}
	slices.SortFunc(moves, func(a, b checks.Change) int { return b.ObservedAt.Compare(a.ObservedAt) })
	return moves
}

// TestPayability checks which recipients make a service unpayable. The stored prices and the recorded responses are
// those of an earlier version, which took each such row for usable.
func TestPayability(t *testing.T) {
	t.Parallel()
	moved := func(payTo string, at ...time.Duration) postgres.EndpointFacts { // by turns to bob and back
		e := newAsking(payTo)
		e.Prices = nil
		since := *ago(40 * 24 * time.Hour)
		for i, d := range append(at, 0) {
			p := newPrice("100", []string{alice, bob}[i%2], since, ago(d))
			if since = *p.Until; d == 0 {
				p.Until = nil
			}
			e.Prices = append(e.Prices, p)
		}
		return e
	}
	const day = 24 * time.Hour
	for _, test := range []struct {
		name      string
		endpoints []postgres.EndpointFacts
		failures  int

		ready   bool
		flags   string // codes
		rows    int    // published payment options
		payable []bool // by endpoint
	}{
		{"a wallet", []postgres.EndpointFacts{newAsking(alice)}, 0, true, "", 1, []bool{true}},
		{"the zero address", []postgres.EndpointFacts{newAsking(zero)}, 0, false, "unpayable_recipient", 0,
			[]bool{false}},
		{"a burn address", []postgres.EndpointFacts{newAsking(dead)}, 0, false, "unpayable_recipient", 0,
			[]bool{false}},
		{"the token", []postgres.EndpointFacts{newAsking(usdc)}, 0, false, "unpayable_recipient", 0, []bool{false}},
		{"the token in lower case", []postgres.EndpointFacts{newAsking(strings.ToLower(usdc))}, 0, false,
			"unpayable_recipient", 0, []bool{false}},
		{"an address of Solana", []postgres.EndpointFacts{newAsking(sol)}, 0, false, "unpayable_recipient", 0,
			[]bool{false}},
		{"one row of two", []postgres.EndpointFacts{newAsking(alice, zero)}, 0, false, "unpayable_recipient", 1,
			[]bool{false}},
		{"one endpoint of two", []postgres.EndpointFacts{newAsking(zero), newAsking(alice)}, 0, false,
			"unpayable_recipient", 1, []bool{false, false}},
		{"a wrong checksum", []postgres.EndpointFacts{newAsking(strings.Replace(alice, "a", "A", 1))}, 0, false,
			"", 1, []bool{false}},
		{"offline", []postgres.EndpointFacts{newAsking(alice)}, 3, false, "probe_failing", 1, []bool{false}},
		{"moved once", []postgres.EndpointFacts{moved(bob, day)}, 0, false, "pay_to_changed", 1, []bool{false}},
		{"moved twice in a week", []postgres.EndpointFacts{moved(alice, 7*day-time.Second, day)}, 0, false,
			"pay_to_unstable pay_to_changed", 1, []bool{false}},
		{"moved a week ago and since", []postgres.EndpointFacts{moved(alice, 7*day, day)}, 0, false, "pay_to_changed", 1,
			[]bool{false}},
		{"two endpoints moved once", []postgres.EndpointFacts{moved(bob, day), moved(bob, 2*day)}, 0, false,
			"pay_to_changed", 2, []bool{false, false}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newService(test.endpoints...)
			f.Moves = movesOf(t, f)
			f.LastCheckedAt, f.LastSuccessAt, f.LastStatus = ago(time.Minute), ago(time.Hour), new("online")
			if f.ConsecutiveFailures = test.failures; test.failures > 0 {
				f.LastStatus = new("offline")
			}
			l := judgeAll(&postgres.Facts{Services: []postgres.ServiceFacts{*f}}, now).Services[0]
			d, flags, rows := l.Detail, []string{}, 0
			for _, flag := range d.Assessment.Risk.Flags {
				flags = append(flags, flag.Code)
			}
			for _, e := range d.Endpoints {
				rows += len(e.Pricing)
			}
			if d.PaymentReady != test.ready || d.PaymentReadyUntil == nil || strings.Join(flags, " ") != test.flags ||
				rows != test.rows {
				t.Errorf("ready %v until %v, flags %v, %d rows; want %v, %s, %d", d.PaymentReady, d.PaymentReadyUntil,
					flags, rows, test.ready, test.flags, test.rows)
			}
			var payable []bool
			for _, terms := range l.Terms {
				payable = append(payable, terms.Payable)
			}
			if diff := cmp.Diff(test.payable, payable); diff != "" {
				t.Errorf("payable endpoints (-want +got):\n%s", diff)
			}
			if hasReason := l.Item.RiskReason != nil; l.Item.RiskLevel != d.Assessment.Risk.Level ||
				hasReason != (test.flags != "") {
				t.Errorf("the row says %s, %v", l.Item.RiskLevel, l.Item.RiskReason)
			}
		})
	}
}

// TestUnpayableEvidence checks the words of the flags, and that the worst comes first.
func TestUnpayableEvidence(t *testing.T) {
	t.Parallel()
	f := newService(newAsking(alice, zero, sol))
	f.BaseURL = "http://acme.test"
	risk := judgeAll(&postgres.Facts{Services: []postgres.ServiceFacts{*f}}, now).Services[0].Detail.Assessment.Risk
	want := []site.RiskFlag{
		{Level: "danger", Code: "unpayable_recipient", Title: "Payments may be lost", Evidence: "GET /a, row 2 on " +
			`Base: the recipient "` + zero + `" is a burn address: nobody can spend from it; and 1 more row`},
		{Level: "warning", Code: "plain_http", Title: "Not encrypted",
			Evidence: "requests and payments to http://acme.test travel unencrypted"},
	}
	if diff := cmp.Diff(want, risk.Flags); diff != "" || risk.Level != site.RiskDanger {
		t.Errorf("risk is %s; flags (-want +got):\n%s", risk.Level, diff)
	}
}
