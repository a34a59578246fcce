package main

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

func init() {
	recomputations = append(recomputations, recomputeFacilitators)
	addInputs("v1/facilitators/{id}.json", "what the operator listed and what chains recorded",
		`data.name data.website_url data.verification data.timeseries[].* data.settlers[].* data.buyers[].*
		data.chains[].asset_name data.chains[].network_caip2 data.chains[].token_address data.chains[].volume*
		data.chains[].tx_count* data.chains[].last_activity_at`)
}

const facilitatorRule = "methodology, Facilitators"

// facilitatorWindows are the windows of volumes.
var facilitatorWindows = []string{"24h", "7d", "30d", "all"}

// facilitator is the published detail of a facilitator.
type facilitator struct {
	id     string
	detail node
	volume map[string]*big.Rat // by window, recomputed
}

// recomputeFacilitators recomputes the sums of each facilitator and the lists of all.
func recomputeFacilitators(d *directory, r *report) {
	var list []*facilitator
	ids := []string{}
	for _, file := range d.snap.files("v1/facilitators/", ".json") {
		if id := strings.TrimSuffix(strings.TrimPrefix(file, "v1/facilitators/"), ".json"); !strings.Contains(id, "=") {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	index := d.snap.json("v1/index.json")
	r.figure("reference, /v1/facilitators", index.get("facilitators"), ids)
	for _, name := range index.get("lists").keys() {
		if strings.HasPrefix(name, "v1/facilitators") {
			r.figure("reference, /v1/facilitators", index.at("lists", name), len(ids))
		}
	}
	for _, id := range ids {
		f := &facilitator{id: id, detail: d.snap.json("v1/facilitators/" + id + ".json").get("data"),
			volume: map[string]*big.Rat{}}
		f.compare(d, r)
		list = append(list, f)
	}
	for _, name := range d.snap.files("v1/facilitators/timeframe=", ".json") {
		compareFacilitatorList(r, d.snap.json(name), parameters(name), list)
	}
	first := map[string]string{"timeframe": "7d", "per_page": "25", "page": "1"}
	compareFacilitatorList(r, d.snap.json("v1/facilitators.json"), first, list)
}

// compare compares the sums over the networks of a facilitator with its totals, and the sums of its series with them.
func (f *facilitator) compare(d *directory, r *report) {
	r.figure(facilitatorRule, f.detail.get("facilitator_id"), f.id)
	chains, series := f.detail.get("chains").items(), f.detail.get("timeseries").items()
	for _, window := range facilitatorWindows {
		volume, count := new(big.Rat), 0
		for _, chain := range chains {
			if n, ok := lookupNetwork(chain.get("network_caip2").text()); ok && !n.Mainnet {
				continue
			}
			count += chain.get("tx_count_" + window).int()
			volume.Add(volume, number(chain.get("volume_usd_"+window)))
		}
		f.volume[window] = volume
		r.figure(facilitatorRule, f.detail.get("volume_usd_"+window), volume)
		r.figure(facilitatorRule, f.detail.get("tx_count_"+window), count)
	}
	for window, days := range map[string]int{"7d": 7, "30d": 30} {
		volume, count := new(big.Rat), 0
		for _, point := range series[max(0, len(series)-days):] {
			count += point.get("tx_count").int()
			volume.Add(volume, number(point.get("volume_usd")))
		}
		r.figure(facilitatorRule, f.detail.get("volume_usd_"+window), volume)
		r.figure(facilitatorRule, f.detail.get("tx_count_"+window), count)
	}
	f.compareSeries(d, r, series)
	f.compareChains(r, chains)
	f.compareSettlers(r)
	f.compareServices(d, r)
}

// compareSeries checks that the series has one point for each of the last 90 days.
func (f *facilitator) compareSeries(d *directory, r *report, series []node) {
	r.compare(facilitatorRule, f.detail.get("timeseries"), strconv.Itoa(len(series)), "90")
	for i, point := range series {
		r.figure(facilitatorRule, point.get("date"), midnight(d.now).AddDate(0, 0, i-89).Format(time.DateOnly))
	}
}

// compareChains compares the order of the networks and tokens, their names and the newest settlement.
func (f *facilitator) compareChains(r *report, chains []node) {
	sorted := slices.Clone(chains)
	volume := func(n node) *big.Rat { return number(n.get("volume_usd_all")) }
	text := func(n node, name string) string { return n.get(name).text() }
	slices.SortStableFunc(sorted, func(a, b node) int {
		return cmp.Or(volume(b).Cmp(volume(a)), b.get("tx_count_all").int()-a.get("tx_count_all").int(),
			cmp.Compare(text(a, "network_caip2"), text(b, "network_caip2")),
			cmp.Compare(text(a, "token_address_norm"), text(b, "token_address_norm")))
	})
	var newest node
	for i, chain := range chains {
		network := text(sorted[i], "network_caip2")
		r.figure(facilitatorRule, chain.get("network_caip2"), network)
		r.figure(facilitatorRule, chain.get("network"), abbreviation(network))
		r.figure(facilitatorRule, chain.get("token_address_norm"),
			normalAddress(network, text(sorted[i], "token_address")))
		r.figure(facilitatorRule, chain.get("verification"), f.detail.get("verification"))
		row, ok := lookupNetwork(chain.get("network_caip2").text())
		if at := chain.get("last_activity_at"); at.text() > newest.text() && (!ok || row.Mainnet) {
			newest = at
		}
	}
	r.figure(facilitatorRule, f.detail.get("last_activity_at"), newest.time())
}

// number returns the value of a number, 0 for null.
func number(n node) *big.Rat {
	if value := n.number(); value != nil {
		return value
	}
	return new(big.Rat)
}

// abbreviation returns the short code of a network, or its CAIP-2 id if it has none.
func abbreviation(id string) string {
	if n, ok := lookupNetwork(id); ok {
		return n.Abbreviation
	}
	return id
}

// compareSettlers counts accounts: one that settles on several networks counts once.
func (f *facilitator) compareSettlers(r *report) {
	addresses := map[string]bool{}
	for _, settler := range f.detail.get("settlers").items() {
		addresses[settler.get("address").text()] = true
		r.figure(facilitatorRule, settler.get("network"), abbreviation(settler.get("network_caip2").text()))
	}
	r.figure(facilitatorRule, f.detail.get("settler_count"), len(addresses))
}

// compareServices compares the services with those whose traction names the facilitator.
func (f *facilitator) compareServices(d *directory, r *report) {
	type served struct {
		s   *service
		via node
	}
	var list []served
	for _, s := range d.services {
		for _, via := range s.detail.at("assessment", "traction", "settled_via_detail").items() {
			if via.get("id").text() == f.id {
				list = append(list, served{s, via})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b served) int {
		return cmp.Or(number(b.via.get("volume_usd_30d")).Cmp(number(a.via.get("volume_usd_30d"))),
			b.via.get("tx_count_30d").int()-a.via.get("tx_count_30d").int())
	})
	rows := []any{}
	for _, one := range list[:min(len(list), 100)] {
		rows = append(rows, map[string]any{"slug": one.s.slug, "name": one.s.detail.get("name").text(),
			"volume_usd_30d": one.via.get("volume_usd_30d"), "tx_count_30d": one.via.get("tx_count_30d")})
	}
	r.figure(facilitatorRule, f.detail.get("service_count"), len(list))
	r.figure(facilitatorRule, f.detail.get("services"), rows)
}

// compareFacilitatorList compares one page of a list with the details of its facilitators.
func compareFacilitatorList(r *report, page node, parameters map[string]string, list []*facilitator) {
	timeframe := parameters["timeframe"]
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b *facilitator) int {
		return cmp.Or(b.volume[timeframe].Cmp(a.volume[timeframe]), cmp.Compare(a.id, b.id))
	})
	size, _ := strconv.Atoi(parameters["per_page"])
	at, _ := strconv.Atoi(parameters["page"])
	figurePage(r, page.get("meta"), len(sorted), at, size)
	r.figure("reference, /v1/facilitators", page.at("meta", "timeframe"), timeframe)
	rows := page.get("data").items()
	shown := window(sorted, at, size)
	if len(rows) != len(shown) {
		r.compare("reference, /v1/facilitators", page.get("data"), strconv.Itoa(len(rows)), strconv.Itoa(len(shown)))
		return
	}
	omitted := []string{"settlers", "buyers", "service_count", "services"}
	for _, name := range []string{"timeseries", "chains"} {
		if !strings.Contains(parameters["include"], name) {
			omitted = append(omitted, name)
		}
	}
	for i, row := range rows {
		detail, _ := shown[i].detail.value.(map[string]any)
		want := map[string]any{}
		for name, value := range detail {
			if !slices.Contains(omitted, name) {
				want[name] = node{value: value}
			}
		}
		r.figure("reference, /v1/facilitators", row, want)
	}
}
