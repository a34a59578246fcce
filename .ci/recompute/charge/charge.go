// Package charge recomputes what calls cost whose price is a maximum. It reads a snapshot alone.
package charge

import (
	"math/big"
	"slices"
	"time"

	"tollbook/.ci/recompute/conformance"
	"tollbook/.ci/recompute/snapshot"
)

// The window in days, and the settlements that a median and a p95 need.
const (
	days     = 30
	minCalls = 20
)

// Of returns what calls cost at a price of an endpoint over x402 that is a maximum. detail is the service's. On which
// day the window begins is read from the price, unless that cannot be: former prices are not in the snapshot.
func Of(snap *snapshot.Snapshot, detail, endpoint, price snapshot.Node) map[string]any {
	if price.Get("scheme").Text() == "batch-settlement" {
		return Unknown("one settlement pays for several calls")
	}
	account, slug := accountOf(price), detail.Get("slug").Text()
	list := snap.JSON("v1/services/"+slug+"/settlements.json").At("data", "recipients").Items()
	at := slices.IndexFunc(list, func(r snapshot.Node) bool {
		return !r.Get("until").HasValue() && r.Get("network_caip2").Text() == account[0] &&
			r.Get("pay_to").Text() == account[1]
	})
	switch {
	case at < 0 || !price.Get("price_usd").HasValue():
		return Unknown("settlements to this recipient are not measured")
	case namesOther(detail, endpoint, price):
		return Unknown("another price names the same recipient")
	}
	since := snapshot.Midnight(snap.Now).Add((1 - days) * snapshot.Day).Format(time.DateOnly)
	since = max(since, list[at].Get("rows_from").Text())
	shares := list[at].Get("shares").Items()
	if shares[len(shares)-1].Get("service_count").Int() > 1 || list[at].Get("rows_in").Text() != slug {
		return Unknown("another service names the same recipient, or did")
	}
	for _, share := range shares[:len(shares)-1] {
		if until, err := time.Parse(time.DateOnly, share.Get("until").Text()); err == nil {
			since = max(since, until.Add(snapshot.Day).Format(time.DateOnly))
		}
	}
	said := price.At("settled", "since").Text()
	if _, err := time.Parse(time.DateOnly, said); err == nil {
		since = max(since, said)
	}
	return figures(list[at], account[2], price.Get("price").Number(), since)
}

// accountOf returns the network, recipient and asset of a price in normal form.
func accountOf(price snapshot.Node) [3]string {
	network := price.Get("network_caip2").Text()
	return [3]string{network, conformance.NormalAddress(network, price.Get("pay_to").Text()),
		price.Get("asset_address_norm").Text()}
}

// namesOther reports whether an active endpoint of the service asks another price at the same account, over any
// protocol.
func namesOther(detail, endpoint, price snapshot.Node) bool {
	for _, e := range detail.Get("endpoints").Items() {
		for _, p := range e.Get("pricing").Items() {
			isSame := p.Get("protocol").Text() == "x402" && e.Get("id").Text() == endpoint.Get("id").Text() &&
				p.Get("scheme").Text() == price.Get("scheme").Text() &&
				p.Get("price").Text() == price.Get("price").Text()
			if !isSame && accountOf(p) == accountOf(price) {
				return true
			}
		}
	}
	return false
}

// figures returns what the settlements to a recipient since a day say.
func figures(recipient snapshot.Node, asset string, maximum *big.Rat, since string) map[string]any {
	var paid []*big.Rat // in atomic units
	unit := big.NewRat(1, 1)
	for _, token := range recipient.Get("tokens").Items() {
		if token.Get("token_address_norm").Text() != asset {
			continue
		}
		ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(token.Get("decimals").Int())), nil)
		unit = new(big.Rat).SetInt(ten)
		for _, row := range token.Get("amounts").Items() {
			for range row.Get("tx_count").Int() {
				if row.Get("date").Text() >= since {
					paid = append(paid, row.Get("amount").Number())
				}
			}
		}
	}
	slices.SortFunc(paid, (*big.Rat).Cmp)
	n := len(paid)
	if n > 0 && maximum != nil && paid[n-1].Cmp(maximum) > 0 {
		return Unknown("the recipient receives more than the maximum, so other things are paid there")
	}
	out := Unknown("fewer than 20 settlements")
	out["calls"], out["since"] = n, since
	if n >= minCalls {
		dollars := func(percent int) string {
			return snapshot.DecimalText(new(big.Rat).Quo(paid[(n*percent+99)/100-1], unit))
		}
		out["median_usd"], out["p95_usd"], out["reason"] = dollars(50), dollars(95), nil
	}
	return out
}

// Unknown returns why it is not known what calls cost.
func Unknown(reason string) map[string]any {
	return map[string]any{"median_usd": nil, "p95_usd": nil, "calls": nil, "window_days": days, "since": nil,
		"reason": reason}
}
