package search

import (
	"fmt"
	"strconv"
	"time"

	"tollbook/site"
	"tollbook/site/routes"
)

// BestSource reads a snapshot.
type BestSource struct {
	Now    time.Time // when it was built
	Slugs  []string  // of all services, sorted
	Column ColumnReader
	Search func(text string) (*Result, error)
	Row    func(place int32) (*site.ServiceRow, error)
}

// FindBest returns the response to a request: its recommendations and its meta.
func FindBest(q routes.Query, from BestSource) ([]site.Recommendation, site.RankingMeta, error) {
	w := wantedOf(q)
	var result *Result
	relevance := map[int32]int{}
	places := make([]int32, 0, len(from.Slugs))
	if text := q.Text("q"); text != "" {
		var err error
		if result, err = from.Search(text); err != nil {
			return nil, site.RankingMeta{}, err
		}
		for _, hit := range result.Hits {
			places = append(places, int32(hit.Place))
			relevance[int32(hit.Place)] = result.Relevance(hit.Score)
		}
		w.FullRelevance = completeMatch
	} else {
		for place := range from.Slugs {
			places = append(places, int32(place))
		}
	}
	places, err := filter(q, places, from.Column)
	if err != nil {
		return nil, site.RankingMeta{}, err
	}
	facts, err := readFacts(places, &w, from.Column, func(place int32) string { return from.Slugs[place] })
	if err != nil {
		return nil, site.RankingMeta{}, err
	}
	placeOf := make(map[string]int32, len(places))
	for i, place := range places {
		facts[i].Relevance, placeOf[facts[i].Slug] = relevance[place], place
	}
	r := newRanking(w, facts, from.Now)
	if err := r.read(func(slug string) (*site.ServiceRow, error) { return from.Row(placeOf[slug]) }, result); err != nil {
		return nil, site.RankingMeta{}, err
	}
	list, meta := r.Result()
	if result != nil {
		meta.ReadAs = result.Readings
	}
	return list, meta, nil
}

// read adds the rows of as many candidates as the response needs.
func (r *ranking) read(row func(slug string) (*site.ServiceRow, error), result *Result) error {
	for slugs := r.Next(); len(slugs) > 0; slugs = r.Next() {
		for _, slug := range slugs {
			row, err := row(slug)
			if err != nil {
				return err
			}
			r.Add(row.Name, endpointsOf(row, result))
		}
	}
	return nil
}

// wantedOf returns what a request asks for.
func wantedOf(q routes.Query) wanted {
	w := wanted{Network: q.Text("network"), Method: q.Text("method"), Prefer: q.Text("prefer"), Limit: q.Int("limit"),
		RequireVerified: q.Text("require_verified") == "true"}
	if d := site.Decimal(q.Text("max_price_usd")); d != "" {
		w.MaxPriceUSD = &d
	}
	return w
}

// factColumns are the columns behind Facts, with how each of their values is read.
var factColumns = []struct {
	name string
	read func(f *rankingFacts, value string) error
}{
	{"status", func(f *rankingFacts, v string) error { f.Status = v; return nil }},
	{"risk_level", func(f *rankingFacts, v string) error { f.RiskLevel = v; return nil }},
	{"verified", func(f *rankingFacts, v string) error { f.Verified = v == "true"; return nil }},
	{"payment_ready", func(f *rankingFacts, v string) error { f.PaymentReady = v == "true"; return nil }},
	{"grade", func(f *rankingFacts, v string) error { f.Grade = v; return nil }},
	{"uptime_30d", func(f *rankingFacts, v string) error {
		n, err := strconv.ParseFloat(v, 64)
		f.Uptime30d = &n
		return err
	}},
	{"checks_30d", func(f *rankingFacts, v string) (err error) {
		f.Checks30d, err = strconv.ParseInt(v, 10, 64)
		return err
	}},
	{"response_p95_ms", func(f *rankingFacts, v string) error {
		n, err := strconv.Atoi(v)
		f.ResponseP95MS = &n
		return err
	}},
	{"operator", func(f *rankingFacts, v string) error { f.Operator = v; return nil }},
	{"organic_volume_usd_30d", func(f *rankingFacts, v string) error { f.VolumeUSD30d = (*site.Decimal)(&v); return nil }},
	{"organic_buyers_30d", func(f *rankingFacts, v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		f.Buyers30d = &n
		return err
	}},
	{"last_success_at", func(f *rankingFacts, v string) error {
		at, err := time.Parse(site.TimeLayout, v)
		f.LastSuccessAt = &site.Time{Time: at}
		return err
	}},
}

// readFacts returns the facts of the services at the places.
func readFacts(places []int32, w *wanted, read ColumnReader, slugAt func(place int32) string) ([]rankingFacts, error) {
	facts := make([]rankingFacts, len(places))
	for i, place := range places {
		facts[i].Slug = slugAt(place)
	}
	for _, of := range factColumns {
		column, err := read(of.name)
		if err != nil {
			return nil, err
		}
		for i, place := range places {
			v := column.Value(place)
			if v == "" { // null
				continue
			}
			if err := of.read(&facts[i], v); err != nil {
				return nil, fmt.Errorf("read column %s of %s: %w", of.name, facts[i].Slug, err)
			}
		}
	}
	prices, err := read("prices_usd")
	if err != nil {
		return nil, err
	}
	dearest, err := read("dearest_usd")
	if err != nil {
		return nil, err
	}
	for i, place := range places {
		if price, ok := prices.Lowest(place, w.Network); ok {
			facts[i].Price = &price
		}
		if price, ok := dearest.Highest(place, w.Network); ok {
			facts[i].DearestUSD = &price
		}
	}
	return facts, nil
}

// endpointsOf returns the endpoints of a row, with the number of words of the request that each matches.
func endpointsOf(row *site.ServiceRow, result *Result) []rankingEndpoint {
	list := make([]rankingEndpoint, len(row.Endpoints))
	for i := range row.Endpoints {
		from, e := &row.Endpoints[i], &list[i]
		e.Method, e.Path, e.URL, e.Description = from.Method, from.Path, row.BaseURL+from.Path, from.Description
		e.Networks, e.Payable, e.Testnet, e.Prices = from.Networks, from.Payable, from.Testnet, from.Prices()
		e.Conditions = from.PriceConditions
		if result != nil {
			e.Matches = result.Count(from.Path)
			if from.Description != nil {
				e.Matches = result.Count(from.Path, *from.Description)
			}
		}
	}
	return list
}

// ComparedPrice returns the price by which a request without filters compares a service: that of its dearest endpoint,
// nil if none is known, what a buyer needs first for it, nil for nothing, and its network. It returns false if such a
// request never gets the service.
func ComparedPrice(row *site.ServiceRow, now time.Time) (price *site.Decimal, condition *string, network string, ok bool) {
	f := rankingFacts{Status: row.Status, RiskLevel: row.RiskLevel, PaymentReady: row.Assessment.PaymentReady,
		LastSuccessAt: row.Assessment.LastSuccessAt}
	var r ranking
	if code, _ := exclude(&f, &r.wanted, now); code != "" {
		return nil, nil, "", false
	}
	var m match
	code, _ := r.choose(&m, endpointsOf(row, nil))
	return m.price, m.condition(), m.network, code == ""
}
