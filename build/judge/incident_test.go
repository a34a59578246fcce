package judge

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/postgres/checks"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// minute returns the time so many minutes after noon.
func minute(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

// run returns a run of failed checks, one every 15 minutes, that begins n minutes after noon and ended with a success.
func run(n, failed int) checks.FailureRun {
	last := minute(n + 15*(failed-1))
	return checks.FailureRun{FirstAt: minute(n), LastAt: last, Checks: failed, LongestGap: 900_000,
		EndedAt: new(last.Add(15 * time.Minute))}
}

// service returns a service with runs of failed checks.
func service(slug, host string, runs ...checks.FailureRun) incidentService {
	return incidentService{Slug: slug, Name: slug, Runs: runs, IsKnown: true, IsCompared: true, Host: host,
		CreatedAt: noon.AddDate(0, -1, 0)}
}

// TestIncident checks what becomes of one run.
func TestIncident(t *testing.T) {
	t.Parallel()
	open := run(0, 3)
	open.EndedAt = nil
	day := run(0, 96)
	day.ByDay = true
	openDay := day
	openDay.EndedAt = nil
	gap := run(0, 3)
	gap.EndsInGap = true
	at := func(n int) *site.Time { return new(site.NewTime(minute(n))) }
	base := site.Incident{Slug: "a", Name: "a", ID: new("a-20261120-120000"), StartedAt: *at(0), Kind: site.StatusOffline, FailedChecks: 3,
		Precision: site.PrecisionCheck, Cause: site.CauseOwn, LongestGapSeconds: new(int64(900))}
	with := func(change func(*site.Incident)) []site.Incident {
		x := base
		change(&x)
		return []site.Incident{x}
	}
	for _, test := range []struct {
		name    string
		run     checks.FailureRun
		unknown bool
		want    []site.Incident
		offline *site.Time
	}{
		{"one failed check", run(0, 1), false, nil, nil},
		{"two failed checks", run(0, 2), false, with(func(x *site.Incident) {
			x.Kind, x.FailedChecks, x.EndedAt, x.DurationSeconds = site.StatusDegraded, 2, at(30), new(int64(1800))
		}), nil},
		{"three failed checks", run(0, 3), false, with(func(x *site.Incident) {
			x.EndedAt, x.DurationSeconds = at(45), new(int64(2700))
		}), nil},
		{"open", open, false, with(func(x *site.Incident) { x.Ongoing = true }), at(0)},
		{"open, but no longer checked", open, true, with(func(*site.Incident) {}), at(0)},
		{"whole days", day, false, with(func(x *site.Incident) {
			x.FailedChecks, x.EndedAt, x.DurationSeconds = 96, at(96*15), new(int64(86_400))
			x.Precision, x.LongestGapSeconds = site.PrecisionDay, nil
		}), nil},
		{"nobody looked for longer than planned", gap, false, with(func(x *site.Incident) {}), at(0)},
		{"whole days that go on", openDay, false, with(func(x *site.Incident) {
			x.StartedAt, x.FailedChecks, x.LongestGapSeconds, x.Ongoing = *at(-7), 99, nil, true
			x.ID = new("a-20261120-115300")
		}), at(-7)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := service("a", "a.example", test.run)
			s.IsKnown, s.Failures, s.FailingSince = !test.unknown, 99, new(minute(-7))
			got := incidentsOf([]incidentService{s})[0]
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("incidents (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.offline, offlineSince(site.StatusOffline, got)); diff != "" {
				t.Errorf("offline since (-want +got):\n%s", diff)
			}
			if since := offlineSince(site.StatusDegraded, got); since != nil {
				t.Errorf("a degraded service is offline since %s", since)
			}
		})
	}
}

// fleet returns n services, one on each host, of which the first failed begin an incident within 30 minutes.
func fleet(n, failed int, change func(i int, s *incidentService)) []incidentService {
	list := make([]incidentService, n)
	for i := range list {
		list[i] = service(fmt.Sprintf("s%02d", i), fmt.Sprintf("h%02d.example", i))
		if i < failed {
			list[i].Runs = []checks.FailureRun{run(i*20/n, 3)}
		}
		if change != nil {
			change(i, &list[i])
		}
	}
	return list
}

// TestShared checks which incidents have a cause outside their service.
func TestShared(t *testing.T) {
	t.Parallel()
	onNetwork := func(_ int, s *incidentService) { s.Networks = []string{"BSE"} }
	for _, test := range []struct {
		name     string
		services []incidentService
		want     string // cause, name, failed and services of the first service's incident
	}{
		{"alone", fleet(4, 1, onNetwork), "own"},
		{"two of four", fleet(4, 2, onNetwork), "own"},
		{"three of six on a network", fleet(6, 3, onNetwork), "network BSE 3/6"},
		{"three of seven on a network", fleet(7, 3, onNetwork), "own"},
		{"three without a network", fleet(6, 3, nil), "own"},
		{"one host", fleet(6, 3, func(i int, s *incidentService) {
			if s.Networks = []string{"BSE"}; i < 3 {
				s.Host = "one.example"
			}
		}), "host one.example 3/3"},
		{"a facilitator with more services than the host", fleet(8, 5, func(i int, s *incidentService) {
			if s.Networks = []string{"BSE"}; i < 6 {
				s.Facilitators = []string{"payer"}
			}
			if i < 3 {
				s.Host = "one.example"
			}
		}), "facilitator payer 5/6"},
		{"equally many: the host explains it", fleet(6, 3, func(i int, s *incidentService) {
			if s.Host = "one.example"; i > 2 {
				s.Host = "two.example"
			}
			s.Facilitators = []string{"payer"}
		}), "host one.example 3/3"},
		{"most of the directory", fleet(15, 10, onNetwork), "measurement - 10/15"},
		{"half of the directory", fleet(20, 10, onNetwork), "network BSE 10/20"},
		{"nine of nine", fleet(9, 9, nil), "own"},
		{"far apart", fleet(6, 3, func(i int, s *incidentService) {
			onNetwork(i, s)
			if i < 3 {
				s.Runs[0] = run(i*31, 3)
			}
		}), "own"},
		{"services that failed before do not count", fleet(9, 3, func(i int, s *incidentService) {
			if onNetwork(i, s); i > 5 {
				s.Runs = []checks.FailureRun{run(-100, 20)}
			}
		}), "network BSE 3/6"},
		{"services that are not visited do not count", fleet(9, 3, func(i int, s *incidentService) {
			onNetwork(i, s)
			s.IsCompared = i < 6
		}), "network BSE 3/6"},
		{"services that were listed later do not count", fleet(9, 3, func(i int, s *incidentService) {
			if onNetwork(i, s); i > 5 {
				s.CreatedAt = minute(1)
			}
		}), "network BSE 3/6"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			x := incidentsOf(test.services)[0][0]
			got := x.Cause
			if s := x.Shared; s != nil {
				name := "-"
				if s.Name != nil {
					name = *s.Name
				}
				got += fmt.Sprintf(" %s %d/%d", name, s.Failed, s.Services)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("cause (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAll checks the order of the list of all incidents.
func TestAll(t *testing.T) {
	t.Parallel()
	var got []string
	for _, x := range allIncidents(incidentsOf([]incidentService{service("b", "b", run(0, 2), run(120, 2)), service("a", "a", run(0, 3))})) {
		got = append(got, x.Slug+" "+x.StartedAt.String())
	}
	want := []string{"b 2026-11-20T14:00:00.000Z", "a 2026-11-20T12:00:00.000Z", "b 2026-11-20T12:00:00.000Z"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("incidents (-want +got):\n%s", diff)
	}
}

// TestFailure checks that an incident says what went wrong in its first and in its last failed check.
func TestFailure(t *testing.T) {
	t.Parallel()
	r := run(0, 3)
	r.First = checks.Failure{Message: new("timed out after 15 s")}
	r.Last = checks.Failure{StatusCode: new(503), Message: new("answers 503 Service Unavailable")}
	x := incidentsOf([]incidentService{service("a", "a", r)})[0][0]
	got := []*site.IncidentFailure{x.FirstFailure, x.LastFailure}
	want := []*site.IncidentFailure{{ErrorMessage: new("timed out after 15 s")},
		{StatusCode: new(503), ErrorMessage: new("answers 503 Service Unavailable")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

// TestPages checks that the newest incidents of a service have pages.
func TestPages(t *testing.T) {
	t.Parallel()
	s := service("a", "a")
	for i := range site.IncidentPages + 1 {
		s.Runs = append(s.Runs, run(120*i, 2))
	}
	list := incidentsOf([]incidentService{s})[0]
	for i := range list {
		if hasPage := list[i].ID != nil; hasPage != (i < site.IncidentPages) {
			t.Errorf("incident %d of %d, newest first, has a page: %t", i, len(list), hasPage)
		}
	}
}

// TestBeside checks which incidents of other services are at the same time as one.
func TestBeside(t *testing.T) {
	t.Parallel()
	open, gap := run(30, 2), run(-100, 2)
	open.EndedAt = nil
	gap.EndsInGap = true
	list := allIncidents(incidentsOf([]incidentService{
		service("before", "b", run(-60, 2)), service("across", "c", run(-20, 2)), service("of", "o", run(0, 3)),
		service("within", "w", run(15, 2)), service("open", "p", open), service("after", "f", run(60, 2)),
		service("gap", "g", gap)}))
	b := newBeside(list)
	for _, test := range []struct {
		slug string
		want string
	}{
		{"of", "3 open within across"}, {"before", "0"}, {"after", "1 open"}, {"gap", "0"},
		{"open", "3 after within of"},
	} {
		for i := range list {
			if list[i].Slug != test.slug {
				continue
			}
			count, named := b.of(&list[i])
			got := fmt.Sprint(count)
			for _, x := range named {
				got += " " + x.Slug
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("incidents beside that of %s (-want +got):\n%s", test.slug, diff)
			}
		}
	}
}
