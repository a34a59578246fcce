package main

// recomputeRecipients computes the recipients that pay_to_changes leads to: each change of an endpoint on a network
// ends with the recipient with which the next one begins, and the newest with the recipient of today.
func recomputeRecipients(d *directory, r *report) {
	for _, s := range d.services {
		next := map[string]string{} // by endpoint and network
		for _, e := range s.detail.get("endpoints").items() {
			for _, p := range e.get("pricing").items() {
				key := e.get("method").text() + " " + e.get("path").text() + " " + p.get("network_caip2").text()
				account := p.get("pay_to").text()
				if before, ok := next[key]; ok && !sameAccount(p.get("network_caip2").text(), before, account) {
					account = "" // several recipients at once: their changes are no chain
				}
				next[key] = account
			}
		}
		newer := d.now.Add(1)
		for _, change := range s.detail.get("pay_to_changes").items() {
			change.leaves(r.input)
			network := change.get("network_caip2").text()
			key := change.get("endpoint").text() + " " + network
			to := change.get("new_pay_to")
			if want := next[key]; want != "" {
				if sameAccount(network, want, to.text()) {
					want = to.text()
				}
				r.figure(changeRule, to, want)
				next[key] = change.get("old_pay_to").text()
			}
			if at := change.get("observed_at").time(); at.After(newer) {
				r.compare(changeRule, change.get("observed_at"), at.String(),
					"not after the change before it in the list")
			}
			newer = change.get("observed_at").time()
		}
	}
}

// sameAccount reports whether two spellings are one account of a network.
func sameAccount(network, a, b string) bool {
	return normalAddress(network, a) == normalAddress(network, b)
}
