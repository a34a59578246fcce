package build

import (
	"encoding/json"
	"fmt"
	"slices"

	"tollbook/build/judge/price"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/search"
)

// rowWriter writes blocks of rows, columns and terms. Blocks are written as soon as they are full; columns and terms
// are small and are kept until the end.
type rowWriter struct {
	block   int           // number of the next block
	rows    [][]byte      // of the next block
	columns columnBuffers // of site.Columns
	terms   *search.Weigher
	total   int // services of the directory
	add     addFunc
	file    rowFile // all rows, from which answers are made
	// Encoded values of columns, by the place of the column: those of filters that the index has the values of.
	values map[int]map[string]bool
	filed  []filedRow
}

// newRowWriter returns a writer for the rows of total services. Rows also go to a temporary file at path until close is
// called.
func newRowWriter(total int, path string, add addFunc) *rowWriter {
	w := &rowWriter{total: total, columns: make(columnBuffers, len(site.Columns)), terms: search.NewWeigher(), add: add,
		file: rowFile{path: path}, values: map[int]map[string]bool{}}
	for _, p := range routes.Filters {
		if p.Among == routes.AmongValues {
			w.values[columnOf(&p)] = map[string]bool{}
		}
	}
	return w
}

// columnOf returns the place in site.Columns of the column that a filter compares.
func columnOf(p *routes.Param) int {
	return slices.IndexFunc(site.Columns, func(c site.Column) bool { return c.Name == p.Column })
}

// listedValues returns the values that services have of filters whose values the index lists, by the filter's name.
func (w *rowWriter) listedValues() (map[string][]string, error) {
	listed := map[string][]string{}
	for _, p := range routes.Filters {
		if p.Among != routes.AmongValues {
			continue
		}
		all := []string{}
		for encoded := range w.values[columnOf(&p)] {
			var set []string
			if err := json.Unmarshal([]byte(encoded), &set); err != nil {
				return nil, fmt.Errorf("decode values of column %s: %w", p.Column, err)
			}
			all = append(all, set...)
		}
		slices.Sort(all)
		listed[p.Name] = slices.Compact(all)
	}
	return listed, nil
}

func (w *rowWriter) close() { w.file.close() }

// encodedService is the row of a service and the weights of its terms.
type encodedService struct {
	encodedRow
	weights search.Weights
}

// encodeRow encodes a row and its values, and weighs its terms.
func encodeRow(r *site.ServiceRow) (e encodedService, err error) {
	if e.row, err = encode.Row(r); err != nil {
		return e, fmt.Errorf("encode row: %w", err)
	}
	e.values = make([][]byte, len(site.Columns))
	for i := range site.Columns {
		if e.values[i], err = encode.Row(site.Columns[i].Value(r)); err != nil {
			return e, fmt.Errorf("encode column %s: %w", site.Columns[i].Name, err)
		}
	}
	e.weights = search.Weigh(search.NewDocument(r))
	return e, nil
}

// addRow adds the row of the next service. Services must be added in the order of slugs.
func (w *rowWriter) addRow(e encodedService) error {
	w.terms.Add(e.weights)
	w.columns.addValues(e.values)
	for i := range w.values {
		w.values[i][string(e.values[i])] = true
	}
	w.filed = append(w.filed, w.file.add(e.row))
	if w.rows = append(w.rows, e.row); len(w.rows) == site.RowsPerBlock {
		return w.writeBlock()
	}
	return nil
}

// end writes the last block, all columns and all terms.
func (w *rowWriter) end() error {
	if len(w.rows) > 0 {
		if err := w.writeBlock(); err != nil {
			return err
		}
	}
	for i := range w.columns {
		if err := w.columns.write(i, routes.ColumnKey(site.Columns[i].Name), w.add); err != nil {
			return err
		}
	}
	if err := w.file.end(); err != nil {
		return err
	}
	return writeTerms(w.terms, w.add)
}

// writeBlock writes the next block.
func (w *rowWriter) writeBlock() error {
	err := addList(routes.RowsKey(w.block), encode.Framing{}, w.rows, site.TotalMeta{Total: int64(w.total)}, w.add)
	w.block, w.rows = w.block+1, w.rows[:0]
	return err
}

// newServiceRow returns the row of a service. A service that is set aside has only a detail: then last is its row in
// the previous snapshot, or nil if that snapshot has none, and what a detail does not contain is unknown.
func newServiceRow(l *site.Listing, last *site.ServiceRow) *site.ServiceRow {
	row := &site.ServiceRow{ServiceListItem: l.Item}
	if last != nil {
		row.Assessment, row.Endpoints = last.Assessment, last.Endpoints
		return row
	}
	row.Assessment, row.Endpoints = newCompactAssessment(l), []site.RowEndpoint{}
	short := shortNetworks(&l.Detail)
	for i := range l.Detail.Endpoints[:min(len(l.Detail.Endpoints), site.MaxRowEndpoints)] {
		e := newRowEndpoint(&l.Detail.Endpoints[i], short)
		if i < len(l.Terms) { // else the service is set aside
			e.Payable = l.Terms[i].Payable
		}
		if level := l.Detail.Endpoints[i].Verdict.Level; level != l.Item.AdviceLevel {
			e.Verdict = level
		}
		row.Endpoints = append(row.Endpoints, e)
	}
	return row
}

// newCompactAssessment returns the compact form of a service's assessment.
func newCompactAssessment(l *site.Listing) site.CompactAssessment {
	d, a := &l.Detail, &l.Detail.Assessment
	c := site.CompactAssessment{
		ComplianceGrade: a.Compliance.Grade, CompliancePassed: a.Compliance.Passed, ComplianceTotal: a.Compliance.Total,
		ComplianceFailedChecks: []string{}, RiskLevel: a.Risk.Level, PaymentReady: d.PaymentReady,
		PriceUSD: a.Economics.PriceUSD, PriceMaxUSD: a.Economics.PriceMaxUSD,
		PriceStability: a.Economics.Stability, DistinctPriceCount: a.Economics.DistinctPriceCount,
		EndpointCount: a.Economics.EndpointCount, CategoryPercentile: a.Economics.CategoryPercentile,
		CategoryPercentileMax: a.Economics.CategoryPercentileMax, ReliabilityUptime30d: d.Uptime.D30,
		Checks30d: d.Uptime.Coverage.D30.CheckCount, ResponseP95MS: a.Reliability.ResponseP95MS,
		LastSuccessAt: d.LastSuccessAt, Traction: newCompactTraction(&a.Traction), Source: d.Source,
		Protocols: []string{}, Methods: []string{}, UpdatedAt: a.UpdatedAt,
	}
	for _, check := range a.Compliance.Checks {
		if !check.Pass {
			c.ComplianceFailedChecks = append(c.ComplianceFailedChecks, check.ID)
		}
	}
	if l.Operator != "" { // else the service is set aside
		c.Operator = &l.Operator
	}
	if a.Synthesis != nil {
		c.CapabilityTags, c.Summary = &a.Synthesis.CapabilityTags, &a.Synthesis.Summary
	}
	short := shortNetworks(d)
	var overX402, all []site.PricingEntry
	for i := range d.Endpoints {
		c.Methods = append(c.Methods, d.Endpoints[i].Method)
		overX402, all = append(overX402, d.Endpoints[i].X402Pricing()...), append(all, d.Endpoints[i].Pricing...)
	}
	c.PricesUSD, c.PriceConditions = lowestByNetwork(overX402, short)
	ofAll, conditions := lowestByNetwork(all, short)
	for network, usd := range ofAll {
		if _, ok := c.PricesUSD[network]; ok {
			continue
		}
		c.PricesUSD[network] = usd // no price over x402
		if condition, ok := conditions[network]; ok {
			c.PriceConditions[network] = condition
		}
	}
	c.Methods = sortSet(c.Methods)
	if l.ServiceFiles != nil { // else the service is set aside
		c.Payable = new(slices.ContainsFunc(l.Terms, func(t site.Terms) bool { return t.Payable }))
		c.Protocols = listProtocols(l.Evidence.Endpoints)
	}
	return c
}

// newCompactTraction returns the compact form of a traction. Rows are ordered and scored by it, so it has the figures
// that speak for the service alone.
func newCompactTraction(t *site.Traction) site.CompactTraction {
	m := t.Merit()
	if m == nil {
		return site.CompactTraction{Status: t.Status, SharedPayout: t.SharedPayout}
	}
	return site.CompactTraction{Status: t.Status, VolumeUSD30d: m.VolumeUSD30d, TxCount30d: m.TxCount30d,
		UniqueBuyers30d: m.UniqueBuyers30d, OrganicVolumeUSD30d: m.OrganicVolumeUSD30d,
		OrganicBuyers30d: m.OrganicBuyers30d, TopBuyerShare30d: m.TopBuyerShare30d, SharedPayout: t.SharedPayout}
}

// listProtocols returns the payment protocols that the graded responses of active endpoints show: x402 with the version
// of the terms, and the other protocols of which they show signs.
func listProtocols(endpoints []site.EndpointEvidence) []string {
	list := []string{}
	for i := range endpoints {
		e := &endpoints[i]
		if !e.IsActive {
			continue
		}
		list = append(list, e.Protocols...)
		if e.Captured != nil {
			list = append(list, "x402")
			if v := fmt.Sprintf("x402-v%d", e.Captured.X402Version); slices.Contains(site.Protocols, v) {
				list = append(list, v)
			}
		}
	}
	return sortSet(list)
}

// newRowEndpoint returns what a row says of an endpoint.
func newRowEndpoint(e *site.Endpoint, short map[string]string) site.RowEndpoint {
	r := site.RowEndpoint{Method: e.Method, Path: e.Path, Networks: e.Networks, Testnet: len(e.Pricing) > 0}
	if e.Description != nil {
		r.Description = new(display.Line(*e.Description, site.MaxRowDescription))
	}
	for _, p := range e.Pricing {
		r.Testnet = r.Testnet && p.Testnet
	}
	if e.MinPriceUSD == nil {
		return r
	}
	lowest := string(*e.MinPriceUSD)
	r.PriceUSD, r.PriceCondition = &lowest, e.PriceCondition
	pricing := e.X402Pricing()
	if len(pricing) == 0 {
		pricing = e.Pricing
	}
	by, conditions := lowestByNetwork(pricing, short)
	r.PriceConditions = conditions
	for _, network := range e.Networks {
		if by[network] != lowest { // another price, or none that counts
			r.PricesUSD = by
		}
	}
	return r
}

// lowestByNetwork returns the lowest counted price of each network, as price.Lowest says.
func lowestByNetwork(pricing []site.PricingEntry, short map[string]string) (by, conditions map[string]string) {
	options := map[string][]site.PricingEntry{}
	for _, p := range pricing {
		network := p.Network
		if s, ok := short[network]; ok {
			network = s
		}
		options[network] = append(options[network], p)
	}
	by, conditions = map[string]string{}, map[string]string{}
	for network, list := range options {
		usd, condition := price.Lowest(list)
		if usd != nil {
			by[network] = string(*usd)
		}
		if condition != nil {
			conditions[network] = *condition
		}
	}
	return by, conditions
}

// shortNetworks returns the names of a service's networks in lists, by CAIP-2 id.
func shortNetworks(d *site.ServiceDetail) map[string]string {
	short := make(map[string]string, len(d.Networks))
	for i, id := range d.NetworksCAIP2 {
		short[id] = d.Networks[i]
	}
	return short
}

// sortSet sorts a list and removes duplicates.
func sortSet(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// readRow returns the row of a service in the previous snapshot, or nil.
func (g *lastGood) readRow(slug string) *site.ServiceRow {
	place, ok := slices.BinarySearch(g.index.Slugs, slug)
	if !ok {
		return nil
	}
	data, err := g.build.ReadPrevious(routes.RowsKey(place / site.RowsPerBlock))
	if err != nil {
		return nil
	}
	rows, _, err := encode.Framing{}.Split(data)
	at := place % site.RowsPerBlock
	if err != nil || at >= len(rows) {
		return nil
	}
	row := &site.ServiceRow{}
	if json.Unmarshal(rows[at], row) != nil || row.Slug != slug {
		return nil
	}
	return row
}
