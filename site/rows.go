package site

import (
	"bytes"
	"slices"
	"strings"
)

// Lists of services that no file contains are a scan: the columns that a request names select and order places, and
// the rows at those places are the response. The place of a service is its index in Index.Slugs. A block of rows is a
// framed list of RowsPerBlock ServiceRows in the order of slugs. A column is {"data":[…]} with one value per service.

// RowsPerBlock is the number of rows in each block but the last.
const RowsPerBlock = 10

// ServiceRow is a service in a list, with what search and recommendations read of it.
//
// It is a row of a block: the row of /v1/services with the members that search and recommendations read.
type ServiceRow struct {
	ServiceListItem
	// What a choice between services needs of the service's assessment.
	Assessment CompactAssessment `json:"assessment"`
	// The first 25 active endpoints.
	Endpoints []RowEndpoint `json:"endpoints"`
}

// IncludeAssessment is the member that a request may embed in each service of a list, of a search and of a look-up.
const IncludeAssessment = "assessment"

// ColumnGone is the column that says which services are gone, and IncludeGone the value of include that keeps them in a
// list.
const (
	ColumnGone  = "gone"
	IncludeGone = ColumnGone
)

// ColumnAdvice is the column of verdicts.
const ColumnAdvice = "advice_level"

// Limits of the endpoints in a ServiceRow.
const (
	MaxRowEndpoints   = 25
	MaxRowDescription = 200 // characters of an endpoint's description
)

// CompactAssessment says what a choice between services needs of their assessments. A null is unknown.
//
// Members of the newer API that the contract comes from have its names.
type CompactAssessment struct {
	// Grade by the share of checks that pass.
	ComplianceGrade string `json:"compliance_grade" enum:"Grades"` // A, B, C, D, F or unknown
	// Number of conformance checks that pass.
	CompliancePassed int `json:"compliance_passed"`
	// Number of conformance checks.
	ComplianceTotal int `json:"compliance_total"`
	// Ids of the conformance checks that fail.
	ComplianceFailedChecks []string `json:"compliance_failed_checks"`
	// As [ServiceListItem.RiskLevel].
	RiskLevel    string `json:"risk_level"`
	PaymentReady bool   `json:"payment_ready"`
	// Whether an endpoint is payable; null if it is not known.
	Payable *bool `json:"payable"`
	// The lowest counted price in US dollars by network, as decimal strings.
	PricesUSD map[string]string `json:"prices_usd"`
	// What a buyer needs first for these prices, by network; a price without a condition is not named.
	PriceConditions map[string]string `json:"price_conditions,omitempty"`
	// Lowest counted price in US dollars; null without one.
	PriceUSD    *Decimal `json:"price_usd"`
	PriceMaxUSD *Decimal `json:"price_max_usd"`
	// As [Economics.Stability].
	PriceStability     *float64 `json:"price_stability"`
	DistinctPriceCount int      `json:"distinct_price_count"`
	// Number of active endpoints with a counted price.
	EndpointCount         int      `json:"endpoint_count"`
	CategoryPercentile    *float64 `json:"category_percentile"`
	CategoryPercentileMax *float64 `json:"category_percentile_max"`
	// Percentage of the checks of 30 days that were up.
	ReliabilityUptime30d *float64 `json:"reliability_uptime_30d" max:"100"` // percent
	// Number of counted checks of 30 days.
	Checks30d int64 `json:"checks_30d"`
	// As [Reliability.ResponseP95MS].
	ResponseP95MS *int `json:"response_p95_ms"`
	// As [ServiceDetail.LastSuccessAt].
	LastSuccessAt *Time `json:"last_success_at"`
	// Settlements measured on chain.
	Traction CompactTraction `json:"traction"`
	// Capability tags that a model wrote; null without a summary.
	CapabilityTags *SynthesisList `json:"capability_tags"`
	// Summary that a model wrote; null without one.
	Summary *SynthesisText `json:"summary"`
	// As [ServiceListItem.Source].
	Source string `json:"source"`
	// Slug of its operator's first service, or null if the operator is not known.
	Operator *string `json:"operator"`
	// Payment protocols that the graded responses of active endpoints show: x402 and the version of its terms, and
	// signs of others.
	Protocols []string `json:"protocols"`
	// HTTP methods of the active endpoints.
	Methods   []string `json:"methods"`
	UpdatedAt *Time    `json:"updated_at"`
}

// CompactTraction: members of a service's traction.
type CompactTraction struct {
	// As [Traction.Status].
	Status string `json:"status"`
	// As [Traction.VolumeUSD30d].
	VolumeUSD30d *Decimal `json:"volume_usd_30d"`
	// As [Traction.TxCount30d].
	TxCount30d *int64 `json:"tx_count_30d"`
	// As [Pick.UniqueBuyers30d].
	UniqueBuyers30d *int64 `json:"unique_buyers_30d"`
	// As [Traction.OrganicVolumeUSD30d].
	OrganicVolumeUSD30d *Decimal `json:"organic_volume_usd_30d"`
	// As [Traction.OrganicBuyers30d].
	OrganicBuyers30d *int64   `json:"organic_buyers_30d"`
	TopBuyerShare30d *float64 `json:"top_buyer_share_30d"`
	SharedPayout     bool     `json:"shared_payout"`
}

// Protocols are the payment protocols that responses show: any version of x402, one of its versions, and others.
var Protocols = []string{"x402", "x402-v1", "x402-v2", "mpp", "l402", "crawler-price"}

// RowEndpoint is one paid endpoint of a service, in short.
type RowEndpoint struct {
	// As [Endpoint.Method].
	Method string `json:"method"`
	// As [Endpoint.Path].
	Path string `json:"path"`
	// The first characters of its description, on one line.
	Description *string `json:"description"`
	// As [ServiceListItem.Networks].
	Networks []string `json:"networks"`
	// As [CompactAssessment.PriceUSD].
	PriceUSD *string `json:"price_usd"`
	// The lowest counted price in US dollars by network; absent if each of its networks has price_usd.
	PricesUSD map[string]string `json:"prices_usd,omitempty"`
	// As [ServiceListItem.PriceCondition]; absent without one.
	PriceCondition *string `json:"price_condition,omitempty"`
	// As [CompactAssessment.PriceConditions].
	PriceConditions map[string]string `json:"price_conditions,omitempty"`
	// Whether every price is on a test network.
	Testnet bool `json:"testnet"`
	// Whether an official client pays it, and its verdict does not advise against that.
	Payable bool `json:"payable"`
	// Verdict on the endpoint; absent if it is that on the service, advice_level.
	Verdict string `json:"verdict,omitempty" enum:"AdviceLevels"`
}

// Prices returns the lowest counted price by network.
func (e *RowEndpoint) Prices() map[string]Decimal {
	prices := make(map[string]Decimal, len(e.PricesUSD))
	for network, price := range e.PricesUSD {
		prices[network] = Decimal(price)
	}
	if e.PricesUSD == nil && e.PriceUSD != nil {
		for _, network := range e.Networks {
			prices[network] = Decimal(*e.PriceUSD)
		}
	}
	return prices
}

// dearestPrices returns the price of the dearest payable endpoint by network. A comparison of services reads it, because
// the lowest price may be that of an endpoint which does nothing.
func (r *ServiceRow) dearestPrices() map[string]Decimal {
	dearest := map[string]Decimal{}
	for i := range r.Endpoints {
		if !r.Endpoints[i].Payable {
			continue
		}
		for network, price := range r.Endpoints[i].Prices() {
			if most, ok := dearest[network]; !ok || price.Compare(most) > 0 {
				dearest[network] = price
			}
		}
	}
	return dearest
}

// PriceOn returns the price on a network, or with "" the lowest, and what a buyer needs first for it; "" for none.
func (e *RowEndpoint) PriceOn(network string) (usd *string, condition string) {
	if network == "" {
		if e.PriceCondition != nil {
			condition = *e.PriceCondition
		}
		return e.PriceUSD, condition
	}
	if e.PricesUSD == nil {
		return e.PriceUSD, e.PriceConditions[network]
	}
	if price, ok := e.PricesUSD[network]; ok {
		return &price, e.PriceConditions[network]
	}
	return nil, ""
}

// The bytes between the parts of an encoded ServiceRow. They occur nowhere else in it, because quotes in strings are
// escaped and no object before them has such a member.
var (
	beforeAssessment = []byte(`,"assessment":{`)
	beforeEndpoints  = []byte(`,"endpoints":[`)
)

// RowParts are the parts of an encoded ServiceRow, so that no value is decoded and encoded again.
type RowParts struct {
	Item       []byte // the members of a ServiceListItem without braces
	Assessment []byte // a CompactAssessment
	Endpoints  []byte // an array of RowEndpoint
}

// Line returns the row of /v1/services: a ServiceListItem, with its assessment or without.
func (p RowParts) Line(assessed bool) []byte {
	b := make([]byte, 0, len(p.Item)+len(p.Assessment)+len(beforeAssessment)+2)
	b = append(append(b, '{'), p.Item...)
	if assessed {
		b = append(b, beforeAssessment[:len(beforeAssessment)-1]...)
		b = append(b, p.Assessment...)
	}
	return append(b, '}')
}

// SplitRow returns the parts of an encoded ServiceRow, which are slices of row, and false for other bytes.
func SplitRow(row []byte) (RowParts, bool) {
	at := bytes.Index(row, beforeAssessment)
	end := bytes.LastIndex(row, beforeEndpoints)
	if at < 0 || end < at || row[0] != '{' || row[len(row)-1] != '}' {
		return RowParts{}, false
	}
	return RowParts{
		Item:       row[1:at],
		Assessment: row[at+len(beforeAssessment)-1 : end],
		Endpoints:  row[end+len(beforeEndpoints)-1 : len(row)-1],
	}, true
}

// ColumnType is the type of the values of a column. Any value may be null.
type ColumnType string

const (
	ColumnText    ColumnType = "text"    // a string; times sort as strings
	ColumnWords   ColumnType = "words"   // a string that is compared by its words
	ColumnNumber  ColumnType = "number"  // a number
	ColumnMoney   ColumnType = "money"   // a decimal string
	ColumnBoolean ColumnType = "boolean" // true or false
	ColumnSet     ColumnType = "set"     // an array of strings
	ColumnPrices  ColumnType = "prices"  // an object of decimal strings by network
)

// Column is a column of a snapshot: a value of rows that a filter or an order compares, under its parameter's name.
type Column struct {
	Name  string
	Type  ColumnType
	Value func(*ServiceRow) any // its value, which encodes as the type says; a nil pointer is null
}

// Columns is the only list of columns. A parameter or an order names the column that it compares.
var Columns = []Column{
	{"name", ColumnWords, func(r *ServiceRow) any { return r.Name }},
	{"category", ColumnText, func(r *ServiceRow) any { return r.Category }},
	{"status", ColumnText, func(r *ServiceRow) any { return r.Status }},
	{"verified", ColumnBoolean, func(r *ServiceRow) any { return r.Verified }},
	{"networks", ColumnSet, func(r *ServiceRow) any { return r.Networks }},
	{"created_at", ColumnText, func(r *ServiceRow) any { return r.CreatedAt }},
	{"last_checked_at", ColumnText, func(r *ServiceRow) any { return r.LastCheckedAt }},
	{"endpoint_count", ColumnNumber, func(r *ServiceRow) any { return r.EndpointCount }},
	{"uptime_24h", ColumnNumber, func(r *ServiceRow) any { return r.Uptime24h }},
	{"avg_response_time_ms", ColumnNumber, func(r *ServiceRow) any { return r.AvgResponseTimeMS }},
	{"risk_level", ColumnText, func(r *ServiceRow) any { return r.RiskLevel }},
	{ColumnAdvice, ColumnText, func(r *ServiceRow) any { return r.AdviceLevel }},
	{"delisted_at", ColumnText, func(r *ServiceRow) any { return r.DelistedAt }},
	{ColumnGone, ColumnBoolean, func(r *ServiceRow) any { return r.GoneSince != nil }},
	{"grade", ColumnText, func(r *ServiceRow) any { return r.Assessment.ComplianceGrade }},
	{"payment_ready", ColumnBoolean, func(r *ServiceRow) any { return r.Assessment.PaymentReady }},
	{"payable", ColumnBoolean, func(r *ServiceRow) any { return r.Assessment.Payable }},
	{"prices_usd", ColumnPrices, func(r *ServiceRow) any { return r.Assessment.PricesUSD }},
	{"uptime_30d", ColumnNumber, func(r *ServiceRow) any { return r.Assessment.ReliabilityUptime30d }},
	{"checks_30d", ColumnNumber, func(r *ServiceRow) any { return r.Assessment.Checks30d }},
	{"response_p95_ms", ColumnNumber, func(r *ServiceRow) any { return r.Assessment.ResponseP95MS }},
	{"last_success_at", ColumnText, func(r *ServiceRow) any { return r.Assessment.LastSuccessAt }},
	{"volume_usd_30d", ColumnMoney, func(r *ServiceRow) any { return text(r.Assessment.Traction.VolumeUSD30d) }},
	{"unique_buyers_30d", ColumnNumber, func(r *ServiceRow) any { return r.Assessment.Traction.UniqueBuyers30d }},
	{"organic_volume_usd_30d", ColumnMoney, func(r *ServiceRow) any {
		return text(r.Assessment.Traction.OrganicVolumeUSD30d)
	}},
	{"organic_buyers_30d", ColumnNumber, func(r *ServiceRow) any { return r.Assessment.Traction.OrganicBuyers30d }},
	{"operator", ColumnText, func(r *ServiceRow) any { return r.Assessment.Operator }},
	{"dearest_usd", ColumnPrices, func(r *ServiceRow) any { return texts(r.dearestPrices()) }},
	{"source", ColumnSet, func(r *ServiceRow) any { return sources(r.Assessment.Source) }},
	{"protocols", ColumnSet, func(r *ServiceRow) any { return r.Assessment.Protocols }},
	{"methods", ColumnSet, func(r *ServiceRow) any { return r.Assessment.Methods }},
}

// ColumnByName returns the column with this name, or nil.
func ColumnByName(name string) *Column {
	if i := slices.IndexFunc(Columns, func(c Column) bool { return c.Name == name }); i >= 0 {
		return &Columns[i]
	}
	return nil
}

// text returns a decimal as a string, nil for nil.
func text(d *Decimal) *string { return (*string)(d) }

// texts returns decimals as strings.
func texts(prices map[string]Decimal) map[string]string {
	list := make(map[string]string, len(prices))
	for network, price := range prices {
		list[network] = string(price)
	}
	return list
}

// sources returns a source and what it is a kind of: imported:x is also imported.
func sources(source string) []string {
	if kind, _, ok := strings.Cut(source, ":"); ok {
		return []string{kind, source}
	}
	return []string{source}
}
