package polls_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tollbook/site/postgres/polls"
)

// TestPollStates reads the state of a facilitator that answered once and failed twice since, and of one that never
// answered.
func TestPollStates(t *testing.T) {
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
	got, err := db.PollStates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answered := now
	want := []polls.State{
		{FacilitatorID: `"quoted"`, Failures: 1},
		{FacilitatorID: "acme", AnsweredAt: &answered, Failures: 2},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApproxTime(0)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}
