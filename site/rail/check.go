package rail

import (
	"cmp"
	"fmt"
	"slices"
)

// Check is one requirement of a protocol's specification.
type Check struct {
	ID       string
	Label    string
	Expected string // the requirement
	Mend     string // how an operator can correct a failure
	Fatal    bool   // an offer that fails it cannot be paid
}

// transportHTTPS is the check that all protocols share.
const transportHTTPS = "transport_https"

// Checks returns the checks of a protocol in the order in which they are reported.
func Checks(protocol string) []Check { return slices.Clone(checks[protocol]) }

var checks = map[string][]Check{
	MPP: {
		{"challenge_complete", "Challenge is complete",
			"The challenge Payment has id, realm, method, intent and request; header, if present, is " +
				"Payment-Authorization.", "Send all five parameters with every challenge.", true},
		{"challenge_form", "Parameters have their form",
			"method is lower-case letters, intent is letters, digits and hyphens, expires is an RFC 3339 time.",
			"Write the method as the registry of payment methods does, and expires as in 2026-01-15T12:05:00Z.", false},
		{"request_readable", "Request can be read",
			"request is the base64url form of a JSON object.", "Encode the JSON object as base64url.", true},
		{"request_encoding", "Request has no padding",
			"request is base64url without padding.", "Use the base64url alphabet and leave out the equals signs.",
			false},
		{"amount_positive", "Amount is a positive whole number",
			"amount is a string of digits above zero, in the currency's smallest unit.",
			"Write $0.01 of a token with six decimals as \"10000\".", true},
		{"currency_declared", "Currency is declared",
			"currency is a token address, a currency code or a symbol.", "Name the currency in the request.", true},
		{"recipient_valid", "Recipient is a valid address",
			"On a network with addresses, recipient is an address of that network from which somebody can spend.",
			"Copy the address from the wallet that is to receive the money, for this exact network.", true},
		{"expires_ahead", "Challenge has not expired",
			"expires is later than the response.", "Make a new challenge for each response.", true},
		{"no_store", "Response is not cached",
			"The response has Cache-Control: no-store.", "Send Cache-Control: no-store with every 402.", false},
		{transportHTTPS, "Served over https", httpsExpected, httpsMend, false},
	},
	L402: {
		{"challenge_complete", "Challenge is complete",
			"The challenge L402 has a macaroon (or token) and an invoice.", "Send both parameters.", true},
		{"token_encoding", "Token is base64",
			"The macaroon is base64.", "Encode the macaroon as base64.", false},
		{"invoice_valid", "Invoice is valid",
			"invoice is a BOLT 11 invoice with a matching checksum and a valid signature.",
			"Send the invoice exactly as the Lightning node wrote it.", true},
		{"amount_declared", "Invoice states an amount",
			"The invoice contains an amount above zero.", "Make an invoice for the price of the call.", true},
		{"invoice_current", "Invoice has not expired",
			"The invoice expires later than the response.", "Make a new invoice for each response.", true},
		{"scheme_current", "Scheme is L402",
			"The challenge is named L402, not only by its former name LSAT.",
			"Send a challenge L402 beside the challenge LSAT.", false},
		{transportHTTPS, "Served over https", httpsExpected, httpsMend, false},
	},
	CrawlerPrice: {
		{"price_form", "Price can be read",
			"crawler-price is a currency code of three capitals, a space and a decimal number.",
			"Write the price as in USD 0.01.", true},
		{"price_positive", "Price is above zero", "The number is above zero.", "State a price above zero.", true},
		{"price_single", "One price", "There is one crawler-price header.", "Send the header once.", false},
		{transportHTTPS, "Served over https", httpsExpected, httpsMend, false},
	},
}

const (
	httpsExpected = "The response comes over https with a certificate that is valid for the host."
	httpsMend     = "Serve the endpoint over https with a valid certificate."
)

// Result is the result of one check over several offers.
type Result struct {
	Check
	Pass   bool
	Reason string // the first failure with its endpoint, "" if the check passes
}

// Compliance is the verdict on the offers of one protocol.
type Compliance struct {
	Protocol string
	Grade    string // A, B, C, D or F
	Reason   string // the grade and why
	Passed   int
	Results  []Result
}

// AssessAll applies the checks of each protocol over which a service makes an offer. The protocols are in the order of
// Protocols.
func AssessAll(offers []Listed) []Compliance {
	var list []Compliance
	for _, protocol := range Protocols {
		if slices.ContainsFunc(offers, func(o Listed) bool { return o.Protocol == protocol }) {
			list = append(list, Assess(protocol, offers))
		}
	}
	return list
}

// Best returns the best grade of a list that is not empty; the first of equal ones.
func Best(list []Compliance) Compliance {
	return slices.MinFunc(list, func(a, b Compliance) int { return cmp.Compare(a.Grade, b.Grade) })
}

// Listed is an offer with the endpoint that made it, such as "GET /x".
type Listed struct {
	Endpoint string
	Offer
}

// Assess applies the checks of a protocol to the offers of a service. A check passes if it passes for every offer. The
// grade is a letter for the share of passed checks: A from 90 %, B from 75 %, C from 60 %, D from 40 %, else F. It is F
// if an offer cannot be paid, and C at best without https.
func Assess(protocol string, offers []Listed) Compliance {
	c := Compliance{Protocol: protocol}
	fatal, plain := "", ""
	for _, k := range checks[protocol] {
		r := Result{Check: k, Pass: true}
		for _, o := range offers {
			if reason := o.failed[k.ID]; o.Protocol == protocol && reason != "" {
				r.Pass, r.Reason = false, o.Endpoint+": "+reason
				break
			}
		}
		switch {
		case r.Pass:
			c.Passed++
		case k.Fatal && fatal == "":
			fatal = r.Reason
		case k.ID == transportHTTPS:
			plain = r.Reason
		}
		c.Results = append(c.Results, r)
	}
	share := 100 * c.Passed / len(c.Results)
	switch {
	case fatal != "":
		c.Grade, c.Reason = "F", "F: "+fatal
		return c
	case plain != "" && share >= 60:
		c.Grade, c.Reason = "C", "C at best: "+plain
		return c
	case share >= 90:
		c.Grade = "A"
	case share >= 75:
		c.Grade = "B"
	case share >= 60:
		c.Grade = "C"
	case share >= 40:
		c.Grade = "D"
	default:
		c.Grade = "F"
	}
	c.Reason = fmt.Sprintf("%s: %d of %d %s checks pass", c.Grade, c.Passed, len(c.Results), protocol)
	return c
}
