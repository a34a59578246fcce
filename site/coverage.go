package site

// CoverageReport says what is measured on chain and up to when, and what is not known.
//
// It is the data of /v1/coverage.
type CoverageReport struct {
	// As [DirectoryTraction.AsOf].
	AsOf Time `json:"as_of"`
	// Networks on which services accept payment or whose settlements are read; measured networks first, then by number
	// of services.
	Networks []NetworkCoverage `json:"networks"`
	// Unlisted accounts that send payments to recipients of listed services, or that facilitators announce as their
	// own; most payments first.
	CandidateSettlers []CandidateSettler `json:"candidate_settlers"`
	// Settlements of all measured facilitators in 30 UTC days.
	Volume30d VolumeQuality `json:"volume_30d"`
	// Services grouped by their probable operator.
	Operators OperatorReport `json:"operators"`
	// Places from which services are checked, by name; absent if one without a name is the only one.
	Vantages []Vantage `json:"vantages,omitempty"`
	// Times whose checks count in nothing, because this directory was at fault; newest first.
	Voids []Void `json:"voids"`
}

// Vantage is a place from which services are checked.
type Vantage struct {
	// As [PlaceState.Vantage].
	Vantage string `json:"vantage"`
	// When a program there last took part, to the minute.
	SeenAt Time `json:"seen_at"`
}

// Void is a time whose checks count in nothing, because the directory itself was at fault. The checks stay in the logs.
type Void struct {
	// Start of the time.
	From Time `json:"from"`
	// End of the time, excluded.
	To Time `json:"to"`
	// When the operator decided.
	VoidedAt Time `json:"voided_at"`
	// Why, in the operator's words.
	Reason string `json:"reason"`
	// Number of checks that counted before.
	CheckCount int `json:"check_count"`
	// Number of services whose checks they are.
	ServiceCount int `json:"service_count"`
}

// NetworkCoverage is a network on which services accept payment, or whose settlements are read.
type NetworkCoverage struct {
	// Abbreviation of the network, or its CAIP-2 id if it has none.
	Network string `json:"network"`
	// As [PricingEntry.NetworkCAIP2].
	NetworkCAIP2 string `json:"network_caip2"`
	// Name of the network, or its CAIP-2 id if it has no known name.
	Name string `json:"name"`
	// Whether it is a main network; volume on a test network is not counted; null if unknown.
	IsMainnet *bool `json:"is_mainnet"`
	// Number of listed services that currently accept payment on it.
	ServiceCount int `json:"service_count"`
	// Whether every settlement by a known settler since measured_since is counted.
	Measured bool `json:"measured"`
	// Start of the measured period; null while no period is complete.
	MeasuredSince *Time `json:"measured_since"`
	// How far the network has been read; null if it is not read.
	Cursor *ChainCursor `json:"cursor"`
	// Newest confirmed block of the chain when it was last polled.
	HeadBlock *int64 `json:"head_block"`
	// When the chain was last polled.
	HeadPolledAt *Time `json:"head_polled_at"`
	// Number of nodes whose settlements are compared, 1 if a single one is believed; null if unknown.
	ComparedNodes *int `json:"compared_nodes"`
	// Number of past blocks that still have to be read; on networks that are read by account, of accounts.
	Filling *int64 `json:"filling"`
	// Authorisations in the last 30 UTC days, by token address.
	Tokens []TokenCoverage `json:"tokens"`
	// Settlements of all measured facilitators, by UTC day of the last 90, today last, without days that have none;
	// empty if the network is not measured.
	Timeseries []VolumePoint `json:"timeseries"`
	// The same days by token, by token address; the sums of a day are those of timeseries.
	TimeseriesByToken []TokenSeries `json:"timeseries_by_token"`
	// Facilitators that settled there in 60 UTC days, largest volume of 30 days first; none unless the network is
	// measured.
	Facilitators []NetworkFacilitator `json:"facilitators"`
}

// TokenSeries is the settlements in a token on a network.
//
// Days without a settlement are left out.
type TokenSeries struct {
	// As [KnownAsset.TokenAddress].
	TokenAddress string `json:"token_address"`
	// As [PricingEntry.AssetName].
	AssetName string `json:"asset_name"`
	// Settlements in the token by UTC day of the last 90; days without a settlement are left out.
	Timeseries []TokenPoint `json:"timeseries"`
}

// TokenPoint: settlements in a token on one UTC day.
//
// The volume is null if the token has no known value in dollars.
type TokenPoint struct {
	// The UTC day.
	Date string `json:"date" format:"date"`
	// Volume settled on that day, in US dollars; null if the token has no known value.
	VolumeUSD *Decimal `json:"volume_usd"`
	// Number of settlements on that day.
	TxCount int64 `json:"tx_count"`
}

// NetworkFacilitator says what a facilitator settled on a network.
//
// It has 30 UTC days, including today, and the 30 before.
type NetworkFacilitator struct {
	// Id of the facilitator.
	FacilitatorID string `json:"facilitator_id"`
	// Name of the facilitator.
	Name string `json:"name"`
	// Volume on the network in 30 UTC days, including today, in USD.
	VolumeUSD30d Decimal `json:"volume_usd_30d"`
	// Number of settlements on the network in 30 UTC days.
	TxCount30d int64 `json:"tx_count_30d"`
	// Volume on the network in the 30 UTC days before, in USD.
	VolumeUSDPrev30d Decimal `json:"volume_usd_prev_30d"`
	// As [FacilitatorDetail.Trend30dVsPrev30d], on the network.
	Trend30dVsPrev30d *float64 `json:"trend_30d_vs_prev_30d"`
}

// ChainCursor says how far a network has been read.
type ChainCursor struct {
	// Newest block that was read; null on Solana, Stellar and the XRP Ledger, which are read by account.
	Block *int64 `json:"block"`
	// Time of that block.
	Time *Time `json:"time"`
	// Age of that block at as_of, in seconds.
	AgeSeconds *int64 `json:"age_seconds"`
}

// TokenCoverage: authorisations in one token over 30 UTC days, by whether a known settler sent them.
type TokenCoverage struct {
	// As [KnownAsset.TokenAddress].
	TokenAddress string `json:"token_address"`
	// As [PricingEntry.AssetName].
	AssetName string `json:"asset_name"`
	// Payments by authorisation in 30 days, from any sender and for any purpose.
	Authorizations30d int64 `json:"authorizations_30d"`
	// Those that are settlements of a known settler.
	Attributed30d int64 `json:"attributed_30d"`
	// All others: sent by any other account, or deposits for batch settlement.
	Unattributed30d int64 `json:"unattributed_30d"`
	// Share of the authorisations that are no settlement of a known settler; null if there are none.
	UnattributedShare *float64 `json:"unattributed_share" max:"1"`
}

// CandidateSettler is an account that may settle for a facilitator but is not listed as a settler.
//
// It is an account that is not a known settler, but sends payments to recipients of listed services, or is announced by
// a facilitator as its own. Without a payment all that describes payments is null.
type CandidateSettler struct {
	// As [NetworkCoverage.Network].
	Network string `json:"network"`
	// As [PricingEntry.NetworkCAIP2].
	NetworkCAIP2 string `json:"network_caip2"`
	// Address of the account.
	Address string `json:"address"`
	// Address of the token, as its chain writes it; null without a payment.
	TokenAddress *string `json:"token_address"`
	// Name of the token; null without a payment.
	AssetName *string `json:"asset_name"`
	// Number of payments sent; null if none was seen.
	PaymentCount *int64 `json:"payment_count"`
	// Volume of these payments in US dollars; null if the token has no known dollar value.
	VolumeUSD *Decimal `json:"volume_usd"`
	// Number of different recipients; null without a payment.
	RecipientCount *int64 `json:"recipient_count"`
	// UTC day of the first payment; null without one.
	FirstDay *string `json:"first_day" format:"date"` // "2026-11-20"
	// UTC day of the newest payment; null without one.
	LastDay *string `json:"last_day" format:"date"`

	// What speaks for the account: a facilitator announces it as its own over TLS, it pays recipients of listed
	// services, or both.
	Evidence string `json:"evidence" enum:"CandidateEvidence"`
	// Facilitators that announce the account over TLS, by id.
	AnnouncedBy []CandidateAnnouncement `json:"announced_by"`
}

// VolumeQuality: volume as observed, and the part of it that may not be real trade.
type VolumeQuality struct {
	// All settlements.
	Raw VolumeSum `json:"raw"`
	// Settlements in which payer and recipient are the same account.
	SelfPayment VolumeSum `json:"self_payment"`
	// Settlements that name their payer, to recipients that get nearly all of the volume of such settlements from one
	// payer.
	SinglePayer VolumeSum `json:"single_payer"`
	// All settlements except those in self_payment and single_payer.
	Without VolumeSum `json:"without"` // Raw minus SelfPayment and SinglePayer
	// The rule that assigns settlements to these groups, in words.
	Rule string `json:"rule"`
}

// VolumeSum is a number of settlements and their volume.
type VolumeSum struct {
	// Volume in US dollars.
	VolumeUSD Decimal `json:"volume_usd"`
	// Number of settlements.
	TxCount int64 `json:"tx_count"`
}

// OperatorReport: services grouped by their probable operator.
type OperatorReport struct {
	// As [Network.ServiceCount].
	ServiceCount int `json:"service_count"`
	// Number of operators, if each group counts once.
	OperatorCount int `json:"operator_count"`
	// Groups of services that share recipients, largest group first.
	Groups []OperatorGroup `json:"groups"`
	// The rule that forms groups, in words.
	Rule string `json:"rule"`
	// Number of links.
	LinkCount int `json:"link_count"` // beyond the contract, as the next
	// Evidence that services have one operator: links of most services first, at most 1,000.
	Links []OperatorLink `json:"links"`
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
	// Kind of evidence.
	By string `json:"by" enum:"OperatorEvidence"`
	// What they share: an address, a registrable domain, or a host that its owner proved to control.
	Value string `json:"value"`
	// Network of a recipient in CAIP-2, or eip155:* for all EVM networks; null for other evidence.
	Networks *string `json:"networks"`
	// Number of services that share it.
	ServiceCount int `json:"service_count"`
	// These services by slug, at most the first 100.
	Services []SharedWithItem `json:"services"`
}

// OperatorGroup: services that probably have the same operator.
//
// It is a set of services that share recipients, directly or through other services of the group.
type OperatorGroup struct {
	// Number of services in the group.
	ServiceCount int `json:"service_count"`
	// The services of the group, by slug.
	Services []SharedWithItem `json:"services"`
	// Recipients that several services of the group use.
	Recipients []SharedRecipient `json:"recipients"`
}

// SharedRecipient is an account that several services are paid at.
type SharedRecipient struct {
	// As [PricingEntry.NetworkCAIP2].
	NetworkCAIP2 string `json:"network_caip2"`
	// Address of the recipient, in normal form.
	PayTo string `json:"pay_to"`
	// Number of services of the group that use it.
	ServiceCount int `json:"service_count"`
}
