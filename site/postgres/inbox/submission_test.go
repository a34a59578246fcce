package inbox_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/inbox"
)

// received is a submission of a domain by a client.
func received(name, domain, client string) site.IncomingSubmission {
	return site.IncomingSubmission{
		Submission: site.Submission{
			URL: "https://" + name + "." + domain, Email: "owner@" + domain, ServiceName: name,
			Description: "About " + name, WebsiteURL: "https://" + domain,
			Category: "Data", Endpoints: []string{"/a", "POST /b"},
		},
		Domain: domain, Client: client, At: noon, Probe: true,
	}
}

// limit says by which limit a submission is refused, "" by none.
func limit(t *testing.T, err error) string {
	t.Helper()
	var over *site.SubmissionLimitError
	var twice *site.DuplicateError
	switch {
	case errors.As(err, &over):
		return over.RetryAfter.String()
	case errors.As(err, &twice):
		return "duplicate"
	case errors.Is(err, site.ErrKeyReused):
		return "key"
	case err != nil:
		t.Error(err)
	}
	return ""
}

// TestReceiveSubmissionFlood checks that the number of pending submissions is limited for all senders together, that a
// decision makes room, and that a repetition still gets its receipt.
func TestReceiveSubmissionFlood(t *testing.T) {
	t.Parallel()
	db := open(t)
	send := func(i int) (site.Receipt, error) {
		r := received("api", fmt.Sprintf("flood%d.example", i), fmt.Sprint("client", i))
		r.MaxPending, r.Key = 3, fmt.Sprint(i)
		return db.ReceiveSubmission(t.Context(), r)
	}
	var first site.Receipt
	for i := range 3 {
		receipt, err := send(i)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = receipt
		}
	}
	if _, err := send(3); limit(t, err) != "1h0m0s" || err == nil ||
		!strings.Contains(err.Error(), "3 submissions wait for review already") {
		t.Errorf("a fourth: %v", err)
	}
	if again, err := send(0); err != nil || again.ID != first.ID || !again.Repeated {
		t.Errorf("the first sent again: %+v, %v", again, err)
	}
	if err := db.RejectSubmission(t.Context(), uuid.MustParse(first.ID), "ada", "no", noon); err != nil {
		t.Fatal(err)
	}
	if _, err := send(3); err != nil {
		t.Errorf("a fourth when one is decided: %v", err)
	}
}

func TestReceiveSubmission(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	if err := db.AddListings(ctx,
		[]postgres.Listing{{Slug: "listed", Name: "Listed", BaseURL: "https://api.listed.example", Category: "Odd",
			Source: "imported:file", CreatedAt: noon,
			Endpoints: []postgres.ListedEndpoint{{Path: "/"}}}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		r     site.IncomingSubmission
		at    time.Duration
		key   string
		want  string
		probe bool
	}{
		{"first of a domain", received("a", "acme.example", "1"), 0, "k1", "", true},
		{"the same under its key", received("a", "acme.example", "1"), time.Second, "k1", "", false},
		{"another under that key", received("b", "acme.example", "1"), time.Second, "k1", "key", false},
		{"another client's same key", received("b", "acme.example", "2"), time.Second, "k1", "", true},
		{"pending", received("a", "acme.example", "2"), time.Second, "", "duplicate", false},
		{"listed", received("api", "listed.example", "2"), time.Second, "", "duplicate", false},
		{"third of a domain", received("c", "acme.example", "3"), 2 * time.Second, "", "", true},
		{"fourth of a domain", received("d", "acme.example", "3"), 3 * time.Second, "", "1h0m0s", false},
	} {
		c.r.At, c.r.Key = noon.Add(c.at), c.key
		receipt, err := db.ReceiveSubmission(ctx, c.r)
		if got := limit(t, err); got != c.want || receipt.Probe != c.probe {
			t.Errorf("%s: refused by %q, want %q; probed %t, want %t", c.name, got, c.want, receipt.Probe, c.probe)
		}
	}
	http := received("a", "acme.example", "9")
	http.URL = "http://a.acme.example"
	if _, err := db.ReceiveSubmission(ctx, http); limit(t, err) != "duplicate" {
		t.Errorf("by http what waits by https: %v", err)
	}
	// the eleventh of a client within an hour
	for i := range site.SubmissionsPerHour {
		r := received("x", fmt.Sprintf("d%d.example", i), "busy")
		r.At = noon.Add(time.Duration(i) * time.Minute)
		if _, err := db.ReceiveSubmission(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	late := received("x", "late.example", "busy")
	for _, c := range []struct {
		at   time.Duration
		want string
	}{{59 * time.Minute, "1m0s"}, {time.Hour, ""}} {
		late.At = noon.Add(c.at)
		if _, err := db.ReceiveSubmission(ctx, late); limit(t, err) != c.want {
			t.Errorf("after %s: %v, want %q", c.at, err, c.want)
		}
	}
	categories, err := db.SubmissionCategories(ctx)
	if err != nil || !slices.Contains(categories, "Odd") || !slices.Contains(categories, "AI") ||
		!slices.IsSorted(categories) {
		t.Errorf("categories %q, %v", categories, err)
	}
}

// Of many at once no more are taken than one after the other.
func TestSubmissionLimitsInParallel(t *testing.T) {
	t.Parallel()
	db := open(t)
	var oneClient, oneDomain, same atomic.Int64
	var wg sync.WaitGroup
	for i := range 40 {
		for count, r := range map[*atomic.Int64]site.IncomingSubmission{
			&oneClient: received("a", fmt.Sprintf("c%d.example", i), "one"),
			&oneDomain: received(fmt.Sprintf("s%d", i), "one.example", fmt.Sprint("d", i)),
			&same:      received("same", "same.example", fmt.Sprint("s", i)),
		} {
			wg.Go(func() {
				if _, err := db.ReceiveSubmission(t.Context(), r); limit(t, err) == "" {
					count.Add(1)
				}
			})
		}
	}
	wg.Wait()
	got := []int64{oneClient.Load(), oneDomain.Load(), same.Load()}
	if diff := cmp.Diff([]int64{site.SubmissionsPerHour, site.PendingPerDomain, 1}, got); diff != "" {
		t.Errorf("taken of one client, of one domain, of one address (-want +got):\n%s", diff)
	}
}

// A domain is probed three times an hour; what waits, and what a prober that died had taken, is handed out when it may
// be.
func TestSubmissionProbesWait(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	var ids []string
	receive := func(name string, probe bool, at time.Duration) site.Receipt {
		r := received(name, "acme.example", name)
		r.At, r.Probe = noon.Add(at), probe
		receipt, err := db.ReceiveSubmission(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, receipt.ID)
		return receipt
	}
	take := func(at time.Duration) string {
		q, err := db.TakeSubmissionProbe(ctx, noon.Add(at))
		if err != nil {
			t.Fatal(err)
		}
		if q == nil {
			return ""
		}
		return q.ID
	}
	receive("a", true, 0)
	receive("b", false, time.Second)
	if got := take(time.Second); got != ids[1] {
		t.Errorf("the one that nobody probes: %q of %q", got, ids)
	}
	if got := take(2 * time.Second); got != "" {
		t.Errorf("both are probed, and yet there is %q", got)
	}
	if got := take(time.Minute); got != ids[0] { // its prober died: the third probe of the hour
		t.Errorf("after its lease: %q of %q", got, ids)
	}
	if got := take(3 * time.Minute); got != "" {
		t.Errorf("a fourth probe in the hour: %q", got)
	}
	if receive("c", true, 4*time.Minute).Probe {
		t.Error("a fourth probe in the hour, at once")
	}
	result := site.ProbeResult{EndpointsFound: 1, Errors: []string{"b"}}
	if err := db.StoreSubmissionProbe(ctx, ids[0], result); err != nil {
		t.Fatal(err)
	}
	if err := db.StoreSubmissionProbe(ctx, ids[0], site.ProbeResult{}); err != nil {
		t.Fatal(err)
	}
	if s, err := db.SubmissionState(ctx, ids[0]); err != nil || s.ProbeResult == nil ||
		!cmp.Equal(*s.ProbeResult, result) {
		t.Errorf("of two results the first is kept: %+v, %v", s.ProbeResult, err)
	}
	taken := map[string]bool{take(62 * time.Minute): true, take(62 * time.Minute): true}
	if diff := cmp.Diff(map[string]bool{ids[1]: true, ids[2]: true}, taken); diff != "" {
		t.Errorf("an hour later (-want +got):\n%s", diff)
	}
}

func TestReview(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	receive := func(name, domain string) uuid.UUID {
		r := received("api", domain, domain)
		r.ServiceName = name
		receipt, err := db.ReceiveSubmission(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		return uuid.MustParse(receipt.ID)
	}
	first, second, third, nameless := receive("Größe & Co", "a.example"), receive("Grosse Co", "b.example"),
		receive("Grösse-Co", "c.example"), receive("名前", "d.example")
	later := noon.Add(time.Hour)
	approve := func(id uuid.UUID, want string) {
		t.Helper()
		if slug, err := db.ApproveSubmission(ctx, id, "ada", "", later); slug != want || err != nil {
			t.Errorf("approved as %q, want %q, error %v", slug, want, err)
		}
	}
	approve(first, "grosse-co")
	if err := db.EraseService(ctx, "grosse-co", "anna", "", later); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Submission(ctx, first); !errors.Is(err, site.ErrNotFound) {
		t.Errorf("what its owner sent outlives a service that was erased: %v", err)
	}
	again := receive("Again", "a.example")
	var removed *postgres.RemovedError
	if _, err := db.ApproveSubmission(ctx, again, "ada", "", later); !errors.As(err, &removed) ||
		removed.Service.Actor != "anna" {
		t.Errorf("a service that was removed is listed for a submission: %v", err)
	}
	approve(second, "grosse-co-2") // the slug of a removed service is not given again
	approve(nameless, "api-d-example")
	if err := db.RejectSubmission(ctx, third, "bob", "no terms", later.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	var decided *inbox.DecidedError
	if _, err := db.ApproveSubmission(ctx, third, "ada", "", later); !errors.As(err, &decided) ||
		decided.Error() != "it was rejected on "+later.Add(time.Minute).UTC().Format("2006-01-02 15:04 UTC")+" by bob" {
		t.Errorf("approved after it was rejected: %v", err)
	}
	if err := db.RejectSubmission(ctx, second, "bob", "late", later); !errors.As(err, &decided) || decided.By != "ada" {
		t.Errorf("rejected after it was approved: %v", err)
	}
	if err := db.RejectSubmission(ctx, uuid.New(), "bob", "none", later); !errors.Is(err, site.ErrNotFound) {
		t.Errorf("one that is not there: %v", err)
	}
	due, err := db.TakeServices(ctx, "", later, time.Minute, 10)
	if err != nil || len(due) != 2 || due[0].Source != "submitted" || len(due[0].Endpoints) != 2 {
		t.Errorf("due after approval: %+v, %v", due, err)
	}
	got, err := db.Submission(ctx, third)
	if err != nil || got.State != "rejected" || *got.Reason != "no terms" || len(got.Audit) != 1 ||
		got.Audit[0].Actor != "bob" || got.Audit[0].Action != "reject" || got.Audit[0].Detail != "no terms" {
		t.Errorf("after its rejection: %+v, %v", got, err)
	}
	if r, err := db.ReceiveSubmission(ctx, received("api", "c.example", "again")); err != nil || r.ID == "" {
		t.Errorf("what was rejected may be sent again: %v", err)
	}
	if _, err := db.ReceiveSubmission(ctx, received("api", "b.example", "again")); limit(t, err) != "duplicate" {
		t.Errorf("what is listed may not: %v", err)
	}
}

// Of many who decide at once one does.
func TestReviewInParallel(t *testing.T) {
	t.Parallel()
	db := open(t)
	receipt, err := db.ReceiveSubmission(t.Context(), received("api", "a.example", "1"))
	if err != nil {
		t.Fatal(err)
	}
	var decided atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			var err error
			if i%2 == 0 {
				_, err = db.ApproveSubmission(t.Context(), uuid.MustParse(receipt.ID), "ada", "", noon)
			} else {
				err = db.RejectSubmission(t.Context(), uuid.MustParse(receipt.ID), "bob", "no", noon)
			}
			var before *inbox.DecidedError
			if err == nil {
				decided.Add(1)
			} else if !errors.As(err, &before) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if decided.Load() != 1 {
		t.Errorf("%d have decided", decided.Load())
	}
}
