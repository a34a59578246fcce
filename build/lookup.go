package build

import (
	"cmp"
	"fmt"
	"slices"

	"tollbook/site"
)

// Of a look-up: how much of a service's own words is shown, in bytes of JSON, and how many of each list at most. What is
// still too much for site.MaxLookup then goes from the ends of the lists.
const (
	lookupURLBytes    = 600
	lookupNameBytes   = 200
	lookupReasonBytes = 300
	lookupAlso        = 4
	lookupPrices      = 12
	lookupServices    = 8
)

// lookups are what both look-ups tell of. Rows are encoded with their shards: all together are more than what else is known by then.
type lookups struct {
	snapshot   *site.Snapshot
	places     map[string][]place // of each address with an endpoint
	recipients map[string]*site.RecipientLookup
}

// place is an endpoint in a snapshot.
type place struct{ service, endpoint int }

func newLookups(s *site.Snapshot) *lookups {
	return &lookups{snapshot: s, places: map[string][]place{}, recipients: map[string]*site.RecipientLookup{}}
}

// add tells of the ith service. They come by slug.
func (x *lookups) add(i int, l *site.Listing) {
	for j := range l.Detail.Endpoints {
		e := &l.Detail.Endpoints[j]
		x.addPrices(l, e, l.Terms[j].Signable)
		if normal, err := site.NormalAddress(l.Detail.BaseURL + e.Path); err == nil { // else no client can ask for it either
			x.places[normal] = append(x.places[normal], place{i, j})
		}
	}
}

// addPrices tells each recipient that an endpoint names now. Of addresses that differ in case alone the first is told.
func (x *lookups) addPrices(l *site.Listing, e *site.Endpoint, signable bool) {
	seen := map[string]bool{}
	for _, p := range e.Pricing {
		if p.NetworkCAIP2 == nil {
			continue
		}
		normal := site.NormalRecipient(*p.NetworkCAIP2, p.PayTo)
		r := x.recipients[normal]
		if r == nil {
			r = &site.RecipientLookup{Network: *p.NetworkCAIP2, PayTo: p.PayTo}
			x.recipients[normal] = r
		}
		tellRecipient(r, l, e, p, signable, seen[normal])
		seen[normal] = true
	}
}

// write writes the shards of both look-ups, and how many rows each has.
func (x *lookups) write(add func(string, []byte) error) (err error) {
	var index site.LookupIndex
	if index.URL, err = writeShards(site.ByName("lookup-url"), hashes(x.places), x.addressRow, add); err != nil {
		return fmt.Errorf("look up addresses: %w", err)
	}
	if index.PayTo, err = writeShards(site.ByName("lookup-pay-to"), hashes(x.recipients), x.recipientRow, add); err != nil {
		return fmt.Errorf("look up recipients: %w", err)
	}
	return addLine(site.LookupFile, index, add)
}

// hashed is what a row is asked for by.
type hashed struct{ hash, normal string }

// hashes are those of all keys, in their order.
func hashes[T any](of map[string]T) []hashed {
	keys := make([]hashed, 0, len(of))
	for normal := range of {
		keys = append(keys, hashed{site.Hash(normal), normal})
	}
	slices.SortFunc(keys, func(a, b hashed) int { return cmp.Compare(a.hash, b.hash) })
	return keys
}

// writeShards writes rows into shards by the first two digits of their hashes, and counts them.
func writeShards(route *site.Route, keys []hashed, row func(hashed) ([]byte, error), add func(string, []byte) error) (map[string]int, error) {
	sizes := map[string]int{}
	for len(keys) > 0 {
		digits := keys[0].hash[:2]
		var lines [][]byte
		for len(keys) > 0 && keys[0].hash[:2] == digits {
			line, err := row(keys[0])
			if err != nil {
				return nil, fmt.Errorf("%.100s: %w", keys[0].normal, err)
			}
			lines, keys = append(lines, line), keys[1:]
		}
		sizes[digits] = len(lines)
		if err := addList(site.LookupShardKey(route, digits), site.Framing{}, lines, site.TotalMeta{Total: int64(len(lines))}, add); err != nil {
			return nil, err
		}
	}
	return sizes, nil
}

func (x *lookups) addressRow(of hashed) ([]byte, error) {
	data := addressLookup(x.snapshot, of.normal, x.places[of.normal])
	return fit(of.hash, data, func() bool {
		return dropLast(&data.Prices, &data.Clipped) || dropLast(&data.AlsoListed, &data.Clipped)
	})
}

func (x *lookups) recipientRow(of hashed) ([]byte, error) {
	data := x.recipients[of.normal]
	data.Network, data.PayTo = clip(data.Network, lookupNameBytes, &data.Clipped), clip(data.PayTo, lookupURLBytes, &data.Clipped)
	data.ServiceCount = len(data.Services)
	data.Services = atMost(data.Services, lookupServices, &data.Clipped)
	return fit(of.hash, data, func() bool { return dropLast(&data.Services, &data.Clipped) })
}

// addressLookup tells of the first service at an address, by slug, and names the others.
func addressLookup(s *site.Snapshot, normal string, at []place) *site.AddressLookup {
	l := s.Brief(at[0].service)
	a := &site.AddressLookup{Signable: true, Prices: []site.LookupPrice{}, AlsoListed: []string{}}
	a.URL = clip(normal, lookupURLBytes, &a.Clipped)
	a.Service = lookupService(l, &a.Clipped)
	for _, p := range at {
		if p.service != at[0].service {
			slug := s.Services[p.service].Item.Slug
			if n := len(a.AlsoListed); n == 0 || a.AlsoListed[n-1] != slug {
				a.AlsoListed = append(a.AlsoListed, slug)
			}
			continue
		}
		e, t := s.Endpoint(p.service, p.endpoint)
		if a.LastSeenAt == nil || e.LastSeenAt.After(a.LastSeenAt.Time) {
			a.LastSeenAt = &e.LastSeenAt
		}
		if !t.Signable && a.Signable {
			reason := clip(t.Reason, lookupReasonBytes, &a.Clipped)
			a.Signable, a.Reason = false, &reason
		}
		for k, price := range e.Pricing {
			a.Prices = append(a.Prices, site.LookupPrice{
				Method: e.Method, Scheme: price.Scheme, NetworkCAIP2: price.NetworkCAIP2, AssetName: price.AssetName, AssetAddress: price.AssetAddress,
				Price: price.Price, PriceUSD: price.PriceUSD, PayTo: price.PayTo, Since: t.Prices[k].Since,
			})
		}
	}
	a.AlsoListed = atMost(a.AlsoListed, lookupAlso, &a.Clipped)
	a.Prices = atMost(a.Prices, lookupPrices, &a.Clipped)
	return a
}

func lookupService(l *site.Listing, clipped *bool) site.LookupService {
	d := &l.Detail
	of := site.LookupService{
		Slug: d.Slug, Name: clip(d.Name, lookupNameBytes, clipped), Status: d.Status, Verified: d.Verified, Risk: d.Assessment.Risk.Level,
	}
	if len(l.Changes) > 0 {
		of.LastChange = &site.LookupChange{Type: l.Changes[0].Type, ObservedAt: l.Changes[0].ObservedAt}
	}
	return of
}

// tellRecipient adds one price of an endpoint to what is told of its recipient; again says that the endpoint itself is
// counted already. Services come by slug.
func tellRecipient(r *site.RecipientLookup, l *site.Listing, e *site.Endpoint, p site.PricingEntry, signable, again bool) {
	n := len(r.Services)
	if n == 0 || r.Services[n-1].Slug != l.Item.Slug {
		r.Services = append(r.Services, site.RecipientService{LookupService: lookupService(l, &r.Clipped), Signable: true})
		n++
	}
	of := &r.Services[n-1]
	if !again {
		of.EndpointCount++
		of.Signable = of.Signable && signable
	}
	if p.PriceUSD == nil {
		return
	}
	if usd, err := site.ParseDecimal(*p.PriceUSD); err == nil {
		of.MinPriceUSD = lower(of.MinPriceUSD, usd)
	}
}

// fit encodes a row, dropping parts of its data until its answer has less than site.MaxLookup bytes.
func fit(hash string, data any, drop func() bool) ([]byte, error) {
	for {
		row, err := site.Row(site.LookupRow{Hash: hash, Data: data})
		if err != nil {
			return nil, err
		}
		size := len(site.LookupAnswer(row))
		if size < site.MaxLookup {
			return row, nil
		}
		if !drop() {
			return nil, fmt.Errorf("its row has %d bytes when all is dropped that may be", size)
		}
	}
}

// dropLast drops the last of a list and says so in clipped; false when there is none.
func dropLast[T any](list *[]T, clipped *bool) bool {
	if len(*list) == 0 {
		return false
	}
	*list, *clipped = (*list)[:len(*list)-1], true
	return true
}

func atMost[T any](list []T, n int, clipped *bool) []T {
	if len(list) > n {
		list, *clipped = list[:n:n], true
	}
	return list
}

// clip cuts text so that its JSON has n bytes at most.
func clip(s string, n int, clipped *bool) string {
	if 6*len(s)+2 <= n {
		return s // though each byte were an escape
	}
	for {
		line, err := site.Row(s)
		if err == nil && len(line) <= n {
			return s
		}
		runes := []rune(s)
		s, *clipped = string(runes[:min(len(runes)-1, n)]), true
	}
}
