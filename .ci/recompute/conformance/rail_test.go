package conformance

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/.ci/recompute/snapshot"
	"tollbook/site/rail"
	"tollbook/site/rail/railtest"
)

// TestOffers compares the offers in headers, and in headers with a changed byte, with those that Tollbook reads.
func TestOffers(t *testing.T) {
	loadPublished(t)
	received := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	payment := func(method, intent, request, more string) string {
		return `Payment id="a", realm="acme.test", method="` + method + `", intent="` + intent + `", request="` +
			base64.RawURLEncoding.EncodeToString([]byte(request)) + `"` + more
	}
	invoice := func(prefix string) string { return railtest.Invoice{Prefix: prefix, Created: received}.Text() }
	l402 := func(prefix string) string { return `L402 macaroon="bWFjYXJvb24=", invoice="` + invoice(prefix) + `"` }
	const tempo = `{"amount":"10000","currency":"0x20c0000000000000000000000000000000000000",` +
		`"methodDetails":{"chainId":4217},"recipient":"0x742d35cc6634c0532925a3b844bc454e4438f44e"}`
	for name, headers := range map[string]map[string][]any{
		"tempo": {"Www-Authenticate": {payment("tempo", "charge", tempo, `, expires="2026-11-23T10:05:00Z"`)},
			"Cache-Control": {"no-store"}},
		"tempo's testnet": {"Www-Authenticate": {payment("tempo", "session",
			strings.Replace(tempo, "4217", "42431", 1), "")}},
		"stripe": {"Www-Authenticate": {payment("stripe", "charge", `{"amount":"150","currency":"usd"}`, "")}},
		"solana": {"Www-Authenticate": {payment("solana", "charge", `{"amount":"2500","currency":`+
			`"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",`+
			`"recipient":"2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4"}`, "")}},
		"lightning": {"Www-Authenticate": {payment("lightning", "charge", `{"amount":"500","currency":"sat",`+
			`"methodDetails":{"invoice":"`+invoice("bc5u")+`"}}`, "")}},
		"padding": {"Www-Authenticate": {`Payment id=a, realm=b, method=evm, intent=charge, request="` +
			base64.StdEncoding.EncodeToString([]byte(tempo+" ")) + `", expires=soon`}},
		"l402":       {"Www-Authenticate": {l402("bc1500n")}},
		"no amount":  {"Www-Authenticate": {l402("tb")}},
		"both names": {"Www-Authenticate": {strings.Replace(l402("bc2m"), "L402", "LSAT", 1), l402("bc2m")}},
		"two in one": {"Www-Authenticate": {l402("bc20p") + ", " + payment("tempo", "charge", tempo, "")},
			"Crawler-Price": {"USD 0.010"}},
		"two prices": {"Crawler-Price": {"EUR 2", "USD 1"}},
		"zero":       {"Crawler-Price": {"USD 0.0"}},
		"subscription": {"Www-Authenticate": {payment("evm", "subscription", strings.Replace(tempo, "4217", "8453", 1),
			"")}},
		"devnet": {"Www-Authenticate": {payment("solana", "charge", `{"amount":7,"currency":"eur",`+
			`"methodDetails":{"network":"devnet"},"recipient":"11111111111111111111111111111111"}`, "")}},
		"signet":  {"Www-Authenticate": {l402("tbs1m")}},
		"regtest": {"Www-Authenticate": {l402("bcrt")}},
		"invoices": {"Www-Authenticate": {`L402 token="?", invoice="` + railtest.Invoice{Prefix: "bc2u",
			Created: received.Add(-2 * time.Minute), Expiry: time.Minute + time.Second, WithPayee: true}.Text() + `"`,
			`L402 macaroon="AA", invoice="` + railtest.Invoice{Prefix: "bc2u", NoHash: true}.Text() + `"`}},
		"other ways":   {"Www-Authenticate": {`Basic realm="x"`, `Payment`, `L402 invoice="\"lnbc1"`}},
		"many at once": {"Www-Authenticate": slices.Repeat([]any{l402("bc1u"), `LSAT macaroon="!"`}, 10)},
	} {
		random := rand.New(rand.NewPCG(4, 2))
		changed := headers
		for range 100 {
			node := map[string]any{}
			header := http.Header{}
			for key, values := range changed {
				node[key] = values
				for _, v := range values {
					header.Add(key, v.(string))
				}
			}
			if diff := cmp.Diff(theirs(header, received), ours(node, received)); diff != "" {
				t.Fatalf("%s: %v (-Tollbook +recomputed):\n%s", name, header, diff)
			}
			changed = withChange(random, headers)
		}
	}
}

// withChange returns headers of which a byte is deleted, repeated or another one, in one value of each name.
func withChange(random *rand.Rand, headers map[string][]any) map[string][]any {
	out := map[string][]any{}
	for _, key := range slices.Sorted(maps.Keys(headers)) {
		values := headers[key]
		out[key] = slices.Clone(values)
		i := random.IntN(len(values))
		text := []byte(values[i].(string))
		if len(text) == 0 {
			continue
		}
		switch at := random.IntN(len(text)); random.IntN(3) {
		case 0:
			text = slices.Delete(text, at, at+1)
		case 1:
			text = slices.Insert(text, at, text[at])
		default:
			text[at] = ` !"=,\:+-/_09aAzZ{}`[random.IntN(19)]
		}
		out[key][i] = string(text)
	}
	return out
}

// offerOf is what is compared of an offer.
type offerOf struct {
	Protocol, Scheme, Network, CAIP2, Asset, AssetName, Amount, USD, PayTo string
	Timeout                                                                int
	Variable, Testnet, Usable                                              bool
	Failed                                                                 []string
}

func ours(headers map[string]any, received time.Time) (list []offerOf) {
	a := NewAnswer(snapshot.Node{Value: map[string]any{
		"status": json.Number("402"), "headers": headers, "tls_verified": true, "redirects": []any{},
		"received_at": received.Format(snapshot.TimeLayout), "request": map[string]any{"url": "https://acme.test/x"},
	}})
	for _, o := range readOffers(a) {
		p := o.Pricing()
		usd, _ := p["price_usd"].(string)
		timeout, _ := p["max_timeout_seconds"].(int)
		one := offerOf{o.protocol, o.scheme, o.network, o.caip2, o.asset, p["asset_name"].(string), o.amount, usd,
			o.payTo, timeout, o.Variable, p["testnet"].(bool), o.Usable(), nil}
		for _, c := range Tables.railChecks[o.protocol] {
			if o.failed[c.id] {
				one.Failed = append(one.Failed, c.id)
			}
		}
		list = append(list, one)
	}
	return list
}

func theirs(header http.Header, received time.Time) (list []offerOf) {
	for _, o := range rail.Read(rail.Answer{Header: header, URL: "https://acme.test/x", TLSVerified: true,
		ReceivedAt: received}) {
		v := o.Value()
		one := offerOf{o.Protocol, o.Scheme, o.Network, o.NetworkCAIP2, o.Asset, v.AssetName, o.Amount, v.PriceUSD,
			o.PayTo, 0, o.Variable, v.Testnet, o.Usable(), nil}
		if o.MaxTimeoutSeconds != nil {
			one.Timeout = *o.MaxTimeoutSeconds
		}
		for _, result := range rail.Assess(o.Protocol, []rail.Listed{{Endpoint: "GET /x", Offer: o}}).Results {
			if !result.Pass {
				one.Failed = append(one.Failed, result.ID)
			}
		}
		list = append(list, one)
	}
	return list
}
