package main

import (
	"maps"
	"math/big"
	"slices"
)

// settled contains the settlements to one recipient that count for a service.
type settled struct {
	shares []node
	until  string // last day that counts, "" without an end
	tokens []node
	first  node // time of the first settlement
}

// settledDay is what one facilitator settled to a recipient on one day.
type settledDay struct {
	facilitator, date string
	count             int
	dollars           *big.Rat
	last              node
}

// settlementsOf returns the settlements to each recipient of a service. The rows of a shared recipient are in the file
// of one of its services.
func settlementsOf(d *directory, s *service) []settled {
	var list []settled
	for _, r := range d.snap.json(s.file("settlements.json")).at("data", "recipients").items() {
		out := settled{shares: r.get("shares").items(), until: r.get("until").text()}
		owner := "v1/services/" + r.get("rows_in").text() + "/settlements.json"
		for _, other := range d.snap.json(owner).at("data", "recipients").items() {
			if other.get("network_caip2").text() == r.get("network_caip2").text() &&
				other.get("pay_to").text() == r.get("pay_to").text() {
				out.tokens, out.first = other.get("tokens").items(), other.get("first_settlement_at")
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
		for _, n := range token.get("days").items() {
			if date := n.get("date").text(); r.counts(date) {
				list = append(list, settledDay{token.get("facilitator_id").text(), date, n.get("tx_count").int(),
					tokenDollars(token, n), n.get("last_at")})
			}
		}
	}
	return list
}

// tokenDollars returns the amount of a row in dollars.
func tokenDollars(token, row node) *big.Rat {
	amount := row.get("amount").number()
	if amount == nil {
		return new(big.Rat)
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(token.get("decimals").int())), nil)
	return new(big.Rat).Quo(amount, new(big.Rat).SetInt(unit))
}

// divided returns the service's part of the volume of some days: for each period of the shares, the sum of its days is
// divided among its services.
func (r *settled) divided(days []settledDay) *big.Rat {
	total, from := new(big.Rat), ""
	for _, share := range r.shares {
		until := share.get("until").text()
		sum := new(big.Rat)
		for _, day := range days {
			if day.date > from && (until == "" || day.date <= until) {
				sum.Add(sum, day.dollars)
			}
		}
		total.Add(total, part(sum, share.get("service_count").int(), share.get("place").int()))
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
		for _, n := range token.get("payers").items() {
			id, date := n.get("payer").text(), n.get("date").text()
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
		for _, n := range token.get("amounts").items() {
			if date := n.get("date").text(); r.counts(date) && date >= from {
				for range n.get("tx_count").int() {
					list = append(list, tokenDollars(token, n))
				}
			}
		}
	}
	return list
}
