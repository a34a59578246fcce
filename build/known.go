package build

import "tollbook/site"

// known is what release kept of services, their endpoints one by one: a look-up asks for one of a service that has many.
type known struct {
	snapshot  *site.Snapshot
	services  *shelf[site.Known]
	endpoints *shelf[knownEndpoint]
	first     []int // place of each service's first endpoint
}

type knownEndpoint struct {
	Endpoint site.Endpoint
	Terms    site.Terms
}

// newKnown has room for what the rows of services tell of.
func newKnown(s *site.Snapshot) *known {
	k := &known{snapshot: s, services: newShelf[site.Known](len(s.Services)), first: make([]int, len(s.Services))}
	endpoints := 0
	for i := range s.Services {
		k.first[i] = endpoints
		endpoints += s.Services[i].Item.EndpointCount
	}
	k.endpoints = newShelf[knownEndpoint](endpoints)
	return k
}

func (k *known) put(i int, of *site.Known, endpoints []site.Endpoint, terms []site.Terms) {
	k.services.put(i, of)
	for n := range endpoints {
		k.endpoints.put(k.first[i]+n, &knownEndpoint{endpoints[n], terms[n]})
	}
}

// Service is what was put, with what its row says.
func (k *known) Service(i int) *site.Known {
	of, item := k.services.get(i), &k.snapshot.Services[i].Item
	d := &of.Detail
	d.Slug, d.Name, d.BaseURL, d.Category, d.Status, d.Verified = item.Slug, item.Name, item.BaseURL, item.Category, item.Status, item.Verified
	d.EndpointCount, d.LastCheckedAt, d.Uptime24h, d.AvgResponseTimeMS = item.EndpointCount, item.LastCheckedAt, item.Uptime24h, item.AvgResponseTimeMS
	return &of
}

// Endpoint is the jth of the ith service.
func (k *known) Endpoint(i, j int) (site.Endpoint, site.Terms) {
	e := k.endpoints.get(k.first[i] + j)
	return e.Endpoint, e.Terms
}
