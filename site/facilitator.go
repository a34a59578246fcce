package site

import (
	"cmp"
	"slices"
	"strings"
)

// Timeframes of a facilitator's volume, in the order of the API. 24h is the last 24 complete UTC hours and the current
// one; 7d and 30d are UTC days, including today; all starts with the first measurement.
const (
	Timeframe24h = "24h"
	Timeframe7d  = "7d"
	Timeframe30d = "30d"
	TimeframeAll = "all"
)

// Timeframes lists them, shortest first.
var Timeframes = []string{Timeframe24h, Timeframe7d, Timeframe30d, TimeframeAll}

// Orders of the list of facilitators as pages, the default first: by volume of 30 days, or by growth.
const (
	OrderGrowth7d  = "growth_7d"
	OrderGrowth30d = "growth_30d"
)

// FacilitatorOrders lists them.
var FacilitatorOrders = []string{OrderVolume, OrderGrowth7d, OrderGrowth30d}

// SeriesDays is the length of a facilitator's complete series in days. A request may select fewer.
const SeriesDays = 90

// Members that a request may embed in each row of /v1/facilitators, sorted.
const (
	IncludeChains     = "chains"
	IncludeTimeseries = "timeseries"
)

// Values of Verification.
const (
	VerificationOnChain = "on-chain" // the settlements of its settlers are measured on chain
	VerificationListed  = "listed"   // not measured: no settler is known, or the settlers are not confirmed as its own
)

// FacilitatorListItem is a facilitator, which settles payments, with the volume observed on chain.
//
// It is a row of /v1/facilitators, which are ranked by volume measured on chain.
type FacilitatorListItem struct {
	FacilitatorID string `json:"facilitator_id"`
	// As [NetworkFacilitator.Name].
	Name string `json:"name"`
	// Public website of the facilitator.
	WebsiteURL string `json:"website_url" format:"uri"`
	// Volume settled in 24 hours, in US dollars.
	VolumeUSD24h Decimal `json:"volume_usd_24h"`
	// Volume settled in 7 days, in US dollars.
	VolumeUSD7d Decimal `json:"volume_usd_7d"`
	// As [Traction.VolumeUSD30d].
	VolumeUSD30d Decimal `json:"volume_usd_30d"`
	// Volume settled since measurement began, in US dollars.
	VolumeUSDAll Decimal `json:"volume_usd_all"`
	// Number of settlements in 24 hours.
	TxCount24h int64 `json:"tx_count_24h"`
	// Number of settlements in 7 days.
	TxCount7d int64 `json:"tx_count_7d"`
	// As [Traction.TxCount30d].
	TxCount30d int64 `json:"tx_count_30d"`
	// Number of settlements since measurement began.
	TxCountAll int64 `json:"tx_count_all"`
	// Time of the newest settlement; null if none was observed.
	LastActivityAt *Time `json:"last_activity_at"`
	// Number of accounts that settle for the facilitator; a mark counts as one.
	SettlerCount int `json:"settler_count"`
	// How its settlements are known: on-chain if they are measured, listed if they are not.
	Verification string `json:"verification" enum:"Verifications"`
	// Start of the UTC day of the first settlement; null if none was observed.
	FirstActivityAt *Time `json:"first_activity_at"`

	// One point per UTC day, oldest first, today last; in lists only with include=timeseries.
	Timeseries []VolumePoint `json:"timeseries,omitzero"`
	// Volume and settlements by network and token, largest volume first; in lists only with include=chains.
	Chains []FacilitatorChain `json:"chains,omitzero"`
}

// VolumePoint: settlements of a facilitator or a service on one UTC day.
type VolumePoint struct {
	// As [TokenPoint.Date].
	Date string `json:"date"` // YYYY-MM-DD
	// Volume settled on that day, in US dollars; for a service with a shared recipient, its share.
	VolumeUSD Decimal `json:"volume_usd"`
	// As [TokenPoint.TxCount].
	TxCount int64 `json:"tx_count"`
}

// FacilitatorChain is a facilitator's volume and settlements on one network in one token.
//
// The volume is null unless the token is a US dollar stablecoin, because the price of other tokens is not known.
type FacilitatorChain struct {
	// As [NetworkCoverage.Network].
	Network string `json:"network"`
	// As [PricingEntry.NetworkCAIP2].
	NetworkCAIP2 string `json:"network_caip2"`
	// As [KnownAsset.TokenAddress].
	TokenAddress     string `json:"token_address"`
	TokenAddressNorm string `json:"token_address_norm"`
	// As [PricingEntry.AssetName].
	AssetName    string   `json:"asset_name"`
	VolumeUSD24h *Decimal `json:"volume_usd_24h"`
	VolumeUSD7d  *Decimal `json:"volume_usd_7d"`
	// As [Traction.VolumeUSD30d].
	VolumeUSD30d *Decimal `json:"volume_usd_30d"`
	VolumeUSDAll *Decimal `json:"volume_usd_all"`
	TxCount24h   int64    `json:"tx_count_24h"`
	TxCount7d    int64    `json:"tx_count_7d"`
	// As [Traction.TxCount30d].
	TxCount30d      int64  `json:"tx_count_30d"`
	TxCountAll      int64  `json:"tx_count_all"`
	LastActivityAt  *Time  `json:"last_activity_at"`
	Verification    string `json:"verification"`
	FirstActivityAt *Time  `json:"first_activity_at"` // beyond the contract; as in FacilitatorListItem

	Days []VolumePoint `json:"-"` // the last SeriesDays, oldest first
}

// FacilitatorDetail is a facilitator with its accounts, its payers and the services whose payments it settles.
//
// It is the data of /v1/facilitators/{facilitator}: the row of the list with all embedded members, its accounts, its
// payers and the services whose payments it settles.
type FacilitatorDetail struct {
	FacilitatorListItem
	// Accounts that send the facilitator's settlements, and marks of its payments, by network, then address.
	Settlers []FacilitatorSettler `json:"settlers"`
	// Payers through the facilitator; in v0.1.0 it was the list that by_chain is.
	Buyers BuyersByChain `json:"buyers"`
	// Number of listed services whose payments it settled in 30 days.
	ServiceCount int `json:"service_count"`
	// The first hundred of them, largest volume first.
	Services []FacilitatorService `json:"services"`
	// Base URL of its API; null if none is known.
	FacilitatorURL *string `json:"facilitator_url" format:"uri"`
	// Answer to the question what it settles; null if it was never asked.
	Supported *FacilitatorSupported `json:"supported"`

	// Average settlement over 30 days, in US dollars to six decimals, in tokens with a dollar value on main networks;
	// null without one.
	AvgSettlementUSD30d *Decimal `json:"avg_settlement_usd_30d"`
	// The same since measurement began.
	AvgSettlementUSDAll *Decimal `json:"avg_settlement_usd_all"`
	// Volume of the last 7 UTC days, without today, divided by the volume of the 7 days before; 1 is steady; null
	// without volume then, and until 14 days after the first settlement.
	Trend7dVsPrev7d *float64 `json:"trend_7d_vs_prev_7d"`
	// The same of 30 days; null until 60 days after the first settlement.
	Trend30dVsPrev30d *float64 `json:"trend_30d_vs_prev_30d"`
	// How many listed services it settled payments for, and the largest.
	ListedServices ListedServices `json:"listed_services"`
	// How its settlements are found.
	Method string `json:"method"`
	// What the figures leave out, and why some are null.
	Caveat string `json:"caveat"`
	// Days with a settlement on main networks, oldest first.
	//
	// by the parameters period and series_by
	Series []FacilitatorPoint `json:"series"`

	Days      []FacilitatorPoint `json:"-"` // all days with a settlement on main networks, oldest first
	ChainDays []FacilitatorPoint `json:"-"` // the same by network, by day, then network
}

// SeriesPeriods and SeriesBy are the values of the parameters of a facilitator's series, the default first.
var (
	SeriesPeriods = []string{Timeframe30d, TimeframeAll}
	SeriesBy      = []string{SeriesTotal, SeriesChain}
)

// How a facilitator's series is divided.
const (
	SeriesTotal = "total"
	SeriesChain = "chain"
)

// SeriesOf returns the series for values of the parameters period and series_by.
func (f *FacilitatorDetail) SeriesOf(period, by string) []FacilitatorPoint {
	points := f.Days
	if by == SeriesChain {
		points = f.ChainDays
	}
	from := 0
	if n := len(f.Timeseries) - WindowDays["30d"]; period == Timeframe30d && n >= 0 {
		first := f.Timeseries[n].Date
		from, _ = slices.BinarySearchFunc(points, first, func(p FacilitatorPoint, date string) int {
			return cmp.Compare(p.Date, date)
		})
	}
	return append([]FacilitatorPoint{}, points[from:]...)
}

// FacilitatorPoint: settlements of a facilitator on one UTC day, of all its main networks or of one.
type FacilitatorPoint struct {
	// As [TokenPoint.Date].
	Date string `json:"date"`
	// Abbreviation of the network; null for all networks together.
	Network *string `json:"network"`
	// CAIP-2 id of the network; null for all networks together.
	NetworkCAIP2 *string `json:"network_caip2"`
	// As [VolumePoint.VolumeUSD].
	VolumeUSD Decimal `json:"volume_usd"`
	// As [TokenPoint.TxCount].
	TxCount int64 `json:"tx_count"`
}

// BuyersByChain: payers through a facilitator, by network and token.
type BuyersByChain struct {
	// Payers by network and token, in the order of chains.
	ByChain []FacilitatorBuyers `json:"by_chain"`
	// Sum of unique_buyers_30d over main networks: an account that pays on several networks, or in several tokens,
	// counts for each; null if no settlement is measured.
	TotalUpperBound30d *int64 `json:"total_upper_bound_30d"`
	// How payers are counted.
	Caveat string `json:"caveat"`
}

// ListedServices: listed services whose payments a facilitator settled. Counts are null if its settlements are not
// measured.
type ListedServices struct {
	// Number of them in 30 days; the same as service_count if it is known.
	ActiveCount30d *int `json:"active_count_30d"`
	// Number of them ever; a lower bound.
	AllTimeCount *int `json:"all_time_count"`
	// The first ten of services, each with its status.
	Top []FacilitatorTopService `json:"top"` // the largest volumes of 30 days
	// How services are counted.
	Caveat string `json:"caveat"`
}

// FacilitatorTopService is a listed service whose payments a facilitator settled, with its status.
type FacilitatorTopService struct {
	FacilitatorService
	// As [ServiceListItem.Status].
	Status string `json:"status"`
}

// FacilitatorServices is the maximum number of services in a FacilitatorDetail.
const FacilitatorServices = 100

// ConfirmsSettlers reports whether the settlers of a facilitator with this status are known to be its own. Either the
// list's source has accepted them, or they are marks that a protocol's public library writes.
func ConfirmsSettlers(upstreamStatus string) bool {
	return strings.HasPrefix(upstreamStatus, "merged") || upstreamStatus == "protocol"
}

// FacilitatorSettler is an account that sends a facilitator's settlements, or a mark of its payments.
type FacilitatorSettler struct {
	// As [NetworkCoverage.Network].
	Network string `json:"network"`
	// As [PricingEntry.NetworkCAIP2].
	NetworkCAIP2 string `json:"network_caip2"`
	// Address of the account, in normal form; for a mark its kind, a colon and the value, such as memo:0xef1ed71201 or
	// source_tag:804681468.
	Address string `json:"address"`
	// Tokens that the account is listed to settle, in normal form.
	Tokens []string `json:"tokens"`
	// Settlements before this time are not counted; null if the start is unknown.
	Since *Time `json:"since"`
	// Whether the facilitator has stopped using the account; its settlements are counted all the same.
	Deprecated bool `json:"deprecated"`

	// beyond the contract

	// What recognises a settlement: the account that sent it, or a mark that any payer can write into it: the first
	// five bytes of its memo, or its source tag.
	Kind string `json:"kind" enum:"SettlerKinds"`
	// Whether the facilitator still uses the account.
	Enabled bool `json:"enabled"` // the opposite of Deprecated
	// When it sent its last settlement; null if it sent none, or if settlements are not measured.
	LastSeenAt *Time `json:"last_seen_at"`
	// Where the account is known from: list for a list of facilitators, operator if only the operator of this directory
	// accepted it.
	Source string `json:"source" enum:"SettlerSources"`
	// Name of the account's only token; null with several, or if it is not known.
	TokenName *string `json:"token_name"`
	// Its token has 10^token_decimals atomic units; null like token_name.
	TokenDecimals *int `json:"token_decimals"` // likewise
}

// SettlerKinds are the values of FacilitatorSettler.Kind. All but the first are marks: fields of a payment that the
// payer's software fills in.
var SettlerKinds = []string{SettlerAccount, "memo", "source_tag"}

// SettlerAccount is the kind of a settler that is an account.
const SettlerAccount = "account"

// Values of FacilitatorSettler.Source.
const (
	SettlerListed   = "list"
	SettlerAccepted = "operator"
)

// FacilitatorBuyers: number of payers through a facilitator on one network in one token.
//
// A sum over networks counts a payer once for each network. A number is null if there are settlements and none names
// its payer.
type FacilitatorBuyers struct {
	// As [NetworkCoverage.Network].
	Network string `json:"network"`
	// As [PricingEntry.NetworkCAIP2].
	NetworkCAIP2 string `json:"network_caip2"`
	// As [KnownAsset.TokenAddress].
	TokenAddress string `json:"token_address"`
	// As [PricingEntry.AssetName].
	AssetName string `json:"asset_name"`
	// Number of different payers in 7 days that settlements name; null if none names one.
	UniqueBuyers7d *int64 `json:"unique_buyers_7d"`
	// As [Pick.UniqueBuyers30d].
	UniqueBuyers30d *int64 `json:"unique_buyers_30d"`
	// Number of different payers since measurement began that settlements name; null if none names one.
	UniqueBuyersAll *int64 `json:"unique_buyers_all"`
}

// FacilitatorService is a listed service's share of a facilitator's last 30 days.
type FacilitatorService struct {
	// As [ServiceListItem.Slug].
	Slug string `json:"slug"`
	// As [ServiceListItem.Name].
	Name string `json:"name"`
	// As [Traction.VolumeUSD30d].
	VolumeUSD30d Decimal `json:"volume_usd_30d"`
	// As [Traction.TxCount30d].
	TxCount30d int64 `json:"tx_count_30d"`
}

// Volume returns the facilitator's volume in USD over a timeframe.
func (f *FacilitatorListItem) Volume(timeframe string) Decimal {
	switch timeframe {
	case Timeframe24h:
		return f.VolumeUSD24h
	case Timeframe7d:
		return f.VolumeUSD7d
	case Timeframe30d:
		return f.VolumeUSD30d
	}
	return f.VolumeUSDAll
}

// SortFacilitators sorts by the volume of a timeframe, largest first, then by id.
func SortFacilitators(list []*FacilitatorListItem, timeframe string) {
	slices.SortFunc(list, func(a, b *FacilitatorListItem) int {
		return cmp.Or(b.Volume(timeframe).Compare(a.Volume(timeframe)), cmp.Compare(a.FacilitatorID, b.FacilitatorID))
	})
}
