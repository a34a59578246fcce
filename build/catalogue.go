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
// whose recipient keeps changing is left out, because the list would name a former one.
type catalogue struct {
	counted map[int]bool // places of the services in the list
	lists   []*typeList  // one for each of site.CatalogueTypes
}

// typeList is the list of the resources of one type. Files are written as soon as they are full, because all rows
// together would take much memory.
type typeList struct {
	kind    string        // of site.CatalogueTypes
	total   int           // rows of the list
	file    int           // number of the next file
	rows    [][]byte      // of the next file
	columns columnBuffers // of site.CatalogueColumns, and the place of each row's service
}

// catalogueRow is a row of the list of a type.
type catalogueRow struct {
	list int // place of the type in site.CatalogueTypes
	encodedRow
}

func newCatalogue() *catalogue {
	c := &catalogue{counted: map[int]bool{}}
	for _, kind := range site.CatalogueTypes {
		c.lists = append(c.lists, &typeList{kind: kind, columns: make(columnBuffers, len(site.CatalogueColumns)+1)})
	}
	return c
}

// count counts the rows of the service at a place. All services must be counted before the first is added.
func (c *catalogue) count(place int, endpoints []site.Endpoint) {
	c.counted[place] = true
	for i := range endpoints {
		if isInCatalogue(&endpoints[i]) {
			c.lists[catalogueType(&endpoints[i])].total++
		}
	}
}

// setTotals sets the number of rows of each list. The list of MCP tools is left out if it has none.
func (c *catalogue) setTotals(totals map[string]int) {
	for i, l := range c.lists {
		if i == 0 || l.total > 0 {
			totals[l.query().ListKey()] = l.total
		}
	}
}

// isInCatalogue reports whether an endpoint has a price that version 2 of the protocol can express.
func isInCatalogue(e *site.Endpoint) bool { return slices.ContainsFunc(e.X402Pricing(), hasNetworkID) }

// catalogueType returns the place of an endpoint's type in site.CatalogueTypes: a path with a fragment is that of a
// tool of an MCP server.
func catalogueType(e *site.Endpoint) int {
	if strings.Contains(e.Path, "#") {
		return slices.Index(site.CatalogueTypes, site.CatalogueMCP)
	}
	return slices.Index(site.CatalogueTypes, site.CatalogueHTTP)
}

// hasNetworkID reports whether version 2 of the protocol can express a price: it identifies networks by CAIP-2.
func hasNetworkID(p site.PricingEntry) bool { return p.NetworkCAIP2 != nil }

// rowsOf returns the rows of the service at a place, none if they were not counted. It may be called concurrently.
func (c *catalogue) rowsOf(place int, l *site.Listing) (rows []catalogueRow, err error) {
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
		rows = append(rows, catalogueRow{catalogueType(&l.Detail.Endpoints[i]), row})
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
func (c *catalogue) addRows(rows []catalogueRow, add addFunc) error {
	for _, r := range rows {
		l := c.lists[r.list]
		l.columns.addValues(r.values)
		if l.rows = append(l.rows, r.row); len(l.rows) == site.MaxPageSize {
			if err := l.writeFile(add); err != nil {
				return err
			}
		}
	}
	return nil
}

// end writes the last file of each list, and all columns. An empty catalogue has one file.
func (c *catalogue) end(add addFunc) error {
	all := make(columnBuffers, len(site.CatalogueColumns)+1)
	for i, l := range c.lists {
		if len(l.rows) > 0 || i == 0 && l.file == 0 {
			if err := l.writeFile(add); err != nil {
				return err
			}
		}
		if l.total > 0 {
			all.addValues(l.columns)
		}
	}
	for i := range site.CatalogueColumns {
		if err := all.write(i, routes.CatalogueColumnKey(site.CatalogueColumns[i].Name), add); err != nil {
			return err
		}
	}
	return all.write(len(site.CatalogueColumns), routes.CatalogueServicesFile, add)
}

// query returns the request for the list.
func (l *typeList) query() routes.Query { return bare("discovery", "").With("type", l.kind) }

// writeFile writes the next file. The first rows of the default type are also the window without parameters.
func (l *typeList) writeFile(add addFunc) error {
	windows := []routes.Query{l.query().WindowFile(l.file)}
	if q := bare("discovery", ""); l.file == 0 && q.Text("type") == l.kind {
		windows = append(windows, q)
	}
	for _, w := range windows {
		_, limit := w.Window()
		rows := l.rows[:min(limit, len(l.rows))]
		if err := addList(w.Key(), w.Route.Framing, rows, routes.WindowMeta(w, l.total), add); err != nil {
			return err
		}
	}
	l.file, l.rows = l.file+1, l.rows[:0]
	return nil
}

// newCatalogueItem returns the row of an endpoint with the prices that version 2 of the protocol can express.
func newCatalogueItem(l *site.Listing, e *site.Endpoint, t *site.Terms) site.CatalogueItem {
	input := site.CatalogueInput{Type: site.CatalogueTypes[catalogueType(e)], Method: e.Method}
	path, tool, isTool := strings.Cut(e.Path, "#")
	if isTool {
		input.Method, input.ToolName, input.InputSchema = "", tool, json.RawMessage(t.InputSchema)
	}
	item := site.CatalogueItem{
		Resource: l.Detail.BaseURL + path, Type: input.Type, X402Version: 2, Accepts: []site.CatalogueAccept{},
		LastUpdated: e.LastSeenAt,
		ServiceName: catalogueText(l.Detail.Name), Tags: []string{},
		Extensions: site.CatalogueExtensions{Bazaar: site.CatalogueBazaar{Info: site.CatalogueInfo{Input: input}}},
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
