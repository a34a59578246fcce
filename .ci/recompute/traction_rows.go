package main

import (
	"maps"
	"math/big"
	"slices"

	"tollbook/.ci/recompute/snapshot"
)

// settled contains the settlements to one recipient that count for a service.
type settled struct {
	shares []snapshot.Node
	until  string // last day that counts, "" without an end
	tokens []snapshot.Node
	first  snapshot.Node // time of the first settlement
}

// settledDay is what one facilitator settled to a recipient on one day.
type settledDay struct {
	facilitator, date string
	count             int
	dollars           *big.Rat
	last              snapshot.Node
}

// settlementsOf returns the settlements to each recipient of a service. The rows of a shared recipient are in the file
// of one of its services.
func settlementsOf(d *directory, s *service) []settled {
	var list []settled
	for _, r := range d.snap.JSON(s.file("settlements.json")).At("data", "recipients").Items() {
		out := settled{shares: r.Get("shares").Items(), until: r.Get("until").Text()}
		owner := "v1/services/" + r.Get("rows_in").Text() + "/settlements.json"
		for _, other := range d.snap.JSON(owner).At("data", "recipients").Items() {
			if other.Get("network_caip2").Text() == r.Get("network_caip2").Text() &&
				other.Get("pay_to").Text() == r.Get("pay_to").Text() {
				out.tokens, out.first = other.Get("tokens").Items(), other.Get("first_settlement_at")
			}
		}
		list = append(list, out)
	}
	return list
}

// counts reports whether the settlements of a day belong to the service.
func (r *settled) counts(date string) bool { return r.until == "" || date <= r.until }

// days returns the sums of all days that count.
func (r *settled) days() []settledDay {
	var list []settledDay
	for _, token := range r.tokens {
		for _, n := range token.Get("days").Items() {
			if date := n.Get("date").Text(); r.counts(date) {
				list = append(list, settledDay{token.Get("facilitator_id").Text(), date, n.Get("tx_count").Int(),
					tokenDollars(token, n), n.Get("last_at")})
			}
		}
	}
	return list
}

// tokenDollars returns the amount of a row in dollars.
func tokenDollars(token, row snapshot.Node) *big.Rat {
	amount := row.Get("amount").Number()
	if amount == nil {
		return new(big.Rat)
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(token.Get("decimals").Int())), nil)
	return new(big.Rat).Quo(amount, new(big.Rat).SetInt(unit))
}

// divided returns the service's part of the volume of some days: for each period of the shares, the sum of its days is
// divided among its services.
func (r *settled) divided(days []settledDay) *big.Rat {
	total, from := new(big.Rat), ""
	for _, share := range r.shares {
		until := share.Get("until").Text()
		sum := new(big.Rat)
		for _, day := range days {
			if day.date > from && (until == "" || day.date <= until) {
				sum.Add(sum, day.dollars)
			}
		}
		total.Add(total, part(sum, share.Get("service_count").Int(), share.Get("place").Int()))
		from = until
	}
	return total
}

// micro is a millionth of a dollar.
var micro = big.NewRat(1, 1_000_000)

// part returns the part of a sum for the service at a place among n: whole micro-dollars, of which the first services
// get the remainder, one each. The next one gets what is less than a micro-dollar.
func part(sum *big.Rat, n, place int) *big.Rat {
	if n < 1 {
		return new(big.Rat)
	}
	micros := new(big.Rat).Quo(sum, micro)
	whole := new(big.Int).Quo(micros.Num(), micros.Denom())
	each, remainder := new(big.Int).QuoRem(whole, big.NewInt(int64(n)), new(big.Int))
	out := new(big.Rat).SetInt(each)
	switch rest := int(remainder.Int64()); {
	case place < rest:
		out.Add(out, big.NewRat(1, 1))
	case place == rest:
		out.Add(out, micros.Sub(micros, new(big.Rat).SetInt(whole)))
	}
	return out.Mul(out, micro)
}

// within returns the days from a date on.
func within(days []settledDay, from string) []settledDay {
	return slices.DeleteFunc(slices.Clone(days), func(d settledDay) bool { return d.date < from })
}

// byFacilitator returns the service's part of the days' volume for each facilitator: running sums are divided, in the
// order of the ids, so that the parts add up.
func (r *settled) byFacilitator(days []settledDay) map[string]*big.Rat {
	ids := map[string]bool{}
	for _, day := range days {
		ids[day.facilitator] = true
	}
	parts, before := map[string]*big.Rat{}, new(big.Rat)
	var running []settledDay
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		for _, day := range days {
			if day.facilitator == id {
				running = append(running, day)
			}
		}
		sum := r.divided(running)
		parts[id] = new(big.Rat).Sub(sum, before)
		before = sum
	}
	return parts
}

// byDay returns the service's part of each day's volume, from running sums in the same way.
func (r *settled) byDay(days []settledDay) map[string]*big.Rat {
	dates := map[string]bool{}
	for _, day := range days {
		dates[day.date] = true
	}
	parts, before := map[string]*big.Rat{}, new(big.Rat)
	var running []settledDay
	for _, date := range slices.Sorted(maps.Keys(dates)) {
		for _, day := range days {
			if day.date == date {
				running = append(running, day)
			}
		}
		sum := r.divided(running)
		parts[date] = new(big.Rat).Sub(sum, before)
		before = sum
	}
	return parts
}

// payer is what one account paid in 30 days.
type payer struct{ id, date string }

// payers returns the undivided volume of each payer from a date on.
func (r *settled) payers(from string, volume map[string]*big.Rat, dates map[payer]bool) {
	for _, token := range r.tokens {
		for _, n := range token.Get("payers").Items() {
			id, date := n.Get("payer").Text(), n.Get("date").Text()
			if !r.counts(date) {
				continue
			}
			dates[payer{id, date}] = true
			if date >= from {
				if volume[id] == nil {
					volume[id] = new(big.Rat)
				}
				volume[id].Add(volume[id], tokenDollars(token, n))
			}
		}
	}
}

// amounts returns the amount of each settlement from a date on.
func (r *settled) amounts(from string) (list []*big.Rat) {
	for _, token := range r.tokens {
		for _, n := range token.Get("amounts").Items() {
			if date := n.Get("date").Text(); r.counts(date) && date >= from {
				for range n.Get("tx_count").Int() {
					list = append(list, tokenDollars(token, n))
				}
			}
		}
	}
	return list
}
