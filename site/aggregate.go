package site

// StatusSummary is the data of /v1/status.
type StatusSummary struct {
	Total    int             `json:"total"`
	Online   int             `json:"online"`
	Degraded int             `json:"degraded"`
	Offline  int             `json:"offline"`
	Unknown  int             `json:"unknown"`
	Services []StatusService `json:"services"` // by slug
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
}

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
}

// Tag is a row of /v1/tags.
type Tag struct {
	Tag          string `json:"tag"`
	ServiceCount int    `json:"service_count"`
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
