package search

import (
	"math"
	"strconv"
	"strings"

	"tollbook/site"
)

// weightsOf are the weights by preference. Those of the five measured terms add up to 100.
var weightsOf = map[string]site.RankingWeights{
	site.PreferBalanced: {Reliability: 45, Compliance: 20, Price: 25, Traction: 5, Recency: 5, SpeedShare: 30},
	site.PreferCheapest: {Reliability: 20, Compliance: 10, Price: 60, Traction: 5, Recency: 5, SpeedShare: 30},
	site.PreferFastest:  {Reliability: 75, Compliance: 10, Price: 5, Traction: 5, Recency: 5, SpeedShare: 80},
	site.PreferReliable: {Reliability: 70, Compliance: 15, Price: 5, Traction: 5, Recency: 5, SpeedShare: 10},
}

// full is the highest value of a term, and of a score.
const full = 1000

// Numbers of the formula.
const (
	uptimeZero    = 9000 // hundredths of a percent: this uptime and less has no value
	uptimeDoubt   = 20   // checks that would have to be added at uptimeZero to doubt a figure
	speedHalf     = 1000 // milliseconds that have half the value
	buyersFull    = 20   // buyers that have the full value
	dollarsFull   = 100  // dollars of volume that have the full value
	recencyWindow = 7 * 24 * 60
	generalMatch  = 75   // percent of the relevance that counts if no endpoint matches
	nanoDollars   = 9    // decimals of a price that count
	maxDollars    = 1000 // prices above count as this
)

// gradeTerm is the term of each grade. gradeCap and riskCap are the highest scores with a grade and a risk level.
var (
	gradeTerm = map[string]int{"A": 1000, "B": 800, "C": 600, "D": 400, "F": 0, "unknown": 0}
	gradeCap  = map[string]int{"A": 1000, "B": 1000, "C": 800, "D": 500, "F": 200, "unknown": 400}
	riskCap   = map[string]int{site.RiskClean: 1000, site.RiskWarning: 800}
)

// terms are the parts of a score in tenths.
type terms struct{ relevance, reliability, compliance, price, traction, recency int }

// published returns the terms as they are published.
func (t terms) published() site.RankingTerms {
	return site.RankingTerms{Relevance: tenths(t.relevance), Reliability: tenths(t.reliability),
		Compliance: tenths(t.compliance), Price: tenths(t.price), Traction: tenths(t.traction),
		Recency: tenths(t.recency)}
}

func tenths(n int) float64 { return float64(n) / 10 }

// termsOf returns the terms of a service at a price.
func (r *ranking) termsOf(f *rankingFacts, price *site.Decimal) terms {
	return terms{
		relevance:   relevanceTerm(f.Relevance, r.wanted.FullRelevance),
		reliability: reliabilityTerm(f, r.weights.SpeedShare),
		compliance:  gradeTerm[f.Grade],
		price:       priceTerm(price, r.median),
		traction:    tractionTerm(f),
		recency:     full - divide(full*min(r.ageOf(f), recencyWindow), recencyWindow),
	}
}

// scoreOf returns the score of a service: the weighted measured terms, lowered by the relevance, at most the caps of
// its grade and risk level.
func (r *ranking) scoreOf(f *rankingFacts, t terms) score {
	w := &r.weights
	measured := w.Reliability*t.reliability + w.Compliance*t.compliance + w.Price*t.price + w.Traction*t.traction +
		w.Recency*t.recency
	uncapped := divide(measured*t.relevance, 100*full)
	return score{min(uncapped, gradeCap[f.Grade], riskCap[f.RiskLevel]), uncapped}
}

// relevanceTerm returns the share of a complete match, at most all of it: to repeat a word does not pay.
func relevanceTerm(relevance, complete int) int {
	if complete <= 0 {
		return full
	}
	return min(divide(full*relevance, complete), full)
}

// reliabilityTerm combines uptime and response time. speedShare is the percentage of the latter.
func reliabilityTerm(f *rankingFacts, speedShare int) int {
	uptime, speed := 0, 0
	if f.Uptime30d != nil {
		checks := int(min(f.Checks30d, 1_000_000))
		uptime = min(max(int(math.Round(*f.Uptime30d*100))-uptimeZero, 0), full)
		uptime = divide(uptime*checks, checks+uptimeDoubt)
	}
	if f.ResponseP95MS != nil {
		speed = divide(full*speedHalf, speedHalf+min(max(*f.ResponseP95MS, 0), 1_000_000))
	}
	return divide(uptime*(100-speedShare)+speed*speedShare, 100)
}

// priceTerm compares a price with the median: 1000 for nothing, 500 for the median, 250 for three times the median.
func priceTerm(price, median *site.Decimal) int {
	if price == nil || median == nil {
		return 0
	}
	p, m := inNanoDollars(*price), inNanoDollars(*median)
	if p == 0 {
		return full
	}
	return divide(full*m, m+p)
}

// inNanoDollars returns a price in billionths of a dollar, cut, at most that of maxDollars.
func inNanoDollars(d site.Decimal) int {
	whole, fraction, _ := strings.Cut(string(d), ".")
	if dollars, err := strconv.Atoi(whole); err != nil || dollars >= maxDollars {
		whole, fraction = strconv.Itoa(maxDollars), ""
	}
	n, _ := strconv.Atoi(whole + (fraction + strings.Repeat("0", nanoDollars))[:nanoDollars])
	return n
}

// tractionTerm returns the lesser of what buyers and volume are worth: a large volume of one buyer is worth no more
// than one buyer, and many buyers without volume are worth nothing.
func tractionTerm(f *rankingFacts) int {
	if f.Buyers30d == nil || f.VolumeUSD30d == nil {
		return 0
	}
	buyers := int(min(max(*f.Buyers30d, 0), buyersFull))
	return min(buyers*full/buyersFull, wholeDollars(*f.VolumeUSD30d)*full/dollarsFull)
}

// wholeDollars returns an amount in dollars, cut, at most dollarsFull.
func wholeDollars(d site.Decimal) int {
	whole, _, _ := strings.Cut(string(d), ".")
	n, err := strconv.Atoi(whole)
	if err != nil || n > dollarsFull {
		return dollarsFull
	}
	return n
}

// ageOf returns the minutes since the last usable payment terms, at least 0.
func (r *ranking) ageOf(f *rankingFacts) int {
	if f.LastSuccessAt == nil {
		return recencyWindow
	}
	return int(max(r.now.Sub(f.LastSuccessAt.Time).Milliseconds(), 0) / 60_000)
}

// divide returns a/b rounded to a whole number, halves up. Both are not negative and far below 2^53.
func divide(a, b int) int { return (2*a + b) / (2 * b) }
