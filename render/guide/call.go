package guide

import (
	"slices"
	"strings"

	"tollbook/site"
)

// permit2 is the contract that moves tokens with a payer's signature, at the same address on every EVM network.
const permit2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3"

// Call is how to call an endpoint, as a page shows it.
type Call struct {
	ID      string              // of the endpoint among those of its page
	Samples []Sample            // the free request in curl, then programs that pay
	Network string              // on which the programs pay, as CAIP-2; "" without programs
	Fields  []site.RequestField // that the service declares
	More    int                 // fields that are not among them
	Build   *Request            // which a script completes by the fields; nil if none of them can be
	Permit  string              // the contract that the payer allows to move the token, once; "" if payments need none
	Other   *other              // how to pay over another protocol; nil if that is not known
}

// other is how to pay an endpoint over a protocol whose payments this directory does not judge.
type other struct{ Protocol, Text, Code string }

// NewCall returns how to call an endpoint, and nil if no command can contain its URL. Programs that pay are shown only
// if terms say that no known fact speaks against it. Ways over other protocols are shown unless isLost says that
// payments would be lost.
func NewCall(id, base string, e *site.Endpoint, terms site.Terms, isLost bool) *Call {
	r, ok := NewRequest(base, e)
	if !ok {
		return nil
	}
	c := &Call{ID: id, Samples: []Sample{{Language: "curl", Code: r.Curl()}}, Fields: terms.Fields,
		More: terms.MoreFields}
	if isTool := strings.Contains(e.Path, "#"); len(c.Fields) > 0 && !isTool {
		c.Build = &r
	}
	if offer, ok := findOffer(e, terms.Prices); ok && terms.Payable {
		c.Samples, c.Network = append(c.Samples, PaySamples(r, offer)...), offer.Network
		if offer.IsMaximum {
			c.Permit = permit2
		}
	}
	if !isLost {
		c.Other = r.other(e.Pricing)
	}
	return c
}

// other returns how to pay over the first other protocol for which there is a client.
func (r Request) other(pricing []site.PricingEntry) *other {
	for _, o := range []other{
		{"mpp", "The command-line client of MPP shows the price and asks before it pays.", r.mppx()},
		{"l402", "Pay the Lightning invoice of the answer. Then repeat the request with the token of the answer and " +
			"the preimage of the payment.", r.Curl() + " -H 'authorization: L402 TOKEN:PREIMAGE'"},
	} {
		if slices.ContainsFunc(pricing, func(p site.PricingEntry) bool { return p.Protocol == o.Protocol }) {
			return &o
		}
	}
	return nil
}

// mppx returns the command of MPP's official client that pays after a question.
func (r Request) mppx() string {
	command := "npx mppx --confirm --protocol mpp"
	if r.Method != "GET" {
		command += " -X " + r.Method
	}
	command += " '" + r.URL + "'"
	if r.Body != "" {
		command += " -J " + shellQuote(r.Body)
	}
	return command
}
