package site

// StatusSummary is the data of /v1/status.
type StatusSummary struct {
	Total    int             `json:"total"`
	Online   int             `json:"online"`
	Degraded int             `json:"degraded"`
	Offline  int             `json:"offline"`
	Unknown  int             `json:"unknown"`
	Services []StatusService `json:"services"` // by slug

	// beyond the contract
	ListedTotal    int `json:"listed_total"` // all but delisted ones
	Delisted       int `json:"delisted"`
	ListedOffline  int `json:"listed_offline"`
	Offline30dPlus int `json:"offline_30d_plus"` // of those, without a success for 30 days
}

// StatusService is the status of one service.
type StatusService struct {
	Slug                string   `json:"slug"`
	Name                string   `json:"name"`
	Status              string   `json:"status"`
	LastCheckedAt       *Time    `json:"last_checked_at"`
	ConsecutiveFailures int      `json:"consecutive_failures"`
	Uptime24h           *float64 `json:"uptime_24h"`
	AvgResponseTimeMS   *int     `json:"avg_response_time_ms"`
	Listed              bool     `json:"listed"`        // beyond the contract: not delisted
	OfflineSince        *Time    `json:"offline_since"` // beyond the contract; null unless it is offline
}

// AddressPlace stands for the address in the URL of an account's page.
const AddressPlace = "{address}"

// Network is a row of /v1/networks; id and caip2_id repeat the CAIP-2 id.
type Network struct {
	ID           string   `json:"id"`
	CAIP2        string   `json:"caip2"`
	CAIP2ID      string   `json:"caip2_id"`
	Name         string   `json:"name"`
	Abbreviation string   `json:"abbreviation"`
	ChainType    string   `json:"chain_type"`
	IsMainnet    bool     `json:"is_mainnet"`
	ExplorerURL  *string  `json:"explorer_url"`
	ServiceCount int      `json:"service_count"`
	AvgUptime    *float64 `json:"avg_uptime"` // mean of the services' uptime_24h
	Testnet      bool     `json:"testnet"`    // the opposite of is_mainnet

	AddressURL *string `json:"address_url"` // beyond the contract; with AddressPlace where an address belongs
}

// Tag is a row of /v1/tags.
type Tag struct {
	Tag          string `json:"tag"`
	ServiceCount int    `json:"service_count"`

	// beyond the contract; null if no service of the category is good to pay
	Cheapest *Pick `json:"cheapest"`
	MostUsed *Pick `json:"most_used"` // null too if no such service has a known buyer in 30 days

	Prices *CategoryPrices `json:"prices"` // null if no service of the category has a price that counts
}

// CategoryPrices is how the lowest prices of the services of a category are distributed.
type CategoryPrices struct {
	ServiceCount int          `json:"service_count"`
	MedianUSD    Decimal      `json:"median_usd"`
	Classes      []PriceClass `json:"classes"` // adjoining, from that of the lowest price to that of the highest
}

// PriceClass is a range of prices. A null is no bound.
type PriceClass struct {
	FromUSD      *Decimal `json:"from_usd"`
	BelowUSD     *Decimal `json:"below_usd"`
	ServiceCount int      `json:"service_count"`
}

// Has reports whether a price is in the class.
func (c *PriceClass) Has(price Decimal) bool {
	return (c.FromUSD == nil || price.Compare(*c.FromUSD) >= 0) && (c.BelowUSD == nil || price.Compare(*c.BelowUSD) < 0)
}

// Pick is a service that /v1/best recommends and whose advice is AdviceGood, with its lowest price that can be paid.
type Pick struct {
	Slug            string   `json:"slug"`
	Name            string   `json:"name"`
	PriceUSD        *Decimal `json:"price_usd"` // null if not known
	Network         string   `json:"network"`   // abbreviation, of the price
	UniqueBuyers30d *int64   `json:"unique_buyers_30d"`
}

// AggregateStats is the data of /v1/stats.
type AggregateStats struct {
	TotalServices     int            `json:"total_services"`
	TotalEndpoints    int            `json:"total_endpoints"`
	TotalNetworks     int            `json:"total_networks"` // main networks
	AvgUptime24h      *float64       `json:"avg_uptime_24h"`
	AvgUptime7d       *float64       `json:"avg_uptime_7d"`
	AvgResponseTimeMS *float64       `json:"avg_response_time_ms"`
	ChecksPerHour     float64        `json:"checks_per_hour"`
	Pricing           StatsPricing   `json:"pricing"`
	Networks          []StatsNetwork `json:"networks"`       // by abbreviation
	TotalTestnets     int            `json:"total_testnets"` // beyond the contract
	// hosts that are left out, as owners want; beyond the contract
	OptedOut int `json:"opted_out"`

	// beyond the contract
	VerifiedCount           int                `json:"verified_count"`
	PaymentReadyCount       int                `json:"payment_ready_count"`
	ListingGrowth           ListingGrowth      `json:"listing_growth"`
	ComputedAt              Time               `json:"computed_at"`
	FacilitatorVolumeUSD30d *Decimal           `json:"facilitator_volume_usd_30d"` // null unless a network is measured
	FacilitatorVolumeNote   string             `json:"facilitator_volume_note"`
	AvgUptimeMethod         string             `json:"avg_uptime_method"`
	TotalNetworksNote       string             `json:"total_networks_note"`
	OnChainMeasurement      OnChainMeasurement `json:"on_chain_measurement"`
	Traction                DirectoryTraction  `json:"traction"`
}

// ListingGrowth counts the services that were listed lately.
type ListingGrowth struct {
	New7d  int `json:"new_7d"`
	New30d int `json:"new_30d"`
}

// OnChainMeasurement is since when settlements are counted; null unless a network is measured.
type OnChainMeasurement struct {
	MeasuredSince            *Time  `json:"measured_since"`
	AllNetworksMeasuredSince *Time  `json:"all_networks_measured_since"`
	Note                     string `json:"note"`
}

// DirectoryTraction sums the settlements of all services whose traction is measured, over 30 days. Metrics are null
// unless a network is measured, which does not mean zero.
type DirectoryTraction struct {
	AsOf                      Time          `json:"as_of"`
	Method                    string        `json:"method"`
	Caveat                    string        `json:"caveat"`
	VolumeUSD30d              *Decimal      `json:"volume_usd_30d"`
	SettlementCount30d        *int64        `json:"settlement_count_30d"`
	UniqueBuyers30d           *int64        `json:"unique_buyers_30d"` // always null: buyers are not compared
	MeasuredServices          int           `json:"measured_services"`
	MeasuredNetworks          int           `json:"measured_networks"`
	CoverageOfMeasuredFlowPct *float64      `json:"coverage_of_measured_flow_pct"` // of the volume of all facilitators
	MeasuredFlowFreshness     FlowFreshness `json:"measured_flow_freshness"`
	Top1ServiceSharePct       *float64      `json:"top_1_service_share_pct"`
	Top10ServicesSharePct     *float64      `json:"top_10_services_share_pct"`
}

// FlowFreshness is how far behind the reading of networks is.
type FlowFreshness struct {
	OldestCursorAgeSeconds *int64 `json:"oldest_cursor_age_seconds"`
	TotalSyncGroups        int    `json:"total_sync_groups"`  // networks that are read
	StaleSyncGroups        int    `json:"stale_sync_groups"`  // of those, without a block of the last hour
	TotalFacilitators      int    `json:"total_facilitators"` // with an enabled account on such a network
	StaleFacilitators      int    `json:"stale_facilitators"` // with one on a stale network
}

// StatsPricing covers the lowest counted price of every active endpoint that has one.
type StatsPricing struct {
	AvgPriceUSD    *Decimal `json:"avg_price_usd"`
	MinPriceUSD    *Decimal `json:"min_price_usd"`
	MaxPriceUSD    *Decimal `json:"max_price_usd"`
	MedianPriceUSD *Decimal `json:"median_price_usd"`
}

// StatsNetwork is one network in the statistics.
type StatsNetwork struct {
	Abbreviation string   `json:"abbreviation"`
	ServiceCount int      `json:"service_count"`
	AvgUptime    *float64 `json:"avg_uptime"`
	Testnet      bool     `json:"testnet"` // beyond the contract
	IsMainnet    bool     `json:"is_mainnet"`
}

// PaginationMeta is the meta of a list with pages.
type PaginationMeta struct {
	Total      int `json:"total"`
	Page       int `json:"page"`
	PerPage    int `json:"per_page"`
	TotalPages int `json:"total_pages"`
}

// NewPaginationMeta computes the number of pages. It accepts a page after the last one.
func NewPaginationMeta(total, page, perPage int) PaginationMeta {
	return PaginationMeta{Total: total, Page: page, PerPage: perPage, TotalPages: (total + perPage - 1) / perPage}
}

// TotalMeta is the meta of a list with limit and offset.
type TotalMeta struct {
	Total int64 `json:"total"`
}
