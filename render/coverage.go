package render

import (
	"tollbook/render/chart"
	"tollbook/render/money"
	"tollbook/site"
	"tollbook/site/display"
)

const coverageRoute = "coverage-page"

// Limits of the coverage page.
const (
	coverageCandidates = 20
	coverageGroups     = 20
	coverageServices   = 12
)

type coverageBody struct {
	*site.CoverageReport
	Networks       []*coverageNetwork
	Measured       int // number of networks that are measured
	Unmeasured     int
	Tokens         []coverageToken
	Volumes        []coverageVolume
	Candidates     []coverageCandidate
	MoreCandidates int
	Groups         []coverageGroup
	MoreGroups     int
	Links          []site.OperatorLink // by other evidence than recipients
}

type coverageNetwork struct {
	*site.NetworkCoverage
	Test bool // a test network
}

// Sources says on how many accounts the settlements of the network rest, "" if nothing is known.
func (n *coverageNetwork) Sources() string {
	switch {
	case n.ComparedNodes == nil:
		return ""
	case *n.ComparedNodes == 1:
		return "one source"
	}
	return display.Number(int64(*n.ComparedNodes)) + " nodes compared"
}

type coverageToken struct {
	site.TokenCoverage
	On    money.Chip
	Share string
}

type coverageVolume struct {
	site.VolumeSum
	Label string
	Width int // 0..100, share of the raw volume
}

type coverageCandidate struct {
	site.CandidateSettler
	On money.Chip
}

type coverageGroup struct {
	site.OperatorGroup
	More int
}

// CoveragePage returns coverage.html: which settlements are measured on chain and which are not.
func (e *Renderer) CoveragePage() ([]byte, error) {
	c := &e.snapshot.Coverage
	body := coverageBody{CoverageReport: c}
	for i := range c.Networks {
		n := &c.Networks[i]
		body.Networks = append(body.Networks, &coverageNetwork{n, n.IsMainnet != nil && !*n.IsMainnet})
		if n.Measured {
			body.Measured++
		} else {
			body.Unmeasured++
		}
		for _, t := range n.Tokens {
			body.Tokens = append(body.Tokens, coverageToken{t,
				money.Chip{Label: display.Name(n.Name), Title: display.Line(n.NetworkCAIP2, display.MaxLine)},
				display.Share(t.UnattributedShare)})
		}
	}
	v := &c.Volume30d
	raw := v.Raw.VolumeUSD.Rational()
	for _, row := range []coverageVolume{
		{VolumeSum: v.Raw, Label: "Total volume"},
		{VolumeSum: v.SelfPayment, Label: "Self-payments: payer and recipient are the same account"},
		{VolumeSum: v.SinglePayer, Label: "Recipients with a single payer"},
		{VolumeSum: v.Without, Label: "Volume without both"},
	} {
		if w := row.VolumeUSD.Rational(); w.Sign() > 0 && raw.Sign() > 0 {
			row.Width = chart.Share100(w, raw)
		}
		body.Volumes = append(body.Volumes, row)
	}
	for _, s := range c.CandidateSettlers[:min(len(c.CandidateSettlers), coverageCandidates)] {
		body.Candidates = append(body.Candidates, coverageCandidate{s, e.shared.Networks.Chip(s.NetworkCAIP2)})
	}
	body.MoreCandidates = len(c.CandidateSettlers) - len(body.Candidates)
	for _, g := range c.Operators.Groups[:min(len(c.Operators.Groups), coverageGroups)] {
		shown := g
		shown.Services = g.Services[:min(len(g.Services), coverageServices)]
		body.Groups = append(body.Groups, coverageGroup{shown, len(g.Services) - len(shown.Services)})
	}
	body.MoreGroups = len(c.Operators.Groups) - len(body.Groups)
	for _, l := range c.Operators.Links {
		if l.By != site.LinkedByRecipient && len(body.Links) < coverageGroups {
			body.Links = append(body.Links, l)
		}
	}
	return e.render(page{
		Key: bareKey(coverageRoute, ""), Kind: kindCoverage, JSON: bareKey("coverage", ""), Title: "Coverage and gaps",
		HasMarkdown: true,
		Description: "Which networks are measured, and the gaps: payments from unidentified senders, possible " +
			"settlement accounts and possible wash volume.",
		Body: body,
	})
}
