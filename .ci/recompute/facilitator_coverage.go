package main

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
)

func init() {
	recomputations = append(recomputations, recomputeCoverage)
	addInputs("v1/coverage.json", "what chains recorded and how far they were read",
		`data.as_of data.candidate_settlers* data.networks[].cursor data.networks[].cursor.block
		data.networks[].cursor.time data.networks[].filling data.networks[].head* data.networks[].measured*
		data.networks[].timeseries* data.networks[].tokens[].token_address data.networks[].tokens[].asset_name
		data.networks[].tokens data.networks[].tokens[].attributed_30d data.networks[].tokens[].unattributed_30d
		data.volume_30d.self_payment* data.volume_30d.single_payer* data.volume_30d.rule data.operators.rule`)
}

const coverageRule = "reference, /v1/coverage"

// recomputeCoverage recomputes the report about what is measured.
func recomputeCoverage(d *directory, r *report) {
	data := d.snap.json("v1/coverage.json").get("data")
	networks := data.get("networks").items()
	sorted := slices.Clone(networks)
	slices.SortStableFunc(sorted, func(a, b node) int {
		return cmp.Or(asInt(b.get("measured").bool())-asInt(a.get("measured").bool()),
			b.get("service_count").int()-a.get("service_count").int(),
			cmp.Compare(a.get("network_caip2").text(), b.get("network_caip2").text()))
	})
	for i, n := range networks {
		r.figure(coverageRule, n.get("network_caip2"), sorted[i].get("network_caip2"))
		compareCoverage(r, d, n, data.get("as_of"))
	}
	compareNetworkSums(r, d, data)
	compareVolume(r, d, data.get("volume_30d"))
	compareOperators(r, d, data.get("operators"))
}

func asInt(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// compareCoverage compares one network.
func compareCoverage(r *report, d *directory, n, now node) {
	id := n.get("network_caip2").text()
	r.figure(coverageRule, n.get("network"), abbreviation(id))
	var name, mainnet any = id, nil
	if row, ok := lookupNetwork(id); ok {
		name, mainnet = row.Name, row.Mainnet
	}
	r.figure(coverageRule, n.get("name"), name)
	r.figure(coverageRule, n.get("is_mainnet"), mainnet)
	services := 0
	for _, s := range d.services {
		if slices.Contains(s.detail.get("networks_caip2").texts(), id) {
			services++
		}
	}
	r.figure(coverageRule, n.get("service_count"), services)
	if read := n.get("cursor"); read.hasValue() {
		age := now.time().Sub(read.get("time").time())
		r.figure(coverageRule, read.get("age_seconds"), int(age.Seconds()))
	}
	for _, token := range n.get("tokens").items() {
		settled, other := token.get("attributed_30d").int(), token.get("unattributed_30d").int()
		r.figure(coverageRule, token.get("authorizations_30d"), settled+other)
		var share *big.Rat
		if settled+other > 0 {
			share = round(big.NewRat(int64(other), int64(settled+other)), 4)
		}
		r.figure(coverageRule, token.get("unattributed_share"), share)
	}
}

// compareNetworkSums checks that the days of all measured main networks add up to those of all facilitators.
func compareNetworkSums(r *report, d *directory, data node) {
	days := map[string]*big.Rat{}
	add := func(points node, sign int64) {
		for _, point := range points.items() {
			date := point.get("date").text()
			if days[date] == nil {
				days[date] = new(big.Rat)
			}
			days[date].Add(days[date], new(big.Rat).Mul(number(point.get("volume_usd")), big.NewRat(sign, 1)))
		}
	}
	for _, n := range data.get("networks").items() {
		if n.get("is_mainnet").bool() {
			add(n.get("timeseries"), 1)
		}
	}
	for _, id := range d.snap.json("v1/index.json").get("facilitators").texts() {
		add(d.snap.json("v1/facilitators/"+id+".json").at("data", "timeseries"), -1)
	}
	for date, rest := range days {
		if rest.Sign() != 0 {
			r.compare(coverageRule, data.get("networks"), date, "a volume that differs by $"+decimalText(rest))
		}
	}
}

// compareVolume compares the volume of 30 days with the sum of all facilitators, and what remains without two patterns.
func compareVolume(r *report, d *directory, n node) {
	volume, count := new(big.Rat), 0
	for _, id := range d.snap.json("v1/index.json").get("facilitators").texts() {
		detail := d.snap.json("v1/facilitators/" + id + ".json").get("data")
		volume.Add(volume, number(detail.get("volume_usd_30d")))
		count += detail.get("tx_count_30d").int()
	}
	r.figure(coverageRule, n.get("raw"), map[string]any{"volume_usd": volume, "tx_count": count})
	rest, left := new(big.Rat).Set(volume), count
	for _, pattern := range []string{"self_payment", "single_payer"} {
		rest.Sub(rest, number(n.at(pattern, "volume_usd")))
		left -= n.at(pattern, "tx_count").int()
	}
	r.figure(coverageRule, n.get("without"), map[string]any{"volume_usd": rest, "tx_count": left})
}

// compareOperators groups services that name the same recipient now, also by way of others. On EVM networks an address
// is one account. Test networks and burn addresses do not count.
func compareOperators(r *report, d *directory, n node) {
	group := map[*service]*service{} // the first service of the group
	firstOf := func(s *service) *service {
		for group[s] != nil {
			s = group[s]
		}
		return s
	}
	holders := map[account]*service{}
	for _, s := range d.services {
		for at := range operatorAccounts(s) {
			at.network = accountNetwork(at.network)
			holder := holders[at]
			if holder == nil {
				holders[at] = s
			} else if a, b := firstOf(holder), firstOf(s); a != b {
				group[b] = a
			}
		}
	}
	members := map[*service][]*service{}
	for _, s := range d.services {
		members[firstOf(s)] = append(members[firstOf(s)], s)
	}
	var groups [][]*service
	for _, s := range d.services {
		if len(members[s]) > 1 {
			groups = append(groups, members[s])
		}
	}
	slices.SortStableFunc(groups, func(a, b []*service) int { return cmp.Compare(len(b), len(a)) })
	list := []any{}
	for _, services := range groups {
		names := []any{}
		for _, s := range services {
			names = append(names, map[string]any{"name": s.detail.get("name").text(), "slug": s.slug})
		}
		list = append(list, map[string]any{"service_count": len(services), "services": names,
			"recipients": sharedRecipients(services)})
	}
	r.figure(coverageRule, n.get("service_count"), len(d.services))
	r.figure(coverageRule, n.get("operator_count"), len(members))
	r.figure(coverageRule, n.get("groups"), list)
}

// operatorAccounts returns the recipients of a service that say who operates it.
func operatorAccounts(s *service) map[account]bool {
	set := recipientsOf(s)
	for at := range set {
		row, ok := lookupNetwork(at.network)
		if ok && !row.Mainnet || checkAccount(at.network, at.address) == faultBurn {
			delete(set, at)
		}
	}
	return set
}

// accountNetwork returns the network of an account: one for all EVM networks.
func accountNetwork(network string) string {
	if strings.HasPrefix(network, "eip155:") {
		return "eip155"
	}
	return network
}

// sharedRecipients returns the recipients whose account several services of a group use, most used first.
func sharedRecipients(services []*service) []any {
	uses, owners := map[account]int{}, map[account]map[*service]bool{}
	for _, s := range services {
		for at := range operatorAccounts(s) {
			uses[at]++
			at.network = accountNetwork(at.network)
			if owners[at] == nil {
				owners[at] = map[*service]bool{}
			}
			owners[at][s] = true
		}
	}
	var list []account
	for at := range uses {
		if len(owners[account{accountNetwork(at.network), at.address}]) > 1 {
			list = append(list, at)
		}
	}
	slices.SortFunc(list, func(a, b account) int {
		return cmp.Or(uses[b]-uses[a], cmp.Compare(a.network, b.network), cmp.Compare(a.address, b.address))
	})
	rows := []any{}
	for _, at := range list {
		rows = append(rows, map[string]any{
			"network_caip2": at.network, "pay_to": publishedAddress(at.network, at.address),
			"service_count": uses[at],
		})
	}
	return rows
}
