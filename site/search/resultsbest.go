package search

import (
	"encoding/json"
	"fmt"
	"slices"

	"tollbook/site"
	"tollbook/site/routes"
)

// ranked are the services of a search in the order of /v1/best.
type ranked struct {
	*ranking
	result *Result             // nil without words to match
	byslug map[string]int32    // places by the texts that stand for slugs
	unread map[int32]candidate // whose endpoints the ranking did not need
	why    map[int32]string    // why a service has its place; not of unread ones
}

// rank sorts places as /v1/best does for the same words and filters: recommended services, others whose endpoints were
// not needed for the first of them, and excluded ones.
func (c *candidates) rank(places []int32) ([]int32, error) {
	w := wanted{Network: c.q.Text("network"), Method: c.q.Text("method"), Prefer: site.PreferBalanced,
		Limit: routes.MaxRecommendations}
	if d := site.Decimal(c.q.Text("max_price_usd")); d != "" {
		w.MaxPriceUSD = &d
	}
	if c.match != nil {
		w.FullRelevance = completeMatch
	}
	facts, err := readFacts(places, &w, c.from.Column, placeText)
	if err != nil {
		return nil, err
	}
	k := &ranked{result: c.match, byslug: map[string]int32{}, unread: map[int32]candidate{}, why: map[int32]string{}}
	for i, place := range places {
		facts[i].Relevance, k.byslug[facts[i].Slug] = c.score[place], place
	}
	k.ranking = newRanking(w, facts, c.from.Built())
	err = k.read(func(slug string) (*site.ServiceRow, error) {
		parts, err := c.from.Rows([]int32{k.byslug[slug]})
		if err != nil {
			return nil, err
		}
		return rowOf(parts[0])
	}, c.match)
	if err != nil {
		return nil, err
	}
	k.sort()
	list := make([]int32, 0, len(places))
	for i := range k.matches {
		place := k.byslug[k.matches[i].Slug]
		list, k.why[place] = append(list, place), k.ranking.why(&k.matches[i])
	}
	for _, x := range k.candidates[k.next:] {
		place := k.byslug[x.Slug]
		list, k.unread[place] = append(list, place), x
	}
	for _, x := range k.excluded {
		place := k.byslug[x.Slug]
		list, k.why[place] = append(list, place), notRecommended(x.Reason)
	}
	c.ranked = k
	return list, nil
}

// reason returns why a service has its place in the list.
func (k *ranked) reason(place int32, parts site.RowParts) (string, error) {
	of, ok := k.unread[place]
	if !ok {
		return k.why[place], nil
	}
	row, err := rowOf(parts)
	if err != nil {
		return "", err
	}
	f, code, reason := k.match(of, row.Name, endpointsOf(row, k.result))
	if code != "" {
		return notRecommended(reason), nil
	}
	return k.ranking.why(&f), nil
}

func notRecommended(reason string) string { return "Not recommended: " + reason + "." }

// placeText returns a text that is sorted as the slug of the service at a place is.
func placeText(place int32) string { return fmt.Sprintf("%09d", place) }

// rowOf returns the row that has these parts.
func rowOf(p site.RowParts) (*site.ServiceRow, error) {
	row := &site.ServiceRow{}
	err := json.Unmarshal(slices.Concat([]byte{'{'}, p.Item, []byte(`,"assessment":`), p.Assessment,
		[]byte(`,"endpoints":`), p.Endpoints, []byte{'}'}), row)
	return row, err
}
