package price

import (
	"tollbook/site"
	"tollbook/site/x402"
)

// value is what a row's amount is worth in dollars.
type value struct {
	usd     *string       // decimal text; nil on test networks and for assets without a known value
	counted *site.Decimal // usd as a number; nil if figures do not count it
	caveat  *string       // why they do not
	testnet bool
}

// The reasons why a price is not counted in dollars.
var (
	onTestnet    = new("test network")
	unknownValue = new("no known value in dollars")
	zeroAmount   = new("the amount is 0")
	implausible  = new("more than $" + x402.MaxSaneUSD + " a call")
	tooSmall     = new("less than $" + x402.MinSaneUSD + " a call")
)

// leastUSD and mostUSD are the least and the highest price that is counted.
var leastUSD, mostUSD = site.Decimal(x402.MinSaneUSD), site.Decimal(x402.MaxSaneUSD)

// valueOf returns the value of a row. Only prices from x402.MinSaneUSD to x402.MaxSaneUSD are counted, as the check
// price_sane demands of values. A number in place of text fails that check too, but its value is known and counts.
func valueOf(r *x402.Requirement) value {
	if n, ok := x402.NetworkByID(r.NetworkCAIP2); ok && !n.Mainnet {
		return newValue(nil, true)
	}
	text, ok := r.PriceUSD()
	if !ok {
		return newValue(nil, false)
	}
	return newValue(&text, false)
}

// newValue returns the value of a row from its price in decimal dollars, nil if that is not known.
func newValue(text *string, testnet bool) value {
	switch {
	case testnet:
		return value{caveat: onTestnet, testnet: true}
	case text == nil:
		return value{caveat: unknownValue}
	}
	usd, err := site.ParseDecimal(*text)
	v := value{usd: text}
	switch {
	case err != nil:
		v.caveat = unknownValue // impossible: PriceUSD returns plain decimals
	case usd == "0":
		v.caveat = zeroAmount
	case usd.Compare(mostUSD) > 0:
		v.caveat = implausible
	case usd.Compare(leastUSD) < 0:
		v.caveat = tooSmall
	default:
		v.counted = &usd
	}
	return v
}
