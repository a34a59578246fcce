package x402

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Condition is what a buyer needs before a payment by an option, beside the money.
type Condition struct {
	Code string // of the Need constants
	Text string // one sentence without a full stop
}

// Codes of conditions.
const (
	NeedDeposit      = "deposit"  // the money must be in a contract before it can be paid
	NeedAccount      = "account"  // the seller takes a payment only with a proof of who pays
	NeedApproval     = "approval" // a contract must be allowed to take the token
	NeedSubscription = "subscription"
)

// NeedsGateway reports whether a row is paid out of a balance in Circle Gateway.
func (r Requirement) NeedsGateway() bool { return object(r.extra()).text("name") == gatewayName }

// Conditions returns what a buyer needs first, as the row itself shows.
func (r Requirement) Conditions() []Condition {
	method := r.extra().text("assetTransferMethod")
	switch namespace := AddressNamespace(r.NetworkCAIP2); {
	case r.NeedsGateway():
		return []Condition{{NeedDeposit, "Needs a deposit in Circle Gateway first, from a wallet that is no contract"}}
	case r.NetworkCAIP2 == "cloudflare:402":
		return []Condition{{NeedAccount, "Needs an account at Cloudflare first"}}
	case r.Scheme == "batch-settlement":
		return []Condition{{NeedDeposit, "Needs a deposit in a payment channel first"}}
	case namespace == "eip155" && (r.Scheme == "upto" && method != "eip3009" || method == "permit2"):
		return []Condition{{NeedApproval, "Needs an approval of Permit2 for the token first"}}
	}
	return nil
}

// Conditions returns the conditions of a row, counted from 0: those that the row shows, and those that the extensions
// of the envelope set for it.
func (e *Envelope) Conditions(row int) []Condition {
	if row < 0 || row >= len(e.Accepts) {
		return nil
	}
	list := e.Accepts[row].Conditions()
	if kinds := e.accountKinds(row); len(kinds) > 0 {
		list = append(list, Condition{NeedAccount, "Needs an account at the seller first (" + strings.Join(kinds, " or ") + ")"})
	}
	return list
}

// The extensions that ask for more than a payment.
const (
	authHints = "auth-hints"
	signIn    = "sign-in-with-x"
)

// maxAuthMethods is the largest number of ways to prove an identity that are named.
const maxAuthMethods = 4

// accountKinds returns the ways to prove an identity that auth-hints demands for a row, sorted. Its list
// authRequirements names rows by their index and is mandatory for them. A demand without indexes is about every row.
func (e *Envelope) accountKinds(row int) (kinds []string) {
	hints := e.members().child("extensions").child(authHints)
	demands := hints.child("info").get("authRequirements")
	if absent(demands) {
		demands = hints.get("authRequirements")
	}
	list, _, _ := elements(demands, maxRows)
	for _, raw := range list {
		demand, _ := members(raw)
		indexes, _, isList := elements(object(demand).get("acceptIndexes"), maxRows)
		if isList && !slices.ContainsFunc(indexes, func(raw json.RawMessage) bool { return numberText(raw) == strconv.Itoa(row) }) {
			continue
		}
		methods, _, _ := elements(object(demand).get("methods"), maxAuthMethods)
		for _, raw := range methods {
			method, _ := members(raw)
			kinds = append(kinds, clip(cleanText(object(method).text("type")), 40))
		}
		if len(methods) == 0 {
			kinds = append(kinds, "of an unknown kind")
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// AccountRows returns for rows of the terms in a response, by their position, which account they need. It reads no terms unless the response contains the extension auth-hints, because few do.
func AccountRows(a Answer) map[int]Condition {
	if !mentions(a, authHints) {
		return nil
	}
	e := Capture(a).Envelope
	if e == nil {
		return nil
	}
	rows := map[int]Condition{}
	for i := range e.Accepts {
		for _, c := range e.Conditions(i) {
			if c.Code == NeedAccount {
				rows[i] = c
			}
		}
	}
	return rows
}

// mentions reports whether the body or a header with terms contains a word.
func mentions(a Answer, word string) bool {
	if bytes.Contains(a.Body, []byte(word)) {
		return true
	}
	for _, name := range headerNames {
		for _, value := range a.Header.Values(name) {
			if d, ok := decodeValue(value); ok && bytes.Contains(d.text, []byte(word)) {
				return true
			}
		}
	}
	return false
}

// SignInOnly reports whether the envelope asks for a sign-in with a wallet instead of a payment: it has the extension
// sign-in-with-x, and accepts is an empty list.
func (e *Envelope) SignInOnly() bool {
	top := e.members()
	rows, _, isList := elements(top.get("accepts"), 1)
	return isList && len(rows) == 0 && !absent(top.child("extensions").get(signIn))
}

// members returns the members of the envelope, nil for requirements without one.
func (e *Envelope) members() object {
	if e.top != nil {
		return e.top
	}
	top, _ := members(e.Raw)
	return top
}
