// Package aggregate recomputes what a directory publishes about all of its services together, from their own records.
// It reads a snapshot alone.
package aggregate

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"tollbook/.ci/recompute/snapshot"
)

const rule = "Orders of the list"

// Recompute compares status, categories, tags, networks and statistics with the records of all services. checks is the
// number of counted checks in the last 24 complete hours.
func Recompute(snap *snapshot.Snapshot, r *snapshot.Report, details []snapshot.Node, checks int) {
	recomputeStatus(snap, r, details)
	groupBy(snap, r, details)
	recomputeStats(snap, r, details, checks)
	recomputeGrowth(snap, r, details)
	recomputeTraction(snap, r, details)
}

func recomputeStatus(snap *snapshot.Snapshot, r *snapshot.Report, details []snapshot.Node) {
	status := snap.JSON("v1/status.json").Get("data")
	counts := map[string]int{}
	for _, s := range details {
		counts[s.Get("status").Text()]++
		switch {
		case s.Get("delisted_at").HasValue():
			counts["delisted"]++
			continue
		case s.Get("status").Text() == "offline":
			counts["listed_offline"]++
			last := s.Get("created_at")
			if s.Get("last_success_at").HasValue() {
				last = s.Get("last_success_at")
			}
			if snap.Now.Sub(last.Time()) >= 30*snapshot.Day {
				counts["offline_30d_plus"]++
			}
		}
		counts["listed_total"]++
	}
	r.Figure(rule, status.Get("total"), len(details))
	for _, name := range []string{"online", "degraded", "offline", "unknown", "delisted", "listed_offline",
		"offline_30d_plus", "listed_total"} {
		r.Figure(rule, status.Get(name), counts[name])
	}
}

// Group is a set of services with their mean uptime.
type Group struct {
	Name   string
	Count  int
	uptime average
}

// average is the mean of values that may be null.
type average struct {
	sum   big.Rat
	count int64
}

func (a *average) add(value *big.Rat) {
	if value != nil {
		a.sum.Add(&a.sum, value)
		a.count++
	}
}

// value returns the mean with some decimals, nil without values.
func (a *average) value(decimals int) *big.Rat {
	if a.count == 0 {
		return nil
	}
	return snapshot.Round(new(big.Rat).Quo(&a.sum, big.NewRat(a.count, 1)), decimals)
}

// CategoryOf returns the category of a service, as Groups wants it.
func CategoryOf(detail snapshot.Node) []string { return []string{detail.Get("category").Text()} }

// NetworksOf returns the networks of a service, as Groups wants them.
func NetworksOf(detail snapshot.Node) []string { return detail.Get("networks").Texts() }

// Groups returns the groups of services that a member of their record names, the largest first.
func Groups(details []snapshot.Node, names func(snapshot.Node) []string) []*Group {
	groups := map[string]*Group{}
	for _, s := range details {
		for _, name := range names(s) {
			if groups[name] == nil {
				groups[name] = &Group{Name: name}
			}
			groups[name].Count++
			groups[name].uptime.add(s.Get("uptime_24h").Number())
		}
	}
	return slices.SortedFunc(maps.Values(groups), func(a, b *Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
}

// groupBy compares categories, tags and networks.
func groupBy(snap *snapshot.Snapshot, r *snapshot.Report, details []snapshot.Node) {
	var tags []any
	categories, picks := []string{}, picksOf(snap)
	for _, g := range Groups(details, CategoryOf) {
		tags = append(tags, map[string]any{"tag": g.Name, "service_count": g.Count,
			"cheapest": picks[g.Name].cheapest.value(), "most_used": picks[g.Name].mostUsed.value(),
			"prices": categoryPrices(details, g.Name)})
		categories = append(categories, g.Name)
	}
	slices.Sort(categories)
	r.Figure(rule, snap.JSON("v1/tags.json").Get("data"), tags)
	r.Figure(rule, snap.JSON("v1/categories.json").Get("data"), categories)

	groups := map[string]*Group{}
	byNetwork := Groups(details, NetworksOf)
	for _, g := range byNetwork {
		groups[g.Name] = g
	}
	networks := snap.JSON("v1/networks.json").Get("data")
	byNetwork = slices.DeleteFunc(byNetwork, func(g *Group) bool { return strings.Contains(g.Name, ":") }) // CAIP-2
	if n := len(networks.Items()); n != len(byNetwork) {
		r.Compare(rule, networks, "list of "+strconv.Itoa(n), "list of "+strconv.Itoa(len(byNetwork)))
	}
	before := Group{Count: len(details)}
	for _, row := range networks.Items() {
		g := groups[row.Get("abbreviation").Text()]
		if g == nil {
			r.Compare(rule, row.Get("abbreviation"), row.Get("abbreviation").Text(), "no service")
			continue
		}
		r.Figure(rule, row.Get("service_count"), g.Count)
		r.Figure(rule, row.Get("avg_uptime"), g.uptime.value(2))
		id := row.Get("id").Text()
		r.Figure(rule, row.Get("testnet"), !row.Get("is_mainnet").Bool())
		r.Figure(rule, row.Get("caip2"), id)
		r.Figure(rule, row.Get("caip2_id"), id)
		if g.Count > before.Count || g.Count == before.Count && id < before.Name {
			r.Compare(rule, row.Get("id"), id, "another order")
		}
		before = Group{Name: id, Count: g.Count}
	}
}
