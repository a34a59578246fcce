// Package chain knows who settles payments on chain, and reads what they settled: facilitators with their settler accounts,
// as lists name them, and a reader each for EVM networks and for Solana.
//
// A settlement is told by who sent it, so the list of settlers is the measuring instrument. Shipped is the list that comes
// with Tollbook, data collected from public repositories; ReadFacilitators reads one of the same form.
//
// On EVM networks it is a payment in a transaction that a settler sent, told by the events of measured tokens alone, never by
// a function's selector, so that direct calls, batches and wallets of any kind are one case (settle has the pairing):
//
//   - an AuthorizationUsed with the Transfer of the same token from the authoriser that follows it (method eip3009);
//   - the event of one of x402's two Permit2 proxies with the Transfer that comes before it (permit2).
//
// Whatever else such a transaction moves is none: a top-up, a refund, a fee leg, a payment to a known recipient without
// authorisation. Nor is a payment of nothing, of the settler's own money, or from before the settler's first day. Who pays
// himself has settled; the row says so, and whoever judges leaves it out.
//
// Nothing a node says is believed alone. A range's logs are asked for between two looks at its last block, with the head
// that the round began with; they must be of the blocks that headers and receipts are of, in the range, of the contracts and
// topics that were asked for, each there once. Ranges are linked by their blocks' parents. Blocks that gave nothing are
// sampled, and where their bloom says that they might hold something, asked by themselves. What does not hold is a fault of
// the node: it is asked again later, another one at once, less at a time; in the end the scan waits where it stands. It
// never passes over a range.
//
// The package owns no rows: a Store keeps what it finds, a range with its settlements in one transaction. It must never know
// what a service is, nor what a volume says of anyone.
package chain

import (
	"bytes"
	_ "embed"
	"time"
)

// Facilitator is who settles payments for others, as a list says it.
type Facilitator struct {
	ID             string
	Name           string
	WebsiteURL     string // of a list without one, the origin of FacilitatorURL
	DocsURL        string // "" when unknown
	FacilitatorURL string // "" when unknown
	UpstreamStatus string // how sure the list's source is of it: merged, merged_after_snapshot, pull_request, …
	Settlers       []Settler
}

// Settler is an account that a facilitator sends settlements from.
type Settler struct {
	Network    string   // CAIP-2, of the network table where it is known there
	Address    string   // in normal form
	Tokens     []string // that it settles, in normal form, as the list orders them
	Since      *time.Time
	Deprecated bool // the facilitator has gone over to other accounts; what it settled stays
}

//go:embed facilitators.json
var shipped []byte

// ShippedName is what faults of the shipped list are told under.
const ShippedName = "facilitators.json"

// Shipped is the list of facilitators that comes with Tollbook.
func Shipped() ([]Facilitator, error) { return ReadFacilitators(ShippedName, bytes.NewReader(shipped)) }
