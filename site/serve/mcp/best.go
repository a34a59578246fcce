package mcp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// recommendation is a compact recommendation.
type recommendation struct {
	Slug     string             `json:"slug"`
	Name     string             `json:"name"`
	Method   string             `json:"method"`
	URL      string             `json:"url"`
	PriceUSD *string            `json:"price_usd"`
	Needs    string             `json:"needs,omitempty"` // what a buyer needs first for this price
	Network  string             `json:"network"`
	Score    float64            `json:"score"`
	Terms    *site.RankingTerms `json:"terms,omitempty"`
	Why      string             `json:"why"`
}

// rankingMeta is the compact meta of recommendations.
type rankingMeta struct {
	RankingVersion string           `json:"ranking_version"`
	Prefer         string           `json:"prefer"`
	Candidates     int              `json:"candidates"`
	ExcludedCount  int              `json:"excluded_count"`
	Excluded       []site.Exclusion `json:"excluded,omitempty"` // the first
}

// rowsWithTerms is the smallest size whose recommendations have the terms of their scores.
const rowsWithTerms = 10

func compactBest(v *site.List[site.Recommendation, site.RankingMeta], limit size) any {
	shown, _ := limit.first(len(v.Meta.Excluded))
	meta := rankingMeta{v.Meta.RankingVersion, v.Meta.Prefer, v.Meta.Candidates, v.Meta.ExcludedCount,
		v.Meta.Excluded[:min(shown, 5)]}
	return compactList[recommendation]{Meta: meta, Data: rowsOf(v.Data, func(r *site.Recommendation) recommendation {
		row := recommendation{Slug: r.Slug, Name: cut(r.Name, limit.name), Method: cut(r.Endpoint.Method, limit.text),
			URL: cut(r.Endpoint.URL, 2*limit.text), PriceUSD: r.PriceUSD,
			Needs: cutOrNull(r.PriceCondition, limit.text), Network: r.Network, Score: r.Score,
			Why: cut(r.Why, 3*limit.text)}
		if limit.rows >= rowsWithTerms {
			row.Terms = &r.Terms
		}
		return row
	})}
}

func briefBest(b *strings.Builder, v *site.List[site.Recommendation, site.RankingMeta], limit size) {
	fmt.Fprintf(b, "%s of %s, best first; %s excluded.\n",
		display.Plural(int64(len(v.Data)), "recommendation", "recommendations"),
		display.Plural(int64(v.Meta.Candidates), "candidate", "candidates"),
		display.Number(int64(v.Meta.ExcludedCount)))
	briefList(b, v.Data, limit, func(r *site.Recommendation) {
		fmt.Fprintf(b, "%s: score %g", r.Slug, r.Score)
		if r.PriceUSD != nil {
			fmt.Fprintf(b, ", $%s", term(*r.PriceUSD))
			if r.PriceCondition != nil {
				b.WriteString(briefNeed(*r.PriceCondition, limit))
			}
		}
		fmt.Fprintf(b, " on %s, %s %s", term(r.Network), term(cut(r.Endpoint.Method, limit.name)),
			place(cut(r.Endpoint.URL, 2*limit.text)))
	})
	if len(v.Data) > 0 {
		return
	}
	briefList(b, v.Meta.Excluded, limit, func(x *site.Exclusion) {
		fmt.Fprintf(b, "%s is excluded: %s", x.Slug, display.Line(x.Reason, limit.text))
	})
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
