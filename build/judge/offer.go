package judge

import (
	"cmp"
	"net/url"
	"slices"
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// offer is what a service sells now: its active endpoints and the ways to pay for them.
type offer struct {
	endpoints     []site.Endpoint
	networks      []string // abbreviations, sorted
	networksCAIP2 []string // sorted
	payTo         []string // recipients, sorted
	asset         *string  // of the lowest price, or else of the first row
	min, max      *site.Decimal
	atomic        *string // amount of min in atomic units
	distinct      int     // number of different prices in USD
	variable      bool    // every way to pay is a maximum
	testnet       bool    // every network is a testnet
}

// newOffer judges a service's active endpoints.
func newOffer(f *postgres.ServiceFacts, now time.Time) offer {
	active := 0
	for i := range f.Endpoints {
		if e := &f.Endpoints[i]; site.IsActive(e.FirstSeenAt, e.LastPaidAt, now) {
			active++
		}
	}
	o := offer{endpoints: make([]site.Endpoint, 0, active), networks: []string{}, networksCAIP2: []string{}}
	expected := majorityRecipients(f, now)
	amounts := map[site.Decimal]bool{}
	rows, variable, test := 0, 0, 0
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		if !site.IsActive(e.FirstSeenAt, e.LastPaidAt, now) {
			continue
		}
		out, prices := newEndpoint(e), currentPrices(e.Prices)
		out.Pricing = make([]site.PricingEntry, 0, len(prices))
		for i := range prices {
			p := &prices[i]
			r := newRequirement(p)
			rows++
			if r.Variable() {
				variable++
				out.VariableAmount = true
			}
			if n, ok := x402.NetworkByID(r.NetworkCAIP2); ok && !n.Mainnet {
				test++
			}
			entry := newPricing(r)
			out.Pricing = append(out.Pricing, entry)
			out.Networks = insertSorted(out.Networks, x402.Abbreviation(r.NetworkCAIP2))
			o.networksCAIP2 = insertSorted(o.networksCAIP2, r.NetworkCAIP2)
			o.payTo = insertSorted(o.payTo, p.PayTo)
			if o.asset == nil {
				o.asset = new(entry.AssetName)
			}
			if entry.PriceUSD == nil {
				continue
			}
			usd, err := site.ParseDecimal(*entry.PriceUSD)
			if err != nil {
				continue // impossible: PriceUSD returns plain decimals
			}
			amounts[usd] = true
			out.MinPriceUSD = minDecimal(out.MinPriceUSD, usd)
			if o.min == nil || usd.Compare(*o.min) < 0 {
				o.min, o.atomic, o.asset = &usd, new(entry.Price), new(entry.AssetName)
			}
			if o.max == nil || usd.Compare(*o.max) > 0 {
				o.max = &usd
			}
		}
		out.PayToDivergence = findDivergence(e, expected)
		for _, n := range out.Networks {
			o.networks = insertSorted(o.networks, n)
		}
		o.endpoints = append(o.endpoints, out)
	}
	o.distinct, o.variable, o.testnet = len(amounts), rows > 0 && variable == rows, rows > 0 && test == rows
	return o
}

// newEndpoint returns an active endpoint without its prices.
func newEndpoint(e *postgres.EndpointFacts) site.Endpoint {
	last := e.FirstSeenAt
	if e.LastPaidAt != nil {
		last = *e.LastPaidAt
	}
	method := e.Method
	if method == "" {
		method = "GET" // see methodOf
	}
	return site.Endpoint{
		ID: e.ID.String(), Method: method, Path: e.Path, Description: e.Description, MimeType: e.MimeType,
		IsActive:    true,
		FirstSeenAt: site.NewTime(e.FirstSeenAt), LastSeenAt: site.NewTime(last),
		Networks: []string{},
	}
}

// newPricing returns the published form of a price.
func newPricing(r x402.Requirement) site.PricingEntry {
	p := site.PricingEntry{
		Scheme: r.Scheme, Network: r.Network, AssetAddress: r.Asset, AssetAddressNorm: r.AssetNorm,
		AssetName: r.AssetName,
		Price:     r.Amount, PayTo: r.PayTo, MaxTimeoutSeconds: r.MaxTimeoutSeconds,
	}
	if id := r.NetworkCAIP2; id != "" { // copied, because a pointer into r would keep all of r in memory
		p.Network, p.NetworkCAIP2 = id, &id
	}
	if usd, ok := r.PriceUSD(); ok {
		p.PriceUSD = &usd
	}
	return p
}

// currentPrices returns the prices without an end. It returns the slice itself if all prices have none, so callers must
// not change it.
func currentPrices(prices []postgres.Price) []postgres.Price {
	over := func(p postgres.Price) bool { return p.Until != nil }
	if !slices.ContainsFunc(prices, over) {
		return prices
	}
	var now []postgres.Price
	for _, p := range prices {
		if p.Until == nil {
			now = append(now, p)
		}
	}
	return now
}

// minDecimal returns the smaller of a and b. A nil a is larger than any b.
func minDecimal(a *site.Decimal, b site.Decimal) *site.Decimal {
	if a == nil || b.Compare(*a) < 0 {
		return &b
	}
	return a
}

// insertSorted adds s to a sorted set, unless s is empty.
func insertSorted(set []string, s string) []string {
	i, ok := slices.BinarySearch(set, s)
	if s == "" || ok {
		return set
	}
	return slices.Insert(set, i, s)
}

// recipient is an account that is paid on a network.
type recipient struct{ network, payTo string }

// listRecipients returns the distinct recipients of prices, sorted.
func listRecipients(prices []postgres.Price) []recipient {
	var out []recipient
	for i := range prices {
		if p := &prices[i]; p.NetworkCAIP2 != nil {
			out = append(out, recipient{*p.NetworkCAIP2, x402.NormalizeAddress(*p.NetworkCAIP2, p.PayTo)})
		}
	}
	slices.SortFunc(out, func(a, b recipient) int {
		return cmp.Or(cmp.Compare(a.network, b.network), cmp.Compare(a.payTo, b.payTo))
	})
	return slices.Compact(out)
}

// majorityRecipients returns, for each network, the recipient of more than half of its active endpoints. Networks with
// fewer than three such endpoints have none.
func majorityRecipients(f *postgres.ServiceFacts, now time.Time) map[string]string {
	if len(f.Endpoints) <= 2 {
		return nil
	}
	votes, endpoints := map[recipient]int{}, map[string]int{}
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		if !site.IsActive(e.FirstSeenAt, e.LastPaidAt, now) {
			continue
		}
		last := ""
		for _, r := range listRecipients(currentPrices(e.Prices)) {
			votes[r]++
			if r.network != last {
				endpoints[r.network]++
				last = r.network
			}
		}
	}
	usual := map[string]string{}
	for r, n := range votes {
		if 2*n > endpoints[r.network] && endpoints[r.network] > 2 {
			usual[r.network] = r.payTo
		}
	}
	return usual
}

// findDivergence returns on which network an endpoint pays another recipient than most endpoints of its service, nil
// for none.
func findDivergence(e *postgres.EndpointFacts, usual map[string]string) *site.PayToDivergence {
	if len(usual) == 0 {
		return nil
	}
	now := currentPrices(e.Prices)
	observed := map[string][]string{}
	var networks []string
	for _, r := range listRecipients(now) {
		observed[r.network] = append(observed[r.network], r.payTo)
		networks = insertSorted(networks, r.network)
	}
	for _, n := range networks {
		if want := usual[n]; want != "" && !slices.Contains(observed[n], want) {
			return &site.PayToDivergence{NetworkCAIP2: n, Expected: []string{want}, Observed: observed[n],
				FirstSeenAt: site.NewTime(now[0].Since)}
		}
	}
	return nil
}

// findPayToChanges returns the changes of an endpoint's recipient on a network, newest first.
func findPayToChanges(f *postgres.ServiceFacts) []site.PayToChange {
	changes := []site.PayToChange{}
	for _, e := range f.Endpoints {
		var before []recipient
		for set := range priceSets(e.Prices) {
			after := listRecipients(set)
			gone, come := subtract(before, after), subtract(after, before)
			for _, g := range gone {
				i := slices.IndexFunc(come, func(c recipient) bool { return c.network == g.network })
				if i < 0 {
					continue
				}
				changes = append(changes, site.PayToChange{
					NetworkCAIP2: g.network, Endpoint: e.Method + " " + e.Path, OldPayTo: g.payTo,
					NewPayTo:   come[i].payTo,
					ObservedAt: site.NewTime(set[0].Since),
				})
				come = slices.Delete(come, i, i+1)
			}
			before = after
		}
	}
	slices.SortStableFunc(changes, func(a, b site.PayToChange) int {
		return cmp.Or(b.ObservedAt.Compare(a.ObservedAt.Time), cmp.Compare(a.Endpoint, b.Endpoint),
			cmp.Compare(a.NetworkCAIP2, b.NetworkCAIP2))
	})
	return changes
}

// priceSets iterates over an endpoint's prices, oldest first. A set has the prices that the endpoint asked since one
// moment.
func priceSets(prices []postgres.Price) func(yield func([]postgres.Price) bool) {
	return func(yield func([]postgres.Price) bool) {
		for len(prices) > 0 {
			n := 1
			for n < len(prices) && prices[n].Since.Equal(prices[0].Since) {
				n++
			}
			if !yield(prices[:n:n]) {
				return
			}
			prices = prices[n:]
		}
	}
}

// subtract returns the recipients of a that are not in b.
func subtract(a, b []recipient) []recipient {
	var out []recipient
	for _, r := range a {
		if !slices.Contains(b, r) {
			out = append(out, r)
		}
	}
	return out
}

// hostname returns the host of a URL, "" if the URL is invalid.
func hostname(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
