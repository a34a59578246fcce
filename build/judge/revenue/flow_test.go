package revenue_test

import (
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tollbook/build/judge/revenue"
	"tollbook/site"
)

const (
	base    = "eip155:8453"
	solana  = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	sepolia = "eip155:84532"
	payTo   = "0x00000000000000000000000000000000000000a1"
)

func newSnapshot(services ...site.ServiceListItem) *site.Snapshot {
	s := &site.Snapshot{Now: site.NewTime(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC))}
	for _, item := range services {
		s.Services = append(s.Services, site.Listing{Item: item})
	}
	return s
}

func newFacilitator(id string, chains ...site.FacilitatorChain) site.FacilitatorDetail {
	return site.FacilitatorDetail{FacilitatorListItem: site.FacilitatorListItem{FacilitatorID: id,
		Name: "The " + id, Chains: chains}}
}

func newChain(network string, volume site.Decimal, count int64) site.FacilitatorChain {
	return site.FacilitatorChain{NetworkCAIP2: network, VolumeUSD30d: &volume, TxCount30d: count}
}

// TestNew attributes payments to a service of its own recipient, to services that share one, and to none.
func TestNew(t *testing.T) {
	t.Parallel()
	s := newSnapshot(
		site.ServiceListItem{Slug: "a", Name: "A", Category: "AI"},
		site.ServiceListItem{Slug: "b", Name: "B", Category: "AI"},
		site.ServiceListItem{Slug: "c", Name: "C", Category: "Data"})
	unvalued := site.FacilitatorChain{NetworkCAIP2: base, TxCount30d: 99}
	s.Facilitators = []site.FacilitatorDetail{
		newFacilitator("acme", newChain(base, "10.5", 7), newChain(base, "0.5", 1), newChain(sepolia, "70", 5),
			unvalued),
		newFacilitator("quiet", newChain(base, "0", 0)),
		newFacilitator("zeta", newChain(solana, "3", 2)),
	}
	payments := []revenue.FlowPayment{
		{Facilitator: "acme", Network: base, PayTo: payTo, Owners: []int{0, 1}, USD: "4", TxCount: 2},
		{Facilitator: "acme", Network: base, PayTo: payTo, Owners: []int{0}, USD: "1", TxCount: 1},
		{Facilitator: "acme", Network: base, PayTo: payTo, Owners: nil, USD: "2", TxCount: 1},
		{Facilitator: "zeta", Network: solana, PayTo: "S", Owners: []int{0, 2}, USD: "3", TxCount: 2},
	}
	got := revenue.NewFlow(s, payments, true)
	node := func(column, kind, key, name string, members int, volume site.Decimal, count int64) site.FlowNode {
		return site.FlowNode{ID: column + ":" + key, Column: column, Kind: kind, Key: key, Name: name,
			MemberCount: members, VolumeUSD30d: volume, TxCount30d: count}
	}
	link := func(from, to string, volume site.Decimal, count int64) site.FlowLink {
		return site.FlowLink{From: from, To: to, VolumeUSD30d: volume, TxCount30d: count}
	}
	const spelt = "0x00000000000000000000000000000000000000A1"
	want := site.Flow{
		AsOf: s.Now, VolumeUSD30d: new(site.Decimal("14")), TxCount30d: new(int64(10)),
		Nodes: []site.FlowNode{
			node("facilitator", "facilitator", "acme", "The acme", 1, "11", 8),
			node("facilitator", "facilitator", "zeta", "The zeta", 1, "3", 2),
			node("network", "network", base, "Base", 1, "11", 8),
			node("network", "network", solana, "Solana", 1, "3", 2),
			node("category", "category", "AI", "AI", 1, "5", 3),
			node("category", "shared", "shared", "Several categories", 0, "3", 2),
			node("category", "unattributed", "unattributed", "No listed service", 0, "6", 5),
			node("service", "shared", base+":"+payTo, spelt, 2, "4", 2),
			node("service", "shared", solana+":S", "S", 2, "3", 2),
			node("service", "service", "a", "A", 1, "1", 1),
			node("service", "unattributed", "unattributed", "No listed service", 0, "6", 5),
		},
		Links: []site.FlowLink{
			link("facilitator:acme", "network:"+base, "11", 8),
			link("facilitator:zeta", "network:"+solana, "3", 2),
			link("network:"+base, "category:AI", "5", 3),
			link("network:"+base, "category:unattributed", "6", 5),
			link("network:"+solana, "category:shared", "3", 2),
			link("category:AI", "service:"+base+":"+payTo, "4", 2),
			link("category:AI", "service:a", "1", 1),
			link("category:shared", "service:"+solana+":S", "3", 2),
			link("category:unattributed", "service:unattributed", "6", 5),
		},
	}
	texts := cmpopts.IgnoreFields(site.Flow{}, "Method", "Caveat")
	if diff := cmp.Diff(want, got, texts); diff != "" {
		t.Errorf("flow (-want +got):\n%s", diff)
	}
	want = site.Flow{AsOf: s.Now, Nodes: []site.FlowNode{}, Links: []site.FlowLink{}}
	if diff := cmp.Diff(want, revenue.NewFlow(s, payments, false), texts); diff != "" {
		t.Errorf("flow without a measured network (-want +got):\n%s", diff)
	}
}

// TestColumnsAddUp checks that the nodes of each column, and the links between two columns, add up to the total, when
// columns have more nodes than are listed.
func TestColumnsAddUp(t *testing.T) {
	t.Parallel()
	const n = 75
	var services []site.ServiceListItem
	for i := range n {
		services = append(services, site.ServiceListItem{Slug: fmt.Sprintf("s%02d", i), Name: "S",
			Category: fmt.Sprintf("C%02d", i%15)})
	}
	s := newSnapshot(services...)
	var payments []revenue.FlowPayment
	for i := range 13 {
		id := fmt.Sprintf("f%02d", i)
		s.Facilitators = append(s.Facilitators, newFacilitator(id, newChain(base, "1000.000001", 1000),
			newChain(solana, "1000", 1000)))
		for k := range n {
			network := []string{base, solana}[(i+k)%2]
			payments = append(payments, revenue.FlowPayment{Facilitator: id, Network: network, PayTo: payTo,
				Owners: []int{k, n - 1}[:1+k%2], USD: site.DecimalOf(big.NewRat(int64(i*k%17+1), 100)),
				TxCount: int64(k%3 + 1)})
		}
	}
	got := revenue.NewFlow(s, payments, true)
	if got, want := *got.VolumeUSD30d, site.Decimal("26000.000013"); got != want {
		t.Errorf("total %s, want %s", got, want)
	}
	columns, between := map[string]*sum{}, map[string]*sum{}
	in, out, sizes := map[string]*sum{}, map[string]*sum{}, map[string]int{}
	column := map[string]string{}
	for _, node := range got.Nodes {
		column[node.ID] = node.Column
		addTo(columns, node.Column, node.VolumeUSD30d, node.TxCount30d)
		sizes[node.Column]++
	}
	for _, l := range got.Links {
		addTo(between, column[l.From]+" "+column[l.To], l.VolumeUSD30d, l.TxCount30d)
		addTo(out, l.From, l.VolumeUSD30d, l.TxCount30d)
		addTo(in, l.To, l.VolumeUSD30d, l.TxCount30d)
	}
	whole := &sum{got.VolumeUSD30d.Rational(), *got.TxCount30d}
	for _, column := range site.FlowColumns {
		whole.compare(t, column, columns[column])
	}
	for i, column := range site.FlowColumns[1:] {
		whole.compare(t, "links to "+column, between[site.FlowColumns[i]+" "+column])
	}
	for _, node := range got.Nodes {
		own := &sum{node.VolumeUSD30d.Rational(), node.TxCount30d}
		if node.Column != site.FlowFacilitator {
			own.compare(t, "links to "+node.ID, in[node.ID])
		}
		if node.Column != site.FlowService {
			own.compare(t, "links from "+node.ID, out[node.ID])
		}
	}
	want := map[string]int{site.FlowFacilitator: 11, site.FlowNetwork: 2, site.FlowCategory: 12, site.FlowService: 22}
	if diff := cmp.Diff(want, sizes); diff != "" {
		t.Errorf("nodes by column (-want +got):\n%s", diff)
	}
	if !slices.ContainsFunc(got.Nodes, func(n site.FlowNode) bool {
		return n.ID == "facilitator:others" && n.MemberCount == 3
	}) {
		t.Errorf("no node stands for the other 3 facilitators: %+v", got.Nodes[:11])
	}
}

type sum struct {
	usd   *big.Rat
	count int64
}

func (s *sum) compare(t *testing.T, what string, got *sum) {
	t.Helper()
	if got == nil || got.usd.Cmp(s.usd) != 0 || got.count != s.count {
		t.Errorf("%s: %v, want %v", what, got, s)
	}
}

func addTo(sums map[string]*sum, key string, usd site.Decimal, count int64) {
	if sums[key] == nil {
		sums[key] = &sum{usd: new(big.Rat)}
	}
	sums[key].usd.Add(sums[key].usd, usd.Rational())
	sums[key].count += count
}
