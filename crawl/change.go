package crawl

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// changeRate is the least time between two records of a type of a service. What changes within the hour after a record
// is held back and folded into the next one, which compares what is asked then with what that record led to: a price
// that is another one on every visit makes one record an hour, and one that went and came back makes none. A record
// that is made never changes, so that it may enter the logs.
const changeRate = time.Hour

// compare turns a visit's new sets of prices, and what was held back before, into change records. The first set that a
// service ever shows is no change, nor is the first one of an endpoint that was listed with the service: an earlier
// visit merely had not reached it.
func (c *Crawler) compare(ctx context.Context, s postgres.DueService, v *postgres.Visit, answers []answer) error {
	replaced := map[uuid.UUID][]postgres.Price{}
	for _, e := range v.Endpoints {
		if e.Repriced {
			replaced[e.ID] = e.Prices
		}
	}
	hasShown := func(e postgres.Endpoint) bool { return e.Fingerprint != nil }
	if !slices.ContainsFunc(s.Endpoints, hasShown) {
		return nil
	}
	if len(replaced) == 0 && len(s.Marks) == 0 {
		return nil
	}
	current, err := c.db.CurrentPrices(ctx, s.ID)
	if err != nil {
		return err
	}
	var first []postgres.Price // of endpoints that were listed with the service
	for _, e := range s.Endpoints {
		if !hasShown(e) && !e.FirstSeenAt.After(s.CreatedAt) {
			first = append(first, replaced[e.ID]...)
		}
	}
	names := labels(s, answers)
	after := asked{names: names}
	for _, p := range current {
		if _, gone := replaced[p.EndpointID]; !gone {
			after.prices = append(after.prices, p)
		}
	}
	for _, e := range v.Endpoints {
		after.prices = append(after.prices, replaced[e.ID]...)
	}
	for _, kind := range site.ChangeTypes {
		told := current
		through, marked := s.Marks[kind]
		if marked {
			if v.Check.CheckedAt.Sub(through) < changeRate {
				continue // held back
			}
			if told, err = c.db.PricesAt(ctx, s.ID, through); err != nil {
				return err
			}
		}
		change, err := asked{slices.Concat(told, first), names}.change(kind, after)
		if err != nil {
			return err
		}
		if change != nil {
			change.ServiceID, change.ObservedAt = s.ID, v.Check.CheckedAt
			v.Changes = append(v.Changes, *change)
		} else if marked {
			v.Told = append(v.Told, kind)
		}
	}
	return nil
}

// asked are the ways to pay a service at a time.
type asked struct {
	prices []postgres.Price
	names  map[uuid.UUID]label
}

// change is the record of one type of what differs between a and after, nil when nothing does.
func (a asked) change(kind string, after asked) (*postgres.Change, error) {
	before, now := snapshot(a.prices, a.names), snapshot(after.prices, after.names)
	for _, set := range site.Compare(before, now, paid(a.prices, a.names), paid(after.prices, after.names)) {
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
			Asset: p.Asset, Extra: p.Extra, PayTo: site.Abbreviate(p.PayTo), Price: p.Amount, Scheme: p.Scheme,
			Network:  p.Network,
			Endpoint: l.endpoint, MimeType: l.mimeType, Resource: l.resource, AssetName: "UNKNOWN",
			X402Version:       p.X402Version,
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
