// This part of the package ranks services for one need: it computes a score with its terms from published facts, and
// says why each service is recommended or excluded. It must never know where facts are stored or how a request is
// written.
//
// Every rule is arithmetic on whole numbers below 2^53, so that a program in JavaScript computes the same bytes. A
// term is a number of tenths from 0 to 1000. A service's own text has no part in any of them but the relevance, which
// has a limit and lowers a score but never adds to what was measured.

package search

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"tollbook/site"
)

// rankingVersion names the formula. It changes with every number and rule that can change an order.
const rankingVersion = "2"

// completeMatch is the relevance of a text search, in thousandths, from which a match is complete: a description of
// usual length that says what is asked for has it. The value of Wanted.FullRelevance for a request with text.
const completeMatch = 600

// wanted is what a request asks for.
type wanted struct {
	Network         string        `json:"network"`       // abbreviation; "" for any
	Method          string        `json:"method"`        // of HTTP; "" for any
	MaxPriceUSD     *site.Decimal `json:"max_price_usd"` // nil for any
	RequireVerified bool          `json:"require_verified"`
	Prefer          string        `json:"prefer"`         // one of site.Preferences
	Limit           int           `json:"limit"`          // recommendations, at most
	FullRelevance   int           `json:"full_relevance"` // of a complete match; 0 if the request has no text
}

// rankingFacts are what is known of a service that matches a request.
type rankingFacts struct {
	Slug          string        `json:"slug"`
	Status        string        `json:"status"`
	RiskLevel     string        `json:"risk_level"`
	Verified      bool          `json:"verified"`
	PaymentReady  bool          `json:"payment_ready"`
	Grade         string        `json:"grade"`
	Uptime30d     *float64      `json:"uptime_30d"` // percent with two decimals
	Checks30d     int64         `json:"checks_30d"` // counted checks behind Uptime30d
	ResponseP95MS *int          `json:"response_p95_ms"`
	Price         *site.Decimal `json:"price"` // lowest on the wanted network, or on any; nil if none is known
	// that of its dearest payable endpoint there: the price that is compared until the endpoint is chosen
	DearestUSD    *site.Decimal `json:"dearest_usd"`
	Operator      string        `json:"operator"` // slug of its first service; "" if not known
	VolumeUSD30d  *site.Decimal `json:"organic_volume_usd_30d"`
	Buyers30d     *int64        `json:"organic_buyers_30d"`
	LastSuccessAt *site.Time    `json:"last_success_at"` // of the last usable payment terms
	Relevance     int           `json:"relevance"`       // how well its texts match
}

// ranking ranks the candidates of one request.
type ranking struct {
	wanted     wanted
	now        time.Time
	weights    site.RankingWeights
	median     *site.Decimal
	votes      int         // operators behind the median
	candidates []candidate // the highest provisional score first
	excluded   []exclusion
	matches    []match
	next       int // place of the next candidate
}

// candidate is a service that no fact excludes, with its score at the price of its dearest endpoint.
type candidate struct {
	*rankingFacts
	terms terms
	score
}

// score is a score in tenths.
type score struct{ capped, uncapped int }

// exclusion is an excluded service with its relevance, which orders the list.
type exclusion struct {
	site.Exclusion
	relevance int
}

// maxRead is the maximum number of candidates whose endpoints are looked at.
const maxRead = 100

// newRanking begins a ranking at a snapshot's time: it excludes services by their facts and orders the others, which
// are then read by Next and Add.
func newRanking(w wanted, facts []rankingFacts, now time.Time) *ranking {
	r := &ranking{wanted: w, now: now, weights: weightsOf[w.Prefer]}
	votes := map[string]site.Decimal{}
	for i := range facts {
		f := &facts[i]
		if code, reason := exclude(f, &w, now); code != "" {
			r.exclude(f, code, reason)
			continue
		}
		r.candidates = append(r.candidates, candidate{rankingFacts: f})
		if p := f.DearestUSD; p != nil && p.Compare(site.LeastPlausibleUSD) >= 0 {
			operator := cmp.Or(f.Operator, f.Slug)
			if vote, ok := votes[operator]; !ok || p.Compare(vote) > 0 {
				votes[operator] = *p
			}
		}
	}
	if r.votes = len(votes); r.votes > 0 {
		r.median = new(site.Median(slices.Collect(maps.Values(votes))))
	}
	for i := range r.candidates {
		c := &r.candidates[i]
		c.terms = r.termsOf(c.rankingFacts, c.DearestUSD)
		c.score = r.scoreOf(c.rankingFacts, c.terms)
	}
	slices.SortFunc(r.candidates, func(a, b candidate) int { return compare(&a, &b, a.DearestUSD, b.DearestUSD) })
	return r
}

// Next returns the slugs of the candidates whose endpoints must be added next, in this order; none when it is enough.
func (r *ranking) Next() (slugs []string) {
	to := min(len(r.candidates), maxRead, r.next+2*r.wanted.Limit-len(r.matches))
	for _, c := range r.candidates[r.next:max(r.next, to)] {
		slugs = append(slugs, c.Slug)
	}
	return slugs
}

// exclude adds a service to the excluded ones.
func (r *ranking) exclude(f *rankingFacts, code, reason string) {
	r.excluded = append(r.excluded, exclusion{site.Exclusion{Slug: f.Slug, Code: code, Reason: reason}, f.Relevance})
}

// compare orders two candidates at a price each: by score, by score without its cap, by price, by slug.
func compare(a, b *candidate, priceA, priceB *site.Decimal) int {
	return cmp.Or(cmp.Compare(b.capped, a.capped), cmp.Compare(b.uncapped, a.uncapped),
		comparePrices(priceA, priceB), strings.Compare(a.Slug, b.Slug))
}

// comparePrices orders nil last.
func comparePrices(a, b *site.Decimal) int { return site.NullsLast(a, b, site.Decimal.Compare) }
