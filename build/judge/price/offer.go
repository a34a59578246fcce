// Package price judges what services charge: the prices of an offer, their rank in a category, their stability and
// series, and the statistics of a directory.
//
// Its judgments are functions of facts and the time of the build. It owns which rows have a price in dollars and which
// of these count. It must never know why a service can or cannot be paid, or what was paid.
package price

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/ledger"
	"tollbook/site/rail"
	"tollbook/site/x402"
)

// Offer is what a service asks for now, over all rows of its active endpoints.
type Offer struct {
	Lowest, Highest *site.Decimal // counted prices, nil without
	Plausible       *site.Decimal // Lowest if it is plausible, else the lowest counted price that is; nil without
	leastPlausible  *site.Decimal // the lowest counted price that is plausible, on a condition or not
	Atomic          *string       // amount of Lowest in atomic units, or else of the first row
	Asset           *string       // of Lowest, or else of the first row
	Endpoints       int           // active ones
	Condition       *string       // what Lowest needs first, nil for nothing; a price that needs nothing goes before

	Receptions map[ledger.ReceptionKey]ledger.Reception // of all recipients, set before Add

	distinct             map[site.Decimal]bool // counted prices
	rows, variable, test int
	caveats              map[string]int // rows by the reason why they are not counted
}

// Add adds an active endpoint with the prices that it asks now. It fills in the endpoint's pricing. accounts says, by
// the position of a price among the terms, what account it needs.
func (o *Offer) Add(e *site.Endpoint, prices []checks.Price, accounts map[int]x402.Condition) {
	o.Endpoints++
	e.Pricing = make([]site.PricingEntry, 0, len(prices))
	for i := range prices {
		r := Requirement(&prices[i])
		entry := newEntry(r)
		if account, ok := accounts[prices[i].Position]; ok {
			entry.PayableBy.Conditions = append(entry.PayableBy.Conditions, site.BuyerNeed(account))
		}
		addReception(&entry, &r, o.Receptions)
		o.add(e, entry, r.Variable())
	}
}

// Reception returns what nodes answered about the recipient of a row of the scheme exact. Payments of other schemes do
// not go to the recipient at once.
func Reception(r *x402.Requirement, receptions map[ledger.ReceptionKey]ledger.Reception) ledger.Reception {
	if r.Scheme != "exact" || len(receptions) == 0 {
		return ledger.Reception{}
	}
	return receptions[ledger.ReceptionKey{Network: r.NetworkCAIP2, Asset: r.TokenAddress(), PayTo: r.PayToNorm}]
}

// cannotReceive is the caveat of a price whose recipient cannot receive it.
const cannotReceive = "its recipient cannot receive the asset"

// addReception adds what is known of the recipient. A price that nobody can pay is not counted.
func addReception(entry *site.PricingEntry, r *x402.Requirement,
	receptions map[ledger.ReceptionKey]ledger.Reception) {
	answer := Reception(r, receptions)
	if answer.CanReceive == nil {
		return
	}
	entry.RecipientCanReceive = new(*answer.CanReceive)
	if !*answer.CanReceive {
		entry.RecipientReason = new(answer.Reason)
		if entry.PriceCaveat == nil {
			entry.PriceCaveat = new(cannotReceive)
		}
	}
}

// AddOther adds the prices of an active endpoint over other protocols than x402. Such prices have no rank. If the
// endpoint has prices over x402, its own figures stay those of x402.
func (o *Offer) AddOther(e *site.Endpoint, entries []site.PricingEntry, variable bool) {
	o.Endpoints++
	to := e
	if len(e.Pricing) > 0 {
		to = &site.Endpoint{}
	}
	for _, entry := range entries {
		entry.PriceCaveat = newValue(entry.PriceUSD, entry.Testnet).caveat
		o.add(to, entry, variable)
	}
	if to != e {
		e.Pricing = append(e.Pricing, to.Pricing...)
	}
}

// HasRows reports whether any price was added.
func (o *Offer) HasRows() bool { return o.rows > 0 }

// add adds one price of an endpoint.
func (o *Offer) add(e *site.Endpoint, entry site.PricingEntry, variable bool) {
	e.Pricing = append(e.Pricing, entry)
	o.rows++
	if variable {
		o.variable++
		e.VariableAmount = true
	}
	if entry.Testnet {
		o.test++
	}
	if o.rows == 1 {
		o.Asset, o.Atomic = new(entry.AssetName), new(entry.Price)
	}
	usd, ok := entry.CountedUSD()
	if !ok {
		o.addCaveat(*entry.PriceCaveat)
		return
	}
	if o.distinct == nil {
		o.distinct = map[site.Decimal]bool{}
	}
	o.distinct[usd] = true
	e.MinPriceUSD, e.PriceCondition = Lowest(e.Pricing)
	if IsLower(usd, entry.PayableBy.IsConditional(), o.Lowest, o.Condition != nil) {
		o.Lowest, o.Atomic, o.Asset = &usd, new(entry.Price), new(entry.AssetName)
		o.Condition = entry.PayableBy.PriceCondition()
	}
	if o.Highest == nil || usd.Compare(*o.Highest) > 0 {
		o.Highest = &usd
	}
	if IsPlausible(&usd) != nil && (o.leastPlausible == nil || usd.Compare(*o.leastPlausible) < 0) {
		o.leastPlausible = &usd
	}
	if o.Plausible = IsPlausible(o.Lowest); o.Plausible == nil {
		o.Plausible = o.leastPlausible
	}
}

func (o *Offer) addCaveat(reason string) {
	if o.caveats == nil {
		o.caveats = map[string]int{}
	}
	o.caveats[reason]++
}

// caveat returns how many rows are not counted and why, nil if all rows are counted.
func (o *Offer) caveat() *string {
	if len(o.caveats) == 0 {
		return nil
	}
	left := 0
	for _, n := range o.caveats {
		left += n
	}
	text := fmt.Sprintf("%d of %d prices not counted in dollars: %s", left, o.rows,
		strings.Join(slices.Sorted(maps.Keys(o.caveats)), "; "))
	return &text
}

// isVariable reports whether every row's amount is a maximum.
func (o *Offer) isVariable() bool { return o.rows > 0 && o.variable == o.rows }

// IsTestnet reports whether every row is on a test network.
func (o *Offer) IsTestnet() bool { return o.rows > 0 && o.test == o.rows }

// newEntry returns the published form of a price.
func newEntry(r x402.Requirement) site.PricingEntry {
	v := valueOf(&r)
	p := site.PricingEntry{
		Scheme: r.Scheme, Network: r.Network, AssetAddress: r.Asset, AssetAddressNorm: r.AssetNorm,
		AssetName: r.AssetName,
		Price:     r.Amount, PriceUSD: v.usd, PayTo: r.PayTo, MaxTimeoutSeconds: r.MaxTimeoutSeconds,
		Testnet: v.testnet, PriceCaveat: v.caveat, Protocol: rail.X402,
		PayableBy: NewPayableBy(x402.Payers{Conditions: r.Conditions()}),
	}
	if id := r.NetworkCAIP2; id != "" { // copied, because a pointer into r would keep all of r in memory
		p.AssetAddress, p.PayTo = x402.SpellAddress(id, r.Asset), x402.SpellAddress(id, r.PayTo)
		p.Network, p.NetworkCAIP2 = id, &id
	}
	return p
}

// Requirement returns a stored price as x402 reads it from an envelope.
func Requirement(p *checks.Price) x402.Requirement {
	r := x402.Requirement{
		Scheme: p.Scheme, Network: p.Network, Asset: p.Asset, AssetNorm: p.Asset, AssetName: "UNKNOWN",
		Amount: p.Amount, AmountRaw: p.Amount, PayTo: p.PayTo, MaxTimeoutSeconds: p.MaxTimeoutSeconds,
	}
	if p.Extra != nil {
		r.Extra = json.RawMessage(*p.Extra)
	}
	if p.NetworkCAIP2 != nil {
		r.NetworkCAIP2 = *p.NetworkCAIP2
		r.AssetNorm = x402.NormalizeAddress(r.NetworkCAIP2, r.Asset)
		r.PayToNorm = x402.NormalizeAddress(r.NetworkCAIP2, r.PayTo)
		r.AssetName = r.Symbol()
	}
	return r
}

// Current returns the prices without an end. It returns the slice itself if all prices have none, so callers must
// not change it.
func Current(prices []checks.Price) []checks.Price {
	over := func(p checks.Price) bool { return p.Until != nil }
	if !slices.ContainsFunc(prices, over) {
		return prices
	}
	var now []checks.Price
	for _, p := range prices {
		if p.Until == nil {
			now = append(now, p)
		}
	}
	return now
}

// Lowest returns the lowest counted price of some options, nil without one, and its condition, nil without one. Options
// on a condition are left aside if there are others.
func Lowest(options []site.PricingEntry) (lowest *site.Decimal, condition *string) {
	for i := range options {
		usd, ok := options[i].CountedUSD()
		if needs := &options[i].PayableBy; ok && IsLower(usd, needs.IsConditional(), lowest, condition != nil) {
			lowest, condition = &usd, needs.PriceCondition()
		}
	}
	return lowest, condition
}

// IsLower reports whether a price goes before the lowest one so far, nil for none. One without a condition goes before
// each with one.
func IsLower(usd site.Decimal, isConditional bool, lowest *site.Decimal, lowestIsConditional bool) bool {
	switch {
	case lowest == nil:
		return true
	case isConditional != lowestIsConditional:
		return lowestIsConditional
	}
	return usd.Compare(*lowest) < 0
}

// NewPayableBy returns the published form of who can pay.
func NewPayableBy(p x402.Payers) site.PayableBy {
	out := site.PayableBy{SmartWallets: p.SmartWallets, Conditions: []site.BuyerNeed{}}
	if p.Clients != nil {
		out.Clients = &p.Clients
	}
	for _, c := range p.Conditions {
		out.Conditions = append(out.Conditions, site.BuyerNeed(c))
	}
	return out
}
