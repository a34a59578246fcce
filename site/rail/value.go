package rail

import (
	"strings"

	"tollbook/site/x402"
)

// Value is what terms are worth.
type Value struct {
	AssetName string // symbol of the asset, x402.UnknownAsset for a token that is not in the table
	PriceUSD  string // decimal dollars; "" on test networks and for an asset without a known value in dollars
	Testnet   bool
}

// Value returns what the terms are worth. It knows no exchange rates: bitcoins have no value in dollars.
func (t Terms) Value() Value {
	switch {
	case strings.HasPrefix(t.NetworkCAIP2, "bip122:"):
		return Value{AssetName: "BTC", Testnet: t.NetworkCAIP2 != InvoiceMainnet}
	case t.NetworkCAIP2 != "":
		r := t.requirement()
		v := Value{AssetName: r.Symbol()}
		if n, ok := x402.NetworkByID(t.NetworkCAIP2); ok && !n.Mainnet {
			v.Testnet = true
			return v
		}
		v.PriceUSD, _ = r.PriceUSD()
		return v
	case t.Protocol == CrawlerPrice && t.Asset == "USD":
		return Value{AssetName: t.Asset, PriceUSD: t.Amount}
	case t.Protocol == MPP && strings.EqualFold(t.Asset, "usd"):
		v := Value{AssetName: "USD"}
		v.PriceUSD, _ = cents(t.Amount).PriceUSD()
		return v
	case currencyForm.MatchString(t.Asset):
		return Value{AssetName: strings.ToUpper(t.Asset)}
	}
	return Value{AssetName: x402.UnknownAsset}
}

// AssetNorm returns the asset in a form in which equal assets are equal texts.
func (t Terms) AssetNorm() string { return x402.NormalizeAddress(t.NetworkCAIP2, t.Asset) }

// requirement returns the asset and the amount as the tables of x402 know them.
func (t Terms) requirement() x402.Requirement {
	return x402.Requirement{NetworkCAIP2: t.NetworkCAIP2, AssetNorm: t.AssetNorm(), Amount: t.Amount}
}

// cents returns an amount in cents of a dollar, the unit of the asset USD on Cloudflare's rail.
func cents(amount string) x402.Requirement {
	return x402.Requirement{NetworkCAIP2: "cloudflare:402", AssetNorm: "USD", Amount: amount}
}
