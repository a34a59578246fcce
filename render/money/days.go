package money

import (
	"cmp"
	"html/template"
	"math/big"
	"slices"

	"tollbook/render/chart"
	"tollbook/site"
	"tollbook/site/display"
)

// Days contains the volume of all facilitators by UTC day, divided in three ways.
type Days struct {
	Splits []*Split
	Idle   []Chip // networks that are measured, without a settlement in 90 days
}

// Split is a chart of all volume by UTC day, divided by facilitator, network or token, with a table and a file of the
// same figures.
type Split struct {
	By, Of string // "facilitator", "facilitators"
	chart.Stack
	Parts []SplitPart // the largest first, others last
	File  string      // key of the CSV

	JSON, Member string // key of the JSON, "" for that of the page; the member with these figures
}

// SplitPart is a part of the columns of a Split.
type SplitPart struct {
	Chip
	Swatch template.HTML // "" without a volume
	Volume site.Decimal  // of the 90 days
	Share  string        // percentage of all volume; "" without
	sum    *big.Rat
	key    string
	points []site.VolumePoint
}

const coverage = "v1/coverage.json"

// CSVKey returns the key of the file with the volume of a Split: by "facilitator", "network" or "token".
func CSVKey(by string) string { return "v1/coverage/by-" + by + ".csv" }

// PictureKey returns the key of the same as a picture that other sites can embed.
func PictureKey(by string) string { return "v1/coverage/by-" + by + ".svg" }

// PictureTitle returns the title of the picture.
func (s *Split) PictureTitle() string { return "x402 volume by " + s.By + ", US dollars a day" }

// Picture returns the chart as a picture. source says whose figures these are.
func (s *Split) Picture(source string, c chart.PictureColours) []byte {
	names := make([]string, len(s.Parts))
	for i := range s.Parts {
		names[i] = s.Parts[i].Label
	}
	return s.Stack.Picture(s.PictureTitle(), source, names, c)
}

// NewDays returns the charts of a snapshot. named returns how pages show a network, page the key of a facilitator's
// page, and since the first instant from which the volume of networks is known.
func NewDays(s *site.Snapshot, cal *chart.Calendar, named func(caip2 string) Chip, page func(id string) string,
	since func(networks []string) *site.Time) Days {
	var d Days
	var facilitators, networks, tokens, measured = []SplitPart{}, []SplitPart{}, []SplitPart{}, []string{}
	for i := range s.Facilitators {
		f := &s.Facilitators[i]
		facilitators = append(facilitators, SplitPart{key: f.FacilitatorID, points: f.Timeseries,
			Chip: Chip{Label: display.Name(f.Name), Title: f.FacilitatorID, Key: page(f.FacilitatorID)}})
	}
	for i := range s.Coverage.Networks {
		n := &s.Coverage.Networks[i]
		if !n.Measured || n.IsMainnet != nil && !*n.IsMainnet {
			continue
		}
		measured = append(measured, n.NetworkCAIP2)
		if len(n.Timeseries) == 0 {
			d.Idle = append(d.Idle, named(n.NetworkCAIP2))
			continue
		}
		networks = append(networks, SplitPart{Chip: named(n.NetworkCAIP2), key: n.NetworkCAIP2, points: n.Timeseries})
		tokens = addTokens(tokens, n)
	}
	from := since(measured)
	d.Splits = []*Split{newSplit("facilitator", facilitators, cal, from), newSplit("network", networks, cal, from),
		newSplit("token", tokens, cal, from)}
	d.Splits[1].JSON, d.Splits[2].JSON, d.Splits[2].Member = coverage, coverage, "timeseries_by_token"
	return d
}

// Total returns the volume of all facilitators on the measured main networks by UTC day, and these networks.
func Total(s *site.Snapshot) (points []site.VolumePoint, measured []string) {
	for i := range s.Coverage.Networks {
		if n := &s.Coverage.Networks[i]; n.Measured && (n.IsMainnet == nil || *n.IsMainnet) {
			points, measured = sumPoints(points, n.Timeseries), append(measured, n.NetworkCAIP2)
		}
	}
	return points, measured
}

// Shown returns the charts with a settlement.
func (d Days) Shown() []*Split {
	return slices.DeleteFunc(slices.Clone(d.Splits), func(s *Split) bool { return len(s.Parts) == 0 })
}

// addTokens adds the tokens of a network that have a value. A token counts with those of the same name on other
// networks: only the table of assets and the operator name tokens with a value.
func addTokens(tokens []SplitPart, n *site.NetworkCoverage) []SplitPart {
	for _, t := range n.TimeseriesByToken {
		at := slices.IndexFunc(tokens, func(p SplitPart) bool { return p.key == t.AssetName })
		if at < 0 {
			at = len(tokens)
			tokens = append(tokens, SplitPart{key: t.AssetName, Chip: Chip{Label: display.Asset(t.AssetName),
				Title: "on all networks"}})
		}
		var points []site.VolumePoint
		for _, p := range t.Timeseries {
			if p.VolumeUSD != nil {
				points = append(points, site.VolumePoint{Date: p.Date, VolumeUSD: *p.VolumeUSD, TxCount: p.TxCount})
			}
		}
		tokens[at].points = sumPoints(tokens[at].points, points)
	}
	return tokens
}

// sumPoints returns the sums of two series by date.
func sumPoints(a, b []site.VolumePoint) []site.VolumePoint {
	sum := slices.Clone(a)
	for _, p := range b {
		at, ok := slices.BinarySearchFunc(sum, p.Date, func(q site.VolumePoint, date string) int {
			return cmp.Compare(q.Date, date)
		})
		if !ok {
			sum = slices.Insert(sum, at, p)
			continue
		}
		total := new(big.Rat).Add(sum[at].VolumeUSD.Rational(), p.VolumeUSD.Rational())
		sum[at].VolumeUSD, sum[at].TxCount = site.DecimalOf(total), sum[at].TxCount+p.TxCount
	}
	return sum
}

// newSplit returns the chart of parts: those with the largest volume, and all others as one.
func newSplit(by string, parts []SplitPart, cal *chart.Calendar, since *site.Time) *Split {
	all, split := new(big.Rat), &Split{By: by, Of: by + "s", File: CSVKey(by), Member: "timeseries"}
	parts = slices.DeleteFunc(parts, func(p SplitPart) bool {
		return !slices.ContainsFunc(p.points, func(v site.VolumePoint) bool { return v.TxCount > 0 })
	})
	for i := range parts {
		parts[i].sum = new(big.Rat)
		for _, p := range parts[i].points {
			parts[i].sum.Add(parts[i].sum, p.VolumeUSD.Rational())
		}
		all.Add(all, parts[i].sum)
	}
	slices.SortFunc(parts, func(a, b SplitPart) int { return cmp.Or(b.sum.Cmp(a.sum), cmp.Compare(a.key, b.key)) })
	if len(parts) > chart.StackParts+1 {
		others := SplitPart{key: "others", sum: new(big.Rat), Chip: Chip{
			Label: display.Number(int64(len(parts)-chart.StackParts)) + " others", Title: "all other " + split.Of}}
		for _, p := range parts[chart.StackParts:] {
			others.points = sumPoints(others.points, p.points)
			others.sum.Add(others.sum, p.sum)
		}
		parts = append(parts[:chart.StackParts:chart.StackParts], others)
	}
	charted := make([]chart.Part, len(parts))
	for i, p := range parts {
		charted[i] = chart.Part{Key: p.key, Points: p.points, Others: i == chart.StackParts}
	}
	split.Stack = chart.NewStack("Volume by UTC day and "+by, charted, cal, since)
	for i := range parts {
		p := &parts[i]
		p.Volume, p.Share = site.DecimalOf(p.sum), share(p.sum, all)
		if i < len(split.Swatches) {
			p.Swatch = split.Swatches[i]
		}
	}
	split.Parts = parts
	return split
}
