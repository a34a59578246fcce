// Package provenance compares the provenance of responses. It must never know what else is in a response.
package provenance

import (
	"strings"

	"tollbook/.ci/recompute/snapshot"
)

// rule is the page that describes provenance.
const rule = "reference: provenance"

// Recompute compares the provenance of each response with that of the index, which is an input. Files without the
// member data have none, and neither have blocks of logs.
func Recompute(snap *snapshot.Snapshot, r *snapshot.Report) {
	want := snap.JSON("v1/index.json").Get("provenance")
	for _, name := range snap.Files("v1/", ".json") {
		file := snap.JSON(name)
		if !strings.Contains(name, "/block=") && file.Get("data").Exists() {
			r.Figure(rule, file.Get("provenance"), want)
		}
	}
}
