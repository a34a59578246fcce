// This part of the package judges what facilitators answer when they are asked what they settle: their uptime and
// latency, the matrix of what they announce, and which of the accounts that they announce are in no list.
//
// It is pure, as package judge is. A facilitator's answer is evidence about that facilitator alone: an account that is
// listed as another's settler stays the other's.

package directory

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tollbook/site"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/polls"
	"tollbook/site/x402"
)

// Rules of the judgment.
const (
	dataFreshness = 7 * 24 * time.Hour  // an older answer says nothing about today
	remembered    = 30 * 24 * time.Hour // a signer that was announced since may be a settler
)

// Account is an account on a network.
type Account struct{ Network, Address string }

// Observatory judges polls as of one time.
type Observatory struct {
	facts  *polls.Facts
	now    time.Time
	by     map[string]*polls.FacilitatorFacts
	owners map[Account]string // the facilitator whose settler an account is listed as
	listed map[string][]string
	tokens []ledger.Token
}

// NewObservatory returns the judge of polls. facilitators are all facilitators with their listed settlers, tokens
// those that the operator configured.
func NewObservatory(f *polls.Facts, facilitators []ledger.Facilitator, tokens []ledger.Token, now time.Time) *Observatory {
	o := &Observatory{facts: f, now: now, by: map[string]*polls.FacilitatorFacts{}, owners: map[Account]string{},
		listed: map[string][]string{}, tokens: tokens}
	for i := range f.Facilitators {
		o.by[f.Facilitators[i].FacilitatorID] = &f.Facilitators[i]
	}
	for _, l := range facilitators {
		for _, s := range l.Settlers {
			o.owners[Account{s.Network, s.Address}] = l.ID
			o.listed[s.Address] = append(o.listed[s.Address], s.Network)
		}
	}
	return o
}

// isCurrent reports whether what was seen last at a time is in the newest answer, and that is not too old.
func (o *Observatory) isCurrent(f *polls.FacilitatorFacts, last time.Time) bool {
	return f.AnsweredAt != nil && !last.Before(*f.AnsweredAt) && o.now.Sub(*f.AnsweredAt) <= dataFreshness
}

// currentKinds returns the kinds of a facilitator's newest answer.
func (o *Observatory) currentKinds(f *polls.FacilitatorFacts) []polls.Kind {
	var list []polls.Kind
	for _, k := range f.Kinds {
		if o.isCurrent(f, k.Last) {
			list = append(list, k)
		}
	}
	return list
}

// Supported returns what a facilitator answers, nil if it was never asked.
func (o *Observatory) Supported(id string) *site.FacilitatorSupported {
	f := o.by[id]
	if f == nil {
		return nil
	}
	s := &site.FacilitatorSupported{
		State: f.Outcome, StatusCode: f.Code, AskedAt: site.NewTime(f.AskedAt), Extensions: []string{},
		Kinds: []site.SupportedKind{}, Signers: []site.SupportedSigner{},
	}
	if f.AnsweredAt != nil {
		s.AnsweredAt = new(site.NewTime(*f.AnsweredAt))
		if o.isCurrent(f, *f.AnsweredAt) {
			s.Extensions = append(s.Extensions, f.Extensions...)
		}
	}
	addPolls(s, f.Days)
	for _, k := range o.currentKinds(f) {
		token, name := o.asset(k.Network, k.Asset)
		s.Kinds = append(s.Kinds, site.SupportedKind{X402Version: k.Version, Scheme: k.Scheme,
			Network: shortNetwork(k.Network), NetworkCAIP2: k.Network, TokenAddress: token, AssetName: name,
			Since: site.NewTime(k.First)})
	}
	for _, g := range f.Signers {
		row := site.SupportedSigner{Networks: g.Networks, Address: spell(g), Origin: g.Origin,
			Since: site.NewTime(g.First), LastSeenAt: site.NewTime(g.Last), Current: o.isCurrent(f, g.Last)}
		row.Listing, row.ClaimedBy = o.listing(id, g)
		s.Signers = append(s.Signers, row)
	}
	return s
}

// listing returns what lists say of a signer, and the other facilitators that it is listed for.
func (o *Observatory) listing(id string, s polls.Signer) (listing string, claimedBy []string) {
	listing, claimedBy = site.SignerUnlisted, []string{}
	own := false
	for _, network := range o.listed[s.Address] {
		if !covers(s, network) {
			continue
		}
		if owner := o.owners[Account{network, s.Address}]; owner == id {
			own = true
		} else if !slices.Contains(claimedBy, owner) {
			claimedBy = append(claimedBy, owner)
		}
	}
	slices.Sort(claimedBy)
	switch {
	case len(claimedBy) > 0:
		listing = site.SignerClaimed
	case own:
		listing = site.SignerSettler
	}
	return listing, claimedBy
}

// Matrix returns what all facilitators announce, and what was measured of them on chain.
func (o *Observatory) Matrix(list []site.FacilitatorDetail) site.FacilitatorMatrix {
	m := site.FacilitatorMatrix{AsOf: site.NewTime(o.now), Facilitators: []site.MatrixFacilitator{},
		Kinds: []site.MatrixKind{}, Settled: []site.MatrixToken{}}
	kinds := map[[3]string]*site.MatrixKind{}
	for i := range list {
		d := &list[i]
		f := o.by[d.FacilitatorID]
		if f == nil || d.Supported == nil {
			continue
		}
		row := site.MatrixFacilitator{FacilitatorID: d.FacilitatorID, Name: d.Name, State: d.Supported.State,
			AnsweredAt: d.Supported.AnsweredAt, Uptime30d: d.Supported.Uptime30d,
			MedianLatencyMS30d: d.Supported.MedianLatencyMS30d, KindCount: len(d.Supported.Kinds)}
		accounts := map[string]bool{}
		for _, s := range d.Supported.Signers {
			if s.Current {
				accounts[s.Address] = true
			}
		}
		row.SignerCount = len(accounts)
		m.Facilitators = append(m.Facilitators, row)
		for _, k := range o.currentKinds(f) {
			key := [3]string{k.Network, k.Scheme, k.Asset}
			cell := kinds[key]
			if cell == nil {
				token, name := o.asset(k.Network, k.Asset)
				cell = &site.MatrixKind{Network: shortNetwork(k.Network), NetworkCAIP2: k.Network,
					NetworkName: networkName(k.Network), IsMainnet: isMainnet(k.Network), Scheme: k.Scheme,
					TokenAddress: token, AssetName: name}
				kinds[key] = cell
			}
			cell.X402Versions = append(cell.X402Versions, k.Version)
			cell.Facilitators = append(cell.Facilitators, d.FacilitatorID)
		}
	}
	for _, k := range kinds {
		slices.Sort(k.X402Versions)
		slices.Sort(k.Facilitators)
		k.X402Versions, k.Facilitators = slices.Compact(k.X402Versions), slices.Compact(k.Facilitators)
		m.Kinds = append(m.Kinds, *k)
	}
	slices.SortFunc(m.Kinds, func(a, b site.MatrixKind) int {
		return cmp.Or(cmp.Compare(a.NetworkCAIP2, b.NetworkCAIP2), cmp.Compare(a.Scheme, b.Scheme),
			cmp.Compare(text(a.TokenAddress), text(b.TokenAddress)))
	})
	m.Settled = append(m.Settled, settled(list)...)
	slices.SortFunc(m.Facilitators, func(a, b site.MatrixFacilitator) int {
		return cmp.Compare(a.FacilitatorID, b.FacilitatorID)
	})
	return m
}

// settled returns the tokens in which measured facilitators settled payments in 30 days.
func settled(list []site.FacilitatorDetail) []site.MatrixToken {
	by := map[Account]*site.MatrixToken{}
	for i := range list {
		for _, c := range list[i].Chains {
			if c.Verification != site.VerificationOnChain || c.TxCount30d == 0 {
				continue
			}
			key := Account{c.NetworkCAIP2, c.TokenAddressNorm}
			if by[key] == nil {
				by[key] = &site.MatrixToken{Network: c.Network, NetworkCAIP2: c.NetworkCAIP2,
					NetworkName: networkName(c.NetworkCAIP2), TokenAddress: c.TokenAddress, AssetName: c.AssetName}
			}
			by[key].TxCount30d += c.TxCount30d
			by[key].Facilitators = append(by[key].Facilitators, list[i].FacilitatorID)
		}
	}
	tokens := make([]site.MatrixToken, 0, len(by))
	for _, t := range by {
		slices.Sort(t.Facilitators)
		t.Facilitators = slices.Compact(t.Facilitators)
		tokens = append(tokens, *t)
	}
	slices.SortFunc(tokens, func(a, b site.MatrixToken) int {
		return cmp.Or(cmp.Compare(a.NetworkCAIP2, b.NetworkCAIP2), cmp.Compare(a.TokenAddress, b.TokenAddress))
	})
	return tokens
}

// asset returns the address and the name of a token, nil for none.
func (o *Observatory) asset(network, token string) (tokenAddress, name *string) {
	if token == "" {
		return nil, nil
	}
	if a, ok := x402.LookupAsset(network, token); ok {
		return new(x402.SpellAddress(network, a.Address)), &a.Symbol
	}
	for _, t := range o.tokens {
		if t.Network == network && t.Address == token {
			return new(x402.SpellAddress(network, token)), &t.Symbol
		}
	}
	return new(x402.SpellAddress(network, token)), new(x402.UnknownAsset)
}

func covers(s polls.Signer, network string) bool {
	return x402.SupportedSigner{Networks: s.Networks}.Covers(network)
}

// spell returns a signer's address as its networks write it.
func spell(s polls.Signer) string {
	return x402.SpellAddress(strings.Replace(s.Networks, "*", "0", 1), s.Address)
}

func shortNetwork(id string) string { return cmp.Or(x402.Abbreviation(id), id) }

func networkName(id string) string {
	n, _ := x402.NetworkByID(id)
	return cmp.Or(n.Name, id)
}

// isMainnet returns nil for a network that is in no table.
func isMainnet(id string) *bool {
	n, ok := x402.NetworkByID(id)
	if !ok {
		return nil
	}
	return &n.Mainnet
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
