package rail

import (
	"fmt"
	"slices"
	"strings"

	"tollbook/site/x402"
)

// Side is the terms of one request in one place: the header or the body of a response, one challenge, or the response
// to another reader.
type Side struct {
	Place string // such as "the body"
	Terms []Terms
}

// Conflict says that two places ask for different payments for the same request.
type Conflict struct {
	Of          string // what differs, one of the Of constants
	Here, There Asked
}

// Asked is the way to pay of one place in which two places differ.
type Asked struct {
	Place string
	Terms
}

// What differs between two ways to pay, the most dangerous first.
const (
	OfRecipient = "recipient"
	OfAmount    = "amount"
	OfAsset     = "asset"
	OfNetwork   = "network"
)

// RowTerms returns the rows of an envelope that can be paid. Rows that cannot contradict nothing.
func RowTerms(e *x402.Envelope) (list []Terms) {
	if e == nil {
		return nil
	}
	for _, r := range e.Accepts {
		if r.Usable() {
			list = append(list, Terms{Protocol: X402, Scheme: r.Scheme, Network: r.Network, NetworkCAIP2: r.NetworkCAIP2,
				Asset: r.Asset, Amount: r.Amount, PayTo: r.PayTo, Variable: r.Variable()})
		}
	}
	return list
}

// OfferTerms returns the offers that can be paid.
func OfferTerms(offers []Offer) (list []Terms) {
	for _, o := range offers {
		if o.Usable() {
			list = append(list, o.Terms)
		}
	}
	return list
}

// Conflicts returns the conflicts within one response: between the envelope that counts and every other one, and
// between two challenges of one method for the same asset.
func Conflicts(c x402.Captured, offers []Offer) (list []Conflict) {
	here := Side{placeOf(c.Envelope), RowTerms(c.Envelope)}
	for i := range c.Others {
		if found := Compare(here, Side{placeOf(&c.Others[i]), RowTerms(&c.Others[i])}); found != nil {
			list = append(list, *found)
		}
	}
	for i := range offers {
		for k := i + 1; k < len(offers); k++ {
			if found := compareChallenges(offers, i, k); found != nil {
				return append(list, *found) // one is enough, and there may be many pairs
			}
		}
	}
	return list
}

// compareChallenges compares two challenges. Challenges of different methods, networks or assets are alternatives.
func compareChallenges(offers []Offer, i, k int) *Conflict {
	a, b := offers[i], offers[k]
	if !a.Usable() || !b.Usable() || a.Protocol != b.Protocol || a.Scheme != b.Scheme ||
		networkKey(a.Terms) != networkKey(b.Terms) ||
		!strings.EqualFold(a.AssetNorm(), b.AssetNorm()) {
		return nil
	}
	place := func(n int) string { return fmt.Sprintf("challenge %d", n+1) }
	return Compare(Side{place(i), []Terms{a.Terms}}, Side{place(k), []Terms{b.Terms}})
}

// placeOf returns the place of an envelope in words.
func placeOf(e *x402.Envelope) string {
	if e == nil {
		return ""
	}
	switch e.Channel {
	case x402.ChannelHeader:
		return "the header PAYMENT-REQUIRED"
	case x402.ChannelAlias:
		return "another header"
	case x402.ChannelHTML:
		return "the page"
	case x402.ChannelMCP:
		return "the result"
	}
	return "the body"
}

// Compare returns how two places differ in what they ask for, nil unless each asks for a payment that the other does
// not. So a place may leave out ways to pay, as version 1 must. Schemes are not compared, nor are protocols with each
// other: they are alternatives.
func Compare(here, there Side) *Conflict {
	for _, protocol := range append([]string{X402}, Protocols...) {
		mine, theirs := without(here.Terms, there.Terms, protocol), without(there.Terms, here.Terms, protocol)
		if len(mine) == 0 || len(theirs) == 0 {
			continue
		}
		var best *Conflict
		rank := 0
		for _, a := range mine {
			for _, b := range theirs {
				of, n := difference(a, b)
				if best == nil || n > rank {
					best, rank = &Conflict{of, Asked{here.Place, a}, Asked{there.Place, b}}, n
				}
			}
		}
		return best
	}
	return nil
}

// without returns the terms of a protocol that another list lacks.
func without(list, others []Terms, protocol string) (rest []Terms) {
	for _, t := range list[:min(len(list), maxCompared)] {
		if t.Protocol == protocol && !slices.ContainsFunc(others, func(o Terms) bool {
			return o.Protocol == protocol && termsKey(o) == termsKey(t)
		}) {
			rest = append(rest, t)
		}
	}
	return rest
}

// maxCompared is the most terms of a place that are compared. A service has at most a few networks.
const maxCompared = 64

type comparedKey struct{ network, asset, payTo, amount string }

func termsKey(t Terms) comparedKey {
	return comparedKey{networkKey(t), strings.ToLower(t.AssetNorm()), x402.NormalizeAddress(t.NetworkCAIP2, t.PayTo),
		t.Amount}
}

func networkKey(t Terms) string {
	if t.NetworkCAIP2 != "" {
		return t.NetworkCAIP2
	}
	return strings.ToLower(t.Network)
}

// difference returns what differs between two ways to pay, and how much they have in common.
func difference(a, b Terms) (of string, common int) {
	x, y := termsKey(a), termsKey(b)
	same := 0
	if a.Scheme == b.Scheme {
		same++
	}
	switch {
	case x.network != y.network:
		return OfNetwork, same
	case x.asset != y.asset:
		return OfAsset, same + 2
	case x.payTo != y.payTo:
		if x.amount == y.amount {
			same++
		}
		return OfRecipient, same + 4
	}
	return OfAmount, same + 4
}

// String returns a conflict in one sentence, with both sides.
func (c Conflict) String() string {
	return fmt.Sprintf("two terms for one request, of which the %s differs: %s asks for %s; %s asks for %s", c.Of,
		c.Here.Place, c.Here.Terms, c.There.Place, c.There.Terms)
}

// String returns a way to pay in words: "2500 of USDC on eip155:8453 to 0x…".
func (t Terms) String() string {
	name := t.Value().AssetName
	if name == x402.UnknownAsset {
		name = t.Asset
	}
	text := strings.TrimSpace(t.Amount + " of " + clip(name) + " on " + clip(t.Network))
	if t.Amount == "" {
		text = strings.TrimPrefix(text, "of ")
	}
	if t.PayTo != "" {
		text += " to " + x402.SpellAddress(t.NetworkCAIP2, clip(t.PayTo))
	}
	return text
}
