package crowd

import (
	"context"
	"time"

	"tollbook/crawl/probe"
	"tollbook/site/postgres"
)

// Every is how many services there are for one that Visit visits: what a build finds changed a minute later, of
// services that are visited every quarter of an hour.
const Every = 15

// Visit tells of a visit to one service in fifteen within the half minute before now, others each turn, and answers how
// many they were. What they found is what was known, but for the time that it took.
func Visit(ctx context.Context, db *postgres.DB, services, turn int, now time.Time) (int, error) {
	due, err := db.TakeServices(ctx, now.AddDate(1, 0, 0), time.Minute, services)
	if err != nil {
		return 0, err
	}
	c := crowd{o: Options{Seed: uint64(turn)}}
	var visits []postgres.Visit
	for i, s := range due {
		if (i+turn)%Every != 0 || s.LastCheckedAt == nil {
			continue
		}
		r := c.random(ofPast, i)
		at := now.Add(-time.Duration(1+i%600) * 50 * time.Millisecond)
		v := postgres.Visit{
			Check: postgres.Check{ServiceID: s.ID, CheckedAt: at, ID: checkID(r), Counted: true, Status: s.LastStatus,
				IsUp:                s.FailingSince == nil,
				ConsecutiveFailures: s.ConsecutiveFailures},
			NextCheckAt: now.Add(s.CheckInterval), FailingSince: s.FailingSince,
		}
		if v.Check.IsUp {
			v.Check.StatusCode, v.Check.ResponseTimeMS, v.Check.EndpointsFound = new(402), new(40+r.IntN(300)),
				len(s.Endpoints)
			v.LastSuccessAt = &at
			for _, e := range s.Endpoints {
				v.Endpoints = append(v.Endpoints, postgres.EndpointVisit{
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
