package crawl

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
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
	"tollbook/site/testgate"
	"tollbook/site/x402"
)

// dawn is a multiple of every period in the sample world: the flapping service has just come up, the raising one asks
// its first price, the moving one has just moved.
var dawn = time.Unix(71_000*25_200, 0).UTC()

// interval is how often sample services are visited in these tests.
const interval = 30 * time.Second

// sampleCrawl lists the sample world at dawn and makes a crawler for it. World and crawler share a clock.
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
		RequestTimeout: 10 * time.Second, // the silent service costs as much
		Routes:         []probe.Route{{Domain: sample.Domain, Dial: world.Dial, RootCAs: world.RootCAs()}},
	})
	return m, c, world, now
}

// sampleListings are the sample services as if all were listed at dawn.
func sampleListings() []postgres.Listing {
	list := sample.Listings(dawn, interval)
	for i := range list {
		list[i].CreatedAt = dawn
	}
	return list
}

// silent is the sample service that takes connections and never answers.
const silent = "glasswing-census"

// troubled are the sample services that are not online, as nothing takes time in this world: "" for no conclusive
// answer.
var troubled = map[string]string{
	"millstone-grain": "offline", silent: "offline", "windlass-transcode": "offline", "hourglass-cron": "offline",
	"attic-archive": "offline", "oldgate-sanctions": "offline",
	"pennyfarthing-tax": "degraded", "cabinet-essays": "degraded", "larkspur-recipes": "degraded",
	"scholium-feeds": "degraded", "hedgerow-games": "degraded",
	"lamplighter-domains": "", "weighbridge-facts": "",
}

// TestRoundsThroughTheSampleWorld visits every sample service for real, again and again, while a clock goes on: what
// stays the same is written once, a price that rises and a recipient that moves each make one change record.
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
		t.Fatal(err) // it has been waited for once
	}

	var known []map[string][]postgres.Price
	for n := range 2 { // the first of them reaches the endpoints that were too many for one visit
		now.set(dawn.Add(time.Duration(n+1) * time.Minute))
		if again := round(t, c); again.Visits != len(listings)-1 || again.Changes != 0 {
			t.Errorf("round %d, minutes later: %+v; want %d visits and no change", n+2, again, len(listings)-1)
		}
		known = append(known, allPrices(m.facts(t, now.Now())))
	}
	if diff := cmp.Diff(known[0], known[1]); diff != "" {
		t.Errorf("prices of services that stayed the same (-second +third round):\n%s", diff)
	}
	for _, s := range m.facts(t, now.Now()) {
		if s.Slug != silent && s.TotalChecks != 3 {
			t.Errorf("%s: %d checks after three rounds", s.Slug, s.TotalChecks)
		}
		for _, e := range s.Endpoints {
			if e.LastProbedAt == nil {
				t.Errorf("%s %s was not asked in three rounds", s.Slug, e.Path)
			}
		}
	}

	const raiser, mover = "firefly-embeddings", "saltmarsh-yields"
	now.set(dawn.Add(6 * time.Minute)) // the flapping one is down, the raising one has raised
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
	if kept := m.strings(t,
		`SELECT amount::text FROM prices JOIN endpoints e ON e.id = endpoint_id JOIN services s ON s.id = service_id
		WHERE slug = $1 ORDER BY since`, raiser); !slices.Equal(kept, []string{"10000", "10500"}) {
		t.Errorf("prices of the raiser: %q", kept)
	}

	now.set(dawn.Add(31 * time.Minute))
	round(t, c)
	from := ask(dawn, "GET", "https://saltmarsh-yields.sample.test/yields")
	to := ask(dawn.Add(31*time.Minute), "GET", "https://saltmarsh-yields.sample.test/yields")
	var moved site.PayToSummary
	onlyChange(t, m, mover, site.PayToChanged, now.Now(), &moved)
	wantMoved := site.PayToSummary{PayToAdded: []string{site.Abbreviate(to.PayTo)},
		PayToRemoved: []string{site.Abbreviate(from.PayTo)}}
	if diff := cmp.Diff(wantMoved, moved); diff != "" || from.PayTo == to.PayTo {
		t.Errorf("recipient moved from %s to %s (-want +got):\n%s", from.PayTo, to.PayTo, diff)
	}
}

// checkFirstVisit holds what is kept of a service's first visit against what it listed and what became of it.
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
	asked := 0
	for _, e := range got.Endpoints {
		if e.LastProbedAt == nil {
			continue
		}
		asked++
		if status == site.StatusOnline &&
			(len(e.Prices) == 0 || e.Envelope == nil || e.Fingerprint == nil || e.LastPaidAt == nil) {
			t.Errorf("%s %s: %d prices, envelope %t: nothing is kept of a paid endpoint", l.Slug, e.Path, len(e.Prices),
				e.Envelope != nil)
		}
		if status == site.StatusOffline && (len(e.Prices) != 0 || e.Envelope != nil) {
			t.Errorf("%s %s: %d prices of a service that does not answer", l.Slug, e.Path, len(e.Prices))
		}
	}
	if want := min(len(l.Endpoints), maxEndpoints); asked != want {
		t.Errorf("%s: %d endpoints were asked, want %d", l.Slug, asked, want)
	}
}

// allPrices are the prices of every service, closed ones too.
func allPrices(facts map[string]postgres.ServiceFacts) map[string][]postgres.Price {
	out := map[string][]postgres.Price{}
	for slug, s := range facts {
		for _, e := range s.Endpoints {
			out[slug] = append(out[slug], e.Prices...)
		}
	}
	return out
}

// declared asks an endpoint of the world what it wants, without the crawler.
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

// onlyChange reads the one change record that a service has, of a type and at a time.
func onlyChange(t *testing.T, m *memory, slug, kind string, at time.Time, summary any) postgres.Change {
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
