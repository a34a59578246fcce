package build

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
)

const (
	catalogueWord    = 32 // characters of serviceName and of a tag
	catalogueTimeout = 60 // seconds; the default of the protocol's reference server, for prices without one
)

// catalogue is the list /discovery/resources: each active endpoint with a price, in the order of services. A service
// whose recipient keeps changing is left out, because the list would name a former one. Files are written as soon as
// they are full, because all rows together would take much memory.
type catalogue struct {
	total   int           // rows of the list
	counted map[int]bool  // places of the services in the list
	file    int           // number of the next file
	rows    [][]byte      // of the next file
	columns columnBuffers // of site.CatalogueColumns, and the place of each row's service
	add     addFunc
}

func newCatalogue() *catalogue {
	return &catalogue{counted: map[int]bool{}, columns: make(columnBuffers, len(site.CatalogueColumns)+1)}
}

// count counts the rows of the service at a place. All services must be counted before the first is added.
func (c *catalogue) count(place int, endpoints []site.Endpoint) {
	c.counted[place] = true
	for i := range endpoints {
		if isInCatalogue(&endpoints[i]) {
			c.total++
		}
	}
}

// isInCatalogue reports whether an endpoint has a price that version 2 of the protocol can express, and is no tool of
// an MCP server: all resources of the list are of type http.
func isInCatalogue(e *site.Endpoint) bool {
	return slices.ContainsFunc(e.X402Pricing(), hasNetworkID) && !strings.Contains(e.Path, "#")
}

// hasNetworkID reports whether version 2 of the protocol can express a price: it identifies networks by CAIP-2.
func hasNetworkID(p site.PricingEntry) bool { return p.NetworkCAIP2 != nil }

// rowsOf returns the rows of the service at a place, none if they were not counted. It may be called concurrently.
func (c *catalogue) rowsOf(place int, l *site.Listing) (rows []encodedRow, err error) {
	if !c.counted[place] {
		return nil, nil
	}
	for i := range l.Detail.Endpoints {
		if !isInCatalogue(&l.Detail.Endpoints[i]) {
			continue
		}
		row, err := encodeCatalogueRow(newCatalogueItem(l, &l.Detail.Endpoints[i], &l.Terms[i]), place)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// encodeCatalogueRow encodes a row and its values. place is that of its service.
func encodeCatalogueRow(item site.CatalogueItem, place int) (r encodedRow, err error) {
	if r.row, err = encode.Row(item); err != nil {
		return r, err
	}
	r.values = make([][]byte, len(site.CatalogueColumns))
	for i, column := range site.CatalogueColumns {
		if r.values[i], err = encode.Row(column.Value(&item)); err != nil {
			return r, err
		}
	}
	r.values = append(r.values, strconv.AppendInt(nil, int64(place), 10))
	return r, nil
}

// addRows adds the rows of a service. Services must be added in the order of slugs.
func (c *catalogue) addRows(rows []encodedRow) error {
	for _, r := range rows {
		c.columns.addValues(r.values)
		if c.rows = append(c.rows, r.row); len(c.rows) == site.MaxPageSize {
			if err := c.writeFile(); err != nil {
				return err
			}
		}
	}
	return nil
}

// end writes the last file and all columns. An empty catalogue has one file.
func (c *catalogue) end() error {
	if len(c.rows) > 0 || c.file == 0 {
		if err := c.writeFile(); err != nil {
			return err
		}
	}
	for i := range site.CatalogueColumns {
		if err := c.columns.write(i, routes.CatalogueColumnKey(site.CatalogueColumns[i].Name), c.add); err != nil {
			return err
		}
	}
	return c.columns.write(len(site.CatalogueColumns), routes.CatalogueServicesFile, c.add)
}

// writeFile writes the next file. The first rows are also the window without parameters.
func (c *catalogue) writeFile() error {
	q := bare("discovery", "")
	windows := []routes.Query{q.WindowFile(c.file)}
	if c.file == 0 {
		windows = append(windows, q)
	}
	for _, w := range windows {
		_, limit := w.Window()
		rows := c.rows[:min(limit, len(c.rows))]
		if err := addList(w.Key(), w.Route.Framing, rows, routes.WindowMeta(w, c.total), c.add); err != nil {
			return err
		}
	}
	c.file, c.rows = c.file+1, c.rows[:0]
	return nil
}

// newCatalogueItem returns the row of an endpoint with the prices that version 2 of the protocol can express.
func newCatalogueItem(l *site.Listing, e *site.Endpoint, t *site.Terms) site.CatalogueItem {
	item := site.CatalogueItem{
		Resource: l.Detail.BaseURL + e.Path, Type: "http", X402Version: 2, Accepts: []site.CatalogueAccept{},
		LastUpdated: e.LastSeenAt,
		ServiceName: catalogueText(l.Detail.Name), Tags: []string{},
		Extensions: site.CatalogueExtensions{Bazaar: site.CatalogueBazaar{
			Info: site.CatalogueInfo{Input: site.CatalogueInput{Type: "http", Method: e.Method}}}},
	}
	if e.Description != nil {
		item.Description = *e.Description
	}
	if tag := catalogueText(l.Detail.Category); tag != "" {
		item.Tags = append(item.Tags, tag)
	}
	for k, p := range e.X402Pricing() {
		if !hasNetworkID(p) {
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

// catalogueText returns s in the form that the bazaar extension allows: up to 32 characters of printable ASCII. It
// returns "" if s has other characters, because dropping them would mutilate the words.
func catalogueText(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
		return ""
	}
	return strings.TrimSpace(s[:min(len(s), catalogueWord)])
}
