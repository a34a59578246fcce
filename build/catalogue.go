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

// catalogue is /discovery/resources: each active endpoint with a price, by service and in its order there. Its files
// are written as soon as they are full, since its rows would take much memory.
type catalogue struct {
	total int      // rows
	file  int      // the next
	rows  [][]byte // of it
	add   func(string, []byte) error
}

// survey counts the rows of a service; all services are counted before the first row is written.
func (c *catalogue) survey(endpoints []site.Endpoint) {
	for i := range endpoints {
		if isInCatalogue(&endpoints[i]) {
			c.total++
		}
	}
}

// isInCatalogue says whether an endpoint has a price that version 2 of the protocol can say.
func isInCatalogue(e *site.Endpoint) bool { return slices.ContainsFunc(e.Pricing, isInProtocol) }

// isInProtocol says whether version 2 of the protocol can say a price.
func isInProtocol(p site.PricingEntry) bool { return p.NetworkCAIP2 != nil }

// addService writes the rows of a service. Services come by slug.
func (c *catalogue) addService(l *site.Listing) error {
	for i := range l.Detail.Endpoints {
		if !isInCatalogue(&l.Detail.Endpoints[i]) {
			continue
		}
		row, err := site.Row(catalogueItem(l, &l.Detail.Endpoints[i], &l.Terms[i]))
		if err != nil {
			return err
		}
		if c.rows = append(c.rows, row); len(c.rows) == site.MaxPageSize {
			if err := c.writeFile(); err != nil {
				return err
			}
		}
	}
	return nil
}

// end writes the last file; an empty catalogue has one.
func (c *catalogue) end() error {
	if len(c.rows) == 0 && c.file > 0 {
		return nil
	}
	return c.writeFile()
}

// writeFile writes the rows of a file and, of the first one, the window that answers without parameters.
func (c *catalogue) writeFile() error {
	q := bare("discovery", "")
	windows := []site.Query{q.WindowFile(c.file)}
	if c.file == 0 {
		windows = append(windows, q)
	}
	for _, w := range windows {
		_, limit := w.Window()
		rows := c.rows[:min(limit, len(c.rows))]
		if err := addList(w.Key(), w.Route.Framing, rows, site.WindowMeta(w, c.total), c.add); err != nil {
			return err
		}
	}
	c.file, c.rows = c.file+1, c.rows[:0]
	return nil
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
		if !isInProtocol(p) {
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
