package sample

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/load"
	"tollbook/site/x402"
)

// line is one position in an endpoint's set of prices.
type line struct {
	id       uuid.UUID
	position int
}

func TestPricesAreContinuous(t *testing.T) {
	t.Parallel()
	for _, h := range sharedHistories() {
		sets := map[uuid.UUID]map[time.Time]*time.Time{} // since -> until of each endpoint's sets
		rows := map[line]time.Time{}
		for _, p := range h.Prices {
			if sets[p.EndpointID] == nil {
				sets[p.EndpointID] = map[time.Time]*time.Time{}
			}
			if until, ok := sets[p.EndpointID][p.Since]; ok && !equalTimes(until, p.Until) {
				t.Errorf("%s: rows of the set of %v end apart", h.Slug, p.Since)
			}
			sets[p.EndpointID][p.Since] = p.Until
			key := line{p.EndpointID, p.Position}
			if end, ok := rows[key]; ok && p.Since.Before(end) {
				t.Errorf("%s: position %d overlaps at %v", h.Slug, p.Position, p.Since)
			}
			if p.Until != nil {
				rows[key] = *p.Until
				if !p.Until.After(p.Since) {
					t.Errorf("%s: a price from %v to %v", h.Slug, p.Since, *p.Until)
				}
			}
			if p.Amount == "" || p.PayTo == "" || p.Asset == "" || p.NetworkCAIP2 == nil ||
				p.Until == nil && p.Since.After(start) {
				t.Errorf("%s: unusable price %+v", h.Slug, p)
			}
		}
		for id, set := range sets {
			current := 0
			if h.Slug == "scholium-feeds" { // it left x402
				continue
			}
			for since, until := range set {
				if until == nil {
					current++
				} else if _, ok := set[*until]; !ok {
					t.Errorf("%s: nothing follows the prices of %v at %v (%s)", h.Slug, since, *until, id)
				}
			}
			if current != 1 {
				t.Errorf("%s: %d current sets of %s", h.Slug, current, id)
			}
		}
	}
}

func equalTimes(a, b *time.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Equal(*b)
}

// TestEndpointsMatchTheWorld compares the terms at the end of the history with the world's answers at the start.
func TestEndpointsMatchTheWorld(t *testing.T) {
	t.Parallel()
	for _, h := range sharedHistories() {
		s := bySlug(h.Slug)
		if len(h.Endpoints) != len(s.endpoints) {
			t.Errorf("%s: %d endpoints, want %d", h.Slug, len(h.Endpoints), len(s.endpoints))
			continue
		}
		for i, e := range s.endpoints {
			got := h.Endpoints[i]
			if got.Method != e.declared || got.Path != e.path || got.FirstSeenAt.Before(s.created(start)) {
				t.Errorf("%s: %s %s first seen %v", h.Slug, got.Method, got.Path, got.FirstSeenAt)
			}
			ok := s.look(s.Behaviour, e, start)
			if ok.verdict != paid || behaviours[s.Behaviour].varies && s.Behaviour != "flapping" {
				continue
			}
			if got.LastPaidAt == nil || start.Sub(*got.LastPaidAt) > time.Hour {
				t.Errorf("%s: %s is paid at the start, in history last at %v", h.Slug, e.key(), got.LastPaidAt)
				continue
			}
			if ok.envelope == noTerms && got.Fingerprint == nil {
				continue // it never asked to be paid over x402
			}
			if *got.Fingerprint != ok.envelope.Fingerprint() {
				t.Errorf("%s: %s has another fingerprint at the start", h.Slug, e.key())
			}
			var want, current []checks.Price
			id := postgres.EndpointID(h.Slug, e.declared, e.path)
			for position, r := range ok.envelope.Accepts {
				if r.Usable() {
					want = append(want, priceOf(id, time.Time{}, position, r, ok.envelope.Version))
				}
			}
			for _, p := range h.Prices {
				if p.EndpointID == id && p.Until == nil {
					p.Since = time.Time{}
					current = append(current, p)
				}
			}
			if diff := cmp.Diff(want, current); diff != "" {
				t.Errorf("%s: %s has another price at the start (-want +got):\n%s", h.Slug, e.key(), diff)
			}
		}
	}
}

func TestServicesThatCannotBePaid(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		slug     string
		prices   int  // rows that could be paid if they were valid
		hasTerms bool // whether the answer had an envelope
	}{
		{"larkspur-recipes", 0, false},
		{"hedgerow-games", 0, false},
		{"pennyfarthing-tax", 0, true},
		{"cabinet-essays", 1, true},
	} {
		h := historyOf(t, test.slug)
		e := h.Endpoints[0]
		if len(h.Prices) != test.prices || e.LastPaidAt != nil || (e.Fingerprint != nil) != test.hasTerms {
			t.Errorf("%s: %d prices, last paid %v, fingerprint %v", test.slug, len(h.Prices), e.LastPaidAt,
				e.Fingerprint)
		}
	}
}

// record is a change record with its parts decoded.
type record struct {
	checks.Change
	Schema site.SchemaSummary
	Price  site.PriceSummary
	PayTo  site.PayToSummary
	Old    []site.SnapshotEntry
	New    []site.SnapshotEntry
}

func decode(t *testing.T, c checks.Change) record {
	t.Helper()
	r := record{Change: c}
	summary := map[string]any{site.SchemaChanged: &r.Schema, site.PriceChanged: &r.Price,
		site.PayToChanged: &r.PayTo}[c.Type]
	for text, into := range map[*json.RawMessage]any{&c.Summary: summary, &c.OldSnapshot: &r.Old,
		&c.NewSnapshot: &r.New} {
		if err := json.Unmarshal(*text, into); err != nil {
			t.Fatalf("decode %s: %v", *text, err)
		}
	}
	return r
}

// priceAt returns an endpoint's amounts and recipients on a network at a time, from the rows of prices and offers.
func priceAt(h load.History, endpoint, network string, at time.Time) (amounts, payTos []string) {
	s := bySlug(h.Slug)
	for _, e := range s.endpoints {
		if e.key() != endpoint {
			continue
		}
		for _, p := range h.Prices {
			if p.EndpointID == postgres.EndpointID(h.Slug, e.declared, e.path) && *p.NetworkCAIP2 == network &&
				!p.Since.After(at) && (p.Until == nil || p.Until.After(at)) {
				amounts, payTos = append(amounts, p.Amount), append(payTos, p.PayTo)
			}
		}
		for _, set := range h.Offers {
			if set.EndpointID != postgres.EndpointID(h.Slug, e.declared, e.path) || set.Since.After(at) ||
				set.Until != nil && !set.Until.After(at) {
				continue
			}
			for _, o := range set.Offers {
				if o.Network == network {
					amounts, payTos = append(amounts, o.Amount), append(payTos, x402.SpellAddress(o.NetworkCAIP2, o.PayTo))
				}
			}
		}
	}
	return amounts, payTos
}

func TestChangesAgreeWithPrices(t *testing.T) {
	t.Parallel()
	for _, h := range sharedHistories() {
		last := map[string]time.Time{}
		for _, c := range h.Changes {
			r := decode(t, c)
			if before := last[c.Type]; c.ObservedAt.Sub(before) < folding || !c.ObservedAt.Before(start) {
				t.Errorf("%s: %s at %v, the one before at %v", h.Slug, c.Type, c.ObservedAt, before)
			}
			last[c.Type] = c.ObservedAt
			if len(r.Schema.SchemaAdded)+len(r.Schema.SchemaRemoved)+len(r.Price.PriceChanges)+
				len(r.PayTo.PayToAdded) == 0 {
				t.Errorf("%s: %s at %v is empty", h.Slug, c.Type, c.ObservedAt)
			}
			for _, p := range r.Price.PriceChanges {
				amounts, _ := priceAt(h, p.Endpoint, p.Network, c.ObservedAt)
				if !slices.Contains(amounts, p.NewPrice) || p.OldPrice == p.NewPrice {
					t.Errorf("%s: %s cost %s from %v on by the record, %v by the rows", h.Slug, p.Endpoint, p.NewPrice,
						c.ObservedAt, amounts)
				}
			}
			for _, e := range r.New {
				amounts, payTos := priceAt(h, e.Endpoint, e.Network, c.ObservedAt)
				if !slices.Contains(amounts, e.Price) || !slices.ContainsFunc(payTos, func(to string) bool {
					return site.Abbreviate(to) == e.PayTo
				}) {
					t.Errorf("%s: at %v the snapshot has %s for %s on %s, the rows %v to %v", h.Slug, c.ObservedAt,
						e.Endpoint, e.Price, e.Network, amounts, payTos)
				}
			}
			for _, to := range r.PayTo.PayToAdded {
				if !slices.ContainsFunc(r.New, func(e site.SnapshotEntry) bool { return e.PayTo == to }) {
					t.Errorf("%s: %s was added, but is not in the new snapshot", h.Slug, to)
				}
			}
		}
	}
}

// TestChangeRecords compares one record of each type with the expected one.
func TestChangeRecords(t *testing.T) {
	t.Parallel()
	first := func(slug, kind string) record {
		for _, c := range historyOf(t, slug).Changes {
			if c.Type == kind {
				return decode(t, c)
			}
		}
		t.Fatalf("%s has no record of %s", slug, kind)
		return record{}
	}
	price := first("lychgate-email", site.PriceChanged)
	want := site.PriceSummary{PriceChanges: []site.PriceChange{{
		Network: "eip155:8453", Endpoint: "GET /check", NewPrice: "1500", OldPrice: "1000", AssetName: "USDC",
	}}}
	if diff := cmp.Diff(want, price.Price); diff != "" {
		t.Errorf("price_changed (-want +got):\n%s", diff)
	}
	schema := first("weathervane-signals", site.SchemaChanged)
	extra := `{"feePayer":"8ys275XU2RyYiEoVDDt3gb7DEGD987vuCH1QqBbdoX16"}`
	const tail = " exact solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v USDC 2  "
	if diff := cmp.Diff(site.SchemaSummary{
		SchemaAdded:    []string{"GET /signals" + tail + "300 " + extra, "GET /signals/all" + tail + "300 " + extra},
		SchemaRemoved:  []string{"GET /signals" + tail + "60 " + extra, "GET /signals/all" + tail + "60 " + extra},
		EndpointsAdded: []string{}, EndpointsRemoved: []string{},
	}, schema.Schema); diff != "" {
		t.Errorf("schema_changed (-want +got):\n%s", diff)
	}
	added := first("harborlight-search", site.SchemaChanged)
	if diff := cmp.Diff([]string{"POST /v1/search/deep"}, added.Schema.EndpointsAdded); diff != "" {
		t.Errorf("endpoints added (-want +got):\n%s", diff)
	}
	if len(added.New)-len(added.Old) != 3 || !strings.Contains(added.Schema.SchemaAdded[0], `USD\u0020Coin`) {
		t.Errorf("%d entries became %d, by the line %s", len(added.Old), len(added.New), added.Schema.SchemaAdded[0])
	}
	moved := first("inkwell-vision", site.PayToChanged)
	s := bySlug("inkwell-vision")
	entry := moved.New[0]
	wantEntry := site.SnapshotEntry{
		Asset: s.endpoints[0].rails[0].asset.Address, Extra: site.TextOrNull(`{"name":"USD Coin","version":"2"}`),
		PayTo: site.Abbreviate(s.endpoints[0].rails[0].recipient(s.Slug, 0)), Price: "12000", Scheme: "exact",
		Network:  "eip155:8453",
		Endpoint: "POST /describe", MimeType: site.TextOrNull("application/json"),
		Resource:  site.TextOrNull("https://inkwell-vision.sample.test/describe"),
		AssetName: "USDC", X402Version: 2, MaxTimeoutSeconds: &s.endpoints[0].timeout,
	}
	if diff := cmp.Diff(wantEntry, entry); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
	if len(moved.PayTo.PayToAdded) != 1 || len(moved.PayTo.PayToRemoved) != 1 {
		t.Errorf("payto_changed: %+v", moved.PayTo) // both EVM networks have the same address
	}
	if x402.CheckAddress("eip155:8453", entry.PayTo) == nil {
		t.Error("the snapshot's recipient is not abbreviated")
	}
}

func TestAddedEndpointIsYoung(t *testing.T) {
	t.Parallel()
	h := historyOf(t, "harborlight-search")
	created := bySlug("harborlight-search").created(start)
	for _, e := range h.Endpoints {
		if isNew := e.Path == "/v1/search/deep"; e.FirstSeenAt.Equal(created) == isNew {
			t.Errorf("%s was first seen at %v, the service at %v", e.Path, e.FirstSeenAt, created)
		}
	}
}

// TestChangeToOtherProtocol checks that the record of a service that left x402 for MPP names both ways to pay.
func TestChangeToOtherProtocol(t *testing.T) {
	t.Parallel()
	h := historyOf(t, "scholium-feeds")
	if len(h.Changes) == 0 {
		t.Fatal("no change record")
	}
	var before, after []site.SnapshotEntry
	if err := errors.Join(json.Unmarshal(h.Changes[0].OldSnapshot, &before),
		json.Unmarshal(h.Changes[0].NewSnapshot, &after)); err != nil {
		t.Fatal(err)
	}
	if h.Changes[0].Type != site.SchemaChanged || len(before) != 1 || before[0].X402Version != 2 || len(after) != 1 ||
		after[0].X402Version != 0 || after[0].Scheme != "tempo/charge" || after[0].Price == "" {
		t.Errorf("%s from %+v to %+v", h.Changes[0].Type, before, after)
	}
}
