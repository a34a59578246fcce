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

// FacilitatorListItem is a row of /v1/facilitators, which are ranked by volume measured on chain.
type FacilitatorListItem struct {
	FacilitatorID  string  `json:"facilitator_id"`
	Name           string  `json:"name"`
	WebsiteURL     string  `json:"website_url"`
	VolumeUSD24h   Decimal `json:"volume_usd_24h"`
	VolumeUSD7d    Decimal `json:"volume_usd_7d"`
	VolumeUSD30d   Decimal `json:"volume_usd_30d"`
	VolumeUSDAll   Decimal `json:"volume_usd_all"`
	TxCount24h     int64   `json:"tx_count_24h"`
	TxCount7d      int64   `json:"tx_count_7d"`
	TxCount30d     int64   `json:"tx_count_30d"`
	TxCountAll     int64   `json:"tx_count_all"`
	LastActivityAt *Time   `json:"last_activity_at"` // null if no settlement was observed
	SettlerCount   int     `json:"settler_count"`    // accounts and marks; an account on several networks counts once
	Verification   string  `json:"verification"`     // on-chain, listed
	// beyond the contract: start of the UTC day of the first settlement; null without one
	FirstActivityAt *Time `json:"first_activity_at"`

	// with include=timeseries: SeriesDays points, oldest first, today last
	Timeseries []VolumePoint      `json:"timeseries,omitzero"`
	Chains     []FacilitatorChain `json:"chains,omitzero"` // with include=chains: largest volume first
}

// VolumePoint is one UTC day of a facilitator or of a service.
type VolumePoint struct {
	Date      string  `json:"date"` // YYYY-MM-DD
	VolumeUSD Decimal `json:"volume_usd"`
	TxCount   int64   `json:"tx_count"`
}

// FacilitatorChain is a facilitator's volume and settlements on one network in one token. The volume is null unless the
// token is a US dollar stablecoin, because the price of other tokens is not known.
type FacilitatorChain struct {
	Network          string   `json:"network"` // abbreviation, or the CAIP-2 id if the network has none
	NetworkCAIP2     string   `json:"network_caip2"`
	TokenAddress     string   `json:"token_address"` // as its chain writes it
	TokenAddressNorm string   `json:"token_address_norm"`
	AssetName        string   `json:"asset_name"`
	VolumeUSD24h     *Decimal `json:"volume_usd_24h"`
	VolumeUSD7d      *Decimal `json:"volume_usd_7d"`
	VolumeUSD30d     *Decimal `json:"volume_usd_30d"`
	VolumeUSDAll     *Decimal `json:"volume_usd_all"`
	TxCount24h       int64    `json:"tx_count_24h"`
	TxCount7d        int64    `json:"tx_count_7d"`
	TxCount30d       int64    `json:"tx_count_30d"`
	TxCountAll       int64    `json:"tx_count_all"`
	LastActivityAt   *Time    `json:"last_activity_at"`
	Verification     string   `json:"verification"`
	FirstActivityAt  *Time    `json:"first_activity_at"` // beyond the contract; as in FacilitatorListItem

	Days []VolumePoint `json:"-"` // the last SeriesDays, oldest first
}

// FacilitatorDetail is the data of /v1/facilitators/{facilitator}: the row of the list with all embedded members, its
// accounts, its payers and the services whose payments it settles.
type FacilitatorDetail struct {
	FacilitatorListItem
	Settlers     []FacilitatorSettler `json:"settlers"` // by network, then address
	Buyers       BuyersByChain        `json:"buyers"`
	ServiceCount int                  `json:"service_count"` // listed services whose payments it settled in 30 days
	// the first FacilitatorServices of these services, largest volume first
	Services       []FacilitatorService  `json:"services"`
	FacilitatorURL *string               `json:"facilitator_url"` // base of its API; null if none is known
	Supported      *FacilitatorSupported `json:"supported"`       // null if it was never asked what it settles

	AvgSettlementUSD30d *Decimal       `json:"avg_settlement_usd_30d"` // null without a settlement in dollars
	AvgSettlementUSDAll *Decimal       `json:"avg_settlement_usd_all"`
	Trend7dVsPrev7d     *float64       `json:"trend_7d_vs_prev_7d"` // volume of 7 days by that of the 7 before
	Trend30dVsPrev30d   *float64       `json:"trend_30d_vs_prev_30d"`
	ListedServices      ListedServices `json:"listed_services"`
	Method              string         `json:"method"`
	Caveat              string         `json:"caveat"` // also why values are null
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

// FacilitatorPoint is a UTC day with a settlement: of a facilitator, or of one of its networks.
type FacilitatorPoint struct {
	Date         string  `json:"date"`
	Network      *string `json:"network"` // null for all networks together, as network_caip2
	NetworkCAIP2 *string `json:"network_caip2"`
	VolumeUSD    Decimal `json:"volume_usd"`
	TxCount      int64   `json:"tx_count"`
}

// BuyersByChain counts the payers through a facilitator.
type BuyersByChain struct {
	ByChain            []FacilitatorBuyers `json:"by_chain"` // in the order of chains
	TotalUpperBound30d *int64              `json:"total_upper_bound_30d"`
	Caveat             string              `json:"caveat"`
}

// ListedServices counts the listed services whose payments a facilitator settled. Counts are null if its settlements
// are not measured.
type ListedServices struct {
	ActiveCount30d *int                    `json:"active_count_30d"`
	AllTimeCount   *int                    `json:"all_time_count"`
	Top            []FacilitatorTopService `json:"top"` // the largest volumes of 30 days
	Caveat         string                  `json:"caveat"`
}

// FacilitatorTopService is a listed service with its status.
type FacilitatorTopService struct {
	FacilitatorService
	Status string `json:"status"`
}

// FacilitatorServices is the maximum number of services in a FacilitatorDetail.
const FacilitatorServices = 100

// ConfirmsSettlers reports whether the settlers of a facilitator with this status are known to be its own. Either the
// list's source has accepted them, or they are marks that a protocol's public library writes.
func ConfirmsSettlers(upstreamStatus string) bool {
	return strings.HasPrefix(upstreamStatus, "merged") || upstreamStatus == "protocol"
}

// FacilitatorSettler is an account that sends a facilitator's settlements, or a mark of payments that payers send
// themselves.
type FacilitatorSettler struct {
	Network      string   `json:"network"`
	NetworkCAIP2 string   `json:"network_caip2"`
	Address      string   `json:"address"` // or the mark, such as memo:0xef1ed71201
	Tokens       []string `json:"tokens"`
	Since        *Time    `json:"since"` // settlements before this time are not counted; null if unknown
	Deprecated   bool     `json:"deprecated"`

	// beyond the contract
	Kind       string `json:"kind"`         // account, memo, source_tag
	Enabled    bool   `json:"enabled"`      // the opposite of Deprecated
	LastSeenAt *Time  `json:"last_seen_at"` // its last settlement; null if none is measured
	// list if a list of facilitators names the account, operator if only the operator of the directory accepted it
	Source        string  `json:"source"`
	TokenName     *string `json:"token_name"`     // of the only token; null with several, or if it is not known
	TokenDecimals *int    `json:"token_decimals"` // likewise
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

// FacilitatorBuyers counts the payers through a facilitator on one network in one token. A sum over networks counts a
// payer once for each network. A number is null if there are settlements and none names its payer.
type FacilitatorBuyers struct {
	Network         string `json:"network"`
	NetworkCAIP2    string `json:"network_caip2"`
	TokenAddress    string `json:"token_address"`
	AssetName       string `json:"asset_name"`
	UniqueBuyers7d  *int64 `json:"unique_buyers_7d"`
	UniqueBuyers30d *int64 `json:"unique_buyers_30d"`
	UniqueBuyersAll *int64 `json:"unique_buyers_all"`
}

// FacilitatorService is a listed service's share of a facilitator's last 30 days.
type FacilitatorService struct {
	Slug         string  `json:"slug"`
	Name         string  `json:"name"`
	VolumeUSD30d Decimal `json:"volume_usd_30d"`
	TxCount30d   int64   `json:"tx_count_30d"`
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
