package build

import (
	"cmp"
	"fmt"
	"slices"

	"tollbook/build/judge/price"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/gate"
	"tollbook/site/listing"
	"tollbook/site/routes"
)

// Limits of the texts of a look-up, in bytes of JSON, and of its lists. If the answer still exceeds site.MaxLookup, the
// ends of the lists are dropped.
const (
	lookupURLBytes    = 600
	lookupNameBytes   = 200
	lookupReasonBytes = 300
	maxAlsoListed     = 4
	maxLookupPrices   = 12
	maxLookupServices = 8
)

// lookups collects the rows of both look-ups: by URL and by recipient.
type lookups struct {
	snapshot   *site.Snapshot
	rows       rowFile // of addresses
	addresses  map[string]*addressRow
	gate       gate.Writer
	recipients map[string]*site.RecipientLookup
	provenance int // bytes that the provenance adds to each response
}

// addressRow is a row of the look-up by URL. It is encoded once the first of its services is judged.
type addressRow struct {
	services []int32 // places of the services with an endpoint there, by slug
	row      filedRow
}

// newLookups returns empty look-ups. Rows go to a temporary file at path until close is called.
func newLookups(s *site.Snapshot, path string) *lookups {
	return &lookups{snapshot: s, rows: rowFile{path: path}, addresses: map[string]*addressRow{},
		recipients: map[string]*site.RecipientLookup{}}
}

func (x *lookups) close() { x.rows.close() }

// count notes the URLs of the ith service. All services must be counted, by slug, before the first is added.
func (x *lookups) count(i int, endpoints []site.Endpoint) {
	for j := range endpoints {
		normal, err := listing.NormalURL(x.snapshot.Services[i].Item.BaseURL + endpoints[j].Path)
		if err != nil {
			continue // no client can request it either
		}
		a := x.addresses[normal]
		if a == nil {
			a = &addressRow{}
			x.addresses[normal] = a
		}
		if n := len(a.services); n == 0 || a.services[n-1] != int32(i) {
			a.services = append(a.services, int32(i))
		}
	}
}

// add adds the ith service to its recipients. It encodes the rows of the URLs at which the service is the first.
// Services must be added by slug.
func (x *lookups) add(i int, l *site.Listing) error {
	own := map[string][]int{} // endpoints by URL
	for j := range l.Detail.Endpoints {
		e := &l.Detail.Endpoints[j]
		x.addPrices(l, e, l.Terms[j].Payable)
		if normal, err := listing.NormalURL(l.Detail.BaseURL + e.Path); err == nil {
			own[normal] = append(own[normal], j)
		}
	}
	for normal, endpoints := range own {
		a := x.addresses[normal]
		if a.services[0] != int32(i) {
			continue
		}
		x.addGate(normal, l, endpoints)
		row, err := x.encodeAddress(normal, l, endpoints, a.services[1:])
		if err != nil {
			return fmt.Errorf("%.100s: %w", normal, err)
		}
		a.row = x.rows.add(row)
	}
	return nil
}

// addGate adds a URL to the file that payers ask before they sign, with the verdict of the look-up.
func (x *lookups) addGate(normal string, l *site.Listing, endpoints []int) {
	of := newAddressLookup(normal, l, endpoints)
	var options []gate.Option
	for _, j := range endpoints {
		for _, p := range l.Detail.Endpoints[j].Pricing {
			if p.NetworkCAIP2 != nil {
				options = append(options, gate.Option{Network: *p.NetworkCAIP2, Asset: p.AssetAddress, PayTo: p.PayTo,
					Amount: p.Price})
			}
		}
	}
	x.gate.Add(normal, gate.LevelOf(of.Verdict, of.Payable), options)
}

// addPrices adds an endpoint to each recipient that it names now. If two addresses differ in case only, the row has the
// first.
func (x *lookups) addPrices(l *site.Listing, e *site.Endpoint, payable bool) {
	seen := map[string]bool{}
	for _, p := range e.X402Pricing() {
		if p.NetworkCAIP2 == nil {
			continue
		}
		normal := site.NormalRecipient(*p.NetworkCAIP2, p.PayTo)
		r := x.recipients[normal]
		if r == nil {
			r = &site.RecipientLookup{Network: *p.NetworkCAIP2, PayTo: p.PayTo}
			x.recipients[normal] = r
		}
		addPrice(r, l, e, p, payable, seen[normal])
		seen[normal] = true
	}
}

// write writes the shards of both look-ups and their index.
func (x *lookups) write(add addFunc) (err error) {
	if err := x.rows.end(); err != nil {
		return err
	}
	var index routes.LookupIndex
	if index.URL, err = writeShards(routes.ByName("lookup-url"), sortKeys(x.addresses),
		func(of lookupKey) ([]byte, error) { return x.rows.read(x.addresses[of.normal].row) }, add); err != nil {
		return fmt.Errorf("write look-up by URL: %w", err)
	}
	if index.PayTo, err = writeShards(routes.ByName("lookup-pay-to"), sortKeys(x.recipients), x.encodeRecipient,
		add); err != nil {
		return fmt.Errorf("write look-up by recipient: %w", err)
	}
	return addLine(routes.LookupFile, index, add)
}

// lookupKey is the normal form of a URL or recipient, and its hash.
type lookupKey struct{ hash, normal string }

// sortKeys returns the keys of a map in the order of hashes.
func sortKeys[T any](of map[string]T) []lookupKey {
	keys := make([]lookupKey, 0, len(of))
	for normal := range of {
		keys = append(keys, lookupKey{site.Hash(normal), normal})
	}
	slices.SortFunc(keys, func(a, b lookupKey) int { return cmp.Compare(a.hash, b.hash) })
	return keys
}

// writeShards writes rows into shards by the first two digits of their hashes. It returns the number of rows by shard.
func writeShards(route *routes.Route, keys []lookupKey, row func(lookupKey) ([]byte, error),
	add addFunc) (map[string]int,
	error) {
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
		if err := addList(routes.LookupShardKey(route, digits), encode.Framing{}, lines,
			site.TotalMeta{Total: int64(len(lines))}, add); err != nil {
			return nil, err
		}
	}
	return sizes, nil
}

// encodeAddress encodes the row of a URL at which a service has endpoints. others are further services at the URL.
func (x *lookups) encodeAddress(normal string, l *site.Listing, endpoints []int, others []int32) ([]byte, error) {
	data := newAddressLookup(normal, l, endpoints)
	for _, other := range others {
		data.AlsoListed = append(data.AlsoListed, x.snapshot.Services[other].Item.Slug)
	}
	data.AlsoListed = truncate(data.AlsoListed, maxAlsoListed, &data.Clipped)
	data.Prices = truncate(data.Prices, maxLookupPrices, &data.Clipped)
	return x.encodeWithin(site.Hash(normal), data, func() bool {
		return dropLast(&data.Prices, &data.Clipped) || dropLast(&data.AlsoListed, &data.Clipped)
	})
}

func (x *lookups) encodeRecipient(of lookupKey) ([]byte, error) {
	data := x.recipients[of.normal]
	data.Network, data.PayTo = clip(data.Network, lookupNameBytes, &data.Clipped),
		clip(data.PayTo, lookupURLBytes, &data.Clipped)
	data.ServiceCount = len(data.Services)
	data.Services = truncate(data.Services, maxLookupServices, &data.Clipped)
	return x.encodeWithin(of.hash, data, func() bool { return dropLast(&data.Services, &data.Clipped) })
}

// newAddressLookup returns the offers of a service's endpoints at a URL.
func newAddressLookup(normal string, l *site.Listing, endpoints []int) *site.AddressLookup {
	a := &site.AddressLookup{Verdict: site.AdviceGood, Payable: true, Prices: []site.LookupPrice{}, AlsoListed: []string{}}
	a.URL = clip(normal, lookupURLBytes, &a.Clipped)
	a.Service = newLookupService(l, &a.Clipped)
	for _, j := range endpoints {
		e, t := &l.Detail.Endpoints[j], &l.Terms[j]
		if a.LastSeenAt == nil || e.LastSeenAt.After(a.LastSeenAt.Time) {
			a.LastSeenAt = &e.LastSeenAt
		}
		if level := cmp.Or(e.Verdict.Level, site.AdviceUnknown); site.IsWorse(level, a.Verdict) {
			a.Verdict = level
		}
		if !t.Payable && a.Payable {
			reason := clip(t.Reason, lookupReasonBytes, &a.Clipped)
			a.Payable, a.Reason = false, &reason
		}
		for k, price := range e.X402Pricing() {
			a.Prices = append(a.Prices, site.LookupPrice{
				Method: e.Method, Scheme: price.Scheme, NetworkCAIP2: price.NetworkCAIP2, AssetName: price.AssetName,
				AssetAddress: price.AssetAddress,
				Price:        price.Price, PriceUSD: price.PriceUSD, PayTo: price.PayTo, Since: t.Prices[k].Since,
				Testnet: price.Testnet, PriceCondition: price.PayableBy.PriceCondition(),
			})
		}
	}
	return a
}

func newLookupService(l *site.Listing, clipped *bool) site.LookupService {
	d := &l.Detail
	of := site.LookupService{
		Slug: d.Slug, Name: clip(d.Name, lookupNameBytes, clipped), Status: d.Status, Verified: d.Verified,
		Risk: d.Assessment.Risk.Level, Advice: l.Item.AdviceLevel,
	}
	if len(l.Changes) > 0 {
		of.LastChange = &site.LookupChange{Type: l.Changes[0].Type, ObservedAt: l.Changes[0].ObservedAt}
	}
	return of
}

// addPrice adds one price of an endpoint to its recipient. repeated says that the endpoint is already counted. Services
// must be added by slug.
func addPrice(r *site.RecipientLookup, l *site.Listing, e *site.Endpoint, p site.PricingEntry, payable,
	repeated bool) {
	n := len(r.Services)
	if n == 0 || r.Services[n-1].Slug != l.Item.Slug {
		r.Services = append(r.Services, site.RecipientService{LookupService: newLookupService(l, &r.Clipped),
			Payable: true})
		n++
	}
	of := &r.Services[n-1]
	if !repeated {
		of.EndpointCount++
		of.Payable = of.Payable && payable
	}
	usd, ok := p.CountedUSD()
	needs := &p.PayableBy
	if ok && price.IsLower(usd, needs.IsConditional(), of.MinPriceUSD, of.PriceCondition != nil) {
		of.MinPriceUSD, of.PriceCondition = &usd, needs.PriceCondition()
	}
}

// encodeWithin encodes a row. It calls drop until the answer with its provenance has less than site.MaxLookup bytes, or
// nothing is left to drop and it has less without.
func (x *lookups) encodeWithin(hash string, data any, drop func() bool) ([]byte, error) {
	for {
		row, err := encode.Row(routes.LookupRow{Hash: hash, Data: data})
		if err != nil {
			return nil, err
		}
		size := len(routes.LookupResponse(row))
		if size+x.provenance < site.MaxLookup {
			return row, nil
		}
		if !drop() {
			if size < site.MaxLookup {
				return row, nil
			}
			return nil, fmt.Errorf("encode row: %d bytes without its optional parts, limit %d", size, site.MaxLookup)
		}
	}
}

// dropLast drops the last row of a list and sets clipped. It returns false if the list is empty.
func dropLast[T any](list *[]T, clipped *bool) bool {
	if len(*list) == 0 {
		return false
	}
	*list, *clipped = (*list)[:len(*list)-1], true
	return true
}

func truncate[T any](list []T, n int, clipped *bool) []T {
	if len(list) > n {
		list, *clipped = list[:n:n], true
	}
	return list
}

// clip returns s, cut so that its JSON has at most n bytes. It sets clipped if it cut s.
func clip(s string, n int, clipped *bool) string {
	if 6*len(s)+2 <= n {
		return s // even if each byte is escaped
	}
	for {
		line, err := encode.Row(s)
		if err == nil && len(line) <= n {
			return s
		}
		runes := []rune(s)
		s, *clipped = string(runes[:min(len(runes)-1, n)]), true
	}
}
