package build

import (
	"cmp"
	"fmt"
	"slices"

	"tollbook/site"
	"tollbook/site/lookup"
)

// Of a look-up: how much of a service's own words is shown, in bytes of JSON, and how many of each list at most. What
// is still too much for site.MaxLookup then goes from the ends of the lists.
const (
	lookupURLBytes    = 600
	lookupNameBytes   = 200
	lookupReasonBytes = 300
	lookupAlso        = 4
	lookupPrices      = 12
	lookupServices    = 8
)

// lookups are both look-ups: by address and by recipient.
type lookups struct {
	snapshot   *site.Snapshot
	addresses  map[string]*address
	recipients map[string]*site.RecipientLookup
}

// address is a row of the look-up by address. The row is encoded when its service's listing is there.
type address struct {
	services []int32 // with an endpoint there, by slug
	row      []byte
}

func newLookups(s *site.Snapshot) *lookups {
	return &lookups{snapshot: s, addresses: map[string]*address{}, recipients: map[string]*site.RecipientLookup{}}
}

// survey notes the addresses of the ith service. Services come by slug, all of them before the first one is added.
func (x *lookups) survey(i int, endpoints []site.Endpoint) {
	for j := range endpoints {
		normal, err := lookup.NormalAddress(x.snapshot.Services[i].Item.BaseURL + endpoints[j].Path)
		if err != nil {
			continue // no client can ask for it either
		}
		a := x.addresses[normal]
		if a == nil {
			a = &address{}
			x.addresses[normal] = a
		}
		if n := len(a.services); n == 0 || a.services[n-1] != int32(i) {
			a.services = append(a.services, int32(i))
		}
	}
}

// add adds the ith service to its recipients, and encodes the rows of addresses at which it is the first. Services
// come by slug.
func (x *lookups) add(i int, l *site.Listing) error {
	own := map[string][]int{} // endpoints by address
	for j := range l.Detail.Endpoints {
		e := &l.Detail.Endpoints[j]
		x.addPrices(l, e, l.Terms[j].Signable)
		if normal, err := lookup.NormalAddress(l.Detail.BaseURL + e.Path); err == nil {
			own[normal] = append(own[normal], j)
		}
	}
	for normal, endpoints := range own {
		a := x.addresses[normal]
		if a.services[0] != int32(i) {
			continue
		}
		var err error
		if a.row, err = x.addressRow(normal, l, endpoints, a.services[1:]); err != nil {
			return fmt.Errorf("%.100s: %w", normal, err)
		}
	}
	return nil
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
	if index.URL, err = writeShards(site.ByName("lookup-url"), hashes(x.addresses), func(of hashed) ([]byte, error) { return x.addresses[of.normal].row, nil }, add); err != nil {
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

// addressRow encodes the row of an address, where a service has these endpoints and others have some, too.
func (x *lookups) addressRow(normal string, l *site.Listing, endpoints []int, others []int32) ([]byte, error) {
	data := addressLookup(normal, l, endpoints)
	for _, other := range others {
		data.AlsoListed = append(data.AlsoListed, x.snapshot.Services[other].Item.Slug)
	}
	data.AlsoListed = atMost(data.AlsoListed, lookupAlso, &data.Clipped)
	data.Prices = atMost(data.Prices, lookupPrices, &data.Clipped)
	return fit(site.Hash(normal), data, func() bool {
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

// addressLookup is what the endpoints of a service at an address offer.
func addressLookup(normal string, l *site.Listing, endpoints []int) *site.AddressLookup {
	a := &site.AddressLookup{Signable: true, Prices: []site.LookupPrice{}, AlsoListed: []string{}}
	a.URL = clip(normal, lookupURLBytes, &a.Clipped)
	a.Service = lookupService(l, &a.Clipped)
	for _, j := range endpoints {
		e, t := &l.Detail.Endpoints[j], &l.Terms[j]
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
	usd, err := site.ParseDecimal(*p.PriceUSD)
	if err == nil && (of.MinPriceUSD == nil || usd.Compare(*of.MinPriceUSD) < 0) {
		of.MinPriceUSD = &usd
	}
}

// fit encodes a row, dropping parts of its data until its answer has less than site.MaxLookup bytes.
func fit(hash string, data any, drop func() bool) ([]byte, error) {
	for {
		row, err := site.Row(site.LookupRow{Hash: hash, Data: data})
		if err != nil {
			return nil, err
		}
		size := len(site.LookupResponse(row))
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
