package judge

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"time"

	"tollbook/build/judge/price"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/x402"
)

// offer is what a service sells now: its active endpoints and the ways to pay for them.
type offer struct {
	prices        price.Offer // over x402
	others        price.Offer // over other protocols
	endpoints     []site.Endpoint
	networks      []string // short names, sorted
	networksCAIP2 []string // of the same networks, in the same order
}

// newOffer judges a service's active endpoints.
func newOffer(f *postgres.ServiceFacts, now time.Time) offer {
	active := 0
	for i := range f.Endpoints {
		if e := &f.Endpoints[i]; e.IsActive(now) {
			active++
		}
	}
	o := offer{endpoints: make([]site.Endpoint, 0, active), networks: []string{}, networksCAIP2: []string{}}
	o.prices.Receptions = f.Receptions
	expected := majorityRecipients(f, now)
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		if !e.IsActive(now) {
			continue
		}
		out := newEndpoint(e)
		o.prices.Add(&out, price.Current(e.Prices), accountRows(e))
		entries, variable := railEntries(e.Offers)
		o.others.AddOther(&out, entries, variable)
		if len(out.Pricing) > 0 {
			out.Protocol = new(out.Pricing[0].Protocol)
		}
		for _, p := range out.Pricing {
			if p.NetworkCAIP2 != nil {
				out.Networks = insertSorted(out.Networks, shortNetwork(*p.NetworkCAIP2))
				o.addNetwork(*p.NetworkCAIP2)
			}
		}
		out.PayToDivergence = findDivergence(e, expected)
		o.endpoints = append(o.endpoints, out)
	}
	return o
}

// accountRows returns which rows of an endpoint's newest terms need an account, and what account.
func accountRows(e *postgres.EndpointFacts) map[int]x402.Condition {
	v := e.Envelope
	if v == nil {
		return nil
	}
	return x402.AccountRows(x402.Answer{Status: v.StatusCode, Header: v.Header, Body: v.Body, Truncated: v.Truncated,
		URL: v.URL})
}

// figures returns the prices that the figures of the service are about: those over x402 if it has any.
func (o *offer) figures() *price.Offer {
	if o.speaksOther() {
		return &o.others
	}
	return &o.prices
}

// speaksOther reports whether the service has prices over other protocols than x402 alone.
func (o *offer) speaksOther() bool { return o.others.HasRows() && !o.prices.HasRows() }

// addNetwork adds a network by its CAIP-2 ID, at the same place of both lists. Both are sorted by the short name, which
// only one ID has.
func (o *offer) addNetwork(id string) {
	short := shortNetwork(id)
	if i, ok := slices.BinarySearch(o.networks, short); !ok {
		o.networks, o.networksCAIP2 = slices.Insert(o.networks, i, short), slices.Insert(o.networksCAIP2, i, id)
	}
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
		Networks: []string{}, AnsweredSigned: e.Signed,
	}
}

// newNetworkPrices returns the lowest counted price on each network that needs nothing first, by network.
func newNetworkPrices(o *offer) []site.NetworkPrice {
	lowest, plausible := map[string]*site.Decimal{}, map[string]*site.Decimal{}
	lower := func(of map[string]*site.Decimal, network string, usd *site.Decimal) {
		if usd != nil && (of[network] == nil || usd.Compare(*of[network]) < 0) {
			of[network] = usd
		}
	}
	for _, e := range o.endpoints {
		for k := range e.Pricing {
			p := &e.Pricing[k]
			usd, ok := p.CountedUSD()
			if !ok || p.NetworkCAIP2 == nil || p.PayableBy.IsConditional() {
				continue
			}
			network := shortNetwork(*p.NetworkCAIP2)
			lower(lowest, network, &usd)
			lower(plausible, network, price.IsPlausible(&usd))
		}
	}
	var list []site.NetworkPrice
	for _, network := range slices.Sorted(maps.Keys(lowest)) {
		list = append(list, site.NetworkPrice{Network: network, USD: *lowest[network], PlausibleUSD: plausible[network]})
	}
	return list
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

func newRecipient(network, payTo string) recipient {
	return recipient{network, x402.NormalizeAddress(network, payTo)}
}

// listRecipients returns the distinct recipients of prices, sorted.
func listRecipients(prices []checks.Price) []recipient {
	var out []recipient
	for i := range prices {
		if p := &prices[i]; p.NetworkCAIP2 != nil {
			out = append(out, newRecipient(*p.NetworkCAIP2, p.PayTo))
		}
	}
	slices.SortFunc(out, recipient.compare)
	return slices.Compact(out)
}

// majorityRecipients returns, for each network, the recipient of more than half of its active endpoints, the most
// frequent one if there are several, then the first in normal form. Networks with fewer than three such endpoints have
// none.
func majorityRecipients(f *postgres.ServiceFacts, now time.Time) map[string]string {
	if len(f.Endpoints) <= 2 {
		return nil
	}
	votes, endpoints := map[recipient]int{}, map[string]int{}
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		if !e.IsActive(now) {
			continue
		}
		last := ""
		for _, r := range listRecipients(price.Current(e.Prices)) {
			votes[r]++
			if r.network != last {
				endpoints[r.network]++
				last = r.network
			}
		}
	}
	best := map[string]recipient{}
	for r, n := range votes {
		other, ok := best[r.network]
		if 2*n > endpoints[r.network] && endpoints[r.network] > 2 &&
			(!ok || n > votes[other] || n == votes[other] && r.payTo < other.payTo) {
			best[r.network] = r
		}
	}
	usual := make(map[string]string, len(best))
	for network, r := range best {
		usual[network] = x402.SpellAddress(network, r.payTo)
	}
	return usual
}

// findDivergence returns on which network an endpoint pays another recipient than most endpoints of its service, nil
// for none.
func findDivergence(e *postgres.EndpointFacts, usual map[string]string) *site.PayToDivergence {
	if len(usual) == 0 {
		return nil
	}
	now := price.Current(e.Prices)
	observed := map[string][]string{}
	var networks []string
	for _, r := range listRecipients(now) {
		observed[r.network] = append(observed[r.network], x402.SpellAddress(r.network, r.payTo))
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

// findPayToChanges returns the changes of recipients in the change records of the last 90 days, newest first.
func findPayToChanges(f *postgres.ServiceFacts) []site.PayToChange {
	changes := []site.PayToChange{}
	for _, r := range f.Moves {
		var s site.PayToSummary
		if json.Unmarshal(r.Summary, &s) != nil {
			continue // only this program writes the column
		}
		for _, c := range s.PayToChanges {
			changes = append(changes, site.PayToChange{NetworkCAIP2: c.Network, Endpoint: c.Endpoint,
				OldPayTo: c.OldPayTo, NewPayTo: c.NewPayTo, ObservedAt: site.NewTime(r.ObservedAt)})
		}
	}
	return changes[:min(len(changes), maxPayToChanges)]
}

// maxPayToChanges is the most changes of recipients that the JSON of a service contains.
const maxPayToChanges = 1000

// hostname returns the host of a URL, "" if the URL is invalid.
func hostname(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
