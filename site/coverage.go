package site

// CoverageReport is the data of /v1/coverage: what is measured on chain, up to when, and what is not known.
type CoverageReport struct {
	AsOf              Time               `json:"as_of"`
	Networks          []NetworkCoverage  `json:"networks"`           // measured ones first, then by services
	CandidateSettlers []CandidateSettler `json:"candidate_settlers"` // most payments first
	Volume30d         VolumeQuality      `json:"volume_30d"`
	Operators         OperatorReport     `json:"operators"`
}

// NetworkCoverage is a network on which services take payment, or whose settlements are read. What is not measured has
// nulls.
type NetworkCoverage struct {
	Network       string          `json:"network"` // abbreviation, the CAIP-2 id for networks without one
	NetworkCAIP2  string          `json:"network_caip2"`
	Name          string          `json:"name"`
	IsMainnet     *bool           `json:"is_mainnet"` // null for a network that is not of the table
	ServiceCount  int             `json:"service_count"`
	Measured      bool            `json:"measured"` // from MeasuredSince on nothing is missing that known settlers sent
	MeasuredSince *Time           `json:"measured_since"`
	Cursor        *ChainCursor    `json:"cursor"`
	HeadBlock     *int64          `json:"head_block"` // confirmed, when last asked
	HeadPolledAt  *Time           `json:"head_polled_at"`
	Filling       *int64          `json:"filling"`
	Tokens        []TokenCoverage `json:"tokens"` // by address
	// of all measured facilitators, of the last SeriesDays; days without are left out
	Timeseries []VolumePoint `json:"timeseries"`
}

// ChainCursor is up to where a network was read.
type ChainCursor struct {
	Block      *int64 `json:"block"` // null on Solana, which is read by signatures
	Time       *Time  `json:"time"`
	AgeSeconds *int64 `json:"age_seconds"` // at as_of
}

// TokenCoverage tells of the authorisations seen in a token over 30 UTC days, who sent them.
type TokenCoverage struct {
	TokenAddress      string   `json:"token_address"`
	AssetName         string   `json:"asset_name"`
	Authorizations30d int64    `json:"authorizations_30d"`
	Attributed30d     int64    `json:"attributed_30d"` // sent by a known settler
	Unattributed30d   int64    `json:"unattributed_30d"`
	UnattributedShare *float64 `json:"unattributed_share"` // null without any
}

// CandidateSettler is an account that sends payments to recipients of listed services and is no known settler.
type CandidateSettler struct {
	Network        string   `json:"network"`
	NetworkCAIP2   string   `json:"network_caip2"`
	Address        string   `json:"address"`
	TokenAddress   string   `json:"token_address"`
	AssetName      string   `json:"asset_name"`
	PaymentCount   int64    `json:"payment_count"`
	VolumeUSD      *Decimal `json:"volume_usd"`
	RecipientCount int64    `json:"recipient_count"`
	FirstDay       string   `json:"first_day"` // "2026-11-20"
	LastDay        string   `json:"last_day"`
}

// VolumeQuality is the volume of 30 UTC days of all measured facilitators, and how much of it may show no trade.
type VolumeQuality struct {
	Raw         VolumeSum `json:"raw"`
	SelfPayment VolumeSum `json:"self_payment"`
	SinglePayer VolumeSum `json:"single_payer"`
	Without     VolumeSum `json:"without"` // raw less both
	Rule        string    `json:"rule"`
}

// VolumeSum is a number of settlements and what they moved.
type VolumeSum struct {
	VolumeUSD Decimal `json:"volume_usd"`
	TxCount   int64   `json:"tx_count"`
}

// OperatorReport counts services once for each operator.
type OperatorReport struct {
	ServiceCount  int             `json:"service_count"`
	OperatorCount int             `json:"operator_count"`
	Groups        []OperatorGroup `json:"groups"` // of several services; largest first
	Rule          string          `json:"rule"`
}

// OperatorGroup is services that are paid at the same recipients, directly or through others of the group.
type OperatorGroup struct {
	ServiceCount int               `json:"service_count"`
	Services     []SharedWithItem  `json:"services"`   // by slug
	Recipients   []SharedRecipient `json:"recipients"` // that several of them name
}

// SharedRecipient is an account that several services are paid at.
type SharedRecipient struct {
	NetworkCAIP2 string `json:"network_caip2"`
	PayTo        string `json:"pay_to"`
	ServiceCount int    `json:"service_count"`
}
