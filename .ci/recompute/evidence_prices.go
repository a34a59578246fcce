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
		entry := map[string]any{
			"scheme": row.scheme, "network": row.networkKey(), "network_caip2": row.network, "asset_address": row.asset,
			"asset_address_norm": row.assetNorm(), "asset_name": "UNKNOWN", "price": row.amount, "price_usd": nil,
			"pay_to": row.payTo, "max_timeout_seconds": nil,
		}
		if asset, ok := lookupAsset(row); ok {
			entry["asset_name"] = asset.Symbol
		}
		if dollars := row.dollars(); dollars != nil {
			entry["price_usd"] = decimalText(dollars)
		}
		if row.timeout != nil {
			entry["max_timeout_seconds"] = *row.timeout
		}
		list = append(list, entry)
	}
	r.figure(rule, endpoint.get("pricing"), list)
	r.figure("methodology, Model", endpoint.get("variable_amount"), variable)
}
