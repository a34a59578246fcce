package crowd

import (
	"context"
	"time"

	"tollbook/crawl/probe"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// Every is the number of services for each one that Visit visits. If services are visited every 15 minutes, it is the
// share that has changed a minute after a build.
const Every = 15

// Visit records visits to one service in fifteen, within the half minute before now, and returns their number. Each
// round visits other services. The visits find no changes except the response times.
func Visit(ctx context.Context, db *postgres.DB, services, round int, now time.Time) (int, error) {
	due, err := db.TakeServices(ctx, "", now.AddDate(1, 0, 0), time.Minute, services)
	if err != nil {
		return 0, err
	}
	c := crowd{o: Options{Seed: uint64(round)}}
	var visits []checks.Visit
	for i, s := range due {
		if (i+round)%Every != 0 || s.LastCheckedAt == nil {
			continue
		}
		r := c.random(ofPast, i)
		at := now.Add(-time.Duration(1+i%600) * 50 * time.Millisecond)
		v := checks.Visit{
			Check: checks.Check{ServiceID: s.ID, CheckedAt: at, ID: checkID(r), Counted: true, Status: s.LastStatus,
				IsUp:                s.FailingSince == nil,
				ConsecutiveFailures: s.ConsecutiveFailures},
			NextCheckAt: now.Add(s.CheckInterval), FailingSince: s.FailingSince,
		}
		if v.Check.IsUp {
			v.Check.StatusCode, v.Check.ResponseTimeMS, v.Check.EndpointsFound = new(402), new(40+r.IntN(300)),
				len(s.Endpoints)
			v.LastSuccessAt = &at
			for _, e := range s.Endpoints {
				v.Endpoints = append(v.Endpoints, checks.EndpointVisit{
					ID: e.ID, ProbedAt: at, Verdict: e.Verdict, Class: *e.Class, Reason: *e.Reason,
					ResponseTimeMS: v.Check.ResponseTimeMS, Paid: *e.Verdict == string(probe.Paid),
				})
			}
		} else {
			v.Check.ConsecutiveFailures++
			v.Check.ErrorMessage = new("connection refused")
		}
		visits = append(visits, v)
	}
	return len(visits), db.RecordVisits(ctx, visits)
}
