package crawl

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/probe"
	"tollbook/crawl/sample"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/testgate"
	"tollbook/site/x402"
)

// dawn is a multiple of every period in the sample world. At dawn the service that goes down periodically has just come
// up, the one that raises its price has its first price, and the one that moves its recipient has just done so.
var dawn = time.Unix(71_000*25_200, 0).UTC()

// interval is the time between visits of a sample service in these tests.
const interval = 30 * time.Second

// sampleCrawl lists the sample world at dawn and returns a crawler for it. World and crawler share a clock.
func sampleCrawl(t *testing.T) (*memory, *Crawler, *sample.World, *clock) {
	t.Helper()
	now := &clock{now: dawn}
	world, err := sample.Start(t.Context(), sample.Options{Now: now.Now, Pace: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { world.Close() })
	m := open(t)
	m.list(t, sampleListings()...)
	c := crawler(t, m, Options{Now: now.Now, Rand: func() float64 { return 0.5 }}, probe.Options{
		RequestTimeout: 10 * time.Second, // each visit of the silent service takes this long
		Routes:         []probe.Route{{Domain: sample.Domain, Dial: world.Dial, RootCAs: world.RootCAs()}},
	})
	return m, c, world, now
}

// sampleListings returns the sample services as if all were listed at dawn.
func sampleListings() []postgres.Listing {
	list := sample.Listings(dawn, interval)
	for i := range list {
		list[i].CreatedAt = dawn
	}
	return list
}

// silent is the sample service that accepts connections and never answers.
const silent = "glasswing-census"

// troubled maps the sample services that are not online to their status, "" for no conclusive answer. In this world
// requests take no time.
var troubled = map[string]string{
	"millstone-grain": "offline", silent: "offline", "windlass-transcode": "offline", "hourglass-cron": "offline",
	"attic-archive": "offline", "oldgate-sanctions": "offline",
	"pennyfarthing-tax": "degraded", "cabinet-essays": "degraded", "larkspur-recipes": "degraded",
	"hedgerow-games": "degraded", "driftwood-treasury": "degraded", "milepost-shortlinks": "degraded",
	"lamplighter-domains": "", "weighbridge-facts": "",
}

// TestRoundsThroughTheSampleWorld visits every sample service several times while the clock advances. Unchanged prices
// are stored once; a raised price and a moved recipient make one change record each.
func TestRoundsThroughTheSampleWorld(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	m, c, world, now := sampleCrawl(t)
	listings := sampleListings()

	report := round(t, c)
	want := Report{Visits: len(listings), Took: report.Took}
	for _, l := range listings {
		switch status, isTroubled := troubled[l.Slug]; {
		case !isTroubled:
			want.Online++
		case status == site.StatusDegraded:
			want.Degraded++
		case status == site.StatusOffline:
			want.Offline++
		default:
			want.Inconclusive++
		}
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("first round (-want +got):\n%s", diff)
	}
	if n, err := m.CountDue(t.Context(), dawn); err != nil || n != 0 {
		t.Errorf("%d services are due after a round, error %v", n, err)
	}
	first := m.facts(t, dawn)
	for _, l := range listings {
		checkFirstVisit(t, l, first[l.Slug])
	}

	if _, err := m.conn.Exec(t.Context(),
		`UPDATE service_states SET next_check_at = $1 FROM services WHERE id = service_id AND slug = $2`,
		dawn.Add(24*time.Hour), silent); err != nil {
		t.Fatal(err) // waiting for its timeout once is enough
	}

	var prices []map[string][]checks.Price
	for n := range 2 { // the first of them probes the endpoints beyond one visit's limit
		now.set(dawn.Add(time.Duration(n+1) * time.Minute))
		if again := round(t, c); again.Visits != len(listings)-1 || again.Changes != 0 {
			t.Errorf("round %d, minutes later: %+v; want %d visits and no change", n+2, again, len(listings)-1)
		}
		prices = append(prices, allPrices(m.facts(t, now.Now())))
	}
	if diff := cmp.Diff(prices[0], prices[1]); diff != "" {
		t.Errorf("prices without a change (-second +third round):\n%s", diff)
	}
	for _, s := range m.facts(t, now.Now()) {
		if s.Slug != silent && s.TotalChecks != 3 {
			t.Errorf("%s: %d checks after three rounds", s.Slug, s.TotalChecks)
		}
		for _, e := range s.Endpoints {
			if e.LastProbedAt == nil {
				t.Errorf("%s %s was not probed in three rounds", s.Slug, e.Path)
			}
		}
	}

	const raiser, mover = "firefly-embeddings", "saltmarsh-yields"
	now.set(dawn.Add(6 * time.Minute)) // one service is down, and raiser has raised its price
	if raised := round(t, c); raised.Changes != 1 {
		t.Errorf("round after a raise: %d changes, want 1", raised.Changes)
	}
	ask := func(at time.Time, method, url string) x402.Requirement {
		now.set(at)
		return declared(t, world, method, url)
	}
	old := ask(dawn, "POST", "https://firefly-embeddings.sample.test/embed")
	next := ask(dawn.Add(6*time.Minute), "POST", "https://firefly-embeddings.sample.test/embed")
	var price site.PriceSummary
	change := onlyChange(t, m, raiser, site.PriceChanged, now.Now(), &price)
	wantPrice := site.PriceSummary{PriceChanges: []site.PriceChange{
		{Network: old.NetworkCAIP2, Endpoint: "POST /embed", NewPrice: next.Amount, OldPrice: old.Amount,
			AssetName: "USDC"},
	}}
	if diff := cmp.Diff(wantPrice, price); diff != "" || old.Amount != "10000" || next.Amount != "10500" {
		t.Errorf("price change from %s to %s (-want +got):\n%s", old.Amount, next.Amount, diff)
	}
	for text, amount := range map[string]string{string(change.OldSnapshot): old.Amount,
		string(change.NewSnapshot): next.Amount} {
		if entries := entriesOf(t, text); len(entries) != 1 || entries[0].Price != amount ||
			entries[0].Endpoint != "POST /embed" {
			t.Errorf("snapshot of the change is %s, want one entry at %s", text, amount)
		}
	}
	if stored := m.strings(t,
		`SELECT amount::text FROM prices JOIN endpoints e ON e.id = endpoint_id JOIN services s ON s.id = service_id
		WHERE slug = $1 ORDER BY since`, raiser); !slices.Equal(stored, []string{"10000", "10500"}) {
		t.Errorf("prices of the raiser: %q", stored)
	}

	now.set(dawn.Add(31 * time.Minute))
	round(t, c)
	from := ask(dawn, "GET", "https://saltmarsh-yields.sample.test/yields")
	to := ask(dawn.Add(31*time.Minute), "GET", "https://saltmarsh-yields.sample.test/yields")
	var moved site.PayToSummary
	onlyChange(t, m, mover, site.PayToChanged, now.Now(), &moved)
	wantMoved := site.PayToSummary{PayToAdded: []string{site.Abbreviate(to.PayTo)},
		PayToRemoved: []string{site.Abbreviate(from.PayTo)}, PayToChanges: []site.RecipientChange{{
			Network: from.NetworkCAIP2, Endpoint: "GET /yields", OldPayTo: &from.PayTo, NewPayTo: &to.PayTo}}}
	if diff := cmp.Diff(wantMoved, moved); diff != "" || from.PayTo == to.PayTo {
		t.Errorf("recipient moved from %s to %s (-want +got):\n%s", from.PayTo, to.PayTo, diff)
	}
}

// checkFirstVisit compares the facts of a service's first visit with its listing and its expected status.
func checkFirstVisit(t *testing.T, l postgres.Listing, got postgres.ServiceFacts) {
	t.Helper()
	status, isTroubled := troubled[l.Slug]
	if !isTroubled {
		status = site.StatusOnline
	}
	failures := 0
	if status == site.StatusOffline {
		failures = 1
	}
	last := ""
	if got.LastStatus != nil {
		last = *got.LastStatus
	}
	if last != status || got.ConsecutiveFailures != failures || got.TotalChecks != 1 || len(got.Changes) != 0 {
		t.Errorf("%s: status %q after %d failures, %d checks, %d changes; want %q, %d, 1, 0",
			l.Slug, last, got.ConsecutiveFailures, got.TotalChecks, len(got.Changes), status, failures)
	}
	if want := dawn.Add(interval); !got.NextCheckAt.Equal(want) {
		t.Errorf("%s: next visit at %s, want %s", l.Slug, got.NextCheckAt, want)
	}
	probed := 0
	for _, e := range got.Endpoints {
		if e.LastProbedAt == nil {
			continue
		}
		probed++
		overX402 := len(e.Prices) > 0 && e.Fingerprint != nil
		other := map[string]string{"scholium-feeds": "mpp", "quarrel-dictionary": "l402"}[l.Slug]
		overOther := len(e.Offers) == 1 && e.Offers[0].Protocol == other
		if status == site.StatusOnline && (!overX402 && !overOther || e.Envelope == nil || e.LastPaidAt == nil) {
			t.Errorf("%s %s: %d prices, envelope %t; want the facts of a paid endpoint", l.Slug, e.Path, len(e.Prices),
				e.Envelope != nil)
		}
		if status == site.StatusOffline && (len(e.Prices) != 0 || e.Envelope != nil) {
			t.Errorf("%s %s: %d prices of a service that does not answer", l.Slug, e.Path, len(e.Prices))
		}
	}
	if want := min(len(l.Endpoints), maxEndpoints); probed != want {
		t.Errorf("%s: %d endpoints probed, want %d", l.Slug, probed, want)
	}
}

// allPrices returns the prices of every service, including those that are no longer valid.
func allPrices(facts map[string]postgres.ServiceFacts) map[string][]checks.Price {
	out := map[string][]checks.Price{}
	for slug, s := range facts {
		for _, e := range s.Endpoints {
			out[slug] = append(out[slug], e.Prices...)
		}
	}
	return out
}

// declared sends a request to an endpoint of the world without the crawler and returns its requirement.
func declared(t *testing.T, world *sample.World, method, url string) x402.Requirement {
	t.Helper()
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: world.RootCAs()},
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, _, err := world.Dial(ctx, network, addr)
			return conn, err
		},
	}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	e := x402.Capture(x402.Answer{Status: resp.StatusCode, Header: resp.Header, Body: body, URL: url}).Envelope
	if e == nil || len(e.Accepts) != 1 {
		t.Fatalf("%s answers %s %q", url, resp.Status, body)
	}
	return e.Accepts[0]
}

// onlyChange returns the single change record of a service and checks its type and time.
func onlyChange(t *testing.T, m *memory, slug, kind string, at time.Time, summary any) checks.Change {
	t.Helper()
	changes := m.facts(t, at)[slug].Changes
	if len(changes) != 1 || changes[0].Type != kind || !changes[0].ObservedAt.Equal(at) {
		var got []string
		for _, c := range changes {
			got = append(got, fmt.Sprintf("%s at %s: %s", c.Type, c.ObservedAt, c.Summary))
		}
		t.Fatalf("%s: %d changes %q, want one %s at %s", slug, len(changes), got, kind, at)
	}
	if err := json.Unmarshal(changes[0].Summary, summary); err != nil {
		t.Fatal(err)
	}
	return changes[0]
}

func entriesOf(t *testing.T, text string) (entries []site.SnapshotEntry) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		t.Fatal(err)
	}
	return entries
}

// TestDamagedServices checks that a round visits the others if some services cannot be read, also if those are the only
// ones of a batch, and that the log names each with the reason.
func TestDamagedServices(t *testing.T) {
	t.Parallel()
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		pay(w, hostileBody(hostileRow("10000", "", "")))
	}))
	m := open(t)
	m.list(t, oneEndpoint("acme", base+"/acme", "/x"), oneEndpoint("bolt", base+"/bolt", "/x"),
		oneEndpoint("cove", base+"/cove", "/x"))
	if _, err := m.conn.Exec(t.Context(), `
		UPDATE services SET created_at = '-infinity' WHERE slug = 'acme';
		UPDATE endpoints SET first_seen_at = 'infinity' FROM services s WHERE s.id = service_id AND slug = 'bolt'`,
	); err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{1, 32} {
		var log bytes.Buffer
		now := &clock{now: dawn.Add(time.Duration(workers) * 24 * time.Hour)}
		c := crawler(t, m, Options{Now: now.Now, Workers: workers, Logger: slog.New(slog.NewTextHandler(&log, nil))}, o)
		if report := round(t, c); report.Visits != 1 || report.Online != 1 {
			t.Errorf("%d workers: %+v, want one visit", workers, report)
		}
		for _, want := range []string{"service=acme err=\"read services: ", "service=bolt err=\"read endpoints: "} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%d workers: the log lacks %s\n%s", workers, want, log.String())
			}
		}
	}
}
