package site

import (
	"cmp"
	"slices"
)

// Spans of a facilitator's volume, in the contract's order. 24h is the last 24 closed UTC hours and the open one; 7d
// and 30d are that many UTC days, today included; all begins when measuring did.
const (
	Timeframe24h = "24h"
	Timeframe7d  = "7d"
	Timeframe30d = "30d"
	TimeframeAll = "all"
)

// Timeframes are those spans, shortest first.
var Timeframes = []string{Timeframe24h, Timeframe7d, Timeframe30d, TimeframeAll}

// SeriesDays is the length of a facilitator's whole series, of which a request may ask for less.
const SeriesDays = 90

// Embeds that a request may include in each row of /v1/facilitators, sorted.
const (
	IncludeChains     = "chains"
	IncludeTimeseries = "timeseries"
)

// Values of Verification.
const (
	VerificationOnChain = "on-chain" // its volume is what its settlers moved on chain
	VerificationListed  = "listed"   // known, and not measured: no settlers, or nobody vouches that they are its own
)

// FacilitatorListItem is a row of /v1/facilitators: who settles payments, ranked by what was seen settled on chain.
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
	LastActivityAt *Time   `json:"last_activity_at"` // null when no settlement was ever seen
	SettlerCount   int     `json:"settler_count"`    // accounts; one that settles on several networks is one
	Verification   string  `json:"verification"`     // on-chain, listed

	// by include: SeriesDays points, oldest first, today last
	Timeseries []VolumePoint      `json:"timeseries,omitzero"`
	Chains     []FacilitatorChain `json:"chains,omitzero"` // by include: largest volume first
}

// VolumePoint is a UTC day of a facilitator, or of a service.
type VolumePoint struct {
	Date      string  `json:"date"` // YYYY-MM-DD
	VolumeUSD Decimal `json:"volume_usd"`
	TxCount   int64   `json:"tx_count"`
}

// FacilitatorChain is a facilitator's part on one network in one token. The volume of a token that is not worth a
// dollar by its own terms is null: nothing here knows its price.
type FacilitatorChain struct {
	Network          string   `json:"network"` // abbreviation, the CAIP-2 id for networks without one
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
}

// FacilitatorDetail is the data of /v1/facilitators/{facilitator}: the row of the list with every embed, and who is
// behind it and before it.
type FacilitatorDetail struct {
	FacilitatorListItem
	Settlers     []FacilitatorSettler `json:"settlers"`      // by network, then address
	Buyers       []FacilitatorBuyers  `json:"buyers"`        // in the order of chains
	ServiceCount int                  `json:"service_count"` // listed services whose payments it settled in 30 days
	// the first FacilitatorServices of them, largest volume first
	Services []FacilitatorService `json:"services"`
}

// FacilitatorServices is how many services a facilitator's detail names.
const FacilitatorServices = 100

// FacilitatorSettler is an account that a facilitator sends settlements from.
type FacilitatorSettler struct {
	Network      string   `json:"network"`
	NetworkCAIP2 string   `json:"network_caip2"`
	Address      string   `json:"address"`
	Tokens       []string `json:"tokens"`
	Since        *Time    `json:"since"` // what it sent before is not looked at; null when nobody knows
	Deprecated   bool     `json:"deprecated"`
}

// FacilitatorBuyers counts who paid through a facilitator on one network in one token. Their sum over networks counts
// who pays on several more than once.
type FacilitatorBuyers struct {
	Network         string `json:"network"`
	NetworkCAIP2    string `json:"network_caip2"`
	TokenAddress    string `json:"token_address"`
	AssetName       string `json:"asset_name"`
	UniqueBuyers7d  int64  `json:"unique_buyers_7d"`
	UniqueBuyers30d int64  `json:"unique_buyers_30d"`
	UniqueBuyersAll int64  `json:"unique_buyers_all"`
}

// FacilitatorService is a listed service's part in a facilitator's 30 days.
type FacilitatorService struct {
	Slug         string  `json:"slug"`
	Name         string  `json:"name"`
	VolumeUSD30d Decimal `json:"volume_usd_30d"`
	TxCount30d   int64   `json:"tx_count_30d"`
}

// Volume is the facilitator's volume in USD over a timeframe.
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

// SortFacilitators puts the largest volume of a timeframe first; equal ones stand by id.
func SortFacilitators(list []*FacilitatorListItem, timeframe string) {
	slices.SortFunc(list, func(a, b *FacilitatorListItem) int {
		return cmp.Or(b.Volume(timeframe).Compare(a.Volume(timeframe)), cmp.Compare(a.FacilitatorID, b.FacilitatorID))
	})
}
