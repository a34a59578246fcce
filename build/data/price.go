package data

import (
	"encoding/hex"
	"encoding/json"

	"tollbook/site/postgres/bulk"
	"tollbook/site/rail"
	"tollbook/site/x402"
)

var (
	slugReference = Reference{"slug", "services", "slug"}
	amountText    = Column{Name: "amount_text", Source: fromVisits,
		Description: "The amount as text if it does not fit into the column amount; else null."}
)

// Prices makes the table of all prices, also of former ones.
var Prices = newMaker(
	Table{
		Name: "prices", Description: "Every way to pay that an endpoint ever asked for, over any protocol, and when.",
		Key:        []string{"endpoint_id", "since", "protocol", "position"},
		Sort:       []string{"slug", "endpoint_id", "since", "protocol", "position"},
		References: []Reference{slugReference},
	},
	price(slugColumn(fromOperator), func(p *bulk.Price) Value { return NewText(p.Slug) }),
	price(Column{Name: "endpoint_id", Required: true, Source: fromOperator, Description: "ID of the endpoint."},
		func(p *bulk.Price) Value { return NewText(p.EndpointID) }),
	price(Column{Name: "since", Kind: Timestamp, Required: true, Source: fromVisits,
		Description: "Time of the first visit that got the price."},
		func(p *bulk.Price) Value { return newTime(p.Since) }),
	price(Column{Name: "protocol", Required: true, Source: fromVisits,
		Description: "Protocol of the payment: x402, mpp, l402 or crawler-price."},
		func(p *bulk.Price) Value { return NewText(p.Protocol) }),
	price(Column{Name: "position", Kind: Integer, Required: true, Source: fromVisits,
		Description: "Place in one response, from 0: among the ways to pay over x402, or among all others."},
		func(p *bulk.Price) Value { return newInt(p.Position) }),
	price(Column{Name: "until", Kind: Timestamp, Source: fromVisits,
		Description: "Time of the first visit that did not get it any more; null while it is current."},
		func(p *bulk.Price) Value { return instantOrNull(p.Until) }),
	price(Column{Name: "scheme", Required: true, Source: fromVisits,
		Description: "Scheme of x402, such as exact or upto; method and intent of MPP; bolt11 of L402; else crawl."},
		func(p *bulk.Price) Value { return NewText(p.Scheme) }),
	price(Column{Name: "network", Required: true, Source: fromJudgment,
		Description: "Short name of the network, its CAIP-2 ID, or what the service wrote."},
		func(p *bulk.Price) Value { return NewText(shortNetwork(p.Network, p.NetworkCAIP2)) }),
	price(Column{Name: "network_caip2", Source: fromJudgment,
		Description: "CAIP-2 ID of the network; null if it is not recognised."},
		func(p *bulk.Price) Value { return textOrNull(p.NetworkCAIP2) }),
	price(Column{Name: "testnet", Kind: Boolean, Required: true, Source: fromJudgment,
		Description: "Whether it is a test network, whose tokens have no value."},
		func(p *bulk.Price) Value { return newBool(valueOf(p).Testnet) }),
	price(Column{Name: "asset_address", Required: true, Source: fromVisits,
		Description: "Address of the token, as its chain writes it, or the currency."},
		func(p *bulk.Price) Value { return NewText(spell(p.NetworkCAIP2, p.Asset)) }),
	price(Column{Name: "asset_name", Required: true, Source: fromJudgment,
		Description: "Symbol of the token, UNKNOWN if it is in no table."},
		func(p *bulk.Price) Value { return NewText(valueOf(p).AssetName) }),
	price(Column{Name: "pay_to", Source: fromVisits,
		Description: "Account of the recipient, as its chain writes it; null if an offer names nobody."},
		payTo),
	price(Column{Name: "amount", Kind: Decimal, Unit: "atomic units of the token", Source: fromVisits,
		Description: "Price of a call, in millisatoshis over l402; null if it has more than 38 digits or a point."},
		func(p *bulk.Price) Value { return newDecimal(p.Amount, 0) }),
	price(amountText, func(p *bulk.Price) Value { return unlessDecimal(p.Amount) }),
	price(Column{Name: "variable", Kind: Boolean, Required: true, Source: fromJudgment,
		Description: "Whether the amount is a maximum or the price of a unit, not the price of a call."},
		func(p *bulk.Price) Value {
			return newBool(p.Variable || p.Protocol == rail.X402 && requirement(p).Variable())
		}),
	price(usdColumn("price_usd", fromJudgment,
		"The amount in dollars; null on test networks and for assets without a known value in dollars."),
		func(p *bulk.Price) Value { return newDecimal(valueOf(p).PriceUSD, usdScale) }),
	price(Column{Name: "max_timeout_seconds", Kind: Integer, Unit: "seconds", Source: fromVisits,
		Description: "How long a payment may take, or how long an invoice of l402 is valid."},
		func(p *bulk.Price) Value { return intOrNull(p.MaxTimeoutSeconds) }),
	price(Column{Name: "x402_version", Kind: Integer, Source: fromVisits,
		Description: "Version of x402 in the response; null over other protocols."},
		func(p *bulk.Price) Value { return intOrNull(p.X402Version) }),
)

func price(c Column, of func(*bulk.Price) Value) field[*bulk.Price] { return field[*bulk.Price]{c, of} }

// unlessDecimal returns an amount as text, null if it fits into a Decimal or is missing.
func unlessDecimal(amount string) Value {
	if amount == "" || !newDecimal(amount, 0).IsNull() {
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
		r.AssetNorm = x402.NormalizeAddress(r.NetworkCAIP2, r.Asset)
		r.AssetName = r.Symbol()
	}
	return r
}

// valueOf returns what a stored price is worth.
func valueOf(p *bulk.Price) rail.Value {
	if p.Protocol != rail.X402 {
		return terms(p).Value()
	}
	r := requirement(p)
	v := rail.Value{AssetName: r.AssetName}
	if n, isKnown := x402.NetworkByID(r.NetworkCAIP2); isKnown && !n.Mainnet {
		v.Testnet = true
		return v
	}
	v.PriceUSD, _ = r.PriceUSD()
	return v
}

// terms returns a price over another protocol as package rail reads it.
func terms(p *bulk.Price) rail.Terms {
	t := rail.Terms{Protocol: p.Protocol, Network: p.Network, Asset: p.Asset, Amount: p.Amount}
	if p.NetworkCAIP2 != nil {
		t.NetworkCAIP2 = *p.NetworkCAIP2
	}
	return t
}

func payTo(p *bulk.Price) Value {
	if p.PayTo == "" && p.Protocol != rail.X402 {
		return Value{}
	}
	return NewText(spell(p.NetworkCAIP2, p.PayTo))
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
	return x402.SpellAddress(*caip2, x402.NormalizeAddress(*caip2, text))
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
