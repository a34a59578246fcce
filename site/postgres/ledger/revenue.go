package ledger

import (
	"cmp"
	"slices"
	"time"

	"tollbook/site"
)

// Recipient is an address that a service asked to be paid to.
type Recipient struct {
	ServiceID        int64
	Operator         int    // of the service; its services have one number
	Category         string // of the service; "" counts for none
	Network, Address string
	Since            time.Time  // first UTC day on which its revenue is the service's; zero for all earlier days
	Until            *time.Time // last UTC day on which its revenue is the service's; nil while the service asks for it
}

// CountedToken is a token of a facilitator whose settlements count, with the value of one atomic unit in USD.
type CountedToken struct {
	Facilitator, Network, Token string
	Unit                        string // an exact decimal, "0.000001"
}

// Revenue is what the counted tokens settled to recipients. Windows are UTC days including today; amounts are exact
// decimals.
type Revenue struct {
	Payees   []PayeeFacts    // recipients with a settlement, by network and address
	Services []ServiceBuyers // by id, those with a settlement in the last 90 days
	// By category, those with a settlement in 30 days that names a payer who is neither a relative nor a scout; first of
	// all services, with the category "".
	Categories []CategoryBuyers
	Quality    SettlementQuality
}

// PayeeFacts is what one address received, from the first day on which it was a service's.
type PayeeFacts struct {
	Network, Address string
	// the last 90 days, oldest first, then by facilitator; all days if the services that it is of change before the
	// window
	Days   []RevenueDay
	Before RevenueSum // sum of all days before Days; the same services own all of them

	past []pastDays
}

// RevenueSum is the revenue of several days.
type RevenueSum struct {
	Settlements     int64
	USD             string
	FirstAt, LastAt time.Time // zero without settlements
}

// RevenueDay is the revenue through one facilitator on a UTC day.
type RevenueDay struct {
	Day         time.Time
	Facilitator string
	Settlements int64
	USD         string
	FirstAt     time.Time
	LastAt      time.Time
}

// Past returns the days before Days, oldest first, then by facilitator.
func (p *PayeeFacts) Past() ([]RevenueDay, error) {
	var days []daySum
	for _, past := range p.past {
		days = addDays(days, past.facilitator, past.unit, past.days)
	}
	return mergeDays(days), nil
}

// pastDays is what a payee received before the window in one token.
type pastDays struct {
	facilitator string
	unit        money
	days        []payeeDay
}

// daySum is what came through one facilitator on a day, in one or several tokens.
type daySum struct {
	day         int32
	facilitator string
	n           int64
	value       money
	first, last int64
}

func addDays(to []daySum, facilitator string, unit money, days []payeeDay) []daySum {
	to = slices.Grow(to, len(days))
	for _, d := range days {
		to = append(to, daySum{d.day, facilitator, d.n, unit.times(d.amount), d.first, d.last})
	}
	return to
}

// mergeDays sorts days, and adds up the tokens of one facilitator on one day.
func mergeDays(days []daySum) []RevenueDay {
	compare := func(a, b daySum) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.facilitator, b.facilitator))
	}
	if !slices.IsSortedFunc(days, compare) {
		slices.SortFunc(days, compare)
	}
	merged := days[:0]
	for _, d := range days {
		n := len(merged) - 1
		if n < 0 || compare(merged[n], d) != 0 {
			merged = append(merged, d)
			continue
		}
		merged[n].n += d.n
		merged[n].value = merged[n].value.plus(d.value)
		merged[n].first, merged[n].last = min(merged[n].first, d.first), max(merged[n].last, d.last)
	}
	out := make([]RevenueDay, len(merged))
	for i, d := range merged {
		out[i] = RevenueDay{dayTime(d.day), d.facilitator, d.n, d.value.String(), microTime(d.first), microTime(d.last)}
	}
	return out
}

// ServiceBuyers describes who paid a service, over all its recipients and networks. A buyer is an address on any
// network.
type ServiceBuyers struct {
	ServiceID int64
	Buyers30d int64
	// Buyers, settlements and dollars of 30 days by relatives: recipients of the service's operator. And those by scouts
	// that are no relatives.
	Self, Scouts BuyerSum
	Returning30d int64                // other buyers that paid on at least two UTC days of 30
	All          []site.NumberedBuyer // of 30 days, by number
	TopUSD       []string             // what the three largest buyers paid in 30 days, largest first
	TopBuyers    []BuyerFacts         // of 30 days, at most 100, by USD, then address
	BuyerDays    []BuyerDay           // the last 90 days, oldest first, those with a buyer
	Amounts      []AmountCount        // of 30 days, ascending
}

// CategoryBuyers counts who paid the services of a category, "" for all services, in 30 days. An account counts once, and not for what it paid
// as a relative or a scout.
type CategoryBuyers struct {
	Category             string
	Buyers, Returning30d int64 // all, and those that paid on at least two UTC days
}

// BuyerSum is what some buyers paid in 30 days.
type BuyerSum struct {
	Buyers, Settlements int64
	USD                 string // "" for a service that nobody paid in 30 days
}

// BuyerFacts is one buyer of a service over 30 days.
type BuyerFacts struct {
	Address           string
	Networks          []string // sorted
	Settlements30d    int64
	USD30d            string
	FirstDay, LastDay time.Time // of these 30
}

// BuyerDay counts distinct buyers of a UTC day.
type BuyerDay struct {
	Day    time.Time
	Buyers int64
}

// AmountCount is how many settlements were of an amount.
type AmountCount struct {
	USD         string
	Settlements int64
}

// SettlementQuality says how much of the counted settlements of 30 days may be no trade. Self settlements have equal
// payer and payee. Single-payer settlements belong to a payee with at least 50 settlements of which one payer paid 90 %
// or more.
type SettlementQuality struct {
	USD30d, SelfUSD30d, SinglePayerUSD30d                         string
	Settlements30d, SelfSettlements30d, SinglePayerSettlements30d int64
}
