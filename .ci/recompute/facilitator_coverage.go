package main

import (
	"cmp"
	"math/big"
	"slices"
	"strings"

	"tollbook/.ci/recompute/conformance"
	"tollbook/.ci/recompute/facilitators"
	"tollbook/.ci/recompute/operator"
	"tollbook/.ci/recompute/snapshot"
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
func recomputeCoverage(d *directory, r *snapshot.Report) {
	data := d.snap.JSON("v1/coverage.json").Get("data")
	networks := data.Get("networks").Items()
	sorted := slices.Clone(networks)
	slices.SortStableFunc(sorted, func(a, b snapshot.Node) int {
		return cmp.Or(asInt(b.Get("measured").Bool())-asInt(a.Get("measured").Bool()),
			b.Get("service_count").Int()-a.Get("service_count").Int(),
			cmp.Compare(a.Get("network_caip2").Text(), b.Get("network_caip2").Text()))
	})
	for i, n := range networks {
		r.Figure(coverageRule, n.Get("network_caip2"), sorted[i].Get("network_caip2"))
		compareCoverage(r, d, n, data.Get("as_of"))
	}
	facilitators.RecomputeNetworks(d.snap, r, data, isMainNetwork)
	facilitators.RecomputeTokens(d.snap, r, data)
	compareNetworkSums(r, d, data)
	compareVolume(r, d, data.Get("volume_30d"))
	compareOperators(r, d, data.Get("operators"))
}

// isMainNetwork reports whether a network is no known test network.
func isMainNetwork(caip2 string) bool {
	n, isKnown := conformance.LookupNetwork(caip2)
	return !isKnown || n.Mainnet
}

func asInt(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// compareCoverage compares one network.
func compareCoverage(r *snapshot.Report, d *directory, n, now snapshot.Node) {
	id := n.Get("network_caip2").Text()
	r.Figure(coverageRule, n.Get("network"), abbreviation(id))
	var name, mainnet any = id, nil
	if row, ok := conformance.LookupNetwork(id); ok {
		name, mainnet = row.Name, row.Mainnet
	}
	r.Figure(coverageRule, n.Get("name"), name)
	r.Figure(coverageRule, n.Get("is_mainnet"), mainnet)
	services := 0
	for _, s := range d.services {
		if slices.Contains(s.detail.Get("networks_caip2").Texts(), id) {
			services++
		}
	}
	r.Figure(coverageRule, n.Get("service_count"), services)
	if read := n.Get("cursor"); read.HasValue() {
		age := now.Time().Sub(read.Get("time").Time())
		r.Figure(coverageRule, read.Get("age_seconds"), int(age.Seconds()))
	}
	for _, token := range n.Get("tokens").Items() {
		settled, other := token.Get("attributed_30d").Int(), token.Get("unattributed_30d").Int()
		r.Figure(coverageRule, token.Get("authorizations_30d"), settled+other)
		var share *big.Rat
		if settled+other > 0 {
			share = snapshot.Round(big.NewRat(int64(other), int64(settled+other)), 4)
		}
		r.Figure(coverageRule, token.Get("unattributed_share"), share)
	}
}

// compareNetworkSums checks that the days of all measured main networks add up to those of all facilitators.
func compareNetworkSums(r *snapshot.Report, d *directory, data snapshot.Node) {
	days := map[string]*big.Rat{}
	add := func(points snapshot.Node, sign int64) {
		for _, point := range points.Items() {
			date := point.Get("date").Text()
			if days[date] == nil {
				days[date] = new(big.Rat)
			}
			days[date].Add(days[date], new(big.Rat).Mul(number(point.Get("volume_usd")), big.NewRat(sign, 1)))
		}
	}
	for _, n := range data.Get("networks").Items() {
		if n.Get("is_mainnet").Bool() {
			add(n.Get("timeseries"), 1)
		}
	}
	for _, id := range d.snap.JSON("v1/index.json").Get("facilitators").Texts() {
		add(d.snap.JSON("v1/facilitators/"+id+".json").At("data", "timeseries"), -1)
	}
	for date, rest := range days {
		if rest.Sign() != 0 {
			r.Compare(coverageRule, data.Get("networks"), date, "a volume that differs by $"+snapshot.DecimalText(rest))
		}
	}
}

// compareVolume compares the volume of 30 days with the sum of all facilitators, and what remains without two patterns.
func compareVolume(r *snapshot.Report, d *directory, n snapshot.Node) {
	volume, count := new(big.Rat), 0
	for _, id := range d.snap.JSON("v1/index.json").Get("facilitators").Texts() {
		detail := d.snap.JSON("v1/facilitators/" + id + ".json").Get("data")
		volume.Add(volume, number(detail.Get("volume_usd_30d")))
		count += detail.Get("tx_count_30d").Int()
	}
	r.Figure(coverageRule, n.Get("raw"), map[string]any{"volume_usd": volume, "tx_count": count})
	rest, left := new(big.Rat).Set(volume), count
	for _, pattern := range []string{"self_payment", "single_payer"} {
		rest.Sub(rest, number(n.At(pattern, "volume_usd")))
		left -= n.At(pattern, "tx_count").Int()
	}
	r.Figure(coverageRule, n.Get("without"), map[string]any{"volume_usd": rest, "tx_count": left})
}

// compareOperators groups services that name the same recipient now, also by way of others. On EVM networks an address
// is one account. Test networks and burn addresses do not count.
func compareOperators(r *snapshot.Report, d *directory, n snapshot.Node) {
	group := map[*service]*service{} // the first service of the group
	firstOf := func(s *service) *service {
		for group[s] != nil {
			s = group[s]
		}
		return s
	}
	holders := map[conformance.Account]*service{}
	for _, s := range d.services {
		for at := range operatorAccounts(s) {
			at.Network = accountNetwork(at.Network)
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
			names = append(names, map[string]any{"name": s.detail.Get("name").Text(), "slug": s.slug})
		}
		list = append(list, map[string]any{"service_count": len(services), "services": names,
			"recipients": sharedRecipients(services)})
	}
	r.Figure(coverageRule, n.Get("service_count"), len(d.services))
	r.Figure(coverageRule, n.Get("operator_count"), len(members))
	r.Figure(coverageRule, n.Get("groups"), list)
	compareLinks(r, d, n)
}

// compareLinks compares the evidence that services have one operator.
func compareLinks(r *snapshot.Report, d *directory, n snapshot.Node) {
	var services []operator.Service
	for _, s := range d.services {
		of := operator.Service{
			Name: s.detail.Get("name").Text(), Slug: s.slug, BaseURL: s.detail.Get("base_url").Text(),
			Proved: s.detail.Get("verified").Bool() && s.evidence.Get("verified_by").Text() == "owner",
			Free:   isFreeHost(hostOf(s)), Accounts: map[string][]string{},
		}
		for at := range operatorAccounts(s) {
			network := accountNetwork(at.Network)
			if network != at.Network {
				network += ":*"
			}
			of.Accounts[network] = append(of.Accounts[network],
				conformance.PublishedAddress(at.Network, at.Address))
		}
		services = append(services, of)
	}
	all, by := operator.Links(services)
	r.Figure(coverageRule, n.Get("link_count"), len(all))
	r.Figure(coverageRule, n.Get("links"), operator.First(all))
	for _, s := range d.services {
		r.Figure(coverageRule, s.detail.Get("operator_links"), slices.Concat([]any{}, by[s.slug]))
	}
}

// operatorAccounts returns the recipients of a service that say who operates it.
func operatorAccounts(s *service) map[conformance.Account]bool {
	set := recipientsOf(s)
	for at := range set {
		row, ok := conformance.LookupNetwork(at.Network)
		if ok && !row.Mainnet || conformance.CheckAccount(at.Network, at.Address) == conformance.FaultBurn {
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
	uses, owners := map[conformance.Account]int{}, map[conformance.Account]map[*service]bool{}
	for _, s := range services {
		for at := range operatorAccounts(s) {
			uses[at]++
			at.Network = accountNetwork(at.Network)
			if owners[at] == nil {
				owners[at] = map[*service]bool{}
			}
			owners[at][s] = true
		}
	}
	var list []conformance.Account
	for at := range uses {
		if len(owners[conformance.Account{Network: accountNetwork(at.Network), Address: at.Address}]) > 1 {
			list = append(list, at)
		}
	}
	slices.SortFunc(list, func(a, b conformance.Account) int {
		return cmp.Or(uses[b]-uses[a], cmp.Compare(a.Network, b.Network), cmp.Compare(a.Address, b.Address))
	})
	rows := []any{}
	for _, at := range list {
		rows = append(rows, map[string]any{
			"network_caip2": at.Network, "pay_to": conformance.PublishedAddress(at.Network, at.Address),
			"service_count": uses[at],
		})
	}
	return rows
}
