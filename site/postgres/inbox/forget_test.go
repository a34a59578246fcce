package inbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres/inbox"
)

// TestForget checks what is left of senders: of one who is forgotten only the listed service, and of all others, 90 days
// after the decision, no address.
func TestForget(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	ids := map[string]uuid.UUID{}
	for i, s := range []struct{ name, email string }{
		{"listed", "Ann@acme.example"}, {"refused", "ann@ACME.example"}, {"waiting", "ann@acme.example"},
		{"others", "bob@acme.example"}, {"decided", "eve@acme.example"},
	} {
		r := received(s.name, fmt.Sprintf("site%d.example", i), fmt.Sprint("client", i))
		r.Email, r.Notes = s.email, "call me"
		receipt, err := db.ReceiveSubmission(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		ids[s.name] = uuid.MustParse(receipt.ID)
	}
	if _, err := db.ReceiveSuggestion(ctx, site.IncomingSuggestion{Client: "client", At: noon,
		Suggestion: site.Suggestion{Text: "List more.", Email: "ann@acme.example"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ApproveSubmission(ctx, ids["listed"], "ada", "token", noon); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"refused", "decided"} {
		if err := db.RejectSubmission(ctx, ids[name], "ada", "no", noon); err != nil {
			t.Fatal(err)
		}
	}

	want := inbox.Forgotten{Erased: 3, Emptied: 1}
	if sent, err := db.Sent(ctx, "ann@acme.example"); err != nil || sent != want {
		t.Errorf("sent: %+v, %v; want %+v", sent, err, want)
	}
	if forgotten, err := db.Forget(ctx, "ann@acme.example"); err != nil || forgotten != want {
		t.Errorf("forgotten: %+v, %v; want %+v", forgotten, err, want)
	}
	type kept struct{ Name, Email, Notes string }
	left := func(now time.Time) map[string]kept {
		t.Helper()
		if err := db.Retain(ctx, now); err != nil {
			t.Fatal(err)
		}
		got := map[string]kept{}
		list, err := db.Submissions(ctx, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			got[s.State] = kept{s.ServiceName, s.Email, s.Notes}
		}
		return got
	}
	at := noon.AddDate(0, 0, 90)
	if diff := cmp.Diff(map[string]kept{"approved": {"listed", "", ""}, "pending": {"others", "bob@acme.example", "call me"},
		"rejected": {"decided", "eve@acme.example", "call me"}}, left(at)); diff != "" {
		t.Errorf("submissions after 90 days (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]kept{"approved": {"listed", "", ""}, "pending": {"others", "bob@acme.example", "call me"},
		"rejected": {"decided", "", ""}}, left(at.Add(time.Second))); diff != "" {
		t.Errorf("submissions later (-want +got):\n%s", diff)
	}
}
