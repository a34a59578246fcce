package crawl

import (
	"encoding/base64"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres/checks"
	"tollbook/site/rail"
	"tollbook/site/rail/railtest"
)

// mppChallenge is a challenge for $0.01 of pathUSD.
var mppChallenge = `Payment id="1", realm="r", method="tempo", intent="charge", request="` +
	base64.RawURLEncoding.EncodeToString([]byte(`{"amount":"10000",`+
		`"currency":"0x20c0000000000000000000000000000000000000",`+
		`"recipient":"0x742d35cc6634c0532925a3b844bc454e4438f44e"}`)) + `"`

// TestOtherProtocols visits services that ask to be paid over other protocols than x402. They are online, and their
// offers are stored. An endpoint that leaves x402 for another protocol has its prices ended; one that fails keeps its
// offers; one that returns to x402 alone has none.
func TestOtherProtocols(t *testing.T) {
	t.Parallel()
	var answer atomic.Value
	answer.Store("x402")
	mux := http.NewServeMux()
	mux.Handle("/l402/x", railtest.Handler("bc15u"))
	mux.HandleFunc("/expired/x", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Www-Authenticate", `L402 macaroon="AA==", invoice="`+
			railtest.Invoice{Prefix: "bc1u", Created: noon.Add(-2 * time.Hour)}.Text()+`"`)
		w.WriteHeader(http.StatusPaymentRequired)
	})
	mux.HandleFunc("/crawl/x", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Crawler-Price", "USD 0.05")
		w.WriteHeader(http.StatusPaymentRequired)
	})
	mux.HandleFunc("/moving/x", func(w http.ResponseWriter, _ *http.Request) {
		switch answer.Load() {
		case "mpp":
			w.Header().Set("Www-Authenticate", mppChallenge)
			w.WriteHeader(http.StatusPaymentRequired)
		case "down":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			pay(w, challenge)
		}
	})
	base, o := local(t, mux)
	m := open(t)
	now := &clock{now: noon}
	c := crawler(t, m, Options{Now: now.Now}, o)
	for _, name := range []string{"l402", "expired", "crawl", "moving"} {
		l := oneEndpoint(name, base+"/"+name, "/x")
		l.Interval = 15 * time.Minute
		m.list(t, l)
	}
	type state struct {
		Status, Class string
		Offers        []checks.Offer
		Prices        int
	}
	visit := func() map[string]state {
		round(t, c)
		got := map[string]state{}
		for slug, f := range m.facts(t, now.Now()) {
			e := f.Endpoints[0]
			s := state{Status: *f.LastStatus, Class: *e.Class, Offers: e.Offers}
			for _, p := range e.Prices {
				if p.Until == nil {
					s.Prices++
				}
			}
			got[slug] = s
		}
		now.set(now.Now().Add(time.Hour))
		return got
	}
	mpp := []checks.Offer{{Protocol: "mpp", Scheme: "tempo/charge", Network: "eip155:4217",
		NetworkCAIP2: "eip155:4217", Asset: "0x20c0000000000000000000000000000000000000", Amount: "10000",
		PayTo: "0x742d35cc6634c0532925a3b844bc454e4438f44e"}}
	l402 := state{site.StatusOnline, "paid_other", []checks.Offer{{Protocol: "l402", Scheme: "bolt11",
		Network: rail.InvoiceMainnet, NetworkCAIP2: rail.InvoiceMainnet, Asset: "BTC", Amount: "1500000",
		PayTo: railtest.PayeeText(), MaxTimeoutSeconds: new(600)}}, 0}
	crawl := state{site.StatusOnline, "paid_other", []checks.Offer{{Protocol: "crawler-price", Scheme: "crawl",
		Network: "cloudflare", Asset: "USD", Amount: "0.05"}}, 0}
	expired := state{Status: site.StatusDegraded, Class: "other_402"}
	for _, step := range []struct {
		answer string
		moving state
	}{
		{"x402", state{site.StatusOnline, "paid_ok", nil, 1}},
		{"mpp", state{site.StatusOnline, "paid_other", mpp, 0}},
		{"down", state{site.StatusOffline, "server_error", mpp, 0}},
		{"x402", state{site.StatusOnline, "paid_ok", []checks.Offer{}, 1}},
	} {
		answer.Store(step.answer)
		want := map[string]state{"l402": l402, "crawl": crawl, "expired": expired, "moving": step.moving}
		if diff := cmp.Diff(want, visit()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.answer, diff)
		}
	}
	checkOfferHistory(t, m, now.Now())
}

// checkOfferHistory checks the sets of offers that the visits of TestOtherProtocols left.
func checkOfferHistory(t *testing.T, m *memory, at time.Time) {
	t.Helper()
	hour := func(n int) *time.Time { return new(noon.Add(time.Duration(n) * time.Hour)) }
	want := map[string][]checks.PriceSpan{
		"l402": {{NetworkCAIP2: new(rail.InvoiceMainnet), Asset: "BTC", Protocol: "l402", Since: *hour(0),
			Amounts: []string{"1500000"}}},
		"crawl":   {{Asset: "USD", Protocol: "crawler-price", Since: *hour(0), Amounts: []string{"0.05"}}},
		"expired": nil,
		"moving": {{NetworkCAIP2: new("eip155:4217"), Asset: "0x20c0000000000000000000000000000000000000",
			Protocol: "mpp", Since: *hour(1), Until: hour(3), Amounts: []string{"10000"}}},
	}
	got := map[string][]checks.PriceSpan{}
	for slug, f := range m.facts(t, at) {
		for i := range f.OfferSpans {
			s := &f.OfferSpans[i]
			s.EndpointID, s.Since = uuid.UUID{}, s.Since.UTC()
			if s.Until != nil {
				s.Until = new(s.Until.UTC())
			}
		}
		got[slug] = f.OfferSpans
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// TestOfferChanges checks the change records of an endpoint that raises its price over MPP, stops offering MPP, and
// offers it again. The first offers are no change.
func TestOfferChanges(t *testing.T) {
	t.Parallel()
	var amount atomic.Value
	amount.Store("10000")
	mux := http.NewServeMux()
	mux.HandleFunc("/shop/x", func(w http.ResponseWriter, _ *http.Request) {
		if a := amount.Load().(string); a != "" {
			w.Header().Set("Www-Authenticate", `Payment id="1", realm="r", method="tempo", intent="charge", request="`+
				base64.RawURLEncoding.EncodeToString([]byte(`{"amount":"`+a+`",`+
					`"currency":"0x20c0000000000000000000000000000000000000",`+
					`"recipient":"0x742d35cc6634c0532925a3b844bc454e4438f44e"}`))+`"`)
		}
		w.WriteHeader(http.StatusPaymentRequired)
	})
	base, o := local(t, mux)
	m := open(t)
	now := &clock{now: noon}
	c := crawler(t, m, Options{Now: now.Now}, o)
	l := oneEndpoint("shop", base+"/shop", "/x")
	l.Interval = 15 * time.Minute
	m.list(t, l)
	const line = `"GET /x tempo/charge eip155:4217 0x20C0000000000000000000000000000000000000 pathUSD 0   {}"`
	var want []string // newest first
	for _, step := range []struct{ amount, record string }{
		{"10000", ""},
		{"10000", ""},
		{"20000", `price_changed {"priceChanges": [{"network": "eip155:4217", "endpoint": "GET /x", ` +
			`"newPrice": "20000", "oldPrice": "10000", "assetName": "pathUSD"}]}`},
		{"", `schema_changed {"schemaAdded": [], "schemaRemoved": [` + line +
			`], "endpointsAdded": [], "endpointsRemoved": ["GET /x"]}`},
		{"20000", `schema_changed {"schemaAdded": [` + line +
			`], "schemaRemoved": [], "endpointsAdded": ["GET /x"], "endpointsRemoved": []}`},
	} {
		amount.Store(step.amount)
		round(t, c)
		now.set(now.Now().Add(2 * time.Hour))
		if step.record != "" {
			want = append([]string{step.record}, want...)
		}
		var got []string
		for _, r := range m.facts(t, now.Now())["shop"].Changes {
			got = append(got, r.Type+" "+string(r.Summary))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", step.amount, diff)
		}
	}
}
