// This file judges what calls of endpoints cost whose price is a maximum: the scheme upto settles the amount used.
//
// Its judgments are functions of facts, of the settlements that a service publishes, and of the time of the build. It
// must never know how revenue is divided, nor judge a price itself.

package judge

import (
	"cmp"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/x402"
)

const (
	Days     = site.SettledAmountDays // UTC days of the window, including today
	minCalls = 20                     // settlements that a median and a p95 need
)

// The reasons why a median is not known, in the order in which they are looked for.
const (
	overOther    = "payments for such a price are not measured"
	severalCalls = "one settlement pays for several calls"
	notMeasured  = "settlements to this recipient are not measured"
	otherPrice   = "another price names the same recipient"
	otherService = "another service names the same recipient, or did"
	aboveMaximum = "the recipient receives more than the maximum, so other things are paid there"
)

// tooFew says that there are less than MinCalls settlements.
var tooFew = fmt.Sprintf("fewer than %d settlements", minCalls)

// addCharges adds to each price of active endpoints that is a maximum what its calls cost. s has the settlements of the
// service, whose facts must be complete.
func addCharges(endpoints []site.Endpoint, f *postgres.ServiceFacts, s *site.Settlements, now time.Time) {
	facts := make(map[string]*postgres.EndpointFacts, len(f.Endpoints))
	for i := range f.Endpoints {
		facts[f.Endpoints[i].ID.String()] = &f.Endpoints[i]
	}
	j := judge{facts: f, settlements: s, now: now}
	for i := range endpoints {
		e := &endpoints[i]
		of := facts[e.ID]
		if of == nil || !e.VariableAmount {
			continue
		}
		over402 := e.X402Pricing()
		current := currentPrices(of)
		for k := range e.Pricing {
			switch p := &e.Pricing[k]; {
			case k >= len(over402):
				if slices.ContainsFunc(of.Offers, func(o checks.Offer) bool {
					return o.Variable && o.Protocol == p.Protocol && o.Scheme == p.Scheme
				}) {
					p.Settled = unknown(overOther)
				}
			case k < len(current) && requirement(current[k]).Variable():
				p.Settled = j.judge(of, current[k], p.PriceUSD != nil)
			}
		}
	}
}

// currentPrices returns the prices of an endpoint without an end, in their order.
func currentPrices(e *postgres.EndpointFacts) (list []*checks.Price) {
	for i := range e.Prices {
		if p := &e.Prices[i]; p.Until == nil {
			list = append(list, p)
		}
	}
	return list
}

func requirement(p *checks.Price) x402.Requirement {
	r := x402.Requirement{Scheme: p.Scheme}
	if p.NetworkCAIP2 != nil {
		r.NetworkCAIP2 = *p.NetworkCAIP2
	}
	return r
}

// account is where a price is paid, in normal form.
type account struct{ network, payTo, asset string }

func chargedAccount(p *checks.Price) account {
	if p.NetworkCAIP2 == nil {
		return account{}
	}
	return newAccount(*p.NetworkCAIP2, p.PayTo, p.Asset)
}

func newAccount(network, payTo, asset string) account {
	return account{network, x402.NormalizeAddress(network, payTo), x402.NormalizeAddress(network, asset)}
}

// judge judges the prices of one service.
type judge struct {
	facts       *postgres.ServiceFacts
	settlements *site.Settlements
	now         time.Time
}

// judge returns what calls at a current price of an endpoint cost. hasValue says that its asset is worth dollars.
func (j *judge) judge(e *postgres.EndpointFacts, p *checks.Price, hasValue bool) *site.SettledPrice {
	if p.Scheme == "batch-settlement" {
		return unknown(severalCalls)
	}
	to := chargedAccount(p)
	at := slices.IndexFunc(j.settlements.Recipients, func(r site.SettledRecipient) bool {
		return r.Until == nil && r.NetworkCAIP2 == to.network && r.PayTo == to.payTo
	})
	if at < 0 || !hasValue {
		return unknown(notMeasured)
	}
	since, shared := j.aloneSince(e, p)
	if shared {
		return unknown(otherPrice)
	}
	r := &j.settlements.Recipients[at]
	if r.RowsIn != j.settlements.Slug {
		return unknown(otherService)
	}
	for _, share := range r.Shares {
		if share.ServiceCount > 1 && share.Until == nil {
			return unknown(otherService)
		}
		if share.Until != nil {
			since = max(since, nextDay(*share.Until))
		}
	}
	if r.RowsFrom != nil {
		since = max(since, *r.RowsFrom)
	}
	return newSettled(countCharges(r, to.asset, since), p.Amount, since)
}

// aloneSince returns the first UTC day on which settlements to the account of a current price can only have paid for
// that price of its endpoint. It reports whether another price or offer of the service names the account now. Each of
// them counts until the end of the day after it was last seen, as its recipient does in the revenue of a service.
func (j *judge) aloneSince(e *postgres.EndpointFacts, p *checks.Price) (since string, shared bool) {
	to := chargedAccount(p)
	since = max(date(chargedDay(j.now).AddDate(0, 0, 1-Days)), date(chargedDay(p.Since).AddDate(0, 0, 1)))
	for i := range j.facts.Endpoints {
		of := &j.facts.Endpoints[i]
		for until := range others(of, to, e, p) {
			switch {
			case until != nil:
			case of.IsActive(j.now):
				return "", true
			default:
				until = cmp.Or(of.LastPaidAt, &of.FirstSeenAt)
			}
			since = max(since, date(chargedDay(*until).AddDate(0, 0, 2)))
		}
	}
	return since, false
}

// others yields the ends of an endpoint's prices and offers that name an account, but for price p of endpoint e. nil
// stands for a current one.
func others(of *postgres.EndpointFacts, to account, e *postgres.EndpointFacts, p *checks.Price) iter.Seq[*time.Time] {
	return func(yield func(*time.Time) bool) {
		for i := range of.Prices {
			other := &of.Prices[i]
			isSame := of == e && other.Scheme == p.Scheme && other.Amount == p.Amount
			if !isSame && chargedAccount(other) == to && !yield(other.Until) {
				return
			}
		}
		for i := range of.Offers {
			o := &of.Offers[i]
			if newAccount(o.NetworkCAIP2, o.PayTo, o.Asset) == to && !yield(nil) {
				return
			}
		}
		for i := range of.FormerRecipients {
			o := &of.FormerRecipients[i]
			if newAccount(o.NetworkCAIP2, o.PayTo, o.Asset) == to && !yield(&o.Until) {
				return
			}
		}
	}
}

// amounts counts settlements by amount in atomic units.
type amounts struct {
	counts   map[site.Decimal]int64
	total    int64
	decimals int
}

func countCharges(r *site.SettledRecipient, asset, since string) amounts {
	a := amounts{counts: map[site.Decimal]int64{}}
	for i := range r.Tokens {
		t := &r.Tokens[i]
		if t.TokenAddressNorm != asset {
			continue
		}
		a.decimals = t.Decimals
		for _, row := range t.Amounts {
			if amount, err := site.ParseDecimal(row.Amount); err == nil && row.Date >= since {
				a.counts[amount] += row.TxCount
				a.total += row.TxCount
			}
		}
	}
	return a
}

// newSettled returns the figures of settlements since a UTC day, if none is above the maximum in atomic units.
func newSettled(a amounts, maximum, since string) *site.SettledPrice {
	sorted := make([]site.Decimal, 0, len(a.counts))
	for amount := range a.counts {
		sorted = append(sorted, amount)
	}
	slices.SortFunc(sorted, site.Decimal.Compare)
	if n := len(sorted); n > 0 && sorted[n-1].Compare(site.Decimal(maximum)) > 0 {
		return unknown(aboveMaximum)
	}
	out := &site.SettledPrice{Calls: &a.total, WindowDays: Days, Since: &since}
	if a.total < minCalls {
		out.Reason = &tooFew
		return out
	}
	out.MedianUSD, out.P95USD = a.quantile(sorted, 50), a.quantile(sorted, 95)
	return out
}

// quantile returns the least amount, in dollars, that so many per cent of the settlements do not exceed.
func (a *amounts) quantile(sorted []site.Decimal, percent int64) *string {
	rank := (percent*a.total + 99) / 100
	for _, amount := range sorted {
		if rank -= a.counts[amount]; rank <= 0 {
			return new(dollars(amount, a.decimals))
		}
	}
	return nil // impossible: the counts add up to the total
}

// dollars returns an amount in atomic units of a token that is worth a dollar.
func dollars(amount site.Decimal, decimals int) string {
	r, ok := new(big.Rat).SetString(string(amount))
	if !ok {
		return ""
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	d, err := site.ParseDecimal(r.Quo(r, new(big.Rat).SetInt(unit)).FloatString(decimals))
	if err != nil {
		return "" // impossible: the quotient is not negative
	}
	return string(d)
}

// unknown returns why it is not known what calls cost.
func unknown(reason string) *site.SettledPrice {
	return &site.SettledPrice{WindowDays: Days, Reason: &reason}
}

func chargedDay(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

func date(day time.Time) string { return day.Format(time.DateOnly) }

// nextDay returns the day after a date, the date itself if it is no date.
func nextDay(text string) string {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return text
	}
	return date(day.AddDate(0, 0, 1))
}
