package search

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tollbook/site"
)

// Result returns the recommendations, the highest score first, and the meta of the response.
func (r *ranking) Result() ([]site.Recommendation, site.RankingMeta) {
	r.sort()
	list := make([]site.Recommendation, 0, r.wanted.Limit)
	for i := range r.matches[:min(len(r.matches), r.wanted.Limit)] {
		f := &r.matches[i]
		list = append(list, site.Recommendation{Slug: f.Slug, Name: f.name, Endpoint: f.endpoint.RecommendedEndpoint,
			PriceUSD: text(f.price), PriceCondition: f.condition(), Network: f.network, Score: tenths(f.capped), Terms: f.terms.published(),
			Why: r.why(f)})
	}
	return list, r.meta()
}

// sort orders the matches by score, and the exclusions by relevance, the highest first, then by slug.
func (r *ranking) sort() {
	slices.SortFunc(r.matches, func(a, b match) int {
		return compare(&a.candidate, &b.candidate, a.price, b.price)
	})
	slices.SortFunc(r.excluded, func(a, b exclusion) int {
		return cmp.Or(cmp.Compare(b.relevance, a.relevance), strings.Compare(a.Slug, b.Slug))
	})
}

// meta returns the meta of the response.
func (r *ranking) meta() site.RankingMeta {
	m := site.RankingMeta{RankingVersion: rankingVersion, Prefer: r.wanted.Prefer, Weights: r.weights,
		ReadAs:     []site.Reading{},
		Candidates: len(r.candidates), MedianPriceUSD: text(r.median), ExcludedCount: len(r.excluded),
		Excluded: []site.Exclusion{}}
	for _, e := range r.excluded[:min(len(r.excluded), site.MaxExcluded)] {
		m.Excluded = append(m.Excluded, e.Exclusion)
	}
	return m
}

// why returns one sentence of the figures behind a recommendation. It contains no text of the service.
func (r *ranking) why(f *match) string {
	var parts []string
	if r.wanted.FullRelevance > 0 {
		parts = append(parts, "matches "+percent(f.terms.relevance)+" of the request")
	}
	if f.Uptime30d == nil {
		parts = append(parts, "no uptime measured yet")
	} else {
		parts = append(parts, strconv.FormatFloat(*f.Uptime30d, 'f', -1, 64)+"% uptime over 30 days ("+
			count(int(f.Checks30d), "check")+")")
	}
	if f.ResponseP95MS != nil {
		parts = append(parts, fmt.Sprintf("p95 of %d ms", *f.ResponseP95MS))
	}
	parts = append(parts, "grade "+f.Grade, r.whyPrice(f))
	if f.Buyers30d != nil {
		parts = append(parts, count(int(*f.Buyers30d), "organic buyer")+" in 30 days")
	}
	parts = append(parts, "usable payment terms "+age(r.ageOf(f.rankingFacts))+" ago")
	if f.Status == site.StatusDegraded {
		parts = append(parts, "degraded now")
	}
	s := strings.Join(parts, ", ") + whyCapped(f)
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// whyCapped returns what limits the score, "" if nothing does.
func whyCapped(f *match) string {
	what := ""
	switch {
	case f.capped == f.uncapped:
		return ""
	case f.capped == gradeCap[f.Grade]:
		what = "the grade"
	default:
		what = "the risk level " + f.RiskLevel
	}
	return "; " + what + " limits the score to " + strconv.Itoa(f.capped/10)
}

// whyPrice returns the price beside the median of the candidates' operators.
func (r *ranking) whyPrice(f *match) string {
	if f.price == nil {
		return "no known price in dollars" + on(f.network)
	}
	s := "$" + string(*f.price) + on(f.network)
	if r.votes > 1 {
		s += fmt.Sprintf(" (median of %d operators: $%s)", r.votes, *r.median)
	}
	if f.condition() != nil { // which may contain text of the service
		s += " and a condition"
	}
	return s
}

// percent returns tenths of a percent as text.
func percent(tenth int) string { return strconv.FormatFloat(tenths(tenth), 'f', -1, 64) + "%" }

// count returns a number and a noun, in the plural unless the number is 1.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// age returns minutes in words: minutes below two hours, hours below two days, then days.
func age(minutes int) string {
	switch {
	case minutes < 1:
		return "less than a minute"
	case minutes < 120:
		return count(minutes, "minute")
	case minutes < 48*60:
		return count(minutes/60, "hour")
	}
	return count(minutes/(24*60), "day")
}

// text returns the decimal as a string, nil for nil.
func text(d *site.Decimal) *string {
	if d == nil {
		return nil
	}
	s := string(*d)
	return &s
}
