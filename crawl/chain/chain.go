// Package chain knows who settles payments on chain: facilitators with their settler accounts, as lists name them.
//
// A settlement is told by who sent it, so the list of settlers is the measuring instrument. Shipped is the list that comes
// with Tollbook, data collected from public repositories; ReadFacilitators reads one of the same form. The package owns no
// rows, and must never know what a service is, nor what a volume says of anyone.
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
