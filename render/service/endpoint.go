package service

import (
	"html/template"
	"strconv"

	"tollbook/render/chart"
	"tollbook/render/guide"
	"tollbook/render/money"
	"tollbook/site"
	"tollbook/site/display"
)

// Endpoint is an endpoint as pages show it.
type Endpoint struct {
	*site.Endpoint
	From   string        // lowest price, "" if unknown
	Prices template.HTML // rows of ways to pay, "" without any
	Call   *guide.Call   // nil if no command can contain its URL
}

// addEndpoints adds the endpoints, the first ones with their prices and a program that calls them. terms contains what
// each asks for.
func (p *Page) addEndpoints(terms []site.Terms, networks money.NetworkNames) {
	d := &p.ServiceDetail
	isLost := d.Assessment.Advice.Level == site.AdviceDoNotPay
	for i := range d.Endpoints[:min(len(d.Endpoints), pageEndpoints)] {
		if i >= fullEndpoints {
			p.MoreEndpoints = append(p.MoreEndpoints, Endpoint{Endpoint: &d.Endpoints[i],
				From: display.DollarsOrNull(d.Endpoints[i].MinPriceUSD)})
			continue
		}
		row := newEndpoint(&d.Endpoints[i], networks)
		var of site.Terms
		if i < payExamples && i < len(terms) {
			of = terms[i]
		}
		row.Call = guide.NewCall(strconv.Itoa(i), d.BaseURL, row.Endpoint, of, isLost)
		if row.Call != nil && row.Call.Network != "" {
			row.Call.Network = networks.Chip(row.Call.Network).Label
		}
		p.Rows = append(p.Rows, row)
	}
}

func newEndpoint(p *site.Endpoint, networks money.NetworkNames) Endpoint {
	r := Endpoint{Endpoint: p, From: display.DollarsOrNull(p.MinPriceUSD)}
	payments := make([]chart.Payment, len(p.Pricing))
	for i, entry := range p.Pricing {
		payments[i] = NewPayment(entry, p.VariableAmount, networks)
	}
	r.Prices = chart.PaymentRows(payments)
	return r
}

// NewPayment returns a way to pay an endpoint. isVariable says that the amount depends on the request.
func NewPayment(entry site.PricingEntry, isVariable bool, networks money.NetworkNames) chart.Payment {
	on := networks.Chip(entry.Network)
	if entry.NetworkCAIP2 != nil {
		on = networks.Chip(*entry.NetworkCAIP2)
	}
	p := chart.Payment{PricingEntry: entry, Network: on.Label, NetworkID: on.Title,
		Maximum: isVariable && entry.Scheme != "exact", Cost: money.Settled(entry.Settled)}
	if entry.NetworkCAIP2 != nil {
		p.PayToURL = networks.AccountURL(*entry.NetworkCAIP2, entry.PayTo)
	}
	if n, ok := money.ParseAmount(entry.Price); ok {
		p.Exact = money.Atomic(n)
	}
	if entry.PriceUSD != nil {
		if usd, err := site.ParseDecimal(*entry.PriceUSD); err == nil {
			p.Amount = display.Dollars(usd)
		}
	}
	if p.Amount == "" {
		p.Amount = p.Exact
	}
	return p
}
