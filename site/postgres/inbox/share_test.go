package inbox_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres/inbox"
	"tollbook/site/postgres/postgrestest"
)

// TestSubmissionsGiveWay checks that few senders and hosts that ask for no payment keep out nobody when all places are
// taken, that the submitter of the one that gave way reads why, and that many senders with one submission each keep
// theirs.
func TestSubmissionsGiveWay(t *testing.T) {
	t.Parallel()
	paid, nothing := &site.ProbeResult{EndpointsFound: 1}, &site.ProbeResult{Errors: []string{"no such host"}}
	for _, tt := range []struct {
		name   string
		client func(i int) string
		probed func(i int) *site.ProbeResult // nil if it was not probed yet
		comes  string                        // client of the newcomer
		gone   int                           // which of four gives way; -1 for none
	}{
		{"one host asked nobody for payment", func(i int) string { return fmt.Sprintf("192.0.2.%d", i) },
			func(i int) *site.ProbeResult { return []*site.ProbeResult{paid, paid, nothing, nil}[i] }, "198.51.100.1", 2},
		{"the oldest of two such", func(i int) string { return fmt.Sprintf("192.0.2.%d", i) },
			func(i int) *site.ProbeResult { return []*site.ProbeResult{paid, nothing, nothing, nil}[i] }, "198.51.100.1", 1},
		{"one network has three", func(i int) string {
			return []string{"192.0.2.1", "2001:db8:1:1::/64", "2001:db8:1:2::/64", "2001:db8:1:3::/64"}[i]
		}, func(int) *site.ProbeResult { return paid }, "198.51.100.1", 3},
		{"its own network has most", func(i int) string {
			return []string{"192.0.2.1", "2001:db8:1:1::/64", "2001:db8:1:2::/64", "2001:db8:1:3::/64"}[i]
		}, func(int) *site.ProbeResult { return paid }, "2001:db8:1:9::/64", -1},
		{"senders are unknown", func(i int) string { return fmt.Sprintf("192.0.2.%d", i) },
			func(int) *site.ProbeResult { return paid }, "198.51.100.1", -1},
		{"everybody has one", func(i int) string { return fmt.Sprintf("192.0.2.%d", i) },
			func(int) *site.ProbeResult { return paid }, "198.51.100.1", -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dsn := template.Database(t)
			db := openAt(t, dsn)
			var ids []string
			for i := range 4 {
				r := received("api", fmt.Sprintf("s%d.example", i), tt.client(i))
				r.At, r.MaxPending = noon.Add(time.Duration(i)*time.Minute), 4
				receipt, err := db.ReceiveSubmission(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, receipt.ID)
				if result := tt.probed(i); result != nil {
					if err := db.StoreSubmissionProbe(t.Context(), receipt.ID, *result); err != nil {
						t.Fatal(err)
					}
				}
			}
			if tt.name == "senders are unknown" { // as after an import
				if _, err := postgrestest.Connect(t, dsn).Exec(t.Context(), `UPDATE inbox SET client = '', network = ''`); err != nil {
					t.Fatal(err)
				}
			}
			r := received("api", "newcomer.example", tt.comes)
			r.At, r.MaxPending = noon.Add(time.Hour), 4
			if _, err := db.ReceiveSubmission(t.Context(), r); (err == nil) != (tt.gone >= 0) {
				t.Errorf("the newcomer: %v", err)
			} else if err != nil && limit(t, err) == "" {
				t.Errorf("the newcomer is refused with %v", err)
			}
			gone := -1
			for i, id := range ids {
				s, err := db.SubmissionState(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if s.Status == site.SubmissionRejected {
					gone = i
					if s.Reason == nil || !strings.Contains(*s.Reason, "gave way") {
						t.Errorf("its submitter reads %v", s.Reason)
					}
				}
			}
			if gone != tt.gone {
				t.Errorf("submission %d gave way, want %d", gone, tt.gone)
			}
		})
	}
}

// TestNetworkLimit checks that the clients of one /48 together may send four times as many submissions as one of them.
func TestNetworkLimit(t *testing.T) {
	t.Parallel()
	db := open(t)
	taken := 0
	for i := range 5 * site.SubmissionsPerHour {
		r := received("api", fmt.Sprintf("s%d.example", i), fmt.Sprintf("2001:db8:1:%x::/64", i))
		_, err := db.ReceiveSubmission(t.Context(), r)
		switch {
		case err == nil:
			taken++
		case limit(t, err) != "1h0m0s" || !strings.Contains(err.Error(), "from one network"):
			t.Fatalf("submission %d: %v", i, err)
		}
	}
	if want := 4 * site.SubmissionsPerHour; taken != want {
		t.Errorf("%d submissions of one /48 were taken within an hour, want %d", taken, want)
	}
	if _, err := db.ReceiveSubmission(t.Context(), received("api", "other.example", "2001:db8:2::/64")); err != nil {
		t.Errorf("another network: %v", err)
	}
}

// TestBanSender checks that nothing is taken from the network of a banned sender until the ban ends, whatever it sends.
func TestBanSender(t *testing.T) {
	t.Parallel()
	db := open(t)
	first, err := db.ReceiveSubmission(t.Context(), received("a", "one.example", "2001:db8:1:1::/64"))
	if err != nil {
		t.Fatal(err)
	}
	id := uuid.MustParse(first.ID)
	ban := inbox.Ban{SubmissionID: id, BannedAt: noon, Actor: "ada", Reason: "spam"}
	for range 2 { // a second time changes nothing
		if err := db.BanSender(t.Context(), ban); err != nil {
			t.Fatal(err)
		}
	}
	list, err := db.Bans(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		list[i].BannedAt = list[i].BannedAt.UTC()
	}
	if diff := cmp.Diff([]inbox.Ban{ban}, list); diff != "" {
		t.Errorf("bans (-want +got):\n%s", diff)
	}
	send := func(client string) error {
		_, err := db.ReceiveSubmission(t.Context(), received("b", "two.example", client))
		return err
	}
	if err := send("2001:db8:1:2::/64"); limit(t, err) != "24h0m0s" {
		t.Errorf("a banned sender: %v", err)
	}
	if err := db.BanSender(t.Context(), inbox.Ban{SubmissionID: uuid.New()}); !errors.Is(err, site.ErrNotFound) {
		t.Errorf("an unknown submission: %v", err)
	}
	if err := db.UnbanSender(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := db.UnbanSender(t.Context(), id); !errors.Is(err, site.ErrNotFound) {
		t.Errorf("the ban ends twice: %v", err)
	}
	if err := send("2001:db8:1:2::/64"); err != nil {
		t.Errorf("after the ban: %v", err)
	}
	if _, err := db.Forget(t.Context(), "owner@one.example"); err != nil {
		t.Fatal(err)
	}
}
