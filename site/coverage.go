package site

// CoverageReport is the data of /v1/coverage: what is measured on chain and up to when, and what is not known.
type CoverageReport struct {
	AsOf              Time               `json:"as_of"`
	Networks          []NetworkCoverage  `json:"networks"`           // measured ones first, then by number of services
	CandidateSettlers []CandidateSettler `json:"candidate_settlers"` // most payments first
	Volume30d         VolumeQuality      `json:"volume_30d"`
	Operators         OperatorReport     `json:"operators"`
}

// NetworkCoverage is a network on which services accept payment, or whose settlements are read. Values that are not
// measured are null.
type NetworkCoverage struct {
	Network       string          `json:"network"` // abbreviation, or the CAIP-2 id if the network has none
	NetworkCAIP2  string          `json:"network_caip2"`
	Name          string          `json:"name"`
	IsMainnet     *bool           `json:"is_mainnet"` // null for a network that is not in the table of networks
	ServiceCount  int             `json:"service_count"`
	Measured      bool            `json:"measured"` // every known settlement since MeasuredSince is counted
	MeasuredSince *Time           `json:"measured_since"`
	Cursor        *ChainCursor    `json:"cursor"`
	HeadBlock     *int64          `json:"head_block"` // newest confirmed block at HeadPolledAt
	HeadPolledAt  *Time           `json:"head_polled_at"`
	Filling       *int64          `json:"filling"`
	Tokens        []TokenCoverage `json:"tokens"` // by address
	// settlements of all measured facilitators in the last SeriesDays; days without one are left out
	Timeseries        []VolumePoint `json:"timeseries"`
	TimeseriesByToken []TokenSeries `json:"timeseries_by_token"` // the same, by token address
	// those that settled there in 60 days, largest volume of 30 days first; none unless the network is measured
	Facilitators []NetworkFacilitator `json:"facilitators"`
}

// TokenSeries is the settlements in a token on a network, by UTC day; days without one are left out.
type TokenSeries struct {
	TokenAddress string       `json:"token_address"`
	AssetName    string       `json:"asset_name"`
	Timeseries   []TokenPoint `json:"timeseries"`
}

// TokenPoint is a UTC day of a token. The volume is null if the token has no known value in dollars.
type TokenPoint struct {
	Date      string   `json:"date"`
	VolumeUSD *Decimal `json:"volume_usd"`
	TxCount   int64    `json:"tx_count"`
}

// NetworkFacilitator is what a facilitator settled on a network in 30 UTC days, including today, and in the 30 before.
type NetworkFacilitator struct {
	FacilitatorID     string   `json:"facilitator_id"`
	Name              string   `json:"name"`
	VolumeUSD30d      Decimal  `json:"volume_usd_30d"`
	TxCount30d        int64    `json:"tx_count_30d"`
	VolumeUSDPrev30d  Decimal  `json:"volume_usd_prev_30d"`
	Trend30dVsPrev30d *float64 `json:"trend_30d_vs_prev_30d"` // volume of 30 days by that of the 30 before
}

// ChainCursor is how far a network has been read.
type ChainCursor struct {
	Block      *int64 `json:"block"` // null on networks that are read by account: Solana, Stellar, XRPL
	Time       *Time  `json:"time"`
	AgeSeconds *int64 `json:"age_seconds"` // at as_of
}

// TokenCoverage counts the authorisations in one token over 30 UTC days, by sender.
type TokenCoverage struct {
	TokenAddress      string   `json:"token_address"`
	AssetName         string   `json:"asset_name"`
	Authorizations30d int64    `json:"authorizations_30d"`
	Attributed30d     int64    `json:"attributed_30d"` // sent by a known settler
	Unattributed30d   int64    `json:"unattributed_30d"`
	UnattributedShare *float64 `json:"unattributed_share"` // null if there are none
}

// CandidateSettler is an account that is not a known settler, but sends payments to recipients of listed services, or
// is announced by a facilitator as its own. Without a payment all that describes payments is null.
type CandidateSettler struct {
	Network        string   `json:"network"`
	NetworkCAIP2   string   `json:"network_caip2"`
	Address        string   `json:"address"`
	TokenAddress   *string  `json:"token_address"`
	AssetName      *string  `json:"asset_name"`
	PaymentCount   *int64   `json:"payment_count"`
	VolumeUSD      *Decimal `json:"volume_usd"`
	RecipientCount *int64   `json:"recipient_count"`
	FirstDay       *string  `json:"first_day"` // "2026-11-20"
	LastDay        *string  `json:"last_day"`

	Evidence    string                  `json:"evidence"`     // announced_and_payments, announced, payments
	AnnouncedBy []CandidateAnnouncement `json:"announced_by"` // by facilitator
}

// VolumeQuality is the volume of all measured facilitators in 30 UTC days, and the part of it that may not be real
// trade.
type VolumeQuality struct {
	Raw         VolumeSum `json:"raw"`
	SelfPayment VolumeSum `json:"self_payment"`
	SinglePayer VolumeSum `json:"single_payer"`
	Without     VolumeSum `json:"without"` // Raw minus SelfPayment and SinglePayer
	Rule        string    `json:"rule"`
}

// VolumeSum is a number of settlements and their volume.
type VolumeSum struct {
	VolumeUSD Decimal `json:"volume_usd"`
	TxCount   int64   `json:"tx_count"`
}

// OperatorReport groups services by their probable operator.
type OperatorReport struct {
	ServiceCount  int             `json:"service_count"`
	OperatorCount int             `json:"operator_count"`
	Groups        []OperatorGroup `json:"groups"` // groups of several services, largest first
	Rule          string          `json:"rule"`
	LinkCount     int             `json:"link_count"` // beyond the contract, as the next
	Links         []OperatorLink  `json:"links"`      // those of most services first, at most MaxOperatorLinks
}

// The evidence of an OperatorLink.
const (
	LinkedByRecipient = "recipient" // the services ask to be paid to the same account
	LinkedByDomain    = "domain"    // their hosts are below the same registrable domain
	LinkedByOwner     = "owner"     // the owner of their host proved to control it
)

// MaxOperatorLinks is the maximum number of links in an OperatorReport.
const MaxOperatorLinks = 1000

// OperatorLink is a piece of evidence that several services have one operator.
type OperatorLink struct {
	By           string           `json:"by"`
	Value        string           `json:"value"`    // address, domain or host
	Networks     *string          `json:"networks"` // of a recipient: CAIP-2, or eip155:* for all EVM networks
	ServiceCount int              `json:"service_count"`
	Services     []SharedWithItem `json:"services"` // by slug, at most MaxSharedWith
}

// OperatorGroup is a set of services that share recipients, directly or through other services of the group.
type OperatorGroup struct {
	ServiceCount int               `json:"service_count"`
	Services     []SharedWithItem  `json:"services"`   // by slug
	Recipients   []SharedRecipient `json:"recipients"` // recipients that several of them use
}

// SharedRecipient is an account that several services are paid at.
type SharedRecipient struct {
	NetworkCAIP2 string `json:"network_caip2"`
	PayTo        string `json:"pay_to"`
	ServiceCount int    `json:"service_count"`
}
