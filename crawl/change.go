package crawl

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// compare turns a visit's new sets of prices into change records. The first set that a service ever shows is no change,
// nor is the first one of an endpoint that was listed with the service: an earlier visit merely had not reached it.
func (c *Crawler) compare(ctx context.Context, s postgres.DueService, v *postgres.Visit, answers []answer) error {
	replaced := map[uuid.UUID][]postgres.Price{}
	for _, e := range v.Endpoints {
		if e.Repriced {
			replaced[e.ID] = e.Prices
		}
	}
	hasShown := func(e postgres.Endpoint) bool { return e.Fingerprint != nil }
	if len(replaced) == 0 || !slices.ContainsFunc(s.Endpoints, hasShown) {
		return nil
	}
	before, err := c.db.CurrentPrices(ctx, s.ID)
	if err != nil {
		return err
	}
	for _, e := range s.Endpoints {
		if !hasShown(e) && !e.FirstSeenAt.After(s.CreatedAt) {
			before = append(before, replaced[e.ID]...)
		}
	}
	var after []postgres.Price
	for _, p := range before {
		if _, gone := replaced[p.EndpointID]; !gone {
			after = append(after, p)
		}
	}
	for _, e := range v.Endpoints {
		after = append(after, replaced[e.ID]...)
	}
	names := labels(s, answers)
	oldEntries, newEntries := snapshot(before, names), snapshot(after, names)
	oldText, err := json.Marshal(oldEntries)
	if err != nil {
		return fmt.Errorf("encode old snapshot: %w", err)
	}
	newText, err := json.Marshal(newEntries)
	if err != nil {
		return fmt.Errorf("encode new snapshot: %w", err)
	}
	for _, set := range site.Compare(oldEntries, newEntries, paid(before, names), paid(after, names)) {
		summary, err := set.Text()
		if err != nil {
			return fmt.Errorf("encode %s: %w", set.Type, err)
		}
		v.Changes = append(v.Changes, postgres.Change{
			ServiceID: s.ID, Type: set.Type, ObservedAt: v.Check.CheckedAt, Summary: summary, OldSnapshot: oldText, NewSnapshot: newText,
		})
	}
	return nil
}

// label is how a snapshot names an endpoint.
type label struct {
	endpoint string // "<METHOD> <path>"
	mimeType *string
	resource *string
}

func labels(s postgres.DueService, answers []answer) map[uuid.UUID]label {
	names := map[uuid.UUID]label{}
	for _, e := range s.Endpoints {
		method := e.Method
		if method == "" {
			method = "GET"
		}
		address := s.BaseURL + e.Path
		names[e.ID] = label{method + " " + e.Path, e.MimeType, &address}
	}
	for _, a := range answers { // an endpoint whose method nobody declared has just shown it
		if a.endpoint.Method == "" && a.result.Method != "" {
			l := names[a.endpoint.ID]
			l.endpoint = a.result.Method + " " + a.endpoint.Path
			names[a.endpoint.ID] = l
		}
	}
	return names
}

// snapshot writes prices as the contract's snapshots show them, in their order.
func snapshot(prices []postgres.Price, names map[uuid.UUID]label) []site.SnapshotEntry {
	entries := make([]site.SnapshotEntry, len(prices))
	for i, p := range prices {
		l := names[p.EndpointID]
		entries[i] = site.SnapshotEntry{
			Asset: p.Asset, Extra: p.Extra, PayTo: site.Abbreviate(p.PayTo), Price: p.Amount, Scheme: p.Scheme, Network: p.Network,
			Endpoint: l.endpoint, MimeType: l.mimeType, Resource: l.resource, AssetName: "UNKNOWN", X402Version: p.X402Version,
			MaxTimeoutSeconds: p.MaxTimeoutSeconds,
		}
		if p.NetworkCAIP2 != nil {
			entries[i].Network = *p.NetworkCAIP2
			if a, ok := x402.LookupAsset(*p.NetworkCAIP2, p.Asset); ok {
				entries[i].AssetName = a.Symbol
			}
		}
	}
	return entries
}

func paid(prices []postgres.Price, names map[uuid.UUID]label) []site.Recipient {
	out := make([]site.Recipient, len(prices))
	for i, p := range prices {
		out[i] = site.Recipient{Endpoint: names[p.EndpointID].endpoint, Network: p.Network, PayTo: p.PayTo}
		if p.NetworkCAIP2 != nil { // a service that only names its network otherwise still pays the same way
			out[i].Network = *p.NetworkCAIP2
		}
	}
	return out
}
