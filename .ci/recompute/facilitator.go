package main

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"tollbook/.ci/recompute/conformance"
	"tollbook/.ci/recompute/facilitators"
	"tollbook/.ci/recompute/matrix"
	"tollbook/.ci/recompute/snapshot"
)

func init() {
	recomputations = append(recomputations, recomputeFacilitators)
	addInputs("v1/facilitators/{id}.json", "what the operator listed and what chains recorded",
		`data.name data.website_url data.verification data.timeseries[].* data.settlers[].* data.buyers.by_chain*
		data.chains[].asset_name data.chains[].network_caip2 data.chains[].token_address data.chains[].volume*
		data.chains[].tx_count* data.chains[].last_activity_at data.chains[].first_activity_at`)
	addInputs("v1/facilitators/{id}.json", "where an account is known from", "data.settlers[]*")
}

const facilitatorRule = "methodology, Facilitators"

// facilitatorWindows are the windows of volumes.
var facilitatorWindows = []string{"24h", "7d", "30d", "all"}

// facilitator is the published detail of a facilitator.
type facilitator struct {
	id     string
	detail snapshot.Node
	volume map[string]*big.Rat // by window, recomputed
}

// recomputeFacilitators recomputes the sums of each facilitator and the lists of all.
func recomputeFacilitators(d *directory, r *snapshot.Report) {
	var list []*facilitator
	ids := []string{}
	for _, file := range d.snap.Files("v1/facilitators/", ".json") {
		id := strings.TrimSuffix(strings.TrimPrefix(file, "v1/facilitators/"), ".json")
		if !strings.Contains(id, "=") && id != matrix.ID {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	index := d.snap.JSON("v1/index.json")
	r.Figure("reference, /v1/facilitators", index.Get("facilitators"), ids)
	for _, name := range index.Get("lists").Keys() {
		if strings.HasPrefix(name, "v1/facilitators") {
			r.Figure("reference, /v1/facilitators", index.At("lists", name), len(ids))
		}
	}
	for _, id := range ids {
		f := &facilitator{id: id, detail: d.snap.JSON("v1/facilitators/" + id + ".json").Get("data"),
			volume: map[string]*big.Rat{}}
		f.compare(d, r)
		list = append(list, f)
	}
	for _, name := range d.snap.Files("v1/facilitators/timeframe=", ".json") {
		compareFacilitatorList(r, d.snap.JSON(name), snapshot.Parameters(name), list)
	}
	first := map[string]string{"timeframe": "7d", "per_page": "25", "page": "1"}
	compareFacilitatorList(r, d.snap.JSON("v1/facilitators.json"), first, list)
}

// compare compares the sums over the networks of a facilitator with its totals, and the sums of its series with them.
func (f *facilitator) compare(d *directory, r *snapshot.Report) {
	r.Figure(facilitatorRule, f.detail.Get("facilitator_id"), f.id)
	chains, series := f.detail.Get("chains").Items(), f.detail.Get("timeseries").Items()
	for _, window := range facilitatorWindows {
		volume, count := new(big.Rat), 0
		for _, chain := range chains {
			if n, ok := conformance.LookupNetwork(chain.Get("network_caip2").Text()); ok && !n.Mainnet {
				continue
			}
			count += chain.Get("tx_count_" + window).Int()
			volume.Add(volume, number(chain.Get("volume_usd_"+window)))
		}
		f.volume[window] = volume
		r.Figure(facilitatorRule, f.detail.Get("volume_usd_"+window), volume)
		r.Figure(facilitatorRule, f.detail.Get("tx_count_"+window), count)
	}
	for window, days := range map[string]int{"7d": 7, "30d": 30} {
		volume, count := new(big.Rat), 0
		for _, point := range series[max(0, len(series)-days):] {
			count += point.Get("tx_count").Int()
			volume.Add(volume, number(point.Get("volume_usd")))
		}
		r.Figure(facilitatorRule, f.detail.Get("volume_usd_"+window), volume)
		r.Figure(facilitatorRule, f.detail.Get("tx_count_"+window), count)
	}
	f.compareSeries(d, r, series)
	f.compareChains(r, chains)
	f.compareSettlers(r)
	f.compareServices(d, r)
	f.compareDerived(d, r)
}

// compareSeries checks that the series has one point for each of the last 90 days.
func (f *facilitator) compareSeries(d *directory, r *snapshot.Report, series []snapshot.Node) {
	r.Compare(facilitatorRule, f.detail.Get("timeseries"), strconv.Itoa(len(series)), "90")
	for i, point := range series {
		r.Figure(facilitatorRule, point.Get("date"), snapshot.Midnight(d.now).AddDate(0, 0, i-89).Format(time.DateOnly))
	}
}

// compareChains compares the order of the networks and tokens, their names and the newest settlement.
func (f *facilitator) compareChains(r *snapshot.Report, chains []snapshot.Node) {
	sorted := slices.Clone(chains)
	volume := func(n snapshot.Node) *big.Rat { return number(n.Get("volume_usd_all")) }
	text := func(n snapshot.Node, name string) string { return n.Get(name).Text() }
	slices.SortStableFunc(sorted, func(a, b snapshot.Node) int {
		return cmp.Or(volume(b).Cmp(volume(a)), b.Get("tx_count_all").Int()-a.Get("tx_count_all").Int(),
			cmp.Compare(text(a, "network_caip2"), text(b, "network_caip2")),
			cmp.Compare(text(a, "token_address_norm"), text(b, "token_address_norm")))
	})
	var newest snapshot.Node
	for i, chain := range chains {
		network := text(sorted[i], "network_caip2")
		r.Figure(facilitatorRule, chain.Get("network_caip2"), network)
		r.Figure(facilitatorRule, chain.Get("network"), abbreviation(network))
		r.Figure(facilitatorRule, chain.Get("token_address_norm"),
			conformance.NormalAddress(network, text(sorted[i], "token_address")))
		r.Figure(facilitatorRule, chain.Get("verification"), f.detail.Get("verification"))
		row, ok := conformance.LookupNetwork(chain.Get("network_caip2").Text())
		if at := chain.Get("last_activity_at"); at.Text() > newest.Text() && (!ok || row.Mainnet) {
			newest = at
		}
	}
	r.Figure(facilitatorRule, f.detail.Get("last_activity_at"), newest.Time())
}

// number returns the value of a number, 0 for null.
func number(n snapshot.Node) *big.Rat {
	if value := n.Number(); value != nil {
		return value
	}
	return new(big.Rat)
}

// abbreviation returns the short code of a network, or its CAIP-2 id if it has none.
func abbreviation(id string) string {
	if n, ok := conformance.LookupNetwork(id); ok {
		return n.Abbreviation
	}
	return id
}

// compareSettlers counts accounts: one that settles on several networks counts once.
func (f *facilitator) compareSettlers(r *snapshot.Report) {
	addresses := map[string]bool{}
	for _, settler := range f.detail.Get("settlers").Items() {
		addresses[settler.Get("address").Text()] = true
		r.Figure(facilitatorRule, settler.Get("network"), abbreviation(settler.Get("network_caip2").Text()))
	}
	r.Figure(facilitatorRule, f.detail.Get("settler_count"), len(addresses))
}

// compareServices compares the services with those whose traction names the facilitator.
func (f *facilitator) compareServices(d *directory, r *snapshot.Report) {
	list := f.served(d)
	rows := []any{}
	for _, one := range list[:min(len(list), 100)] {
		rows = append(rows, one.row())
	}
	r.Figure(facilitatorRule, f.detail.Get("service_count"), len(list))
	r.Figure(facilitatorRule, f.detail.Get("services"), rows)
}

// served is a service whose payments a facilitator settled in 30 days.
type served struct {
	s   *service
	via snapshot.Node
}

// row returns the row of the service in the facilitator's record.
func (one *served) row() map[string]any {
	return map[string]any{"slug": one.s.slug, "name": one.s.detail.Get("name").Text(),
		"volume_usd_30d": one.via.Get("volume_usd_30d"), "tx_count_30d": one.via.Get("tx_count_30d")}
}

// served returns the services whose payments it settled in 30 days, the largest volume first.
func (f *facilitator) served(d *directory) []served {
	var list []served
	for _, s := range d.services {
		for _, via := range s.detail.At("assessment", "traction", "settled_via_detail").Items() {
			if via.Get("id").Text() == f.id {
				list = append(list, served{s, via})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b served) int {
		return cmp.Or(number(b.via.Get("volume_usd_30d")).Cmp(number(a.via.Get("volume_usd_30d"))),
			b.via.Get("tx_count_30d").Int()-a.via.Get("tx_count_30d").Int())
	})
	return list
}

// compareDerived compares what follows from the sums of a facilitator.
func (f *facilitator) compareDerived(d *directory, r *snapshot.Report) {
	derived := facilitators.Facilitator{ID: f.id, Detail: f.detail, IsMain: func(caip2 string) bool {
		n, ok := conformance.LookupNetwork(caip2)
		return !ok || n.Mainnet
	}}
	for _, one := range f.served(d) {
		row := one.row()
		row["status"] = one.s.detail.Get("status")
		derived.Served = append(derived.Served, row)
	}
	for _, s := range d.services {
		settles := slices.ContainsFunc(s.detail.At("assessment", "traction", "settled_via").Items(),
			func(id snapshot.Node) bool { return id.Text() == f.id })
		for _, of := range settlementsOf(d, s) {
			settles = settles || slices.ContainsFunc(of.days(), func(day settledDay) bool {
				return day.facilitator == f.id
			})
		}
		if settles {
			derived.Ever++
		}
	}
	derived.Recompute(d.snap, r)
}

// compareFacilitatorList compares one page of a list with the details of its facilitators.
func compareFacilitatorList(r *snapshot.Report, page snapshot.Node, parameters map[string]string, list []*facilitator) {
	timeframe := parameters["timeframe"]
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b *facilitator) int {
		return cmp.Or(b.volume[timeframe].Cmp(a.volume[timeframe]), cmp.Compare(a.id, b.id))
	})
	size, _ := strconv.Atoi(parameters["per_page"])
	at, _ := strconv.Atoi(parameters["page"])
	figurePage(r, page.Get("meta"), len(sorted), at, size)
	r.Figure("reference, /v1/facilitators", page.At("meta", "timeframe"), timeframe)
	rows := page.Get("data").Items()
	shown := window(sorted, at, size)
	if len(rows) != len(shown) {
		r.Compare("reference, /v1/facilitators", page.Get("data"), strconv.Itoa(len(rows)), strconv.Itoa(len(shown)))
		return
	}
	omitted := append([]string{"settlers", "buyers", "service_count", "services", "facilitator_url", "supported"},
		facilitators.Members...)
	for _, name := range []string{"timeseries", "chains"} {
		if !strings.Contains(parameters["include"], name) {
			omitted = append(omitted, name)
		}
	}
	for i, row := range rows {
		detail, _ := shown[i].detail.Value.(map[string]any)
		want := map[string]any{}
		for name, value := range detail {
			if !slices.Contains(omitted, name) {
				want[name] = snapshot.Node{Value: value}
			}
		}
		r.Figure("reference, /v1/facilitators", row, want)
	}
}
