package crawl

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/change"
	"tollbook/site/postgres"
	"tollbook/site/rail"
	"tollbook/site/x402"
	"tollbook/site/x402/address"
)

// changeGap is the least time between two change records of the same type for one service. Changes within an hour of a
// record are held back. The next record then compares the current prices with those that the last record reported. So a
// price that differs at every visit makes one record an hour, and a price that changed and came back makes none. A
// record never changes once it is written, because it enters the logs.
const changeGap = time.Hour

// addChanges adds change records to v for the visit's new sets of prices and for changes held back before. The first
// set of prices of a service is no change. Nor is the first set of an endpoint that was listed together with the
// service: previous visits merely did not reach it.
func (c *Crawler) addChanges(ctx context.Context, s postgres.DueService, v *postgres.Visit, answers []answer) error {
	replaced, offered := map[uuid.UUID][]postgres.Price{}, map[uuid.UUID][]postgres.Offer{}
	for _, e := range v.Endpoints {
		if e.PricesChanged {
			replaced[e.ID] = e.Prices
		}
		if e.OffersChanged {
			offered[e.ID] = e.Offers
		}
	}
	hasShown := func(e postgres.Endpoint) bool { return e.Fingerprint != nil || e.Offers != nil }
	if !slices.ContainsFunc(s.Endpoints, hasShown) {
		return nil
	}
	if len(replaced)+len(offered)+len(s.Baselines) == 0 {
		return nil
	}
	current, err := c.db.CurrentPrices(ctx, s.ID)
	if err != nil {
		return err
	}
	var first offers // of endpoints that were listed with the service
	var sets []postgres.OfferSet
	names := newLabels(s, answers)
	after := offers{names: names}
	for _, e := range s.Endpoints {
		if !hasShown(e) && !e.FirstSeenAt.After(s.CreatedAt) {
			first.prices = append(first.prices, replaced[e.ID]...)
			first.others = append(first.others, postgres.OfferSet{EndpointID: e.ID, Offers: offered[e.ID]})
		}
		set := postgres.OfferSet{EndpointID: e.ID, Offers: e.Offers}
		sets = append(sets, set)
		if now, ok := offered[e.ID]; ok {
			set.Offers = now
		}
		after.others = append(after.others, set)
	}
	for _, p := range current {
		if _, gone := replaced[p.EndpointID]; !gone {
			after.prices = append(after.prices, p)
		}
	}
	for _, e := range v.Endpoints {
		after.prices = append(after.prices, replaced[e.ID]...)
	}
	for _, kind := range site.OfferChangeTypes {
		before := offers{current, sets, names}
		lastRecord, marked := s.Baselines[kind]
		if marked {
			if v.Check.CheckedAt.Sub(lastRecord) < changeGap {
				continue // held back
			}
			if before.prices, err = c.db.PricesAt(ctx, s.ID, lastRecord); err != nil {
				return err
			}
			if before.others, err = c.db.OffersAt(ctx, s.ID, lastRecord); err != nil {
				return err
			}
		}
		before.prices = slices.Concat(before.prices, first.prices)
		before.others = slices.Concat(before.others, first.others)
		compare, err := before.compare(kind, after)
		if err != nil {
			return err
		}
		if compare != nil {
			compare.ServiceID, compare.ObservedAt = s.ID, v.Check.CheckedAt
			v.Changes = append(v.Changes, *compare)
		} else if marked {
			v.ClearedTypes = append(v.ClearedTypes, kind)
		}
	}
	return nil
}

// offers are the ways to pay a service at one time.
type offers struct {
	prices []postgres.Price
	others []postgres.OfferSet // over other protocols than x402
	names  map[uuid.UUID]label
}

// compare returns a record of the differences of one type between a and after, nil if there are none.
func (a offers) compare(kind string, after offers) (*postgres.Change, error) {
	before, paidBefore := a.snapshot()
	now, paidNow := after.snapshot()
	for _, set := range change.Compare(before, now, paidBefore, paidNow) {
		if set.Type != kind {
			continue
		}
		var c postgres.Change
		var err error
		c.Type = kind
		if c.Summary, err = set.Text(); err != nil {
			return nil, fmt.Errorf("encode %s: %w", kind, err)
		}
		if c.OldSnapshot, err = json.Marshal(before); err != nil {
			return nil, fmt.Errorf("encode old snapshot: %w", err)
		}
		if c.NewSnapshot, err = json.Marshal(now); err != nil {
			return nil, fmt.Errorf("encode new snapshot: %w", err)
		}
		return &c, nil
	}
	return nil, nil
}

// snapshot returns the entries of a published price snapshot, those over x402 first, and the recipients.
func (a offers) snapshot() ([]site.SnapshotEntry, []change.Recipient) {
	entries, paid := newSnapshot(a.prices, a.names), recipients(a.prices, a.names)
	for _, set := range a.others {
		l := a.names[set.EndpointID]
		for _, o := range set.Offers {
			e := site.SnapshotEntry{Asset: o.Asset, Price: o.Amount, Scheme: o.Scheme, Network: o.Network,
				Endpoint: l.endpoint, MimeType: l.mimeType, Resource: l.resource,
				AssetName: rail.Terms(o).Value().AssetName, MaxTimeoutSeconds: o.MaxTimeoutSeconds}
			payTo := o.PayTo
			if o.NetworkCAIP2 != "" {
				e.Asset, payTo = address.Spell(o.NetworkCAIP2, o.Asset), address.Spell(o.NetworkCAIP2, o.PayTo)
			}
			e.PayTo = site.Abbreviate(payTo)
			entries = append(entries, e)
			if payTo != "" {
				paid = append(paid, change.Recipient{Endpoint: l.endpoint, Network: o.Network, Protocol: o.Protocol,
					PayTo: payTo})
			}
		}
	}
	return entries, paid
}

// label describes an endpoint in a price snapshot.
type label struct {
	endpoint string // "<METHOD> <path>"
	mimeType *string
	resource *string
}

func newLabels(s postgres.DueService, answers []answer) map[uuid.UUID]label {
	names := map[uuid.UUID]label{}
	for _, e := range s.Endpoints {
		method := e.Method
		if method == "" {
			method = "GET"
		}
		names[e.ID] = label{method + " " + e.Path, e.MimeType, new(s.BaseURL + e.Path)}
	}
	for _, a := range answers { // the probe determined a method that nobody declared
		if a.endpoint.Method == "" && a.result.Method != "" {
			l := names[a.endpoint.ID]
			l.endpoint = a.result.Method + " " + a.endpoint.Path
			names[a.endpoint.ID] = l
		}
	}
	return names
}

// newSnapshot converts prices to the entries of a published price snapshot, in the same order.
func newSnapshot(prices []postgres.Price, names map[uuid.UUID]label) []site.SnapshotEntry {
	entries := make([]site.SnapshotEntry, len(prices))
	for i, p := range prices {
		l := names[p.EndpointID]
		entries[i] = site.SnapshotEntry{
			Asset: p.Asset, Extra: p.Extra, PayTo: site.Abbreviate(p.PayTo), Price: p.Amount, Scheme: p.Scheme,
			Network: p.Network, Endpoint: l.endpoint, MimeType: l.mimeType, Resource: l.resource,
			AssetName: "UNKNOWN", X402Version: p.X402Version, MaxTimeoutSeconds: p.MaxTimeoutSeconds,
		}
		if p.NetworkCAIP2 != nil {
			entries[i].Network, entries[i].Asset = *p.NetworkCAIP2, address.Spell(*p.NetworkCAIP2, p.Asset)
			entries[i].PayTo = site.Abbreviate(address.Spell(*p.NetworkCAIP2, p.PayTo))
			r := x402.Requirement{NetworkCAIP2: *p.NetworkCAIP2, AssetNorm: address.Normalize(*p.NetworkCAIP2, p.Asset)}
			if p.Extra != nil {
				r.Extra = json.RawMessage(*p.Extra)
			}
			entries[i].AssetName = r.Symbol()
		}
	}
	return entries
}

func recipients(prices []postgres.Price, names map[uuid.UUID]label) []change.Recipient {
	out := make([]change.Recipient, len(prices))
	for i, p := range prices {
		out[i] = change.Recipient{Endpoint: names[p.EndpointID].endpoint, Network: p.Network, PayTo: p.PayTo}
		if p.NetworkCAIP2 != nil { // another spelling of a network or an address is no change
			out[i].Network, out[i].PayTo = *p.NetworkCAIP2, address.Spell(*p.NetworkCAIP2, p.PayTo)
		}
	}
	return out
}

// isSameOffers reports whether two sets of offers have the same terms in the same order.
func isSameOffers(a, b []postgres.Offer) bool {
	return slices.EqualFunc(a, b, func(a, b postgres.Offer) bool {
		at, bt := a.MaxTimeoutSeconds, b.MaxTimeoutSeconds
		if (at == nil) != (bt == nil) || at != nil && *at != *bt {
			return false
		}
		a.MaxTimeoutSeconds, b.MaxTimeoutSeconds = nil, nil
		return a == b
	})
}
