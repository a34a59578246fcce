package mcp

import (
	"slices"

	"tollbook/site"
	"tollbook/site/display"
)

// serviceRecord is the compact form of one service: what an agent needs to decide whether to pay it, and where.
type serviceRecord struct {
	Slug             string        `json:"slug"`
	Name             string        `json:"name"`
	Description      string        `json:"description"`
	BaseURL          string        `json:"base_url"`
	Category         string        `json:"category"`
	Status           string        `json:"status"`
	Verified         bool          `json:"verified"`
	PaymentReady     bool          `json:"payment_ready"`
	Advised          bool          `json:"advised"` // whether pages show how to pay it
	Advice           string        `json:"advice"`  // a level of site.Advice with its reasons
	MinPriceUSD      *site.Decimal `json:"min_price_usd"`
	PriceCondition   string        `json:"price_condition,omitempty"` // of min_price_usd
	MaxPriceUSD      *site.Decimal `json:"max_price_usd"`
	Uptime24h        *float64      `json:"uptime_24h"`
	Uptime30d        *float64      `json:"uptime_30d"`
	ResponseP95MS    *int          `json:"response_p95_ms"`
	Grade            string        `json:"grade"`
	FailedChecks     []string      `json:"failed_checks,omitempty"`
	Risk             string        `json:"risk"`
	RiskFlags        []string      `json:"risk_flags,omitempty"`
	RecipientChanges int           `json:"recipient_changes_90d"`
	VolumeUSD30d     *site.Decimal `json:"volume_usd_30d"`
	UniqueBuyers30d  *int64        `json:"unique_buyers_30d"`
	// without relatives and scouts
	OrganicUSD30d      *site.Decimal `json:"organic_volume_usd_30d"`
	OrganicBuyers30d   *int64        `json:"organic_buyers_30d"`
	ReturningBuyers30d *int64        `json:"returning_buyers_30d"`
	Endpoints          []endpointRow `json:"endpoints"`
	MoreEndpoints      int           `json:"more_endpoints,omitempty"`
	LastCheckedAt      *site.Time    `json:"last_checked_at"`
	CiteAs             string        `json:"cite_as"`
}

// endpointRow is the compact form of an endpoint.
type endpointRow struct {
	Endpoint    string     `json:"endpoint"` // method and path
	Description string     `json:"description,omitempty"`
	Prices      []priceRow `json:"prices"`
	MorePrices  int        `json:"more_prices,omitempty"`
}

// priceRow is the price of an endpoint on one network, and whom it is paid to.
type priceRow struct {
	Network  string  `json:"network"` // CAIP-2 id
	Asset    string  `json:"asset"`
	PriceUSD *string `json:"price_usd"`
	PayTo    string  `json:"pay_to"`
	Testnet  bool    `json:"testnet,omitempty"`

	Clients *[]string `json:"clients,omitempty"` // that pay by it; absent if not known
	Needs   []string  `json:"needs,omitempty"`   // what a buyer needs first, in words
}

// maxAddressText is the maximum length of a recipient or a network id in a compact result. Every known form of an
// address is shorter, so that only values that nobody can pay are cut.
const maxAddressText = 128

func compactService(v *site.One[site.ServiceDetail], limit size) any {
	s := &v.Data
	a := &s.Assessment
	r := serviceRecord{
		Slug: s.Slug, Name: cut(s.Name, limit.name), Description: cut(s.Description, 2*limit.text),
		BaseURL: cut(s.BaseURL, maxAddressText), Category: cut(s.Category, limit.name), Status: s.Status,
		Verified: s.Verified, PaymentReady: s.PaymentReady, Advised: s.IsAdvised(), MinPriceUSD: s.MinPriceUSD,
		PriceCondition: cutOrNull(s.PriceCondition, limit.text),
		MaxPriceUSD:    a.Economics.PriceMaxUSD, Uptime24h: s.Uptime24h, Uptime30d: s.Uptime.D30,
		ResponseP95MS: a.Reliability.ResponseP95MS, Grade: a.Compliance.Grade, FailedChecks: failedChecks(a),
		Risk: a.Risk.Level, RecipientChanges: len(s.PayToChanges), VolumeUSD30d: a.Traction.VolumeUSD30d,
		UniqueBuyers30d: a.Traction.UniqueBuyers30d, OrganicUSD30d: a.Traction.OrganicVolumeUSD30d,
		OrganicBuyers30d: a.Traction.OrganicBuyers30d, ReturningBuyers30d: a.Traction.ReturningBuyers30d,
		LastCheckedAt: s.LastCheckedAt, CiteAs: s.Provenance.CiteAs,
	}
	reasons := display.Reasons(&a.Advice)
	r.Advice = cut(display.Advice(a.Advice.Level, &reasons), limit.text)
	flags, _ := limit.first(len(a.Risk.Flags))
	for _, f := range a.Risk.Flags[:flags] {
		r.RiskFlags = append(r.RiskFlags, cut(f.Level+": "+f.Title, limit.text))
	}
	shown, more := limit.first(len(s.Endpoints))
	r.Endpoints, r.MoreEndpoints = make([]endpointRow, shown), more
	for i := range r.Endpoints {
		r.Endpoints[i] = compactEndpoint(&s.Endpoints[i], limit)
	}
	return compactOne[serviceRecord]{Data: r}
}

// failedChecks returns the ids of the conformance checks that fail.
func failedChecks(a *site.Assessment) []string {
	var failed []string
	for _, c := range a.Compliance.Checks {
		if !c.Pass {
			failed = append(failed, c.ID)
		}
	}
	return failed
}

func compactEndpoint(e *site.Endpoint, limit size) endpointRow {
	shown, more := limit.first(len(e.Pricing))
	row := endpointRow{Endpoint: cut(e.Method+" "+e.Path, limit.text),
		Description: cutOrNull(e.Description, limit.text), Prices: []priceRow{}, MorePrices: more}
	for _, p := range slices.Clip(e.Pricing[:shown]) {
		var needs []string
		for _, need := range p.PayableBy.Conditions {
			needs = append(needs, need.Text)
		}
		row.Prices = append(row.Prices, priceRow{Network: cut(p.Network, maxAddressText),
			Asset: cut(p.AssetName, limit.name), PriceUSD: p.PriceUSD, PayTo: cut(p.PayTo, maxAddressText),
			Testnet: p.Testnet, Clients: p.PayableBy.Clients, Needs: needs})
	}
	return row
}
