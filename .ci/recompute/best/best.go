// Package best recomputes recommendations: who is a candidate, why others are excluded, the terms, the score and the
// order. It reads the rows of a snapshot, and what a directory responds from it. It must never know a service's record.
package best

import (
	"cmp"
	"errors"
	"io/fs"
	"math/big"
	"net/url"
	"slices"
	"strings"

	"tollbook/.ci/recompute/snapshot"
)

const rule = "methodology, Recommendations"

// queries are the requests that are recomputed. For those with words, the response of /v1/search says what matches.
var queries = []string{
	"", "prefer=cheapest&limit=20", "prefer=fastest&limit=20", "prefer=most_reliable&limit=20",
	"category=AI&limit=20", "network=BSE&limit=20", "network=SOL&max_price_usd=0.01&prefer=cheapest",
	"require_verified=true", "method=POST&limit=3", "max_price_usd=0.001&limit=20",
	"network=BSE&method=GET&max_price_usd=0.05&prefer=most_reliable&limit=1",
	"q=llm", "q=speech+to+text&limit=20", "q=weather&network=BSE&prefer=cheapest", "q=search&max_price_usd=0.01",
}

const (
	maxLimit = 100 // of rows of a search; a query with more matches is left out
	maxRead  = 100 // candidates whose endpoints are looked at
	maxShown = 20  // exclusions in a response
)

// Ask adds the responses of a directory to the snapshot. source is a base URL. A folder has no responses, nor has a
// host of files.
func Ask(snap *snapshot.Snapshot, source string) error {
	if !strings.HasPrefix(source, "http://") && !strings.HasPrefix(source, "https://") {
		return nil
	}
	for _, query := range queries {
		if err := snap.Ask(source, "v1/best", query); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		if search := searchOf(query); search != "" {
			if err := snap.Ask(source, "v1/search", search); err != nil {
				return err
			}
		}
	}
	return nil
}

// searchOf returns the search for the services that match a request with words, "" for one without.
func searchOf(query string) string {
	values, _ := url.ParseQuery(query) // the queries are ours
	if values.Get("q") == "" {
		return ""
	}
	for _, name := range []string{"prefer", "limit", "max_price_usd", "require_verified"} {
		values.Del(name)
	}
	values.Set("per_page", "100")
	return values.Encode()
}

// Recompute recomputes the recommendations that were asked for.
func Recompute(snap *snapshot.Snapshot, r *snapshot.Report) {
	var rows []snapshot.Node
	for _, name := range snap.Files("v1/rows/", ".json") {
		rows = append(rows, snap.JSON(name).Get("data").Items()...)
	}
	slices.SortFunc(rows, func(a, b snapshot.Node) int { return strings.Compare(slugOf(a), slugOf(b)) })
	for _, query := range queries {
		answer := snap.JSON(snapshot.AnswerFile("v1/best", query))
		if !answer.Exists() {
			continue
		}
		values, _ := url.ParseQuery(query)
		q := newRanking(values, snap.Now)
		if search := searchOf(query); search != "" {
			rows := snap.JSON(snapshot.AnswerFile("v1/search", search))
			if rows.At("meta", "total").Int() > maxLimit {
				continue
			}
			q.relevance = map[string]int{}
			for _, item := range rows.Get("data").Items() {
				q.relevance[slugOf(item)] = item.Get("score").Int()
			}
		}
		q.divide(rows)
		q.compareMeta(r, answer.Get("meta"))
		if q.relevance == nil {
			q.chooseEndpoints()
			q.compareList(r, answer.Get("data"))
			q.compareExcluded(r, answer.Get("meta"))
			continue
		}
		q.compareMatches(r, answer.Get("data"))
		q.compareListed(r, answer.Get("meta"))
	}
}

func slugOf(row snapshot.Node) string { return row.Get("slug").Text() }

// compareMeta compares what does not depend on endpoints.
func (q *ranking) compareMeta(r *snapshot.Report, meta snapshot.Node) {
	weights := map[string]any{}
	for i, name := range []string{"reliability", "compliance", "price", "traction", "recency", "speed_share"} {
		weights[name] = q.weights[i]
	}
	r.Figure(rule, meta.Get("ranking_version"), "1")
	r.Figure(rule, meta.Get("prefer"), q.prefer)
	r.Figure(rule, meta.Get("weights"), weights)
	r.Figure(rule, meta.Get("candidates"), len(q.candidates))
	r.Figure(rule, meta.Get("median_price_usd"), snapshot.TextOrNull(q.median))
	if q.relevance == nil {
		r.Figure(rule, meta.Get("read_as"), []any{})
	}
}

// compareList compares the recommendations of a request without words.
func (q *ranking) compareList(r *snapshot.Report, list snapshot.Node) {
	want := q.matches[:min(len(q.matches), q.limit)]
	items := list.Items()
	if len(items) != len(want) || len(items) == 0 {
		r.Figure(rule, list, make([]any, len(want)))
		return
	}
	for i, c := range want {
		c.compare(r, items[i])
	}
}

// compare compares a recommendation.
func (c *candidate) compare(r *snapshot.Report, item snapshot.Node) {
	r.Figure(rule, item.Get("slug"), slugOf(c.row))
	r.Figure(rule, item.Get("name"), c.row.Get("name"))
	r.Figure(rule, item.Get("endpoint"), map[string]any{"method": c.endpoint.Get("method").Value,
		"path": c.endpoint.Get("path").Value, "description": c.endpoint.Get("description").Value,
		"url": c.row.Get("base_url").Text() + c.endpoint.Get("path").Text()})
	r.Figure(rule, item.Get("price_usd"), snapshot.TextOrNull(c.price))
	r.Figure(rule, item.Get("network"), c.network)
	r.Figure(rule, item.Get("score"), tenths(c.capped))
	terms := map[string]any{"relevance": tenths(c.relevance)}
	for i, name := range []string{"reliability", "compliance", "price", "traction", "recency"} {
		terms[name] = tenths(c.terms[i])
	}
	r.Figure(rule, item.Get("terms"), terms)
}

func tenths(n int) *big.Rat { return big.NewRat(int64(n), 10) }

// compareExcluded compares the exclusions of a request without words, which are equally relevant.
func (q *ranking) compareExcluded(r *snapshot.Report, meta snapshot.Node) {
	r.Figure(rule, meta.Get("excluded_count"), len(q.excluded))
	slugs := make([]string, 0, len(q.excluded))
	for slug := range q.excluded {
		slugs = append(slugs, slug)
	}
	slices.Sort(slugs)
	slugs = slugs[:min(len(slugs), maxShown)]
	items := meta.Get("excluded").Items()
	if len(items) != len(slugs) || len(items) == 0 {
		r.Figure(rule, meta.Get("excluded"), make([]any, len(slugs)))
		return
	}
	for i, slug := range slugs {
		r.Figure(rule, items[i].Get("slug"), slug)
		r.Figure(rule, items[i].Get("code"), q.excluded[slug])
	}
}

// compareMatches compares the recommendations of a request with words. Which endpoint matches best is given; all else
// follows from it.
func (q *ranking) compareMatches(r *snapshot.Report, list snapshot.Node) {
	items := list.Items()
	if len(items) > q.limit || len(items) > len(q.candidates) || len(items) == 0 {
		r.Figure(rule, list, make([]any, min(q.limit, len(q.candidates))))
		return
	}
	matches := make([]*candidate, len(items))
	for i, item := range items {
		matches[i] = q.matchOf(item)
		if matches[i] == nil {
			r.Compare(rule, item.Get("slug"), slugOf(item), "a candidate with this endpoint")
			return
		}
	}
	ordered := slices.Clone(matches)
	slices.SortStableFunc(ordered, compareCandidates)
	for i, item := range items {
		matches[i].compare(r, item)
		r.Figure(rule, item.Get("slug"), slugOf(ordered[i].row))
	}
}

// matchOf returns the candidate of a recommendation with its endpoint, nil if it is none.
func (q *ranking) matchOf(item snapshot.Node) *candidate {
	at := slices.IndexFunc(q.candidates, func(c *candidate) bool { return slugOf(c.row) == slugOf(item) })
	if at < 0 {
		return nil
	}
	c, endpoints := *q.candidates[at], q.candidates[at].row.Get("endpoints").Items()
	for _, e := range endpoints {
		same := e.Get("method").Text() == item.At("endpoint", "method").Text() &&
			e.Get("path").Text() == item.At("endpoint", "path").Text()
		price, network := q.lowestOf(e)
		if !same || q.excludeEndpoint(e, price) != "" {
			continue
		}
		c.endpoint, c.price, c.network = e, price, network
		// With several endpoints of which none matches, 75% of the relevance counts.
		general := quotient(c.relevance*75, 100)
		published := item.At("terms", "relevance").Number()
		if len(endpoints) > 1 && published != nil && published.Cmp(tenths(general)) == 0 {
			c.relevance = general
		}
		q.setScore(&c)
		return &c
	}
	return nil
}

// compareListed compares the exclusions of a request with words. Those that follow from an endpoint may be of any
// candidate.
func (q *ranking) compareListed(r *snapshot.Report, meta snapshot.Node) {
	items, shown := meta.Get("excluded").Items(), map[string]bool{}
	of := func(item snapshot.Node) int { return q.relevance[slugOf(item)] }
	ordered := slices.Clone(items)
	slices.SortStableFunc(ordered, func(a, b snapshot.Node) int {
		return cmp.Or(cmp.Compare(of(b), of(a)), strings.Compare(slugOf(a), slugOf(b)))
	})
	for i, item := range items {
		slug := slugOf(item)
		shown[slug] = true
		r.Figure(rule, item.Get("slug"), slugOf(ordered[i]))
		want, ok := q.excluded[slug]
		isCandidate := slices.ContainsFunc(q.candidates, func(c *candidate) bool { return slugOf(c.row) == slug })
		if code := item.Get("code").Text(); !ok && isCandidate && slices.Contains(endpointCodes, code) {
			want = code
		}
		r.Figure(rule, item.Get("code"), want)
	}
	if len(items) == 0 {
		r.Figure(rule, meta.Get("excluded"), []any{})
	}
	if len(items) == maxShown {
		r.Input(meta.Get("excluded_count"))
		return
	}
	count := len(items)
	for slug := range q.excluded {
		if !shown[slug] {
			count++
		}
	}
	r.Figure(rule, meta.Get("excluded_count"), count)
}
