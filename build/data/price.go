package data

import (
	"encoding/hex"
	"encoding/json"

	"tollbook/site/postgres/bulk"
	"tollbook/site/x402"
	"tollbook/site/x402/address"
)

var (
	slugReference = Reference{"slug", "services", "slug"}
	amountText    = Column{Name: "amount_text", Source: fromVisits,
		Description: "The amount as text if it does not fit into the column amount; else null."}
)

// Prices makes the table of all prices over x402, also of former ones.
var Prices = newMaker(
	Table{
		Name: "prices", Description: "Every way to pay over x402 that an endpoint ever asked for, and when.",
		Key: []string{"endpoint_id", "since", "position"}, Sort: []string{"slug", "endpoint_id", "since", "position"},
		References: []Reference{slugReference},
	},
	price(slugColumn(fromOperator), func(p *bulk.Price) Value { return NewText(p.Slug) }),
	price(Column{Name: "endpoint_id", Required: true, Source: fromOperator, Description: "ID of the endpoint."},
		func(p *bulk.Price) Value { return NewText(p.EndpointID) }),
	price(Column{Name: "since", Kind: Timestamp, Required: true, Source: fromVisits,
		Description: "Time of the first visit that got the price."},
		func(p *bulk.Price) Value { return newTime(p.Since) }),
	price(Column{Name: "position", Kind: Integer, Required: true, Source: fromVisits,
		Description: "Place among the ways to pay in one response, from 0."},
		func(p *bulk.Price) Value { return newInt(p.Position) }),
	price(Column{Name: "until", Kind: Timestamp, Source: fromVisits,
		Description: "Time of the first visit that did not get it any more; null while it is current."},
		func(p *bulk.Price) Value { return instantOrNull(p.Until) }),
	price(Column{Name: "scheme", Required: true, Source: fromVisits, Description: "Scheme of x402: exact, upto, …"},
		func(p *bulk.Price) Value { return NewText(p.Scheme) }),
	price(Column{Name: "network", Required: true, Source: fromJudgment,
		Description: "Short name of the network, its CAIP-2 ID, or what the service wrote."},
		func(p *bulk.Price) Value { return NewText(shortNetwork(p.Network, p.NetworkCAIP2)) }),
	price(Column{Name: "network_caip2", Source: fromJudgment,
		Description: "CAIP-2 ID of the network; null if it is not recognised."},
		func(p *bulk.Price) Value { return textOrNull(p.NetworkCAIP2) }),
	price(Column{Name: "testnet", Kind: Boolean, Required: true, Source: fromJudgment,
		Description: "Whether it is a test network, whose tokens have no value."},
		func(p *bulk.Price) Value { return newBool(isTestnet(p.NetworkCAIP2)) }),
	price(Column{Name: "asset_address", Required: true, Source: fromVisits,
		Description: "Address of the token, as its chain writes it."},
		func(p *bulk.Price) Value { return NewText(spell(p.NetworkCAIP2, p.Asset)) }),
	price(Column{Name: "asset_name", Required: true, Source: fromJudgment,
		Description: "Symbol of the token, UNKNOWN if it is in no table."},
		func(p *bulk.Price) Value { return NewText(requirement(p).AssetName) }),
	price(Column{Name: "pay_to", Required: true, Source: fromVisits,
		Description: "Account of the recipient, as its chain writes it."},
		func(p *bulk.Price) Value { return NewText(spell(p.NetworkCAIP2, p.PayTo)) }),
	price(Column{Name: "amount", Kind: Decimal, Unit: "atomic units of the token", Source: fromVisits,
		Description: "Price of a call; null if it has more than 38 digits or a point."},
		func(p *bulk.Price) Value { return newDecimal(p.Amount, 0) }),
	price(amountText, func(p *bulk.Price) Value { return unlessDecimal(p.Amount) }),
	price(usdColumn("price_usd", fromJudgment,
		"Price of a call; null on test networks and for tokens without a known value in dollars."), priceUSD),
	price(Column{Name: "max_timeout_seconds", Kind: Integer, Unit: "seconds", Source: fromVisits,
		Description: "How long a payment may take."},
		func(p *bulk.Price) Value { return intOrNull(p.MaxTimeoutSeconds) }),
	price(Column{Name: "x402_version", Kind: Integer, Required: true, Source: fromVisits,
		Description: "Version of x402 in the response."},
		func(p *bulk.Price) Value { return newInt(p.X402Version) }),
)

func price(c Column, of func(*bulk.Price) Value) field[*bulk.Price] { return field[*bulk.Price]{c, of} }

// unlessDecimal returns an amount as text, null if it fits into a Decimal.
func unlessDecimal(amount string) Value {
	if !newDecimal(amount, 0).IsNull() {
		return Value{}
	}
	return NewText(amount)
}

// requirement returns a stored price as x402 reads it.
func requirement(p *bulk.Price) x402.Requirement {
	r := x402.Requirement{Scheme: p.Scheme, Network: p.Network, Asset: p.Asset, AssetName: x402.UnknownAsset,
		Amount: p.Amount}
	if p.Extra != nil {
		r.Extra = json.RawMessage(*p.Extra)
	}
	if p.NetworkCAIP2 != nil {
		r.NetworkCAIP2 = *p.NetworkCAIP2
		r.AssetNorm = address.Normalize(r.NetworkCAIP2, r.Asset)
		r.AssetName = r.Symbol()
	}
	return r
}

func priceUSD(p *bulk.Price) Value {
	if isTestnet(p.NetworkCAIP2) {
		return Value{}
	}
	usd, ok := requirement(p).PriceUSD()
	if !ok {
		return Value{}
	}
	return newDecimal(usd, usdScale)
}

func isTestnet(caip2 *string) bool {
	if caip2 == nil {
		return false
	}
	n, isKnown := x402.NetworkByID(*caip2)
	return isKnown && !n.Mainnet
}

// shortNetwork returns the short name of a network, or its CAIP-2 ID, or what the service wrote.
func shortNetwork(written string, caip2 *string) string {
	if caip2 == nil {
		return written
	}
	if n, isKnown := x402.NetworkByID(*caip2); isKnown {
		return n.Abbreviation
	}
	return *caip2
}

// spell returns an address as its chain writes it.
func spell(caip2 *string, text string) string {
	if caip2 == nil {
		return text
	}
	return address.Spell(*caip2, address.Normalize(*caip2, text))
}

// Envelopes makes the table of the newest responses with terms of payment. Their bodies are in /v1/services/…/evidence.
var Envelopes = newMaker(
	Table{
		Name:        "envelopes",
		Description: "The newest response with terms of payment of each endpoint: when it was captured, and its hash.",
		Key:         []string{"endpoint_id"}, Sort: []string{"slug", "endpoint_id"},
		References: []Reference{slugReference},
	},
	envelope(slugColumn(fromOperator), func(e *bulk.Envelope) Value { return NewText(e.Slug) }),
	envelope(Column{Name: "endpoint_id", Required: true, Source: fromOperator, Description: "ID of the endpoint."},
		func(e *bulk.Envelope) Value { return NewText(e.EndpointID) }),
	envelope(Column{Name: "captured_at", Kind: Timestamp, Required: true, Source: fromVisits,
		Description: "When the response came; an equal one later only renews the time."},
		func(e *bulk.Envelope) Value { return newTime(e.ReceivedAt) }),
	envelope(Column{Name: "method", Required: true, Source: fromVisits, Description: "Method of the request."},
		func(e *bulk.Envelope) Value { return NewText(e.Method) }),
	envelope(Column{Name: "url", Required: true, Source: fromVisits, Description: "URL of the request."},
		func(e *bulk.Envelope) Value { return NewText(e.URL) }),
	envelope(Column{Name: "status_code", Kind: Integer, Required: true, Source: fromVisits,
		Description: "Status of the response."}, func(e *bulk.Envelope) Value { return newInt(e.StatusCode) }),
	envelope(Column{Name: "body_bytes", Kind: Integer, Required: true, Unit: "bytes", Source: fromVisits,
		Description: "Length of the body that is stored."},
		func(e *bulk.Envelope) Value { return newInt(e.BodyBytes) }),
	envelope(Column{Name: "truncated", Kind: Boolean, Required: true, Source: fromVisits,
		Description: "Whether the body was longer."}, func(e *bulk.Envelope) Value { return newBool(e.Truncated) }),
	envelope(Column{Name: "tls_verified", Kind: Boolean, Required: true, Source: fromVisits,
		Description: "Whether it came over TLS with a valid certificate."},
		func(e *bulk.Envelope) Value { return newBool(e.TLSVerified) }),
	envelope(Column{Name: "sha256", Required: true, Source: fromVisits,
		Description: "SHA-256 of status, payment headers and body, in hex."},
		func(e *bulk.Envelope) Value { return NewText(hex.EncodeToString(e.SHA256)) }),
)

func envelope(c Column, of func(*bulk.Envelope) Value) field[*bulk.Envelope] {
	return field[*bulk.Envelope]{c, of}
}
