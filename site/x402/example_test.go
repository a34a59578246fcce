package x402_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"tollbook/site/x402"
)

// A service sends a 402 response with its terms in a header.
func Example() {
	terms := `{"x402Version":2,"resource":{"url":"https://api.acme.test/quote","description":"A quote"},"accepts":[
	  {"scheme":"exact","network":"eip155:8453","amount":"2500","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
	   "payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,"extra":{"name":"USD Coin","version":"2"}}]}`
	header := http.Header{}
	header.Set("PAYMENT-REQUIRED", base64.StdEncoding.EncodeToString([]byte(terms)))

	c := x402.Capture(x402.Answer{Status: 402, Header: header, Body: []byte("{}")})

	for _, r := range c.Envelope.Accepts {
		price, _ := r.PriceUSD()
		fmt.Printf("%s: $%s in %s on %s\n", c.Envelope.Resource.Description, price, r.AssetName,
			x402.Abbreviation(r.NetworkCAIP2))
	}
	// Output: A quote: $0.0025 in USDC on BSE
}

// Capture returns the terms of a response and, separately, its defects.
func ExampleCapture() {
	body := `{"accepts":[{"scheme":"exact","network":"base","amount":10000,"asset":"USDC",
	  "payToAddress":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","resource":"https://api.acme.test/quote"}]}`

	c := x402.Capture(x402.Answer{Status: 402, Body: []byte(body)})

	r := c.Envelope.Accepts[0]
	fmt.Println(r.NetworkCAIP2, r.Amount, r.AssetName, r.PayToSource)
	for _, d := range c.Defects {
		fmt.Println(strings.TrimSpace(d.Code + " " + d.Detail))
	}
	// Output:
	// eip155:8453 10000 UNKNOWN payToAddress
	// version_missing
	// v2_outside_header
	// network_nickname base
	// asset_ticker USDC
	// amount_number 10000
	// payto_key payToAddress
	// timeout_missing
	// resource_in_row
	// resource_text
}

// The same rules judge a service in the directory and an address on the command line.
func ExampleAssess() {
	body := `{"x402Version":1,"accepts":[{"scheme":"exact","network":"base","maxAmountRequired":"10000",
	  "asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
	  "resource":"https://api.acme.test/quote","maxTimeoutSeconds":60,"extra":{"name":"USDC","version":"2"}}]}`
	evidence := x402.Evidence{
		Endpoint:    "GET /quote",
		URL:         "https://api.acme.test/quote",
		TLSVerified: true,
		Captured:    x402.Capture(x402.Answer{Status: 402, Body: []byte(body)}),
	}

	verdict := x402.Assess([]x402.Evidence{evidence})

	fmt.Printf("grade %s, %d of %d\n", verdict.Grade, verdict.Passed, verdict.Total)
	for _, check := range verdict.Checks {
		if !check.Pass {
			fmt.Printf("%s: %s\n", check.ID, check.Reason)
		}
	}
	// Output:
	// grade C, 12 of 14
	// x402_version_current: GET /quote: x402Version is 1
	// eip712_domain_extra: GET /quote, row 1: extra is "USDC" / "2"; the token's domain is "USD Coin" / "2"
}

func ExampleResolveNetwork() {
	for _, text := range []string{"base", "solana:mainnet", "eip155:123456", "ethereum-l2"} {
		id, ok := x402.ResolveNetwork(text)
		fmt.Printf("%s: %q %v\n", text, id, ok)
	}
	// Output:
	// base: "eip155:8453" true
	// solana:mainnet: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp" true
	// eip155:123456: "eip155:123456" false
	// ethereum-l2: "" false
}

// The stored parts of a response suffice to judge it again later by newer rules.
func ExampleReread() {
	raw := []byte(`{"x402Version":2,"accepts":[{"scheme":"upto","network":"eip155:8453","amount":"500000",
	  "asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C"}]}`)

	e, ok := x402.Reread(raw, x402.ChannelHeader, "std")

	price, _ := e.Accepts[0].PriceUSD()
	fmt.Println(ok, "at most", price, e.Accepts[0].Variable())
	// Output: true at most 0.5 true
}
