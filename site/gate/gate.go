// Package gate answers the question of a client that is about to sign a payment: are recipient, network, token and
// amount those that a directory has observed at this URL?
//
// It owns the file of a snapshot that is asked (data/gate.bin), the rule, and a client that reads the file from a
// directory or a copy and checks its signature. The package @tollbook/gate in the folder npm does the same in JavaScript;
// testdata/vectors.json holds both to one rule. The package must never know how a verdict on a service is made: it
// finds it in the file.
package gate

import (
	"math/big"
	"time"

	"tollbook/site/x402"
)

// Requirement is what a client is asked to pay.
type Requirement struct {
	Network string // CAIP-2, or a name of version 1 of x402 such as base
	Asset   string
	PayTo   string
	Amount  string // in atomic units
}

// Verdicts on a requirement.
const (
	Match        = "match"         // observed, and the amount is not above what was observed
	NewPrice     = "new-price"     // the amount is above each that was observed for this recipient and token
	NewRecipient = "new-recipient" // no option at the URL has this recipient on this network
	OtherToken   = "other-token"   // the recipient was observed, but not with this token
	Danger       = "danger"        // the directory advises against a payment at this URL
	Unknown      = "unknown"       // it says nothing: see Reason
)

// Verdicts lists them.
var Verdicts = []string{Match, NewPrice, NewRecipient, OtherToken, Danger, Unknown}

// Reasons of Unknown.
const (
	ReasonUnlisted = "unlisted" // the directory does not list the URL
	ReasonStale    = "stale"    // its snapshot is older than the caller allows
	ReasonUnjudged = "unjudged" // the directory knows too little of the URL, or no client can pay it
)

// Result is an answer.
type Result struct {
	Verdict  string
	Reason   string    // of Unknown; "" for any other
	Observed string    // the largest amount that was observed for the recipient and the token; "" for none
	AsOf     time.Time // when the directory read its facts
	Evidence string    // the address of what the directory observed at the URL; "" for a copy without a directory
}

// Rule is a line of the rule: the first whose condition holds gives the verdict.
type Rule struct {
	If      string `json:"if"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
}

// Rules is the rule, which ends with a line that always holds.
var Rules = []Rule{
	{"unlisted", Unknown, ReasonUnlisted},
	{"stale", Unknown, ReasonStale},
	{"danger", Danger, ""},
	{"unjudged", Unknown, ReasonUnjudged},
	{"recipient-differs", NewRecipient, ""},
	{"token-differs", OtherToken, ""},
	{"price-above", NewPrice, ""},
	{"", Match, ""},
}

// Judge compares a requirement with the record of its URL, which is nil if the URL is not listed. maxAge is how old the
// facts may be at now.
func Judge(r *Record, q Requirement, builtAt, now time.Time, maxAge time.Duration) Result {
	out := Result{AsOf: builtAt}
	holds := map[string]bool{"": true, "unlisted": r == nil, "stale": now.Sub(builtAt) > maxAge}
	if r != nil {
		asked := newToken(networkID(q.Network), q.Asset, q.PayTo)
		observed := r.amounts[asked]
		holds["danger"], holds["unjudged"] = r.level == LevelDanger, r.level == LevelUnknown
		holds["recipient-differs"] = !r.names(asked.payTo())
		holds["token-differs"] = observed == nil
		if observed != nil {
			out.Observed = observed.String()
			amount, ok := parseAmount(q.Amount)
			holds["price-above"] = !ok || amount.Cmp(observed) > 0
		}
	}
	for _, rule := range Rules {
		if holds[rule.If] {
			out.Verdict, out.Reason = rule.Verdict, rule.Reason
			break
		}
	}
	return out
}

// names reports whether an option of the URL has a recipient.
func (r *Record) names(payTo [payToBytes]byte) bool {
	for t := range r.amounts {
		if t.payTo() == payTo {
			return true
		}
	}
	return false
}

// networkID returns the CAIP-2 id of a network, and any other text as it is.
func networkID(name string) string {
	if id, ok := x402.ResolveNetwork(name); ok {
		return id
	}
	return name
}

// FalseAnswers returns the upper limit of the probability that a host that is not listed, or a URL that is not listed on
// a listed host with most URLs, is found. A recipient that was not observed is found with 2^-128 for each token.
func FalseAnswers(hosts, mostURLs int) *big.Rat {
	of := func(n, bits int) *big.Rat {
		return new(big.Rat).SetFrac(big.NewInt(int64(n)), new(big.Int).Lsh(big.NewInt(1), uint(bits)))
	}
	return new(big.Rat).Add(of(hosts, 8*(hostBytes+1)), of(mostURLs, 8*urlBytes))
}
