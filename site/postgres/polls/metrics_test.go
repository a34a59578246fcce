package polls_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/postgres/polls"
)

// TestMetrics writes the metrics of a facilitator that answered once and failed twice since, and of one that never
// answered.
func TestMetrics(t *testing.T) {
	t.Parallel()
	db, _ := open(t)
	list(t, db, "acme")
	list(t, db, `"quoted"`)
	record(t, db, now)
	for i, id := range []string{"acme", "acme", `"quoted"`} {
		at := now.Add(time.Duration(i+1) * time.Minute)
		if err := db.RecordPoll(t.Context(), polls.Poll{FacilitatorID: id, URL: "https://" + id + ".test", At: at,
			NextAt: at, Supported: polls.Response{Outcome: polls.Unreachable}}); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := db.WritePollMetrics(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	want := `# HELP tollbook_facilitator_last_answer_timestamp_seconds When a facilitator last said what it ` +
		`settles, in seconds since 1970.
# TYPE tollbook_facilitator_last_answer_timestamp_seconds gauge
tollbook_facilitator_last_answer_timestamp_seconds{facilitator="acme"} 1795176000
# HELP tollbook_facilitator_failures Polls of a facilitator in a row that had no answer.
# TYPE tollbook_facilitator_failures gauge
tollbook_facilitator_failures{facilitator="\"quoted\""} 1
tollbook_facilitator_failures{facilitator="acme"} 2
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}
