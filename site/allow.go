package site

import "slices"

// MaxAllowances is the maximum number of a service's payment options in an allow-list.
const MaxAllowances = 40

// Allowance is a service that a policy for payments may allow, with what may be paid to whom.
//
// It is a row of /v1/allow.
type Allowance struct {
	// As [ServiceListItem.Slug].
	Slug string `json:"slug"`
	// As [ServiceListItem.Name].
	Name string `json:"name"`
	// As [ServiceListItem.Category].
	Category string `json:"category"`
	// As [ServiceListItem.AdviceLevel].
	AdviceLevel string `json:"advice_level"`
	// Hosts of the endpoints that may be paid, with a port that is not the scheme's, sorted.
	Hosts []string `json:"hosts"`
	// Payment options of these endpoints, each once, the cheapest first. Filters choose services, not options.
	Options []AllowedOption `json:"options"`
	// Whether the service has more options than the row.
	Clipped bool `json:"clipped"`
}

// AllowedOption is a payment that may be allowed: at most so much of a token, to this recipient.
type AllowedOption struct {
	// CAIP-2 id of the network.
	NetworkCAIP2 string `json:"network_caip2"`
	// As [PricingEntry.AssetAddress].
	AssetAddress string `json:"asset_address"`
	// As [PricingEntry.AssetName].
	AssetName string `json:"asset_name"`
	// As [PricingEntry.PayTo].
	PayTo string `json:"pay_to"`
	// As [PricingEntry.Price].
	Price string `json:"price"`
	// Price in US dollars; null on test networks and if the asset has no known value.
	PriceUSD *Decimal `json:"price_usd"`
	// As [ServiceListItem.PriceCondition]; absent without one.
	PriceCondition *string `json:"price_condition,omitempty"`
}

// Keep removes the options that are on another network, unless network is "", and those that cost more US dollars than
// most, or an unknown amount of them, unless most is "".
func (a *Allowance) Keep(network string, most Decimal) {
	a.Options = slices.DeleteFunc(a.Options, func(o AllowedOption) bool {
		if network != "" && o.NetworkCAIP2 != network {
			return true
		}
		return most != "" && (o.PriceUSD == nil || o.PriceUSD.Rational().Cmp(most.Rational()) > 0)
	})
}
