package rail

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/rail/railtest"
)

var received = time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)

// answer returns a response over https with these headers, each "name: value".
func answer(headers ...string) Answer {
	a := Answer{Header: http.Header{}, URL: "https://api.acme.test/x", TLSVerified: true, ReceivedAt: received}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		a.Header.Add(name, value)
	}
	return a
}

const noStore = "Cache-Control: no-store"

// payment returns a header with one challenge Payment.
func payment(method, intent, request string, more ...string) string {
	return fmt.Sprintf(`WWW-Authenticate: Payment id="1", realm="r", method=%q, intent=%q, request=%q%s`, method,
		intent,
		base64.RawURLEncoding.EncodeToString([]byte(request)), strings.Join(more, ""))
}

// line describes an offer: its terms, and the checks that it fails.
func line(o Offer) string {
	v := o.Value()
	text := fmt.Sprintf("%s %s on %s: %s %s", o.Protocol, o.Scheme, o.Network, o.Amount, v.AssetName)
	if v.PriceUSD != "" {
		text += " $" + v.PriceUSD
	}
	if o.PayTo != "" {
		text += " to " + o.PayTo[:6]
	}
	if o.MaxTimeoutSeconds != nil {
		text += fmt.Sprintf(" within %d s", *o.MaxTimeoutSeconds)
	}
	for _, word := range []struct {
		is   bool
		text string
	}{{v.Testnet, " testnet"}, {o.Variable, " variable"}, {!o.Usable(), " unusable"}} {
		if word.is {
			text += word.text
		}
	}
	for _, c := range Checks(o.Protocol) {
		if o.failed[c.ID] != "" {
			text += " -" + c.ID
		}
	}
	return text
}

func lines(a Answer) []string {
	list := []string{}
	for _, o := range Read(a) {
		list = append(list, line(o))
	}
	return list
}

const (
	pathUSD = `"currency":"0x20c0000000000000000000000000000000000000"`
	to      = `"recipient":"0x742d35cc6634c0532925a3b844bc454e4438f44e"`
	tempo   = `{"amount":"10000",` + pathUSD + `,"methodDetails":{"chainId":4217},` + to + `}`
)

func l402(prefix string, expiry time.Duration) string {
	return `WWW-Authenticate: L402 macaroon="bWFjYXJvb24=", invoice="` +
		railtest.Invoice{Prefix: prefix, Created: received, Expiry: expiry}.Text() + `"`
}

func TestOffers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer Answer
		want   []string
	}{
		{"nothing", answer(), []string{}},
		{"other schemes", answer(`WWW-Authenticate: Basic realm="x"`, `WWW-Authenticate: x402`), []string{}},

		{"tempo", answer(payment("tempo", "charge", tempo, `, expires="2026-11-23T10:05:00Z"`), noStore),
			[]string{"mpp tempo/charge on eip155:4217: 10000 pathUSD $0.01 to 0x742d"}},
		{"tempo without a chain", answer(payment("tempo", "charge", `{"amount":"5",`+pathUSD+`,`+to+`}`), noStore),
			[]string{"mpp tempo/charge on eip155:4217: 5 pathUSD $0.000005 to 0x742d"}},
		{"tempo's testnet", answer(payment("tempo", "charge", strings.Replace(tempo, "4217", "42431", 1)), noStore),
			[]string{"mpp tempo/charge on eip155:42431: 10000 UNKNOWN to 0x742d testnet"}},
		{"session", answer(payment("tempo", "session", tempo), noStore),
			[]string{"mpp tempo/session on eip155:4217: 10000 pathUSD $0.01 to 0x742d variable"}},
		{"stripe", answer(payment("stripe", "charge", `{"amount":"150","currency":"usd"}`), noStore),
			[]string{"mpp stripe/charge on stripe: 150 USD $1.5"}},
		{"another currency", answer(payment("stripe", "charge", `{"amount":"150","currency":"eur"}`), noStore),
			[]string{"mpp stripe/charge on stripe: 150 EUR"}},
		{"evm", answer(payment("evm", "charge", `{"amount":"2500","currency":`+
			`"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","methodDetails":{"chainId":8453},`+to+`}`), noStore),
			[]string{"mpp evm/charge on eip155:8453: 2500 USDC $0.0025 to 0x742d"}},
		{"solana", answer(payment("solana", "charge", `{"amount":"2500","currency":`+
			`"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",`+
			`"recipient":"2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4"}`),
			noStore),
			[]string{
				"mpp solana/charge on solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp: 2500 USDC $0.0025 to 2wKupL"}},
		{"lightning", answer(payment("lightning", "charge", `{"amount":"500","currency":"sat","methodDetails":`+
			`{"invoice":"`+railtest.Invoice{Prefix: "bc5u", Created: received}.Text()+`"}}`), noStore),
			[]string{
				"mpp lightning/charge on bip122:000000000019d6689c085ae165831e93: 500 BTC to 0261c0 within 3600 s"}},
		{"lightning for another amount", answer(payment("lightning", "charge", `{"amount":"501","currency":"sat",`+
			`"methodDetails":{"invoice":"`+railtest.Invoice{Prefix: "bc5u", Created: received}.Text()+`"}}`), noStore),
			[]string{
				"mpp lightning/charge on bip122:000000000019d6689c085ae165831e93: 501 BTC to 0261c0 within 3600 s " +
					"unusable -amount_positive"}},

		{"cached", answer(payment("tempo", "charge", tempo)),
			[]string{"mpp tempo/charge on eip155:4217: 10000 pathUSD $0.01 to 0x742d -no_store"}},
		{"expired", answer(payment("tempo", "charge", tempo, `, expires="2026-11-23T09:00:00Z"`), noStore),
			[]string{"mpp tempo/charge on eip155:4217: 10000 pathUSD $0.01 to 0x742d unusable -expires_ahead"}},
		{"a time in words", answer(payment("Tempo", "charge", tempo, `, expires="soon"`), noStore),
			[]string{"mpp Tempo/charge on eip155:4217: 10000 pathUSD $0.01 to 0x742d unusable -challenge_form " +
				"-expires_ahead"}},
		{"another header", answer(payment("tempo", "charge", tempo, `, header="X-Pay"`), noStore),
			[]string{"mpp tempo/charge on eip155:4217: 10000 pathUSD $0.01 to 0x742d unusable -challenge_complete"}},
		{"a negative amount", answer(payment("tempo", "charge", strings.Replace(tempo, "10000", "-1", 1)), noStore),
			[]string{"mpp tempo/charge on eip155:4217:  pathUSD to 0x742d unusable -amount_positive"}},
		{"an amount of zero", answer(payment("tempo", "charge", strings.Replace(tempo, "10000", "0", 1)), noStore),
			[]string{"mpp tempo/charge on eip155:4217:  pathUSD to 0x742d unusable -amount_positive"}},
		{"a number", answer(payment("tempo", "charge", strings.Replace(tempo, `"10000"`, "10000", 1)), noStore),
			[]string{"mpp tempo/charge on eip155:4217: 10000 pathUSD $0.01 to 0x742d unusable -amount_positive"}},
		{"nobody", answer(payment("tempo", "charge", strings.Replace(tempo, to, `"x":1`, 1)), noStore),
			[]string{"mpp tempo/charge on eip155:4217: 10000 pathUSD $0.01 unusable -recipient_valid"}},
		{"a wrong recipient", answer(payment("tempo", "charge", strings.Replace(tempo, "0x742d", "0x742", 1)), noStore),
			[]string{"mpp tempo/charge on eip155:4217: 10000 pathUSD $0.01 to 0x7423 unusable -recipient_valid"}},
		{"nothing in it", answer(payment("tempo", "charge", `{}`), noStore),
			[]string{"mpp tempo/charge on eip155:4217: " +
				" UNKNOWN unusable -amount_positive -currency_declared -recipient_valid"}},
		{"no object", answer(payment("tempo", "charge", `[1]`), noStore),
			[]string{"mpp tempo/charge on tempo:  UNKNOWN unusable -request_readable"}},
		{"no base64", answer(`WWW-Authenticate: Payment id="a", method="tempo", request="!"`, noStore), []string{
			"mpp tempo/ on tempo:  UNKNOWN variable unusable -challenge_complete -challenge_form -request_readable " +
				"-request_encoding"}},

		{"l402", answer(l402("bc1500n", 0)),
			[]string{"l402 bolt11 on bip122:000000000019d6689c085ae165831e93: 150000 BTC to 0261c0 within 3600 s"}},
		{"l402 on a test network", answer(l402("tb2u", time.Minute)),
			[]string{
				"l402 bolt11 on bip122:000000000933ea01ad0ee984209779ba: 200000 BTC to 0261c0 within 60 s testnet"}},
		{"both names of l402", answer(strings.Replace(l402("bc2m", 0), "L402", "LSAT", 1), l402("bc2m", 0)),
			[]string{"l402 bolt11 on bip122:000000000019d6689c085ae165831e93: 200000000 BTC to 0261c0 within 3600 s"}},
		{"the old name", answer(strings.Replace(l402("bc20p", 0), "L402", "LSAT", 1)),
			[]string{"l402 bolt11 on bip122:000000000019d6689c085ae165831e93: 2 BTC to 0261c0 within 3600 s " +
				"-scheme_current"}},
		{"an expired invoice", answer(`WWW-Authenticate: L402 macaroon="AA==", invoice="` + railtest.Invoice{
			Prefix: "bc2u", Created: received.Add(-2 * time.Hour)}.Text() + `"`), []string{"l402 bolt11 on " +
			"bip122:000000000019d6689c085ae165831e93: 200000 BTC to 0261c0 within 3600 s unusable -invoice_current"}},
		{"an invoice without amount", answer(l402("bc", 0)), []string{"l402 bolt11 on " +
			"bip122:000000000019d6689c085ae165831e93:  BTC to 0261c0 within 3600 s unusable -amount_declared"}},
		{"a damaged invoice", answer(strings.Replace(l402("bc2u", 0), "lnbc", "lnbd", 1)),
			[]string{"l402 bolt11 on lightning:  BTC unusable -invoice_valid"}},
		{"no invoice", answer(`WWW-Authenticate: L402 macaroon="not base64!"`),
			[]string{"l402 bolt11 on lightning:  BTC unusable -challenge_complete -token_encoding"}},

		{"crawler-price", answer("crawler-price: USD 0.01"),
			[]string{"crawler-price crawl on cloudflare: 0.01 USD $0.01"}},
		{"in euros", answer("crawler-price: EUR 1.50"), []string{"crawler-price crawl on cloudflare: 1.5 EUR"}},
		{"twice", answer("crawler-price: USD 1", "crawler-price: USD 2"),
			[]string{"crawler-price crawl on cloudflare: 1 USD $1 -price_single"}},
		{"zero", answer("crawler-price: USD 0.00"),
			[]string{"crawler-price crawl on cloudflare: 0 USD $0 unusable -price_positive"}},
		{"negative", answer("crawler-price: USD -1"),
			[]string{"crawler-price crawl on cloudflare:  UNKNOWN unusable -price_form"}},
		{"in words", answer("crawler-price: a cent"),
			[]string{"crawler-price crawl on cloudflare:  UNKNOWN unusable -price_form"}},

		{"all at once", answer("crawler-price: USD 1", l402("bc2u", 0), payment("tempo", "charge", tempo), noStore),
			[]string{"mpp tempo/charge on eip155:4217: 10000 pathUSD $0.01 to 0x742d",
				"l402 bolt11 on bip122:000000000019d6689c085ae165831e93: 200000 BTC to 0261c0 within 3600 s",
				"crawler-price crawl on cloudflare: 1 USD $1"}},
	} {
		if diff := cmp.Diff(test.want, lines(test.answer)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	a := answer("crawler-price: USD 1")
	a.URL = "http://api.acme.test/x"
	if got := lines(a); got[0] != "crawler-price crawl on cloudflare: 1 USD $1 -transport_https" {
		t.Error(got)
	}
}

func TestGrades(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		protocol string
		headers  []string
		want     string
	}{
		{MPP, []string{payment("tempo", "charge", tempo), noStore}, "A: 10 of 10 mpp checks pass"},
		{MPP, []string{payment("tempo", "charge", tempo)}, "A: 9 of 10 mpp checks pass"},
		{MPP, []string{payment("TEMPO", "charge", tempo)}, "B: 8 of 10 mpp checks pass"},
		{MPP, []string{payment("tempo", "charge", `{}`)}, "F: GET /x: the request has no amount"},
		{L402, []string{l402("bc2u", 0)}, "A: 7 of 7 l402 checks pass"},
		{L402, []string{strings.Replace(l402("bc2u", 0), "L402", "LSAT", 1)}, "B: 6 of 7 l402 checks pass"},
		{CrawlerPrice, []string{"crawler-price: USD 1"}, "A: 4 of 4 crawler-price checks pass"},
	} {
		var listed []Listed
		for _, o := range Read(answer(test.headers...)) {
			listed = append(listed, Listed{"GET /x", o})
		}
		if got := Assess(test.protocol, listed); got.Reason != test.want {
			t.Errorf("%s: %q, want %q", test.protocol, got.Reason, test.want)
		}
	}
}

// TestHostileHeaders checks that no header makes reading slow or large.
func TestHostileHeaders(t *testing.T) {
	t.Parallel()
	many := make([]string, 5000)
	for i := range many {
		many[i] = payment("tempo", "charge", tempo)
	}
	deep := strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000)
	for name, test := range map[string]struct {
		answer Answer
		offers int
	}{
		"thousands of challenges": {answer(many...), MaxOffers},
		"thousands in one value": {answer(strings.ReplaceAll(strings.Join(many[:200], ", "),
			", WWW-Authenticate: ", ", ")), MaxOffers},
		"a huge value": {answer("WWW-Authenticate: Payment id=" + strings.Repeat("x", 1<<20)), 0},
		"a huge request": {answer(payment("tempo", "charge",
			`{"amount":"`+strings.Repeat("9", 60000)+`"}`)), 1},
		"a deep request": {answer(payment("tempo", "charge", deep)), 1},
		"a huge price":   {answer("crawler-price: USD " + strings.Repeat("9", 1<<20)), 1},
		"direction characters": {answer(payment("tempo", "charge", `{"amount":"1","currency":"\u202eDSU"}`)),
			1},
		"a challenge with no parameters": {answer("WWW-Authenticate: Payment, L402"), 2},
	} {
		began := time.Now()
		offers := Read(test.answer)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%s: took %s", name, took)
		}
		if len(offers) != test.offers {
			t.Errorf("%s: %d offers, want %d", name, len(offers), test.offers)
		}
		for _, o := range offers {
			checkBounds(t, o)
		}
	}
}

// checkBounds checks what is published of an offer.
func checkBounds(t *testing.T, o Offer) {
	t.Helper()
	for _, text := range []string{o.Scheme, o.Network, o.Asset, o.Value().AssetName, o.Amount, o.Value().PriceUSD,
		o.PayTo} {
		if len(text) > 3*maxText || strings.ContainsAny(text, "\u202e\x00") {
			t.Errorf("%s: text of %d bytes: %.80q", o.Protocol, len(text), text)
		}
	}
	if o.Usable() && (o.Amount == "" || strings.HasPrefix(o.Amount, "-")) {
		t.Errorf("usable without an amount: %+v", o)
	}
}

func FuzzRead(f *testing.F) {
	for _, a := range []Answer{answer(payment("tempo", "charge", tempo)), answer(l402("bc1500n", 0)),
		answer("crawler-price: USD 0.01")} {
		f.Add(a.Header.Get("Www-Authenticate"), a.Header.Get("Crawler-Price"))
	}
	f.Fuzz(func(t *testing.T, authenticate, price string) {
		a := answer()
		a.Header = http.Header{"Www-Authenticate": {authenticate}, "Crawler-Price": {price}}
		for _, o := range Read(a) {
			checkBounds(t, o)
		}
	})
}

// FuzzRequest fuzzes the JSON within a challenge, which FuzzRead rarely reaches.
func FuzzRequest(f *testing.F) {
	f.Add("tempo", tempo)
	f.Add("lightning", `{"amount":"1","currency":"sat","methodDetails":{"invoice":"lnbc1"}}`)
	f.Add("stripe", url.QueryEscape("{}"))
	f.Fuzz(func(t *testing.T, method, request string) {
		for _, o := range Read(answer(payment(method, "charge", request))) {
			checkBounds(t, o)
		}
	})
}
