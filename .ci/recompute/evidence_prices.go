package main

func init() { recomputations = append(recomputations, recomputePrices) }

// recomputePrices compares the pricing of active endpoints with the usable rows of their newest terms.
func recomputePrices(d *directory, r *report) {
	for _, s := range d.services {
		evidence := map[string]*probed{}
		for _, n := range s.evidence.get("endpoints").items() {
			evidence[n.get("id").text()] = newProbed(n)
		}
		for _, endpoint := range s.detail.get("endpoints").items() {
			if p := evidence[endpoint.get("id").text()]; p != nil && p.terms.envelope != nil {
				comparePricing(r, endpoint, p.terms.envelope.rows)
			}
		}
	}
}

// comparePricing compares the prices of one endpoint, one for each usable row.
func comparePricing(r *report, endpoint node, rows []row) {
	const rule = "methodology, Economics"
	list := []any{}
	variable := false
	for i := range rows {
		row := &rows[i]
		if !row.usable() {
			continue
		}
		variable = variable || row.variable()
		entry := newPricing(row)
		entry["network"] = row.networkKey()
		list = append(list, entry)
	}
	r.figure(rule, endpoint.get("pricing"), list)
	r.figure("methodology, Model", endpoint.get("variable_amount"), variable)
}
