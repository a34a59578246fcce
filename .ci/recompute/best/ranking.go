package best

import (
	"cmp"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tollbook/.ci/recompute/snapshot"
)

// ranking is a request, and what follows from it.
type ranking struct {
	category, network, method string
	verified                  bool
	maxPrice                  *big.Rat
	prefer                    string
	weights                   [6]int // of the five measured terms, and the speed share
	limit                     int
	now                       time.Time
	relevance                 map[string]int // of services, by slug, in thousandths; nil for a request without words

	candidates []*candidate // in the order in which their endpoints are looked at
	median     string
	matches    []*candidate
	excluded   map[string]string // codes by slug
}

// candidate is a service that is not excluded by its facts, with a price.
type candidate struct {
	row              snapshot.Node
	relevance        int
	terms            [5]int // reliability, compliance, price, traction, recency
	capped, uncapped int

	endpoint       snapshot.Node
	price, network string // "" if no price is known
}

// weightsOf are the weights and the speed share of each preference.
var weightsOf = map[string][6]int{
	"balanced": {45, 20, 25, 5, 5, 30}, "cheapest": {20, 10, 60, 5, 5, 30}, "fastest": {75, 10, 5, 5, 5, 80},
	"most_reliable": {70, 15, 5, 5, 5, 10},
}

// endpointCodes are the codes of an endpoint that cannot be recommended, in the order in which they are looked for.
var endpointCodes = []string{"other_network", "other_method", "unpayable", "no_price", "too_expensive"}

func newRanking(values url.Values, now time.Time) *ranking {
	q := &ranking{category: values.Get("category"), network: values.Get("network"), method: values.Get("method"),
		verified: values.Get("require_verified") == "true", prefer: cmp.Or(values.Get("prefer"), "balanced"),
		now: now, excluded: map[string]string{}}
	q.weights, q.maxPrice = weightsOf[q.prefer], number(values.Get("max_price_usd"))
	q.limit, _ = strconv.Atoi(cmp.Or(values.Get("limit"), "5"))
	return q
}

// number returns a decimal text as a number, nil for "".
func number(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return r
}

// divide divides the services that match the request into candidates and excluded ones.
func (q *ranking) divide(rows []snapshot.Node) {
	var prices []string
	for _, row := range rows {
		score, matched := q.relevance[slugOf(row)]
		if q.relevance != nil && !matched || !q.passes(row) {
			continue
		}
		c := &candidate{row: row, relevance: 1000}
		if q.relevance != nil {
			c.relevance = min(quotient(1000*score, 600), 1000)
		}
		c.price, c.network = q.lowest(row.At("assessment", "prices_usd"))
		if code := q.exclude(row, c.price); code != "" {
			q.excluded[slugOf(row)] = code
			continue
		}
		q.candidates = append(q.candidates, c)
		if c.price != "" {
			prices = append(prices, c.price)
		}
	}
	if slices.SortFunc(prices, comparePrices); len(prices) > 0 {
		q.median = prices[(len(prices)-1)/2]
	}
	for _, c := range q.candidates {
		q.setScore(c)
	}
	slices.SortFunc(q.candidates, compareCandidates)
}

// passes reports whether a service passes the filters.
func (q *ranking) passes(row snapshot.Node) bool {
	return (q.category == "" || row.Get("category").Text() == q.category) &&
		(q.network == "" || slices.Contains(row.Get("networks").Texts(), q.network)) &&
		(q.method == "" || slices.Contains(row.At("assessment", "methods").Texts(), q.method))
}

// exclude returns the first reason why the facts of a service exclude it, "" for none.
func (q *ranking) exclude(row snapshot.Node, price string) string {
	success := row.At("assessment", "last_success_at")
	switch {
	case row.Get("risk_level").Text() == "danger":
		return "danger"
	case row.Get("status").Text() == "offline":
		return "offline"
	case row.Get("status").Text() == "unknown", !success.HasValue(), q.now.Sub(success.Time()) >= 7*snapshot.Day:
		return "stale"
	case !row.At("assessment", "payment_ready").Bool():
		return "unpayable"
	case q.verified && !row.Get("verified").Bool():
		return "unverified"
	}
	return q.excludePrice(price)
}

func (q *ranking) excludePrice(price string) string {
	switch {
	case q.maxPrice == nil:
		return ""
	case price == "":
		return "no_price"
	case number(price).Cmp(q.maxPrice) > 0:
		return "too_expensive"
	}
	return ""
}

// lowest returns the lowest price by network that the request accepts, and its network.
func (q *ranking) lowest(prices snapshot.Node) (price, network string) {
	if q.network != "" {
		return prices.Get(q.network).Text(), q.network
	}
	for _, name := range prices.Keys() {
		if p := prices.Get(name).Text(); price == "" || comparePrices(p, price) < 0 {
			price, network = p, name
		}
	}
	return price, network
}

// lowestOf returns the lowest price of an endpoint and its network; without one, its first network.
func (q *ranking) lowestOf(e snapshot.Node) (price, network string) {
	networks := e.Get("networks").Texts()
	if e.Get("prices_usd").HasValue() {
		price, network = q.lowest(e.Get("prices_usd"))
	} else if e.Get("price_usd").HasValue() && (q.network == "" || slices.Contains(networks, q.network)) {
		price, network = e.Get("price_usd").Text(), q.network
		if network == "" && len(networks) > 0 {
			network = slices.Min(networks)
		}
	}
	if network == "" && len(networks) > 0 {
		network = networks[0]
	}
	return price, cmp.Or(q.network, network)
}

// chooseEndpoints looks at the candidates until twice as many as wanted have an endpoint, and orders those.
func (q *ranking) chooseEndpoints() {
	for _, c := range q.candidates[:min(len(q.candidates), maxRead)] {
		if len(q.matches) == 2*q.limit {
			break
		}
		furthest, ok := -1, false
		for _, e := range c.row.Get("endpoints").Items() {
			price, network := q.lowestOf(e)
			if code := q.excludeEndpoint(e, price); code != "" {
				furthest = max(furthest, slices.Index(endpointCodes, code))
			} else if !ok || comparePrices(price, c.price) < 0 {
				ok, c.endpoint, c.price, c.network = true, e, price, network
			}
		}
		switch {
		case ok:
			q.setScore(c)
			q.matches = append(q.matches, c)
		case furthest < 0:
			q.excluded[slugOf(c.row)] = "unpayable"
		default:
			q.excluded[slugOf(c.row)] = endpointCodes[furthest]
		}
	}
	slices.SortFunc(q.matches, compareCandidates)
}

// excludeEndpoint returns the first reason why an endpoint cannot be recommended, "" for none.
func (q *ranking) excludeEndpoint(e snapshot.Node, price string) string {
	switch {
	case q.network != "" && !slices.Contains(e.Get("networks").Texts(), q.network),
		q.network == "" && e.Get("testnet").Bool():
		return "other_network"
	case q.method != "" && e.Get("method").Text() != q.method:
		return "other_method"
	case !e.Get("payable").Bool():
		return "unpayable"
	}
	return q.excludePrice(price)
}

// setScore computes the terms and the score of a candidate at its price.
func (q *ranking) setScore(c *candidate) {
	a := c.row.Get("assessment")
	grade := a.Get("compliance_grade").Text()
	c.terms = [5]int{q.reliability(a),
		map[string]int{"A": 1000, "B": 800, "C": 600, "D": 400}[grade],
		q.priceTerm(c.price), traction(a),
		1000 - quotient(1000*min(q.age(a.Get("last_success_at").Time()), 7*24*60), 7*24*60)}
	sum := 0
	for i, term := range c.terms {
		sum += q.weights[i] * term
	}
	c.uncapped = quotient(sum*c.relevance, 100_000)
	c.capped = min(c.uncapped, map[string]int{"A": 1000, "B": 1000, "C": 800, "D": 500, "F": 200,
		"unknown": 400}[grade])
	if c.row.Get("risk_level").Text() == "warning" {
		c.capped = min(c.capped, 800)
	}
}

func (q *ranking) reliability(a snapshot.Node) int {
	uptime, speed := 0, 0
	if percent := a.Get("reliability_uptime_30d").Number(); percent != nil {
		hundredths := percent.Mul(percent, big.NewRat(100, 1))
		n := min(a.Get("checks_30d").Int(), 1_000_000)
		uptime = quotient(max(floor(hundredths)-9000, 0)*n, n+20)
	}
	if p95 := a.Get("response_p95_ms"); p95.HasValue() {
		speed = quotient(1_000_000, 1000+min(p95.Int(), 1_000_000))
	}
	return quotient(uptime*(100-q.weights[5])+speed*q.weights[5], 100)
}

// priceTerm compares a price with the median, both in billionths of a dollar.
func (q *ranking) priceTerm(price string) int {
	if price == "" || q.median == "" {
		return 0
	}
	nano := func(text string) int {
		dollars := number(text)
		if most := big.NewRat(1000, 1); dollars.Cmp(most) > 0 {
			dollars = most
		}
		return floor(dollars.Mul(dollars, big.NewRat(1e9, 1)))
	}
	p, m := nano(price), nano(q.median)
	if p == 0 {
		return 1000
	}
	return quotient(1000*m, m+p)
}

func traction(a snapshot.Node) int {
	volume := a.At("traction", "volume_usd_30d").Number()
	if volume == nil || !a.At("traction", "unique_buyers_30d").HasValue() {
		return 0
	}
	return min(50*min(a.At("traction", "unique_buyers_30d").Int(), 20), 10*min(floor(volume), 100))
}

// age returns the minutes since a time, at least 0.
func (q *ranking) age(at time.Time) int { return int(max(q.now.Sub(at), 0) / time.Minute) }

// compareCandidates orders by score, by score without its cap, by price and by slug.
func compareCandidates(a, b *candidate) int {
	return cmp.Or(cmp.Compare(b.capped, a.capped), cmp.Compare(b.uncapped, a.uncapped),
		comparePrices(a.price, b.price), strings.Compare(slugOf(a.row), slugOf(b.row)))
}

// comparePrices orders prices; an unknown one, "", comes last.
func comparePrices(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(len(b), len(a)) // at least one has no length
	}
	return number(a).Cmp(number(b))
}

// quotient returns a/b rounded, halves up.
func quotient(a, b int) int { return (2*a + b) / (2 * b) }

// floor returns a number that is not negative without its decimals.
func floor(r *big.Rat) int { return int(new(big.Int).Quo(r.Num(), r.Denom()).Int64()) }
