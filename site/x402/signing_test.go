package x402

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUnsignableRows checks the reasons for terms on which x402-fetch 1.2 and @x402/fetch 2.27 were run: want is "" just
// where one of them signed a payment that the token accepts.
func TestUnsignableRows(t *testing.T) {
	t.Parallel()
	const (
		open  = `{"x402Version":2,"accepts":[{"scheme":"exact","network":"eip155:8453",`
		usdc  = `"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",`
		payTo = `"payTo":"0x116DB50EEaa0b480fA98c8ba9707538Da76cB71A",`
		extra = `"maxTimeoutSeconds":300,"extra":{"name":"USD Coin","version":"2"}}]}`
		good  = open + `"amount":"1000",` + usdc + payTo + extra
		first = `{"x402Version":1,"error":"","accepts":[{"scheme":"exact","network":"base","maxAmountRequired":"1000",` +
			`"resource":"https://a.test/x","description":"","mimeType":"",` + usdc + payTo + extra
	)
	header := func(terms string, encoding *base64.Encoding) Answer {
		return Answer{Status: 402, Header: http.Header{"Payment-Required": {encoding.EncodeToString([]byte(terms))}}}
	}
	std := func(terms string) Answer { return header(terms, base64.StdEncoding) }
	body := func(terms string) Answer { return Answer{Status: 402, Body: []byte(terms)} }
	both := std(good)
	both.Body = []byte(open + `"amount":"1000",` + usdc + `"payTo":"0x293801fd5F5561D1124f6BB1a45323698e3c135A",` + extra)
	for _, c := range []struct {
		name   string
		answer Answer
		want   []string
	}{
		{"version 2", std(good), []string{""}},
		{"version 1", body(first), []string{""}},
		{"without padding", header(`{"error":"",`+good[1:], base64.RawStdEncoding), []string{""}},
		{"an amount as a number", std(open + `"amount":1000,` + usdc + payTo + extra), []string{""}},
		{"a checksum in the wrong case", std(open + `"amount":"1000",` + usdc +
			`"payTo":"0x116dB50EEaa0b480fA98c8ba9707538Da76cB71A",` + extra), []string{""}},

		{"version 2 in the body", body(good),
			[]string{"GET /x: version 2 is in body instead of the PAYMENT-REQUIRED header"}},
		{"JSON in the header", Answer{Status: 402, Header: http.Header{"Payment-Required": {good}}},
			[]string{"GET /x: the header is not standard base64 but raw"}},
		{"base64 of URLs", header(`{"error":"???>>>",`+good[1:], base64.URLEncoding),
			[]string{"GET /x: the header is not standard base64 but url"}},
		{"the version as text", std(`{"x402Version":"2",` + good[len(`{"x402Version":2,`):]),
			[]string{`GET /x: x402Version is "2"`}},
		{"two recipients", both, []string{"GET /x: Header and body ask for different payments"}},
		{"a short name in version 2", std(`{"x402Version":2,"accepts":[{"scheme":"exact","network":"base","amount":"1",` +
			usdc + payTo + extra), []string{`GET /x, row 1: network "base" should be eip155:8453`}},
		{"a CAIP-2 id in version 1", body(`{"x402Version":1,"accepts":[{"scheme":"exact","network":"eip155:8453",` +
			`"maxAmountRequired":"1000",` + usdc + payTo + extra),
			[]string{`GET /x, row 1: clients of version 1 do not know the network "eip155:8453"`}},
		{"the amount under another key", std(open + `"maxAmountRequired":"1000",` + usdc + payTo + extra),
			[]string{"GET /x, row 1: amount is missing; the price is in maxAmountRequired"}},
		{"the recipient under another key", std(open + `"amount":"1000",` + usdc + `"payToAddress":` +
			payTo[len(`"payTo":`):] + extra),
			[]string{"GET /x, row 1: payTo is missing; the recipient is in payToAddress (accept)"}},
		{"a ticker", std(open + `"amount":"1000","asset":"USDC",` + payTo + extra),
			[]string{`GET /x, row 1: asset "USDC" is not an asset of eip155:8453`}},
		{"dollars", std(open + `"amount":"0.01",` + usdc + payTo + extra),
			[]string{`GET /x, row 1: the price "0.01" is not a whole number of atomic units`}},
		{"the domain of another network", std(open + `"amount":"1000",` + usdc + payTo +
			`"maxTimeoutSeconds":300,"extra":{"name":"USDC","version":"2"}}]}`),
			[]string{`GET /x, row 1: extra is "USDC" / "2"; the token's domain is "USD Coin" / "2"`}},
		{"accepts as an object", std(`{"x402Version":2,"accepts":` + good[len(`{"x402Version":2,"accepts":[`):len(good)-2] +
			`}`), []string{`GET /x: accepts must be a list; got the object {"scheme":"exact","network":"eip155:8453",` +
			`"amount":"1000","asset":"0x833589fCD6…`}},
		{"Solana without a payer of fees", std(`{"x402Version":2,"accepts":[{"scheme":"exact",` +
			`"network":"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp","amount":"1000",` +
			`"asset":"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",` +
			`"payTo":"4FsXRuYP99qC3zHyRJy2eNejxsx5aSxDmbgvbU5qa2Fq","maxTimeoutSeconds":300}]}`),
			[]string{"GET /x, row 1: extra.feePayer is missing, without which no client can build the payment"}},
		{"a scheme of its own", std(`{"x402Version":2,"accepts":[{"scheme":"exact_permit","network":"eip155:8453",` +
			`"amount":"1000",` + usdc + payTo + extra),
			[]string{`GET /x, row 1: standard clients do not know the scheme "exact_permit"`}},
		{"a token that has Permit2 alone, without its method", std(`{"x402Version":2,"accepts":[{"scheme":"exact",` +
			`"network":"eip155:56","amount":"1000","asset":"0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d",` + payTo + extra),
			[]string{"GET /x, row 1: extra.assetTransferMethod is missing: clients sign for EIP-3009, which the token lacks"}},
		{"a channel on Solana without who authorises", std(`{"x402Version":2,"accepts":[{"scheme":"upto",` +
			`"network":"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp","amount":"1000",` +
			`"asset":"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",` +
			`"payTo":"4FsXRuYP99qC3zHyRJy2eNejxsx5aSxDmbgvbU5qa2Fq","maxTimeoutSeconds":300,` +
			`"extra":{"feePayer":"2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4"}}]}`),
			[]string{"GET /x, row 1: extra.receiverAuthorizer is missing, without which no client can open the channel"}},
		{"version 1 inside a JSON string", body(`"` + strings.ReplaceAll(first, `"`, `\"`) + `"`),
			[]string{"GET /x: the body is not JSON but quoted+raw"}},
		{"no terms", body("{}"), nil},
	} {
		got := UnsignableRows(Evidence{Endpoint: "GET /x", Captured: Capture(c.answer)})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
