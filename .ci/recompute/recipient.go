package main

// recomputeRecipients computes the changes of recipients of each service: those that its change records of the last 90
// days name, newest first, at most 1000 from 500 records.
func recomputeRecipients(d *directory, r *report) {
	from := midnight(d.now).Add(-89 * day)
	rows := d.snap.log("v1/changes")
	for _, s := range d.services {
		changes, records := []any{}, 0
		own := keep(keep(rows, "slug", s.slug), "type", "payto_changed")
		for i := len(own) - 1; i >= 0 && records < 500 && !own[i].get("observed_at").time().Before(from); i-- {
			records++
			for _, change := range own[i].at("summary", "payToChanges").items() {
				if len(changes) < 1000 {
					changes = append(changes, map[string]any{
						"network_caip2": change.get("network").value, "endpoint": change.get("endpoint").value,
						"old_pay_to": change.get("oldPayTo").value, "new_pay_to": change.get("newPayTo").value,
						"observed_at": own[i].get("observed_at").value,
					})
				}
			}
		}
		r.figure(changeRule, s.detail.get("pay_to_changes"), changes)
	}
}
