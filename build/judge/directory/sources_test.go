package directory_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/build/judge/directory"
	"tollbook/site"
	"tollbook/site/postgres"
	facts "tollbook/site/postgres/sources"
)

// TestNew checks what is published of one source: hidden services are left out, and unknown figures are null.
func TestNew(t *testing.T) {
	t.Parallel()
	at := func(day int) time.Time { return time.Date(2026, 11, day, 10, 0, 0, 0, time.UTC) }
	midnight := func(day int) time.Time { return at(day).Truncate(24 * time.Hour) }
	ended, gone, status := at(20), at(19), 503
	pulls := []facts.Pull{
		{Number: 1, EndedAt: &gone, Outcome: site.PullAccepted, SHA256: []byte{1}, Resources: 3, Skipped: 1,
			Partial: true},
		{Number: 2, EndedAt: &ended, Outcome: site.PullFailed, Error: "get https://x?key=secret", Status: &status},
	}
	f := &postgres.Facts{
		Services: []postgres.ServiceFacts{{Service: postgres.Service{ID: 7, Slug: "acme", Name: "Acme"}}},
		Public: facts.Facts{
			Sources: []facts.State{
				{ID: 1, Source: facts.Source{Name: "bazaar", Address: "https://b.test/l?key=secret"}, Failures: 1,
					Pulls: pulls, Accepted: &pulls[0], Last: &pulls[1], SucceededAt: &gone},
				{ID: 2, Source: facts.Source{Name: "\u202edamaged"}, Last: &pulls[1]},
			},
			Overlaps: []facts.Overlap{{Sources: []int{1}, Resources: 2}},
			ListedBy: map[int64][]facts.Listing{
				7: {{Source: "bazaar", Since: at(1), Resources: 2}},
				8: {{Source: "bazaar", Since: at(1), Resources: 1}}, // of a hidden service
			},
			Days: map[int][]facts.Day{1: {{Date: midnight(1).AddDate(-1, 0, 0), Listed: 5},
				{Date: midnight(2), Listed: 1, Dropped: 3}}},
			Drops: map[int][]facts.Drop{1: {{Service: 8, Endpoint: "GET /hidden", Until: at(2)},
				{Service: 7, Endpoint: "GET /quote", Since: at(1), Until: at(2)}}},
		},
	}
	received, count, skipped, partial, sum := site.NewTime(gone), 3, 1, true, "01"
	ok := site.NewTime(gone)
	want := []site.SourceDetail{{
		Source: site.Source{Source: "bazaar", Address: "https://b.test/l", LastAttemptAt: site.NewTime(ended),
			LastSuccessAt: &ok, Failures: 1, ResourceCount: 2, UniqueCount: 2, ServiceCount: 1,
			Answer:  &site.SourceAnswer{ReceivedAt: received, Resources: 3, SHA256: "01"},
			Partial: &partial,
			Overlap: []site.SourceOverlap{}},
		Pulls: []site.SourcePull{{EndedAt: site.NewTime(ended), Outcome: site.PullFailed, StatusCode: &status},
			{EndedAt: received, Outcome: site.PullAccepted, Resources: &count, Skipped: &skipped, Partial: &partial,
				SHA256: &sum}},
		Days:     []site.SourceDay{{Date: "2026-11-02", Resources: 3, Listed: 1, Dropped: 3}},
		Services: []site.SourceService{{Slug: "acme", Name: "Acme", Since: site.NewTime(at(1)), ResourceCount: 2}},
		Dropped: []site.SourceDrop{{Slug: "acme", Name: "Acme", Endpoint: "GET /quote", Since: site.NewTime(at(1)),
			Until: site.NewTime(at(2))}},
	}}
	if diff := cmp.Diff(want, directory.NewSources(f, at(20))); diff != "" {
		t.Errorf("sources (-want +got)\n%s", diff)
	}
}
