package directory

import (
	"context"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/x402"
)

// Slugs returns the slugs of all services, sorted.
func (r *Reader) Slugs(ctx context.Context) ([]string, error) {
	body, err := r.Get(ctx, "/"+routes.IndexFile, nil)
	if err != nil {
		return nil, err
	}
	var index routes.Index
	if err := r.Decode("/"+routes.IndexFile, body, &index); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(index.Slugs, func(s string) bool { return !site.ValidSlug(s) }), nil
}

// Networks returns the networks on which services accept payment.
func (r *Reader) Networks(ctx context.Context) ([]site.Network, error) {
	return GetData[[]site.Network](ctx, r, "/v1/networks")
}

// Categories returns the categories in use.
func (r *Reader) Categories(ctx context.Context) ([]string, error) {
	return GetData[[]string](ctx, r, "/v1/categories")
}

// Service returns the record of a service, as the API sends it and decoded.
func (r *Reader) Service(ctx context.Context, slug string) ([]byte, *site.ServiceDetail, error) {
	path := "/v1/services/" + slug + ".json" // a path of files, too
	body, err := r.Get(ctx, path, nil)
	if err != nil {
		return nil, nil, err
	}
	var one site.One[site.ServiceDetail]
	if err := r.Decode(path, body, &one); err != nil {
		return nil, nil, err
	}
	return body, &one.Data, nil
}

// FindNetwork returns the network that a name means: its abbreviation, its CAIP-2 id, or a common name such as base.
func FindNetwork(list []site.Network, name string) (site.Network, bool) {
	id, _ := x402.ResolveNetwork(name)
	if i := slices.IndexFunc(list, func(n site.Network) bool {
		return strings.EqualFold(n.Abbreviation, name) || strings.EqualFold(n.Name, name) || n.CAIP2 == name ||
			id != "" && n.CAIP2 == id
	}); i >= 0 {
		return list[i], true
	}
	if n, ok := x402.NetworkByAbbreviation(name); ok {
		return site.Network{CAIP2: n.ID, Name: n.Name, Abbreviation: n.Abbreviation}, false
	}
	if n, ok := x402.NetworkByID(id); ok {
		return site.Network{CAIP2: n.ID, Name: n.Name, Abbreviation: n.Abbreviation}, false
	}
	return site.Network{}, false
}

// NetworkValue returns the value of a network in filters and rows: its abbreviation, or the CAIP-2 id without one.
func NetworkValue(n site.Network) string {
	if n.Abbreviation != "" {
		return n.Abbreviation
	}
	return n.CAIP2
}
