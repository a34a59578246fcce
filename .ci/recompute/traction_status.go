package main

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"tollbook/.ci/recompute/conformance"
	"tollbook/.ci/recompute/snapshot"
)

// readMeasured reads the networks whose settlements are measured.
func (d *directory) readMeasured() {
	d.measured = map[string]time.Time{}
	for _, n := range d.snap.JSON("v1/coverage.json").At("data", "networks").Items() {
		if n.Get("measured").Bool() {
			d.measured[n.Get("network_caip2").Text()] = n.Get("measured_since").Time()
		}
	}
}

func (d *directory) isMeasured(network string) bool {
	_, ok := d.measured[network]
	return ok
}

// recipientsNow returns the services that name each recipient now or named it last, by slug.
func recipientsNow(d *directory) map[conformance.Account][]*service {
	named := map[conformance.Account][]*service{}
	for _, s := range d.services {
		for at := range recipientsOf(s) {
			named[at] = append(named[at], s)
		}
	}
	return named
}

// recipientsOf returns the recipients that active endpoints of a service name, over any protocol. The key of a
// Lightning node in an offer is none.
func recipientsOf(s *service) map[conformance.Account]bool {
	set := map[conformance.Account]bool{}
	for _, endpoint := range s.detail.Get("endpoints").Items() {
		pricing := slices.DeleteFunc(slices.Clone(endpoint.Get("pricing").Items()), func(p snapshot.Node) bool {
			network := p.Get("network_caip2").Text()
			return p.Get("protocol").Text() != "x402" && (network == "" || p.Get("pay_to").Text() == "" ||
				strings.HasPrefix(network, "bip122:"))
		})
		maps.Copy(set, recipientsIn(pricing))
	}
	return set
}

// recipientsIn returns the recipients that prices name.
func recipientsIn(pricing []snapshot.Node) map[conformance.Account]bool {
	set := map[conformance.Account]bool{}
	for _, p := range pricing {
		network := p.Get("network_caip2").Text()
		address := conformance.NormalAddress(network, p.Get("pay_to").Text())
		set[conformance.Account{Network: network, Address: address}] = true
	}
	return set
}

// recipientsWithin returns the networks on which recipients belonged to the service on one of the last 30 days.
func (d *directory) recipientsWithin(s *service) map[string]bool {
	first := snapshot.Midnight(d.now).Add(-29 * snapshot.Day).Format(time.DateOnly)
	networks := map[string]bool{}
	for at := range recipientsOf(s) {
		networks[at.Network] = true
	}
	for _, n := range d.snap.JSON(s.file("settlements.json")).At("data", "recipients").Items() {
		if until := n.Get("until"); !until.HasValue() || until.Text() >= first {
			networks[n.Get("network_caip2").Text()] = true
		}
	}
	return networks
}

// measuredNetworks returns those of the networks on which settlements are measured, sorted.
func (d *directory) measuredNetworks(networks map[string]bool) []string {
	list := []string{}
	for network := range networks {
		if d.isMeasured(network) {
			list = append(list, network)
		}
	}
	slices.Sort(list)
	return list
}

// tractionStatus returns the first status that applies.
func (d *directory) tractionStatus(s *service, named map[conformance.Account][]*service) string {
	networks := d.recipientsWithin(s)
	switch {
	case len(d.sharing(s, named)) > 0 && d.failsLong(s):
		return "unresponsive"
	case len(networks) == 0:
		return "no-payto"
	case len(d.measuredNetworks(networks)) == 0:
		return "unmeasured-network"
	}
	return "measured"
}

// failsLong reports whether every counted visit of the last 7 days failed, and one before.
func (d *directory) failsLong(s *service) bool {
	before := d.now.Add(-7 * snapshot.Day)
	for _, visit := range slices.Backward(s.visits(d).list) {
		if !visit.counted {
			continue
		}
		if visit.up {
			return false
		}
		if !visit.at.After(before) {
			return true
		}
	}
	return false
}

// sharing returns the other services that name a recipient of the service on a measured network now, by slug.
func (d *directory) sharing(s *service, named map[conformance.Account][]*service) map[string]*service {
	others := map[string]*service{}
	for at := range recipientsOf(s) {
		for _, other := range named[at] {
			if other != s && d.isMeasured(at.Network) {
				others[other.slug] = other
			}
		}
	}
	return others
}

// maxSharing is the largest number of services that are listed as sharing a recipient.
const maxSharing = 100

// compareSharing compares which other services share a recipient of the service. Unresponsive services share nothing.
func compareSharing(r *snapshot.Report, d *directory, s *service, named map[conformance.Account][]*service) {
	p := s.detail.At("assessment", "traction")
	others := d.sharing(s, named)
	maps.DeleteFunc(others, func(_ string, other *service) bool {
		return d.tractionStatus(other, named) == "unresponsive"
	})
	list := []any{}
	for _, slug := range slices.Sorted(maps.Keys(others)) {
		if len(list) < maxSharing {
			list = append(list, map[string]any{"name": others[slug].detail.Get("name").Text(), "slug": slug})
		}
	}
	r.Figure(tractionRule, p.Get("shared_payout"), len(others) > 0)
	r.Figure(tractionRule, p.Get("shared_with"), len(others))
	r.Figure(tractionRule, p.Get("shared_with_services"), list)
	r.Figure(tractionRule, p.Get("pro_quota_share"), nearest(1/float64(len(others)+1)))
	r.Figure(tractionRule, p.Get("measured_networks"), d.measuredNetworks(d.recipientsWithin(s)))
}

// nearest returns a number as JSON writes it: in the fewest digits that no other number of 64 bits shares.
func nearest(number float64) *big.Rat {
	value, _ := new(big.Rat).SetString(strconv.FormatFloat(number, 'f', -1, 64))
	return value
}
