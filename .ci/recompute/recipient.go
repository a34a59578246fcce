package main

import (
	"tollbook/.ci/recompute/snapshot"
)

// recomputeRecipients computes the changes of recipients of each service: those that its change records of the last 90
// days name, newest first, at most 1000 from 500 records.
func recomputeRecipients(d *directory, r *snapshot.Report) {
	from := snapshot.Midnight(d.now).Add(-89 * snapshot.Day)
	rows := d.snap.Log("v1/changes")
	for _, s := range d.services {
		changes, records := []any{}, 0
		own := keep(keep(rows, "slug", s.slug), "type", "payto_changed")
		for i := len(own) - 1; i >= 0 && records < 500 && !own[i].Get("observed_at").Time().Before(from); i-- {
			records++
			for _, change := range own[i].At("summary", "payToChanges").Items() {
				if len(changes) < 1000 {
					changes = append(changes, map[string]any{
						"network_caip2": change.Get("network").Value, "endpoint": change.Get("endpoint").Value,
						"old_pay_to": change.Get("oldPayTo").Value, "new_pay_to": change.Get("newPayTo").Value,
						"observed_at": own[i].Get("observed_at").Value,
					})
				}
			}
		}
		r.Figure(changeRule, s.detail.Get("pay_to_changes"), changes)
	}
}
