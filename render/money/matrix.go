// This file makes the rows of the pages about what facilitators announce and what is covered on chain. It must never
// know a route or a template.

package money

import (
	"cmp"
	"maps"
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

// matrix is the body of the page of the matrix.
type matrix struct {
	Polled   []polled
	Kinds    []matrixKind
	Settled  []matrixToken
	Grid     supportGrid
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
	On    Chip
	Names []facilitatorName
	More  int
}

// matrixToken is a token with the facilitators that settled payments in it.
type matrixToken struct {
	site.MatrixToken
	On    Chip
	Names []facilitatorName
	More  int
}

// facilitatorName is a facilitator in a row.
type facilitatorName struct{ FacilitatorID, Name string }

// supportGrid is which facilitator supports which network: a column per network, a row per facilitator.
type supportGrid struct {
	Networks []Chip       // main networks, those of the most facilitators first
	More     int          // networks that are left out
	Rows     []supportRow // facilitators that support the most networks first, then by id
}

// supportRow is a facilitator with a cell per network.
type supportRow struct {
	facilitatorName
	Cells []supportCell
}

// supportCell says what is known of a facilitator on a network.
type supportCell struct{ IsAnnounced, IsSettled bool }

// maxGridNetworks limits the columns of the grid.
const maxGridNetworks = 10

// newGrid returns the grid of the kinds that facilitators announce on main networks and of the tokens they settled.
func newGrid(m *site.FacilitatorMatrix, network func(id string) Chip, name func(id string) string) (
	g supportGrid) {
	cells, networks := map[[2]string]supportCell{}, map[string]Chip{}
	byNetwork, byFacilitator := map[string]int{}, map[string]int{}
	add := func(on, label string, facilitators []string, add supportCell) {
		networks[on] = named(network(on), label)
		for _, id := range facilitators {
			c, ok := cells[[2]string{id, on}]
			if !ok {
				byNetwork[on]++
				byFacilitator[id]++
			}
			cells[[2]string{id, on}] = supportCell{c.IsAnnounced || add.IsAnnounced, c.IsSettled || add.IsSettled}
		}
	}
	for _, k := range m.Kinds {
		if k.IsMainnet != nil && *k.IsMainnet {
			add(k.NetworkCAIP2, k.NetworkName, k.Facilitators, supportCell{IsAnnounced: true})
		}
	}
	for _, t := range m.Settled {
		add(t.NetworkCAIP2, t.NetworkName, t.Facilitators, supportCell{IsSettled: true})
	}
	columns := slices.SortedFunc(maps.Keys(networks), func(a, b string) int {
		return cmp.Or(byNetwork[b]-byNetwork[a], cmp.Compare(a, b))
	})
	g.More = max(0, len(columns)-maxGridNetworks)
	columns = columns[:len(columns)-g.More]
	for _, on := range columns {
		g.Networks = append(g.Networks, networks[on])
	}
	ids := slices.SortedFunc(maps.Keys(byFacilitator), func(a, b string) int {
		return cmp.Or(byFacilitator[b]-byFacilitator[a], cmp.Compare(a, b))
	})
	for _, id := range ids[:min(len(ids), maxRows)] {
		row := supportRow{facilitatorName: facilitatorName{id, cmp.Or(name(id), id)}}
		for _, on := range columns {
			row.Cells = append(row.Cells, cells[[2]string{id, on}])
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// NewMatrix returns the body of the page. name returns the name of a facilitator, "" for none.
func NewMatrix(m *site.FacilitatorMatrix, network func(id string) Chip, name func(id string) string) matrix {
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
	body.Networks, body.Grid = len(networks), newGrid(m, network, name)
	for _, t := range m.Settled[:min(len(m.Settled), maxRows)] {
		row := matrixToken{MatrixToken: t, On: named(network(t.NetworkCAIP2), t.NetworkName)}
		row.Names, row.More = names(t.Facilitators)
		body.Settled = append(body.Settled, row)
	}
	return body
}

// named returns a network with its name, which a network without a page may lack: no service asks to be paid there.
func named(n Chip, name string) Chip {
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
	On Chip
}

// supportedSigner is an account.
type supportedSigner struct {
	site.SupportedSigner
	Means string // what lists say of it
}

// NewSupported returns the rows of what a facilitator answers; none if it was never asked.
func NewSupported(s *site.FacilitatorSupported, network func(id string) Chip) Supported {
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
