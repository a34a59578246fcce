// This file judges who pays whom: the settlements of 30 days from facilitators over networks and categories to
// services. Its functions are pure.
//
// It must never know how settlements are read, or how revenue is divided.

package revenue

import (
	"cmp"
	"math/big"
	"slices"

	"tollbook/site"
	"tollbook/site/x402"
)

const (
	// flowMethod is how payments are attributed.
	flowMethod = "Settlements of the last 30 UTC days, including today, that measured facilitators sent on main " +
		"networks in tokens worth a dollar. A payment belongs to the service that named its recipient on the day of " +
		"the payment."
	flowCaveat = "Figures are lower bounds: unknown facilitators and networks that are not read are not counted. A " +
		"recipient that several services name is one node, not divided. Payments to recipients that no listed " +
		"service names, or on networks that are not measured yet, are unattributed. Test networks are left out."
)

// FlowPayment sums what one facilitator settled to one recipient within 30 days, while the same services owned it.
type FlowPayment struct {
	Facilitator, Network, PayTo string
	Owners                      []int // places of services in the snapshot
	USD                         site.Decimal
	TxCount                     int64
}

// amount is a sum of payments.
type amount struct {
	usd   *big.Rat
	count int64
}

func (a *amount) add(usd *big.Rat, count int64) {
	if a.usd == nil {
		a.usd = new(big.Rat)
	}
	a.usd.Add(a.usd, usd)
	a.count += count
}

// path has the id of a node for each column.
type path [4]string

// graph collects the payments by path.
type graph struct {
	nodes map[string]*site.FlowNode
	paths map[path]*amount
}

// NewFlow returns the flow of a snapshot whose services and facilitators are complete. Without a measured network it is
// empty.
func NewFlow(s *site.Snapshot, payments []FlowPayment, measured bool) site.Flow {
	out := site.Flow{AsOf: s.Now, Nodes: []site.FlowNode{}, Links: []site.FlowLink{}, Method: flowMethod, Caveat: flowCaveat}
	if !measured {
		return out
	}
	g := graph{nodes: map[string]*site.FlowNode{}, paths: map[path]*amount{}}
	attributed := map[[2]string]*amount{}
	for i := range payments {
		p := &payments[i]
		if len(p.Owners) == 0 || p.TxCount == 0 {
			continue
		}
		g.add(path{g.facilitator(s, p.Facilitator), g.network(p.Network), g.category(s, p.Owners), g.service(s, p)},
			p.USD.Rational(), p.TxCount)
		key := [2]string{p.Facilitator, p.Network}
		if attributed[key] == nil {
			attributed[key] = &amount{}
		}
		attributed[key].add(p.USD.Rational(), p.TxCount)
	}
	g.addRest(s, attributed)
	g.write(&out)
	return out
}

// addRest adds what facilitators settled to recipients that no listed service names.
func (g *graph) addRest(s *site.Snapshot, attributed map[[2]string]*amount) {
	for i := range s.Facilitators {
		f := &s.Facilitators[i]
		sums := map[string]*amount{}
		for k := range f.Chains {
			c := &f.Chains[k]
			if n, isKnown := x402.NetworkByID(c.NetworkCAIP2); c.VolumeUSD30d == nil || isKnown && !n.Mainnet {
				continue
			}
			if sums[c.NetworkCAIP2] == nil {
				sums[c.NetworkCAIP2] = &amount{}
			}
			sums[c.NetworkCAIP2].add(c.VolumeUSD30d.Rational(), c.TxCount30d)
		}
		for network, sum := range sums {
			if own := attributed[[2]string{f.FacilitatorID, network}]; own != nil {
				sum.add(new(big.Rat).Neg(own.usd), -own.count)
			}
			if sum.count > 0 {
				g.add(path{g.facilitator(s, f.FacilitatorID), g.network(network),
					g.node(site.FlowCategory, site.FlowUnattributed, "", "No listed service", 0),
					g.node(site.FlowService, site.FlowUnattributed, "", "No listed service", 0)}, sum.usd, sum.count)
			}
		}
	}
}

func (g *graph) add(p path, usd *big.Rat, count int64) {
	if g.paths[p] == nil {
		g.paths[p] = &amount{}
	}
	g.paths[p].add(usd, count)
}

// node returns the id of a node, which it adds first. Without a key the kind is the key.
func (g *graph) node(column, kind, key, name string, members int) string {
	key = cmp.Or(key, kind)
	id := column + ":" + key
	if g.nodes[id] == nil {
		g.nodes[id] = &site.FlowNode{ID: id, Column: column, Kind: kind, Key: key, Name: name, MemberCount: members}
	}
	return id
}

func (g *graph) facilitator(s *site.Snapshot, id string) string {
	name := id
	i, ok := slices.BinarySearchFunc(s.Facilitators, id, func(f site.FacilitatorDetail, id string) int {
		return cmp.Compare(f.FacilitatorID, id)
	})
	if ok {
		name = s.Facilitators[i].Name
	}
	return g.node(site.FlowFacilitator, site.FlowFacilitator, id, name, 1)
}

func (g *graph) network(id string) string {
	name := id
	if n, ok := x402.NetworkByID(id); ok {
		name = n.Name
	}
	return g.node(site.FlowNetwork, site.FlowNetwork, id, name, 1)
}

// category returns the node of the owners' category, or of several categories.
func (g *graph) category(s *site.Snapshot, owners []int) string {
	first := s.Services[owners[0]].Item.Category
	for _, i := range owners[1:] {
		if s.Services[i].Item.Category != first {
			return g.node(site.FlowCategory, site.FlowShared, "", "Several categories", 0)
		}
	}
	return g.node(site.FlowCategory, site.FlowCategory, first, first, 1)
}

// service returns the node of the only owner, or of the recipient that several services share.
func (g *graph) service(s *site.Snapshot, p *FlowPayment) string {
	if len(p.Owners) == 1 {
		item := &s.Services[p.Owners[0]].Item
		return g.node(site.FlowService, site.FlowService, item.Slug, item.Name, 1)
	}
	id := g.node(site.FlowService, site.FlowShared, p.Network+":"+p.PayTo, x402.SpellAddress(p.Network, p.PayTo), 0)
	g.nodes[id].MemberCount = max(g.nodes[id].MemberCount, len(p.Owners))
	return id
}

// write writes the nodes and links of all payments. The largest nodes of each column are listed, and the rest become
// one node.
func (g *graph) write(out *site.Flow) {
	var total amount
	total.usd = new(big.Rat)
	sums := map[string]*amount{}
	for p, a := range g.paths {
		total.add(a.usd, a.count)
		for _, id := range p {
			addTo(sums, id, a)
		}
	}
	out.VolumeUSD30d, out.TxCount30d = new(site.DecimalOf(total.usd)), &total.count
	listed := g.cut(sums)
	nodes, links := map[string]*amount{}, map[[2]string]*amount{}
	for p, a := range g.paths {
		for i, id := range p {
			p[i] = listed[id]
			addTo(nodes, p[i], a)
			if i > 0 {
				addTo(links, [2]string{p[i-1], p[i]}, a)
			}
		}
	}
	for id, a := range nodes {
		n := *g.nodes[id]
		n.VolumeUSD30d, n.TxCount30d = site.DecimalOf(a.usd), a.count
		out.Nodes = append(out.Nodes, n)
	}
	slices.SortFunc(out.Nodes, func(a, b site.FlowNode) int { return compareNodes(&a, &b) })
	place := map[string]int{}
	for i := range out.Nodes {
		place[out.Nodes[i].ID] = i
	}
	for ends, a := range links {
		out.Links = append(out.Links, site.FlowLink{From: ends[0], To: ends[1], VolumeUSD30d: site.DecimalOf(a.usd),
			TxCount30d: a.count})
	}
	slices.SortFunc(out.Links, func(a, b site.FlowLink) int {
		return cmp.Or(cmp.Compare(place[a.From], place[b.From]), cmp.Compare(place[a.To], place[b.To]))
	})
}

func addTo[K comparable](sums map[K]*amount, key K, a *amount) {
	if sums[key] == nil {
		sums[key] = &amount{}
	}
	sums[key].add(a.usd, a.count)
}

// cut returns the node under which each node is listed: itself, or the others of its column.
func (g *graph) cut(sums map[string]*amount) map[string]string {
	columns := map[string][]*site.FlowNode{}
	listed := map[string]string{}
	for id, a := range sums {
		n := g.nodes[id]
		n.VolumeUSD30d, n.TxCount30d = site.DecimalOf(a.usd), a.count
		listed[id] = id
		if n.Kind != site.FlowUnattributed {
			columns[n.Column] = append(columns[n.Column], n)
		}
	}
	for column, nodes := range columns {
		size := site.FlowSize(column)
		if len(nodes) <= size+1 { // others would stand for one node
			continue
		}
		slices.SortFunc(nodes, compareNodes)
		others := g.node(column, site.FlowOthers, "", "Others", len(nodes)-size)
		for _, n := range nodes[size:] {
			listed[n.ID] = others
		}
	}
	return listed
}

// compareNodes orders nodes by column, then others and unattributed ones last, then by volume, count and id.
func compareNodes(a, b *site.FlowNode) int {
	last := func(n *site.FlowNode) int { // 1 and 2 for the last ones
		return 1 + slices.Index([]string{site.FlowOthers, site.FlowUnattributed}, n.Kind)
	}
	return cmp.Or(cmp.Compare(slices.Index(site.FlowColumns, a.Column), slices.Index(site.FlowColumns, b.Column)),
		cmp.Compare(last(a), last(b)), b.VolumeUSD30d.Compare(a.VolumeUSD30d), cmp.Compare(b.TxCount30d, a.TxCount30d),
		cmp.Compare(a.ID, b.ID))
}
