package build

import (
	"encoding/json"
	"slices"
	"strings"

	"tollbook/site"
)

const (
	catalogueWord    = 32 // characters of serviceName and of a tag
	catalogueTimeout = 60 // seconds, where a seller says none: what the protocol's reference server sets
)

// catalogue is /discovery/resources: each active endpoint with a price, by service and in its order there.
type catalogue []place

// add tells of the ith service. They come by slug.
func (c *catalogue) add(i int, l *site.Listing) {
	for j := range l.Detail.Endpoints {
		if slices.ContainsFunc(l.Detail.Endpoints[j].Pricing, inCatalogue) {
			*c = append(*c, place{i, j})
		}
	}
}

// inCatalogue says whether version 2 of the protocol can say a price.
func inCatalogue(p site.PricingEntry) bool { return p.NetworkCAIP2 != nil }

// write writes the catalogue, whose rows are encoded a file at a time.
func (all catalogue) write(s *site.Snapshot, totals map[string]int, add func(string, []byte) error) error {
	q := bare("discovery", "")
	totals[q.ListKey()] = len(all)
	for file := 0; file == 0 || file*site.MaxPageSize < len(all); file++ {
		if err := writeWindow(q.Hundred(file), s, all, add); err != nil {
			return err
		}
	}
	return writeWindow(q, s, all, add)
}

// writeWindow writes the window of endpoints that q asks for under q's key.
func writeWindow(q site.Query, s *site.Snapshot, all catalogue, add func(string, []byte) error) error {
	offset, limit := q.Window()
	from := min(offset, len(all))
	lines := [][]byte{}
	var l *site.Listing
	of := -1 // the service that l is
	for _, p := range all[from:min(from+limit, len(all))] {
		if p.service != of {
			l, of = s.Listing(p.service), p.service
		}
		line, err := site.Row(catalogueItem(l, &l.Detail.Endpoints[p.endpoint], &l.Terms[p.endpoint]))
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	return addList(q.Key(), q.Route.Framing, lines, site.WindowMeta(q, len(all)), add)
}

// catalogueItem has those prices that version 2 of the protocol can say.
func catalogueItem(l *site.Listing, e *site.Endpoint, t *site.Terms) site.CatalogueItem {
	item := site.CatalogueItem{
		Resource: l.Detail.BaseURL + e.Path, Type: "http", X402Version: 2, Accepts: []site.CatalogueAccept{}, LastUpdated: e.LastSeenAt,
		ServiceName: catalogueText(l.Detail.Name), Tags: []string{},
		Extensions: site.CatalogueExtensions{Bazaar: site.CatalogueBazaar{Info: site.CatalogueInfo{Input: site.CatalogueInput{Type: "http", Method: e.Method}}}},
	}
	if e.Description != nil {
		item.Description = *e.Description
	}
	if tag := catalogueText(l.Detail.Category); tag != "" {
		item.Tags = append(item.Tags, tag)
	}
	for k, p := range e.Pricing {
		if !inCatalogue(p) {
			continue
		}
		accept := site.CatalogueAccept{
			Scheme: p.Scheme, Network: *p.NetworkCAIP2, Amount: p.Price, Asset: p.AssetAddress, PayTo: p.PayTo,
			MaxTimeoutSeconds: catalogueTimeout, Extra: json.RawMessage(t.Prices[k].Extra),
		}
		if p.MaxTimeoutSeconds != nil && *p.MaxTimeoutSeconds > 0 {
			accept.MaxTimeoutSeconds = *p.MaxTimeoutSeconds
		}
		item.Accepts = append(item.Accepts, accept)
	}
	return item
}

// catalogueText is text as the bazaar takes it: printable ASCII, 32 characters. It is "" for any other script, of which
// nothing but a mutilated word would be left.
func catalogueText(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
		return ""
	}
	return strings.TrimSpace(s[:min(len(s), catalogueWord)])
}
