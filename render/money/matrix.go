// This file makes the rows of the pages about what facilitators announce and what is covered on chain. It must never
// know a route or a template.

package money

import (
	"cmp"
	"slices"

	"tollbook/site"
	"tollbook/site/display"
)

// Limits of the pages.
const (
	maxRows         = 200
	maxFacilitators = 12 // in a row
	maxSupported    = 100
)

// FacilitatorNetwork is a network as a page shows it.
type FacilitatorNetwork struct {
	Label, Title string
	Key          string // key of the network's page, "" without
}

// matrix is the body of the page of the matrix.
type matrix struct {
	Polled   []polled
	Kinds    []matrixKind
	Settled  []matrixToken
	Answered int // number of facilitators whose newest poll was answered
	Networks int // number of main networks that at least one announces
	More     int // kinds that are left out
}

// polled is a facilitator that is asked what it settles.
type polled struct {
	site.MatrixFacilitator
	State string
}

// matrixKind is a kind of payment with the facilitators that announce it.
type matrixKind struct {
	site.MatrixKind
	On    FacilitatorNetwork
	Names []facilitatorName
	More  int
}

// matrixToken is a token with the facilitators that settled payments in it.
type matrixToken struct {
	site.MatrixToken
	On    FacilitatorNetwork
	Names []facilitatorName
	More  int
}

// facilitatorName is a facilitator in a row.
type facilitatorName struct{ FacilitatorID, Name string }

// NewMatrix returns the body of the page. name returns the name of a facilitator, "" for none.
func NewMatrix(m *site.FacilitatorMatrix, network func(id string) FacilitatorNetwork, name func(id string) string) matrix {
	var body matrix
	names := func(ids []string) (list []facilitatorName, more int) {
		for _, id := range ids[:min(len(ids), maxFacilitators)] {
			list = append(list, facilitatorName{id, cmp.Or(name(id), id)})
		}
		return list, len(ids) - len(list)
	}
	for _, f := range m.Facilitators {
		if f.State == site.SupportedAnswered {
			body.Answered++
		}
		body.Polled = append(body.Polled, polled{f, display.Supported(f.State)})
	}
	networks := map[string]bool{}
	for _, k := range SortKinds(m.Kinds) {
		if k.IsMainnet != nil && *k.IsMainnet {
			networks[k.NetworkCAIP2] = true
		}
		if len(body.Kinds) == maxRows {
			body.More++
			continue
		}
		row := matrixKind{MatrixKind: k, On: named(network(k.NetworkCAIP2), k.NetworkName)}
		row.Names, row.More = names(k.Facilitators)
		body.Kinds = append(body.Kinds, row)
	}
	body.Networks = len(networks)
	for _, t := range m.Settled[:min(len(m.Settled), maxRows)] {
		row := matrixToken{MatrixToken: t, On: named(network(t.NetworkCAIP2), t.NetworkName)}
		row.Names, row.More = names(t.Facilitators)
		body.Settled = append(body.Settled, row)
	}
	return body
}

// named returns a network with its name, which a network without a page may lack: no service asks to be paid there.
func named(n FacilitatorNetwork, name string) FacilitatorNetwork {
	if n.Key == "" && name != n.Title {
		n.Label = name
	}
	return n
}

// SortKinds returns kinds in the order of the page: main networks first, then those of the most facilitators.
func SortKinds(kinds []site.MatrixKind) []site.MatrixKind {
	kinds = slices.Clone(kinds)
	slices.SortStableFunc(kinds, func(a, b site.MatrixKind) int {
		isTest := func(k *site.MatrixKind) int {
			if k.IsMainnet != nil && *k.IsMainnet {
				return 0
			}
			return 1
		}
		return cmp.Or(isTest(&a)-isTest(&b), len(b.Facilitators)-len(a.Facilitators))
	})
	return kinds
}

// Supported is what one facilitator announces.
type Supported struct {
	Kinds       []supportedKind
	Signers     []supportedSigner
	MoreKinds   int
	MoreSigners int
}

// supportedKind is a kind of payment.
type supportedKind struct {
	site.SupportedKind
	On FacilitatorNetwork
}

// supportedSigner is an account.
type supportedSigner struct {
	site.SupportedSigner
	Means string // what lists say of it
}

// NewSupported returns the rows of what a facilitator answers; none if it was never asked.
func NewSupported(s *site.FacilitatorSupported, network func(id string) FacilitatorNetwork) Supported {
	var body Supported
	if s == nil {
		return body
	}
	for _, k := range s.Kinds[:min(len(s.Kinds), maxSupported)] {
		body.Kinds = append(body.Kinds, supportedKind{k, network(k.NetworkCAIP2)})
	}
	for _, g := range s.Signers[:min(len(s.Signers), maxSupported)] {
		body.Signers = append(body.Signers, supportedSigner{g, map[string]string{
			site.SignerSettler:  "its settlement account",
			site.SignerClaimed:  "listed for another facilitator",
			site.SignerUnlisted: "in no list",
		}[g.Listing]})
	}
	body.MoreKinds, body.MoreSigners = len(s.Kinds)-len(body.Kinds), len(s.Signers)-len(body.Signers)
	return body
}
