package guide

import "tollbook/site"

// permit2 is the contract that moves tokens with a payer's signature, at the same address on every EVM network.
const permit2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3"

// Call is how to call an endpoint, as a page shows it.
type Call struct {
	ID        string              // of the endpoint among those of its page
	Request   Request             // which the commands and programs send, filled from the declared examples
	Empty     Request             // the same without any input, which a script completes by the fields
	Samples   []Sample            // the free request in curl, then programs that pay
	Network   string              // on which the programs pay, as CAIP-2; "" without programs
	Fields    []site.RequestField // that the service declares
	More      int                 // fields that are not among them
	Permit    string              // the contract that the payer allows to move the token, once; "" if payments need none
	IsMaximum bool                // the price is a maximum: the service charges for the use
	Other     *other              // how to pay over another protocol; nil if that is not known
}

// NewCall returns how to call an endpoint, and nil if no command can contain its URL. Programs that pay are shown only
// if terms say that no known fact speaks against it. Ways over other protocols are shown unless isLost says that
// payments would be lost.
func NewCall(id, base string, e *site.Endpoint, terms site.Terms, isLost bool) *Call {
	empty, ok := NewRequest(base, e)
	if !ok {
		return nil
	}
	fields := withoutQuery(terms.Fields, empty.URL)
	r := empty.fill(fields, terms.InputSchema != "" && terms.MoreFields == 0)
	c := &Call{ID: id, Request: r, Empty: empty, Samples: []Sample{{Language: "curl", Code: r.Curl()}},
		Fields: fields, More: terms.MoreFields}
	if offer, ok := findOffer(e, terms.Prices); ok && terms.Payable {
		c.Samples, c.Network = append(c.Samples, PaySamples(r, offer)...), offer.Network
		c.IsMaximum = offer.IsMaximum
		if offer.HasPermit {
			c.Permit = permit2
		}
	}
	if !isLost && r.Tool == "" {
		c.Other = r.other(e.Pricing)
	}
	return c
}

// other is how to pay an endpoint over a protocol whose payments this directory does not judge.
type other struct {
	Protocol, Text string
	Samples        []Sample // a command, then a program if there is one for the price
	Secret         string   // what the program needs to pay
}
