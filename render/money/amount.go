// This part of the package words prices that services state in atomic units of an asset.
//
// It must never know a page.

package money

import (
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// Units contains the decimals of assets, by network and name. They are derived from prices that are known both in
// atomic units and in dollars. The amount of any other asset is shown in atomic units.
type Units map[[2]string]int

// UnitsOf derives the decimals of assets from the current prices of a service.
func UnitsOf(d *site.ServiceDetail) Units {
	u := Units{}
	for i := range d.Endpoints {
		for _, p := range d.Endpoints[i].Pricing {
			id := p.Network
			if p.NetworkCAIP2 != nil {
				id = *p.NetworkCAIP2
			}
			if decimals, ok := decimalsOf(p); ok {
				u[[2]string{id, p.AssetName}] = decimals
			}
		}
	}
	return u
}

// maxDecimals bounds the search for an asset's decimals; no token has more.
const maxDecimals = 36

// decimalsOf returns n so that the atomic price is the dollar price times 10^n. A price of an asset that is not worth
// a dollar has no such n.
func decimalsOf(p site.PricingEntry) (int, bool) {
	if p.PriceUSD == nil {
		return 0, false
	}
	usd, err := site.ParseDecimal(*p.PriceUSD)
	whole, frac, _ := strings.Cut(string(usd), ".")
	digits := strings.TrimLeft(whole+frac, "0")
	amount, ok := ParseAmount(p.Price)
	if err != nil || digits == "" || !ok {
		return 0, false
	}
	zeros, ok2 := strings.CutPrefix(string(amount), digits)
	decimals := len(zeros) + len(frac)
	if !ok2 || strings.Trim(zeros, "0") != "" || decimals > maxDecimals {
		return 0, false
	}
	return decimals, true
}

// Price words an atomic amount: in dollars if the asset's decimals are known. title is the exact amount, "" if text
// is exact.
func (u Units) Price(network, asset, amount string) (text, title string) {
	n, ok := ParseAmount(amount)
	if !ok {
		return display.Line(amount, display.MaxCode), ""
	}
	title = Atomic(n) + " of " + display.Asset(asset)
	decimals, ok := u[[2]string{network, asset}]
	if !ok {
		return title, ""
	}
	return display.Dollars(divide(n, decimals)), title
}

// Settled words what calls cost whose price is a maximum. It is "" for other prices.
func Settled(s *site.SettledPrice) string {
	switch {
	case s == nil:
		return ""
	case s.MedianUSD == nil || s.P95USD == nil:
		if s.Reason == nil {
			return ""
		}
		return "what calls cost is not known: " + *s.Reason
	}
	return "half of the calls cost " + dollars(*s.MedianUSD) + " or less, 19 of 20 " + dollars(*s.P95USD) + " or less"
}

// dollars words a decimal string.
func dollars(text string) string {
	usd, err := site.ParseDecimal(text)
	if err != nil {
		return "" // impossible: the builder writes decimals
	}
	return display.Dollars(usd)
}

// Rank compares the lowest price of a service with those of other operators in its category. It is "" without one.
func Rank(e *site.Economics, category string) string {
	if e.CategoryOthers == nil || e.CategoryDearer == nil {
		return ""
	}
	dearer, others := *e.CategoryDearer, *e.CategoryOthers
	category = display.Line(category, display.MaxCode)
	if dearer == others {
		if others == 1 {
			return "Cheaper than the only other in " + category
		}
		return "Cheaper than all " + display.Plural(int64(others), "other", "others") + " in " + category
	}
	if dearer == 0 {
		return "None of " + display.Plural(int64(others), "other", "others") + " in " + category + " asks for more"
	}
	return "Cheaper than " + display.Number(int64(dearer)) + " of " + display.Plural(int64(others), "other", "others") +
		" in " + category
}

// IsMeaningless reports whether a service asks this amount now on a test network, or in dollars that are not counted:
// its changes say nothing about prices.
func IsMeaningless(d *site.ServiceDetail, network, asset, amount string) bool {
	for i := range d.Endpoints {
		for _, p := range d.Endpoints[i].Pricing {
			isAsked := p.NetworkCAIP2 != nil && *p.NetworkCAIP2 == network && p.AssetName == asset && p.Price == amount
			if isAsked && p.PriceCaveat != nil && (p.Testnet || p.PriceUSD != nil) {
				return true
			}
		}
	}
	return false
}

// Atomic words an amount in atomic units.
func Atomic(n site.Decimal) string { return display.GroupDigits(string(n)) + " atomic units" }

// Trend compares two atomic amounts: "up", "down", or "" if they are equal or not amounts.
func Trend(older, newer string) string {
	o, ok := ParseAmount(older)
	n, ok2 := ParseAmount(newer)
	switch {
	case !ok || !ok2 || o == n:
		return ""
	case o.Compare(n) < 0:
		return "up"
	default:
		return "down"
	}
}

// maxDigits is the number of digits of the largest amount, 2^256.
const maxDigits = 78

// ParseAmount reads an amount in atomic units, which is whole.
func ParseAmount(s string) (site.Decimal, bool) {
	if len(s) > maxDigits || strings.Contains(s, ".") {
		return "", false
	}
	n, err := site.ParseDecimal(s)
	return n, err == nil
}

// divide returns n / 10^decimals.
func divide(n site.Decimal, decimals int) site.Decimal {
	digits := string(n)
	if pad := decimals + 1 - len(digits); pad > 0 {
		digits = strings.Repeat("0", pad) + digits
	}
	at := len(digits) - decimals
	d, err := site.ParseDecimal(digits[:at] + "." + digits[at:])
	if err != nil {
		panic("divide a decimal: " + err.Error()) // digits and a point are a decimal
	}
	return d
}
