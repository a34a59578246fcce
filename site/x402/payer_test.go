package x402

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPayersOf says who can pay by rows of each kind. TestClients in site/rail compares the clients with what they do.
func TestPayersOf(t *testing.T) {
	t.Parallel()
	const (
		usdc    = `"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",`
		bnb     = `"asset":"0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d",`
		payTo   = `"payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,`
		domain  = `"extra":{"name":"USD Coin","version":"2"}`
		exact   = `"scheme":"exact","network":"eip155:8453","amount":"1000",` + usdc + payTo + domain
		gateway = `"scheme":"exact","network":"eip155:8453","amount":"100",` + usdc + payTo +
			`"extra":{"name":"GatewayWalletBatched","version":"1",` +
			`"verifyingContract":"0x77777777Dcc4d5A8B6E418Fd04D8997ef11000eE"}`
		permit2 = `"scheme":"exact","network":"eip155:56","amount":"10000000000000000",` + bnb + payTo +
			`"extra":{"assetTransferMethod":"permit2"}`
		upto = `"scheme":"upto","network":"eip155:8453","amount":"1000",` + usdc + payTo +
			`"extra":{"name":"USD Coin","version":"2","facilitatorAddress":"0x1111111111111111111111111111111111111111"}`
		channel = `"scheme":"batch-settlement","network":"eip155:8453","amount":"1000",` + usdc + payTo + domain
		solana  = `"scheme":"exact","network":"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp","amount":"1000",` +
			`"asset":"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",` +
			`"payTo":"4FsXRuYP99qC3zHyRJy2eNejxsx5aSxDmbgvbU5qa2Fq","maxTimeoutSeconds":60,` +
			`"extra":{"feePayer":"2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4"}`
		first = `"scheme":"exact","network":"base","maxAmountRequired":"1000","resource":"https://api.acme.test/x",` +
			`"description":"d","mimeType":"application/json",` + usdc + payTo + domain
		hint = `"extensions":{"auth-hints":{"info":{"authRequirements":[{"acceptIndexes":[1]}]}}},`
		gas  = `"extensions":{"eip2612GasSponsoring":{"info":{}}},`
	)
	v2 := func(more string, rows ...string) Answer {
		text := `{"x402Version":2,"resource":{"url":"https://api.acme.test/x"},` + more + `"accepts":[{` +
			strings.Join(rows, "},{") + `}]}`
		return Answer{Status: 402, Body: []byte("{}"),
			Header: http.Header{"Payment-Required": {base64.StdEncoding.EncodeToString([]byte(text))}}}
	}
	v1 := func(rows ...string) Answer {
		return Answer{Status: 402, Body: []byte(`{"x402Version":1,"error":"pay","accepts":[{` + strings.Join(rows, "},{") +
			`}]}`)}
	}
	both := v2("", exact)
	both.Body = v1(first).Body
	for _, c := range []struct {
		name   string
		answer Answer
		want   []string
	}{
		{"exact in USDC", v2("", exact), []string{"@x402/fetch mppx; contracts yes"}},
		{"with a deposit", v2("", exact, gateway),
			[]string{"@x402/fetch mppx; contracts yes", "; contracts no; deposit"}},
		{"Permit2", v2("", permit2), []string{"@x402/fetch; contracts yes; approval"}},
		{"Permit2, sponsored", v2(gas, permit2), []string{"@x402/fetch; contracts yes"}},
		{"a maximum", v2("", upto), []string{"@x402/fetch; contracts yes; approval"}},
		{"a channel", v2("", channel), []string{"@x402/fetch; deposit"}},
		{"Solana", v2("", solana), []string{"@x402/fetch"}},
		{"an account for the second row", v2(hint, exact, exact),
			[]string{"@x402/fetch mppx; contracts yes", "@x402/fetch mppx; contracts yes; account"}},
		{"version 1", v1(first), []string{"x402-fetch @x402/fetch; contracts yes"}},
		{"version 1 with a row of another scheme", v1(first, strings.Replace(first, "exact", "upto", 1)),
			[]string{"@x402/fetch; contracts yes", "; contracts yes; approval"}},
		{"both versions", both, []string{"x402-fetch @x402/fetch mppx; contracts yes"}},
		{"an amount as a number", v2("", strings.Replace(exact, `"1000"`, "1000", 1)),
			[]string{"@x402/fetch; contracts yes"}},
		{"no client knows the network", v2("", strings.Replace(exact, "exact", "streaming", 1)), []string{""}},
		{"nothing", Answer{Status: 402, Body: []byte("{}")}, nil},
	} {
		var got []string
		for _, p := range PayersOf(Evidence{Endpoint: "GET /x", Captured: Capture(c.answer)}) {
			text := strings.Join(p.Clients, " ")
			if p.SmartWallets != nil {
				text += "; contracts " + map[bool]string{true: "yes", false: "no"}[*p.SmartWallets]
			}
			for _, need := range p.Conditions {
				text += fmt.Sprintf("; %s", need.Code)
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
