// Package offer owns the ways to pay a service at one time, over every protocol, and the change record that tells two
// times apart. It is pure, and must never know a visit, a database or a clock.
package offer

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/change"
	"tollbook/site/postgres/checks"
	"tollbook/site/rail"
	"tollbook/site/x402"
)

// Set is the ways to pay a service at one time.
type Set struct {
	Prices []checks.Price      // over x402
	Others []checks.OfferSet   // over other protocols
	Labels map[uuid.UUID]Label // of the endpoints
}

// WithoutOtherKind returns the set with the terms of after for each endpoint whose terms in one set were shown to
// signed requests and in the other one to requests without a signature: such terms are not compared.
func (a Set) WithoutOtherKind(after Set) Set {
	before, now := a.signed(), after.signed()
	isOther := func(id uuid.UUID) bool {
		was, ok := before[id]
		is, known := now[id]
		return ok && known && was != is
	}
	merged := Set{Labels: a.Labels}
	for _, p := range a.Prices {
		if !isOther(p.EndpointID) {
			merged.Prices = append(merged.Prices, p)
		}
	}
	for _, s := range a.Others {
		if !isOther(s.EndpointID) {
			merged.Others = append(merged.Others, s)
		}
	}
	for _, p := range after.Prices {
		if isOther(p.EndpointID) {
			merged.Prices = append(merged.Prices, p)
		}
	}
	for _, s := range after.Others {
		if isOther(s.EndpointID) {
			merged.Others = append(merged.Others, s)
		}
	}
	return merged
}

// signed returns, for each endpoint with terms, whether they were shown to signed requests.
func (a Set) signed() map[uuid.UUID]bool {
	signed := map[uuid.UUID]bool{}
	for _, s := range a.Others {
		signed[s.EndpointID] = s.Signed
	}
	for _, p := range a.Prices {
		signed[p.EndpointID] = p.Signed
	}
	return signed
}

// Compare returns a record of the differences of one type between a and after, nil if there are none. The record has at
// most change.MaxRecord bytes.
func (a Set) Compare(kind string, after Set) (*checks.Change, error) {
	before, paidBefore := a.snapshot()
	now, paidNow := after.snapshot()
	for _, set := range change.Compare(before, now, paidBefore, paidNow) {
		if set.Type != kind {
			continue
		}
		var c checks.Change
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
		c.Summary, c.OldSnapshot, c.NewSnapshot = change.Cut(kind, c.Summary, c.OldSnapshot, c.NewSnapshot,
			change.MaxRecord)
		return &c, nil
	}
	return nil, nil
}

// snapshot returns the entries of a published price snapshot, those over x402 first, and the recipients.
func (a Set) snapshot() ([]site.SnapshotEntry, []change.Recipient) {
	entries, paid := newSnapshot(a.Prices, a.Labels), recipients(a.Prices, a.Labels)
	for _, set := range a.Others {
		others, paidOver := Entries(set.Offers, a.Labels[set.EndpointID])
		entries, paid = append(entries, others...), append(paid, paidOver...)
	}
	return entries, paid
}

// Entries converts offers of an endpoint over other protocols than x402 to the entries of a published price snapshot,
// and returns their recipients.
func Entries(offers []checks.Offer, l Label) (entries []site.SnapshotEntry, paid []change.Recipient) {
	for _, o := range offers {
		e := site.SnapshotEntry{Asset: o.Asset, Price: o.Amount, Scheme: o.Scheme, Network: o.Network,
			Endpoint: l.Endpoint, MimeType: l.MimeType, Resource: l.Resource,
			AssetName: rail.Terms(o).Value().AssetName, MaxTimeoutSeconds: o.MaxTimeoutSeconds}
		payTo := o.PayTo
		if o.NetworkCAIP2 != "" {
			e.Asset, payTo = x402.SpellAddress(o.NetworkCAIP2, o.Asset), x402.SpellAddress(o.NetworkCAIP2, o.PayTo)
		}
		e.PayTo = site.Abbreviate(payTo)
		entries = append(entries, e)
		if payTo != "" {
			paid = append(paid, change.Recipient{Endpoint: l.Endpoint, Network: o.Network, Protocol: o.Protocol,
				PayTo: payTo})
		}
	}
	return entries, paid
}

// Label describes an endpoint in a price snapshot.
type Label struct {
	Endpoint string // "<METHOD> <path>"
	MimeType *string
	Resource *string
}

// newSnapshot converts prices to the entries of a published price snapshot, in the same order.
func newSnapshot(prices []checks.Price, labels map[uuid.UUID]Label) []site.SnapshotEntry {
	entries := make([]site.SnapshotEntry, len(prices))
	for i, p := range prices {
		l := labels[p.EndpointID]
		entries[i] = site.SnapshotEntry{
			Asset: p.Asset, Extra: p.Extra, PayTo: site.Abbreviate(p.PayTo), Price: p.Amount, Scheme: p.Scheme,
			Network: p.Network, Endpoint: l.Endpoint, MimeType: l.MimeType, Resource: l.Resource,
			AssetName: "UNKNOWN", X402Version: p.X402Version, MaxTimeoutSeconds: p.MaxTimeoutSeconds,
		}
		if p.NetworkCAIP2 != nil {
			entries[i].Network, entries[i].Asset = *p.NetworkCAIP2, x402.SpellAddress(*p.NetworkCAIP2, p.Asset)
			entries[i].PayTo = site.Abbreviate(x402.SpellAddress(*p.NetworkCAIP2, p.PayTo))
			r := x402.Requirement{NetworkCAIP2: *p.NetworkCAIP2, AssetNorm: x402.NormalizeAddress(*p.NetworkCAIP2, p.Asset)}
			if p.Extra != nil {
				r.Extra = json.RawMessage(*p.Extra)
			}
			entries[i].AssetName = r.Symbol()
		}
	}
	return entries
}

func recipients(prices []checks.Price, labels map[uuid.UUID]Label) []change.Recipient {
	out := make([]change.Recipient, len(prices))
	for i, p := range prices {
		out[i] = change.Recipient{Endpoint: labels[p.EndpointID].Endpoint, Network: p.Network, PayTo: p.PayTo}
		if p.NetworkCAIP2 != nil { // another spelling of a network or an address is no change
			out[i].Network, out[i].PayTo = *p.NetworkCAIP2, x402.SpellAddress(*p.NetworkCAIP2, p.PayTo)
		}
	}
	return out
}

// IsSame reports whether two sets of offers have the same terms in the same order.
func IsSame(a, b []checks.Offer) bool {
	return slices.EqualFunc(a, b, func(a, b checks.Offer) bool {
		at, bt := a.MaxTimeoutSeconds, b.MaxTimeoutSeconds
		if (at == nil) != (bt == nil) || at != nil && *at != *bt {
			return false
		}
		a.MaxTimeoutSeconds, b.MaxTimeoutSeconds = nil, nil
		return a == b
	})
}
