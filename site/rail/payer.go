package rail

import (
	"strings"

	"tollbook/site/x402"
)

// mppClients are the clients that pay by a method and intent of MPP, as TestClients shows. A pair that is absent is
// paid by none of them; a nil list is unknown, because it depends on members of the challenge that are not stored: mppx
// signs for evm/charge if credentialTypes contains authorization, and for tempo/session if it knows the escrow.
var mppClients = map[string][]string{
	"tempo/charge":       {x402.ClientMPP},
	"tempo/session":      nil,
	"tempo/subscription": {x402.ClientMPP},
	"stripe/charge":      {x402.ClientMPP},
	"evm/charge":         nil,
	"solana/charge":      {x402.ClientSolanaMPP},
	"solana/session":     nil,
	"lightning/charge":   {x402.ClientLightning},
}

// accountMethods are the methods of MPP that need an account with somebody, and with whom.
var accountMethods = map[string]string{
	"stripe": "a means of payment at Stripe",
	"card":   "a payment card",
}

// Payers returns who can pay by these terms.
func (t Terms) Payers() x402.Payers {
	p := x402.Payers{Clients: []string{}}
	need := func(code, what string) {
		p.Conditions = append(p.Conditions, x402.Condition{Code: code, Text: "Needs " + what + " first"})
	}
	switch t.Protocol {
	case L402:
		p.Clients = []string{x402.ClientLightning}
	case CrawlerPrice:
		need(x402.NeedAccount, "an account at Cloudflare")
	case MPP:
		if clients, isKnown := mppClients[t.Scheme]; isKnown {
			p.Clients = clients
		}
		method, intent, _ := strings.Cut(t.Scheme, "/")
		if intent == "session" {
			need(x402.NeedDeposit, "a deposit in a payment channel")
		}
		if method == "usdc" {
			need(x402.NeedDeposit, "a deposit in Circle Gateway")
		}
		if what := accountMethods[method]; what != "" {
			need(x402.NeedAccount, what)
		}
		if intent == "subscription" {
			p.Conditions = append(p.Conditions, x402.Condition{Code: x402.NeedSubscription,
				Text: "Starts a subscription, which is paid again in each period"})
		}
	}
	return p
}
