package aggregate

import (
	"cmp"
	"math/big"

	"tollbook/.ci/recompute/snapshot"
)

// pick is a service that may be paid, with its cheapest payable endpoint.
type pick struct {
	row            snapshot.Node
	price, network string // "" if not known
	buyers         int
}

// picks are the picks of a category.
type picks struct{ cheapest, mostUsed *pick }

// value returns what is published of a pick.
func (p *pick) value() any {
	if p == nil {
		return nil
	}
	return map[string]any{"slug": p.row.Get("slug").Text(), "name": p.row.Get("name").Text(),
		"price_usd": orNull(p.price), "network": p.network,
		"unique_buyers_30d": p.row.At("assessment", "traction", "unique_buyers_30d").Value}
}

func orNull(decimal string) any {
	if decimal == "" {
		return nil
	}
	r, _ := new(big.Rat).SetString(decimal)
	return r
}

// picksOf returns the cheapest and the most used service of each category, of those whose advice is good and that have
// an endpoint that can be paid.
func picksOf(snap *snapshot.Snapshot) map[string]picks {
	out := map[string]picks{}
	for _, name := range snap.Files("v1/rows/", ".json") {
		for _, row := range snap.JSON(name).Get("data").Items() {
			p := newPick(row, snap)
			if p == nil {
				continue
			}
			category := row.Get("category").Text()
			of := out[category]
			if p.price != "" && (of.cheapest == nil || cmp.Or(comparePrices(p, of.cheapest),
				of.cheapest.buyers-p.buyers, compareSlugs(p, of.cheapest)) < 0) {
				of.cheapest = p
			}
			if p.buyers > 0 && (of.mostUsed == nil || cmp.Or(of.mostUsed.buyers-p.buyers,
				comparePrices(p, of.mostUsed), compareSlugs(p, of.mostUsed)) < 0) {
				of.mostUsed = p
			}
			out[category] = of
		}
	}
	return out
}

// newPick returns a service that may be picked, else nil.
func newPick(row snapshot.Node, snap *snapshot.Snapshot) *pick {
	a := row.Get("assessment")
	success := a.Get("last_success_at")
	status := row.Get("status").Text()
	if row.Get("advice_level").Text() != "good" || row.Get("risk_level").Text() == "danger" || status == "offline" ||
		status == "unknown" || !success.HasValue() || snap.Now.Sub(success.Time()) >= 7*snapshot.Day ||
		!a.Get("payment_ready").Bool() {
		return nil
	}
	var lowest *pick
	for _, e := range row.Get("endpoints").Items() {
		if e.Get("testnet").Bool() || !e.Get("payable").Bool() {
			continue
		}
		p := &pick{row: row, buyers: a.At("traction", "unique_buyers_30d").Int()}
		p.price, p.network = lowestPrice(e)
		if lowest == nil || comparePrices(p, lowest) < 0 {
			lowest = p
		}
	}
	return lowest
}

// lowestPrice returns the lowest price of an endpoint and its network; without a price, its first network.
func lowestPrice(e snapshot.Node) (price, network string) {
	networks := e.Get("networks").Texts()
	prices := map[string]string{}
	for _, n := range e.Get("prices_usd").Keys() {
		prices[n] = e.At("prices_usd", n).Text()
	}
	if !e.Get("prices_usd").HasValue() && e.Get("price_usd").HasValue() {
		for _, n := range networks {
			prices[n] = e.Get("price_usd").Text()
		}
	}
	for n, p := range prices {
		a, b := &pick{price: p}, &pick{price: price}
		if c := comparePrices(a, b); price == "" || c < 0 || c == 0 && n < network {
			price, network = p, n
		}
	}
	if price == "" && len(networks) > 0 {
		network = networks[0]
	}
	return price, network
}

// comparePrices orders unknown prices last.
func comparePrices(a, b *pick) int {
	switch {
	case a.price == b.price:
		return 0
	case a.price == "":
		return 1
	case b.price == "":
		return -1
	}
	x, _ := new(big.Rat).SetString(a.price)
	y, _ := new(big.Rat).SetString(b.price)
	return x.Cmp(y)
}

func compareSlugs(a, b *pick) int {
	return cmp.Compare(a.row.Get("slug").Text(), b.row.Get("slug").Text())
}
