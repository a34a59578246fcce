// Package flow recomputes who pays whom from the settlements of services and the sums of facilitators. It reads a
// snapshot alone.
package flow

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"tollbook/.ci/recompute/conformance"
	"tollbook/.ci/recompute/snapshot"
)

const rule = "methodology, Payment flow"

var columns = []string{"facilitator", "network", "category", "service"}

// node is a node before the largest of its column are chosen.
type node struct {
	column, kind, key, name string
	members                 int
	volume                  *big.Rat
	count                   int
}

func (n *node) id() string { return n.column + ":" + n.key }

// payment is a sum of settlements along four nodes.
type payment struct {
	path   [4]*node
	volume *big.Rat
	count  int
}

// recipient is an account that listed services name or named.
type recipient struct {
	network, payTo string
	tokens         []snapshot.Node
	services       []owner // by slug
}

type owner struct {
	slug, name, category, until string
}

type graph struct {
	snap     *snapshot.Snapshot
	nodes    map[string]*node
	payments []payment
}

// Recompute compares every node and link.
func Recompute(snap *snapshot.Snapshot, r *snapshot.Report) {
	data := snap.JSON("v1/flow.json").Get("data")
	r.Figure(rule, data.Get("as_of"), snap.Now)
	r.Input(data.Get("method"))
	r.Input(data.Get("caveat"))
	g := &graph{snap: snap, nodes: map[string]*node{}}
	if isMeasured(snap) {
		g.addRest(g.addSettled())
		g.cut()
		sum := newSum()
		for _, p := range g.payments {
			sum.add(p.volume, p.count)
		}
		r.Figure(rule, data.Get("volume_usd_30d"), sum.volume)
		r.Figure(rule, data.Get("tx_count_30d"), sum.count)
	} else {
		r.Figure(rule, data.Get("volume_usd_30d"), nil)
		r.Figure(rule, data.Get("tx_count_30d"), nil)
	}
	nodes, links := g.figures()
	r.Figure(rule, data.Get("nodes"), nodes)
	r.Figure(rule, data.Get("links"), links)
}

// isMeasured reports whether a main network is measured.
func isMeasured(snap *snapshot.Snapshot) bool {
	networks := snap.JSON("v1/coverage.json").At("data", "networks").Items()
	return slices.ContainsFunc(networks, func(n snapshot.Node) bool {
		return n.Get("measured").Bool() && isMain(n.Get("network_caip2").Text())
	})
}

func isMain(network string) bool {
	n, isKnown := conformance.LookupNetwork(network)
	return !isKnown || n.Mainnet
}

// recipients returns the accounts of all services.
func (g *graph) recipients() []*recipient {
	var list []*recipient
	at := map[[2]string]*recipient{}
	for _, slug := range g.snap.JSON("v1/index.json").Get("slugs").Texts() {
		detail := g.snap.JSON("v1/services/" + slug + ".json").Get("data")
		for _, n := range g.snap.JSON("v1/services/"+slug+"/settlements.json").At("data", "recipients").Items() {
			key := [2]string{n.Get("network_caip2").Text(), n.Get("pay_to").Text()}
			if at[key] == nil {
				at[key] = &recipient{network: key[0], payTo: key[1]}
				list = append(list, at[key])
			}
			if n.Get("rows_in").Text() == slug {
				at[key].tokens = n.Get("tokens").Items()
			}
			at[key].services = append(at[key].services, owner{slug, detail.Get("name").Text(),
				detail.Get("category").Text(), n.Get("until").Text()})
		}
	}
	return list
}

// sum is a volume with its settlements.
type sum struct {
	volume *big.Rat
	count  int
}

func newSum() *sum { return &sum{volume: new(big.Rat)} }

func (s *sum) add(volume *big.Rat, count int) {
	s.volume.Add(s.volume, volume)
	s.count += count
}

// addSettled adds the settlements to the accounts of services on the days on which a service named them. It returns
// their sums by facilitator and network.
func (g *graph) addSettled() map[[2]string]*sum {
	from := snapshot.Midnight(g.snap.Now).Add(-29 * snapshot.Day).Format(time.DateOnly)
	sums := map[[2]string]*sum{}
	for _, r := range g.recipients() {
		for _, token := range r.tokens {
			key := [2]string{token.Get("facilitator_id").Text(), r.network}
			unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(token.Get("decimals").Int())), nil)
			for _, day := range token.Get("days").Items() {
				date, amount := day.Get("date").Text(), day.Get("amount").Number()
				owners := slices.DeleteFunc(slices.Clone(r.services), func(o owner) bool {
					return o.until != "" && o.until < date
				})
				if date < from || len(owners) == 0 || amount == nil {
					continue
				}
				volume, count := new(big.Rat).Quo(amount, new(big.Rat).SetInt(unit)), day.Get("tx_count").Int()
				g.add([4]*node{g.facilitator(key[0]), g.network(key[1]), g.category(owners), g.service(r, owners)},
					volume, count)
				if sums[key] == nil {
					sums[key] = newSum()
				}
				sums[key].add(volume, count)
			}
		}
	}
	return sums
}

// addRest adds what facilitators settled beyond the settlements to services.
func (g *graph) addRest(attributed map[[2]string]*sum) {
	for _, id := range g.snap.JSON("v1/index.json").Get("facilitators").Texts() {
		rest := map[string]*sum{}
		for _, c := range g.snap.JSON("v1/facilitators/"+id+".json").At("data", "chains").Items() {
			network, volume := c.Get("network_caip2").Text(), c.Get("volume_usd_30d").Number()
			if volume == nil || !isMain(network) {
				continue
			}
			if rest[network] == nil {
				rest[network] = newSum()
			}
			rest[network].add(volume, c.Get("tx_count_30d").Int())
		}
		for network, s := range rest {
			if own := attributed[[2]string{id, network}]; own != nil {
				s.add(new(big.Rat).Neg(own.volume), -own.count)
			}
			if s.count > 0 {
				const none = "unattributed"
				g.add([4]*node{g.facilitator(id), g.network(network),
					g.node("category", none, none, "No listed service", 0),
					g.node("service", none, none, "No listed service", 0)}, s.volume, s.count)
			}
		}
	}
}

func (g *graph) add(path [4]*node, volume *big.Rat, count int) {
	for _, n := range path {
		n.volume.Add(n.volume, volume)
		n.count += count
	}
	g.payments = append(g.payments, payment{path, volume, count})
}

func (g *graph) node(column, kind, key, name string, members int) *node {
	n := &node{column: column, kind: kind, key: key, name: name, members: members, volume: new(big.Rat)}
	if g.nodes[n.id()] == nil {
		g.nodes[n.id()] = n
	}
	g.nodes[n.id()].members = max(g.nodes[n.id()].members, members)
	return g.nodes[n.id()]
}

func (g *graph) facilitator(id string) *node {
	name := g.snap.JSON("v1/facilitators/"+id+".json").At("data", "name").Text()
	return g.node("facilitator", "facilitator", id, cmp.Or(name, id), 1)
}

func (g *graph) network(id string) *node {
	name := id
	if n, ok := conformance.LookupNetwork(id); ok {
		name = n.Name
	}
	return g.node("network", "network", id, name, 1)
}

func (g *graph) category(owners []owner) *node {
	name := owners[0].category
	if slices.ContainsFunc(owners, func(o owner) bool { return o.category != name }) {
		return g.node("category", "shared", "shared", "Several categories", 0)
	}
	return g.node("category", "category", name, name, 1)
}

func (g *graph) service(r *recipient, owners []owner) *node {
	if len(owners) == 1 {
		return g.node("service", "service", owners[0].slug, owners[0].name, 1)
	}
	return g.node("service", "shared", r.network+":"+r.payTo, conformance.PublishedAddress(r.network, r.payTo),
		len(owners))
}

// order orders the nodes of all columns.
func order(a, b *node) int {
	last := func(n *node) int { return slices.Index([]string{"others", "unattributed"}, n.kind) }
	return cmp.Or(slices.Index(columns, a.column)-slices.Index(columns, b.column), last(a)-last(b),
		b.volume.Cmp(a.volume), b.count-a.count, cmp.Compare(a.id(), b.id()))
}

// cut replaces all but the largest nodes of each column by others, unless that would replace one.
func (g *graph) cut() {
	others := map[*node]*node{}
	for _, column := range columns {
		var list []*node
		for _, n := range g.nodes {
			if n.column == column && n.kind != "unattributed" {
				list = append(list, n)
			}
		}
		slices.SortFunc(list, order)
		size := 10
		if column == "service" {
			size = 20
		}
		if len(list) <= size+1 {
			continue
		}
		rest := g.node(column, "others", "others", "Others", len(list)-size)
		for _, n := range list[size:] {
			others[n] = rest
			rest.volume.Add(rest.volume, n.volume)
			rest.count += n.count
			delete(g.nodes, n.id())
		}
	}
	for i := range g.payments {
		for k, n := range g.payments[i].path {
			if rest := others[n]; rest != nil {
				g.payments[i].path[k] = rest
			}
		}
	}
}

// figures returns the nodes and the links as they are published.
func (g *graph) figures() (nodes, links []any) {
	nodes, links = []any{}, []any{}
	var sorted []*node
	for _, n := range g.nodes {
		sorted = append(sorted, n)
	}
	slices.SortFunc(sorted, order)
	sums := map[[2]*node]*sum{}
	for _, p := range g.payments {
		for k := range p.path[1:] {
			ends := [2]*node{p.path[k], p.path[k+1]}
			if sums[ends] == nil {
				sums[ends] = newSum()
			}
			sums[ends].add(p.volume, p.count)
		}
	}
	for _, from := range sorted {
		nodes = append(nodes, map[string]any{"id": from.id(), "column": from.column, "kind": from.kind, "key": from.key,
			"name": from.name, "member_count": from.members, "volume_usd_30d": from.volume, "tx_count_30d": from.count})
		for _, to := range sorted {
			if s := sums[[2]*node{from, to}]; s != nil {
				links = append(links, map[string]any{"from": from.id(), "to": to.id(), "volume_usd_30d": s.volume,
					"tx_count_30d": s.count})
			}
		}
	}
	return nodes, links
}
