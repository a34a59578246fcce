package gate

import (
	"context"
	"errors"
	"fmt"
)

// Action is what becomes of a payment.
type Action string

// Actions.
const (
	Allow  Action = "allow"
	Ask    Action = "ask" // Guard.Ask decides; without it the payment is refused
	Refuse Action = "refuse"
)

// Step is an action for amounts up to a limit.
type Step struct {
	UpTo string // in atomic units of the token; "" for any amount
	Then Action
}

// Policy is what to do by verdict. The first step counts whose limit the amount does not exceed; without one the payment
// is refused.
type Policy map[string][]Step

// DefaultPolicy allows what was observed, asks about what is unknown, and refuses the rest.
var DefaultPolicy = Policy{Match: {{Then: Allow}}, Unknown: {{Then: Ask}}}

// action returns what to do with an amount.
func (p Policy) action(verdict, amount string) Action {
	n, known := parseAmount(amount)
	for _, s := range p[verdict] {
		limit, ok := parseAmount(s.UpTo)
		if s.UpTo == "" || ok && known && n.Cmp(limit) <= 0 {
			return s.Then
		}
	}
	return Refuse
}

// ErrRefused marks a payment that the policy does not allow.
var ErrRefused = errors.New("payment refused")

// Guard lets payments pass by a policy.
type Guard struct {
	Client      *Client
	Policy      Policy                                                                                // DefaultPolicy for nil
	Unreachable Action                                                                                // what to do without a verdict; it has no default
	Ask         func(ctx context.Context, q Requirement, resource string, r Result, cause error) bool // may be nil
}

// Check returns an error that wraps ErrRefused unless the payment is allowed.
func (g *Guard) Check(ctx context.Context, q Requirement, resource string) (Result, error) {
	switch g.Unreachable {
	case Allow, Ask, Refuse:
	default:
		return Result{}, fmt.Errorf("%w: the guard does not say what to do without a verdict: set Unreachable", ErrRefused)
	}
	policy := g.Policy
	if policy == nil {
		policy = DefaultPolicy
	}
	r, err := g.Client.Check(ctx, q, resource)
	action := g.Unreachable
	if err == nil {
		action = policy.action(r.Verdict, q.Amount)
	}
	if action == Ask {
		action = Refuse
		if g.Ask != nil && g.Ask(ctx, q, resource, r, err) {
			action = Allow
		}
	}
	switch {
	case action == Allow:
		return r, nil
	case err != nil:
		return r, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return r, fmt.Errorf("%w: %s", ErrRefused, describe(q, resource, r))
}

// describe says what was asked, what is known and where.
func describe(q Requirement, resource string, r Result) string {
	text := fmt.Sprintf("%.200s asks for %.80s of %.80s on %.80s to %.80s: ", resource, q.Amount, q.Asset, q.Network, q.PayTo)
	switch r.Verdict {
	case Match:
		text += "it was observed so, and the policy does not allow it"
	case NewPrice:
		text += "at most " + r.Observed + " was observed"
	case NewRecipient:
		text += "no such recipient was observed there"
	case OtherToken:
		text += "the recipient was observed with other tokens only"
	case Danger:
		text += "the directory advises against a payment there"
	default:
		text += map[string]string{ReasonUnlisted: "the directory does not list it",
			ReasonStale:    "what the directory knows is too old, of " + r.AsOf.Format("2006-01-02 15:04"),
			ReasonUnjudged: "the directory knows too little of it"}[r.Reason]
	}
	if r.Evidence != "" {
		text += "; see " + r.Evidence
	}
	return text
}
