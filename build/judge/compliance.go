package judge

import (
	"time"

	"tollbook/site"
	"tollbook/site/invisible"
	"tollbook/site/postgres"
)

// newCompliance returns the published results of the 14 checks.
func newCompliance(f *postgres.ServiceFacts, result complianceResult, now time.Time) site.Compliance {
	c := site.Compliance{
		Grade: result.Grade, Passed: result.Passed, Total: result.Total, Checks: []site.ComplianceCheck{},
		Staleness: newStaleness(f, result.noneActive, now), GradeReason: invisible.Replace(result.GradeReason),
	}
	for _, k := range result.Checks {
		c.Checks = append(c.Checks, site.ComplianceCheck{ID: k.ID, Label: k.Label, Pass: k.Pass})
	}
	if result.PayToSource != "" {
		c.PayToSource, c.PayToLocation = &result.PayToSource, &result.PayToLocation
	}
	return c
}

// newStaleness returns the age of the judged responses. EnvelopeCapturedAt is the time of the oldest of the newest
// envelopes of the active endpoints, or of all endpoints if none is active. ProbeFailing says that the last conclusive
// visit was offline.
func newStaleness(f *postgres.ServiceFacts, noneActive bool, now time.Time) site.Staleness {
	var captured *time.Time
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		if v := e.Envelope; v != nil && (noneActive || e.IsActive(now)) &&
			(captured == nil || v.ReceivedAt.Before(*captured)) {
			captured = &v.ReceivedAt
		}
	}
	return site.Staleness{
		ProbeFailing: f.ConsecutiveFailures > 0, LastSuccessAt: timeOrNull(f.LastSuccessAt),
		EnvelopeCapturedAt: timeOrNull(captured),
	}
}
