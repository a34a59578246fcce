package site

// StatusSummary: number of services by status, and the status of each service.
//
// It is the data of /v1/status.
type StatusSummary struct {
	// Total number.
	Total int `json:"total"`
	// Number of services online.
	Online int `json:"online"`
	// Number of services degraded.
	Degraded int `json:"degraded"`
	// Number of services offline.
	Offline int `json:"offline"`
	// Number of services that have no recent check.
	Unknown int `json:"unknown"`
	// One entry for each service, by slug.
	Services []StatusService `json:"services"`

	// beyond the contract

	// Number of services that are not retired.
	ListedTotal int `json:"listed_total"` // all but delisted ones
	// Number of retired services, whose history is kept.
	Delisted int `json:"delisted"`
	// Number of offline services that are not retired.
	ListedOffline int `json:"listed_offline"`
	// Number of offline services without a success for 30 days, of those not retired.
	Offline30dPlus int `json:"offline_30d_plus"`
	// Number of services that are gone. No other number counts them, and services leaves them out.
	Gone int `json:"gone"`
}

// StatusService is the status of one service.
type StatusService struct {
	// As [ServiceListItem.Slug].
	Slug string `json:"slug"`
	// As [ServiceListItem.Name].
	Name string `json:"name"`
	// As [ServiceListItem.Status].
	Status string `json:"status"`
	// As [ServiceListItem.LastCheckedAt].
	LastCheckedAt       *Time `json:"last_checked_at"`
	ConsecutiveFailures int   `json:"consecutive_failures"`
	// As [ServiceListItem.Uptime24h].
	Uptime24h *float64 `json:"uptime_24h"`
	// As [ServiceListItem.AvgResponseTimeMS].
	AvgResponseTimeMS *int `json:"avg_response_time_ms"`
	// Whether the service is listed; false if the operator of this directory retired it.
	Listed       bool  `json:"listed"` // beyond the contract: not delisted
	OfflineSince *Time `json:"offline_since"`
}

// AddressPlace stands for the address in the URL of an account's page.
const AddressPlace = "{address}"

// Network is a network on which listed services accept payment.
//
// It is a row of /v1/networks; id and caip2_id repeat the CAIP-2 id.
type Network struct {
	// CAIP-2 id.
	ID string `json:"id"`
	// CAIP-2 id, the same as id.
	CAIP2 string `json:"caip2"`
	// CAIP-2 id, the same as id.
	CAIP2ID string `json:"caip2_id"`
	// Name of the network.
	Name string `json:"name"`
	// Short code that filters and lists use, such as BSE.
	Abbreviation string `json:"abbreviation"`
	// Kind of chain, such as evm or solana.
	ChainType string `json:"chain_type"`
	// Whether it is a main network; false for a test network.
	IsMainnet bool `json:"is_mainnet"`
	// URL of a block explorer.
	ExplorerURL *string `json:"explorer_url" format:"uri"`
	// Number of listed services.
	ServiceCount int `json:"service_count"`
	// Mean of the services' uptime_24h.
	AvgUptime *float64 `json:"avg_uptime" max:"100"`
	// As [PricingEntry.Testnet].
	Testnet bool `json:"testnet"` // the opposite of is_mainnet

	// URL of an account's page at a block explorer, with {address} where its address belongs; null if its form is not
	// known.
	AddressURL *string `json:"address_url"` // beyond the contract; with AddressPlace where an address belongs
	// Prices that services ask for on this network; null without one.
	Prices *NetworkPrices `json:"prices"` // beyond the contract
}

// NetworkPrices says what services ask for on a network: the lowest counted price of each that needs nothing first.
type NetworkPrices struct {
	// As [CategoryPrices.ServiceCount].
	ServiceCount int `json:"service_count"`
	// As [CategoryPrices.OperatorCount].
	OperatorCount int `json:"operator_count"`
	// Lowest of these prices in US dollars.
	LowestUSD Decimal `json:"lowest_usd"`
	// As [CategoryPrices.MedianUSD]; null if no price is at least $0.0001.
	MedianUSD *Decimal `json:"median_usd"`
	// Highest of these prices in US dollars.
	HighestUSD Decimal `json:"highest_usd"`
}

// NetworkPrice is the lowest price of a service on a network that a buyer needs nothing first for.
type NetworkPrice struct {
	Network      string // its short name
	USD          Decimal
	PlausibleUSD *Decimal // lowest of at least LeastPlausibleUSD; nil without one
}

// Tag is a category, its number of services and their prices.
//
// It is a row of /v1/tags.
type Tag struct {
	// Category.
	Tag string `json:"tag"`
	// As [Network.ServiceCount].
	ServiceCount int `json:"service_count"`

	// Service whose dearest endpoint costs least, of those that /v1/best recommends and the advice calls good, or null.
	//
	// beyond the contract
	Cheapest *Pick `json:"cheapest"`
	// The one of them with the most organic buyers in 30 days; null if no such buyer of them is known.
	MostUsed *Pick `json:"most_used"`

	// Distribution of the lowest prices of the category's services, which category_percentile compares; null without a
	// price.
	Prices *CategoryPrices `json:"prices"`
	// What was bought of its services in 30 UTC days; null unless one is measured.
	Demand *CategoryDemand `json:"demand"`
	// Recorded prices by week, oldest first; the last week may go on. At most 26 weeks, without those of which nothing is
	// recorded.
	PriceWeeks []CategoryWeek `json:"price_weeks"`
}

// CategoryDemand: organic settlements with the services of a category in 30 UTC days.
type CategoryDemand struct {
	// As [DirectoryTraction.MeasuredServices].
	MeasuredServices int `json:"measured_services"`
	// As [DirectoryTraction.OrganicVolumeUSD30d].
	OrganicVolumeUSD30d Decimal `json:"organic_volume_usd_30d"`
	// As [DirectoryTraction.OrganicSettlementCount30d].
	OrganicTxCount30d int64 `json:"organic_tx_count_30d"`
	// Number of different organic buyers; null if settlements name none.
	OrganicBuyers30d *int64 `json:"organic_buyers_30d"`
	// Number of those that bought on two or more UTC days.
	ReturningBuyers30d *int64 `json:"returning_buyers_30d"`
}

// CategoryPrices says how the lowest prices of the services of a category are distributed.
type CategoryPrices struct {
	// Number of services with such a price.
	ServiceCount int `json:"service_count"`
	// Number of operators with a price of at least $0.0001: the votes of the median.
	OperatorCount int `json:"operator_count"` // beyond the contract
	// Median in US dollars of one price for each operator: the dearest of its services' lowest ones.
	MedianUSD Decimal `json:"median_usd"`
	// Adjoining ranges of prices, from that of the lowest price to that of the highest.
	Classes []PriceClass `json:"classes"`
}

// PriceClass is a range of prices and the number of services in it.
//
// A null is no bound.
type PriceClass struct {
	// Lowest price of the class in US dollars; null if it has no lower bound.
	FromUSD *Decimal `json:"from_usd"`
	// Prices of the class are below this one; null if it has no upper bound.
	BelowUSD *Decimal `json:"below_usd"`
	// Number of services whose lowest price is in the class.
	ServiceCount int `json:"service_count"`
}

// Has reports whether a price is in the class.
func (c *PriceClass) Has(price Decimal) bool {
	return (c.FromUSD == nil || price.Compare(*c.FromUSD) >= 0) && (c.BelowUSD == nil || price.Compare(*c.BelowUSD) < 0)
}

// Pick is a service that stands for its category, with a price and its buyers.
//
// It is a service that /v1/best recommends and whose advice is AdviceGood, with the price of its dearest endpoint.
type Pick struct {
	// As [ServiceListItem.Slug].
	Slug string `json:"slug"`
	// As [ServiceListItem.Name].
	Name string `json:"name"`
	// Price in US dollars of its dearest endpoint that can be paid; null if not known.
	PriceUSD *Decimal `json:"price_usd"`
	// As [ServiceListItem.PriceCondition].
	PriceCondition *string `json:"price_condition"`
	// Abbreviation of the network of the price.
	Network string `json:"network"`
	// Number of different payers in 30 days that settlements name; null if none names one.
	UniqueBuyers30d *int64 `json:"unique_buyers_30d"`
	// As [Traction.OrganicBuyers30d].
	OrganicBuyers30d *int64 `json:"organic_buyers_30d"`
}

// AggregateStats: statistics of the whole directory.
//
// It is the data of /v1/stats.
type AggregateStats struct {
	// Number of listed services.
	TotalServices int `json:"total_services"`
	// Number of active endpoints.
	TotalEndpoints int `json:"total_endpoints"`
	// Number of main networks on which services accept payment.
	TotalNetworks int `json:"total_networks"`
	// Mean of the services' 24-hour uptime, as a percentage.
	AvgUptime24h *float64 `json:"avg_uptime_24h" max:"100"`
	// Mean of the services' 7-day uptime, as a percentage.
	AvgUptime7d *float64 `json:"avg_uptime_7d" max:"100"`
	// Mean of the services' mean response times, in milliseconds.
	AvgResponseTimeMS *float64 `json:"avg_response_time_ms"`
	// Counted checks per hour, over the last 24 complete hours.
	ChecksPerHour float64 `json:"checks_per_hour"`
	// Lowest counted prices of active endpoints.
	Pricing StatsPricing `json:"pricing"`
	// One entry for each network, by abbreviation.
	Networks []StatsNetwork `json:"networks"`
	// Number of test networks on which services accept payment.
	TotalTestnets int `json:"total_testnets"` // beyond the contract
	// Number of hosts that are left out because their owners want it.
	OptedOut int `json:"opted_out"`

	// beyond the contract

	// Number of verified services.
	VerifiedCount int `json:"verified_count"`
	// Number of services that can be paid.
	PaymentReadyCount int `json:"payment_ready_count"`
	// Number of services that were listed in the last days.
	ListingGrowth ListingGrowth `json:"listing_growth"`
	// When the facts behind the statistics were read.
	ComputedAt Time `json:"computed_at"`
	// Volume of all measured facilitators in 30 UTC days, in US dollars; null unless a network is measured.
	FacilitatorVolumeUSD30d *Decimal `json:"facilitator_volume_usd_30d"`
	// What the volume of facilitators contains.
	FacilitatorVolumeNote string `json:"facilitator_volume_note"`
	// How the average uptimes are computed.
	AvgUptimeMethod string `json:"avg_uptime_method"`
	// Which networks are counted.
	TotalNetworksNote string `json:"total_networks_note"`
	// Since when settlements are counted.
	OnChainMeasurement OnChainMeasurement `json:"on_chain_measurement"`
	// Settlements of all services whose traction is measured.
	Traction DirectoryTraction `json:"traction"`
}

// ListingGrowth: number of services that were listed in the last days.
type ListingGrowth struct {
	// Number of services that were listed in the last 7 days.
	New7d int `json:"new_7d"`
	// Number of services that were listed in the last 30 days.
	New30d int `json:"new_30d"`
}

// OnChainMeasurement says since when settlements are counted.
//
// It is null unless a network is measured.
type OnChainMeasurement struct {
	// Since when settlements on the first of the networks that are read are counted; null without one.
	MeasuredSince *Time `json:"measured_since"`
	// Since when settlements on all of the networks that are read are counted; null without one.
	AllNetworksMeasuredSince *Time `json:"all_networks_measured_since"`
	// What the two times mean.
	Note string `json:"note"`
}

// DirectoryTraction: settlements of all services whose traction is measured, in 30 UTC days. Metrics are null unless a
// network is measured, which does not mean zero.
type DirectoryTraction struct {
	// When the facts were read.
	AsOf Time `json:"as_of"`
	// How the values are summed.
	Method string `json:"method"`
	// What the values do not contain.
	Caveat string `json:"caveat"`
	// Volume of all measured services in 30 UTC days, in US dollars; null unless a network is measured.
	VolumeUSD30d *Decimal `json:"volume_usd_30d"`
	// Number of settlements in 30 UTC days.
	SettlementCount30d *int64 `json:"settlement_count_30d"`
	// Sum of the services' organic_volume_usd_30d.
	OrganicVolumeUSD30d *Decimal `json:"organic_volume_usd_30d"` // beyond the contract
	// Sum of the services' organic_tx_count_30d.
	OrganicSettlementCount30d *int64 `json:"organic_settlement_count_30d"` // beyond the contract
	// As [CategoryDemand.OrganicBuyers30d], of all categories.
	OrganicBuyers30d *int64 `json:"organic_buyers_30d"` // beyond the contract
	// As [CategoryDemand.ReturningBuyers30d].
	ReturningBuyers30d *int64 `json:"returning_buyers_30d"` // beyond the contract
	// Always null, because a part of the settlements names no payer.
	UniqueBuyers30d *int64 `json:"unique_buyers_30d"`
	// Number of services whose traction is measured.
	MeasuredServices int `json:"measured_services"`
	// Number of networks whose settlements are counted.
	MeasuredNetworks int `json:"measured_networks"`
	// Volume of measured services as a percentage of the volume of all measured facilitators; null if it is not a part
	// of it, because a service has figures of an earlier build.
	CoverageOfMeasuredFlowPct *float64 `json:"coverage_of_measured_flow_pct" max:"100"`
	// How far behind the reading of networks is.
	MeasuredFlowFreshness FlowFreshness `json:"measured_flow_freshness"`
	// Share of the service with the largest volume in the volume of all measured services, as a percentage.
	Top1ServiceSharePct *float64 `json:"top_1_service_share_pct" max:"100"`
	// Share of the ten services with the largest volumes in the volume of all measured services, as a percentage.
	Top10ServicesSharePct *float64 `json:"top_10_services_share_pct" max:"100"`
}

// FlowFreshness says how far behind the reading of networks is.
type FlowFreshness struct {
	// Age of the newest block that was read, on the network where it is oldest; null without one.
	OldestCursorAgeSeconds *int64 `json:"oldest_cursor_age_seconds"`
	// Number of networks whose settlements are read.
	TotalSyncGroups int `json:"total_sync_groups"`
	// Number of those of which no block of the last hour was read.
	StaleSyncGroups int `json:"stale_sync_groups"`
	// Number of facilitators with an enabled account on such a network.
	TotalFacilitators int `json:"total_facilitators"`
	// Number of facilitators with an enabled account on a stale network.
	StaleFacilitators int `json:"stale_facilitators"`
}

// StatsPricing: statistics of the lowest price of each active endpoint that has a price.
type StatsPricing struct {
	// Mean price in US dollars.
	AvgPriceUSD *Decimal `json:"avg_price_usd"`
	// Lowest price in US dollars.
	MinPriceUSD *Decimal `json:"min_price_usd"`
	// Highest price in US dollars.
	MaxPriceUSD *Decimal `json:"max_price_usd"`
	// Median price in US dollars.
	MedianPriceUSD *Decimal `json:"median_price_usd"`
}

// StatsNetwork: statistics of one network.
type StatsNetwork struct {
	Abbreviation string `json:"abbreviation"`
	// As [Network.ServiceCount].
	ServiceCount int      `json:"service_count"`
	AvgUptime    *float64 `json:"avg_uptime"`
	// As [PricingEntry.Testnet].
	Testnet bool `json:"testnet"` // beyond the contract
	// As [Network.IsMainnet].
	IsMainnet bool `json:"is_mainnet"`
}

// PaginationMeta: position of a page in its list.
//
// It is the meta of a list with pages.
type PaginationMeta struct {
	// As [StatusSummary.Total].
	Total int `json:"total"`
	// Number of this page, from 1.
	Page int `json:"page"`
	// Rows on a full page.
	PerPage int `json:"per_page"`
	// Number of pages that have rows.
	TotalPages int `json:"total_pages"`
}

// ServicesMeta: position of a page in the list of services, and filters with unknown values.
//
// It is the meta of /v1/services.
type ServicesMeta struct {
	PaginationMeta
	// Values of filters of the request that nothing has, so the list is empty; absent if there are none.
	UnknownValues []UnknownValue `json:"unknown_values,omitempty"`
}

// UnknownValue is a value of a filter that neither the directory nor its table of names knows.
type UnknownValue struct {
	// Name of the filter.
	Parameter string `json:"parameter"`
	// Value of the request.
	Value string `json:"value"`
	// Known names that are a few letters away, the nearest first; at most three.
	Nearest []string `json:"nearest"`
}

// NewPaginationMeta computes the number of pages. It accepts a page after the last one.
func NewPaginationMeta(total, page, perPage int) PaginationMeta {
	return PaginationMeta{Total: total, Page: page, PerPage: perPage, TotalPages: (total + perPage - 1) / perPage}
}

// TotalMeta: number of rows in the whole list.
//
// It is the meta of a list with limit and offset.
type TotalMeta struct {
	// As [StatusSummary.Total].
	Total int64 `json:"total"`
}
