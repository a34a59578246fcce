package sample_test

import (
	"cmp"
	"testing"
	"time"

	"tollbook/crawl/probe"
	"tollbook/crawl/sample"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// visit is the real prober's result for a service.
type visit struct {
	paid       int
	status     int // of the first paid answer, else of the first
	reason     string
	conclusive bool
	evidence   []x402.Evidence
}

func probeAll(t *testing.T, p *probe.Prober, l postgres.Listing) visit {
	t.Helper()
	var v visit
	for _, e := range l.Endpoints {
		r := p.Probe(t.Context(), probe.Target{URL: l.BaseURL + e.Path, Method: e.Method})
		if v.status == 0 || r.Verdict == probe.Paid && v.paid == 0 {
			v.status = r.Status
		}
		if r.Verdict == probe.Paid {
			v.paid++
		} else {
			v.reason = cmp.Or(v.reason, r.Reason)
		}
		v.conclusive = v.conclusive || r.Verdict != probe.Inconclusive
		v.evidence = append(v.evidence, x402.Evidence{
			Endpoint: r.Method + " " + e.Path, URL: r.FinalURL, TLSVerified: r.TLSVerified,
			Inconclusive: r.Verdict == probe.Inconclusive, Captured: r.Captured,
		})
	}
	return v
}

// grades are the grades of the services with defects, "unknown" for services without an answer to grade.
var grades = map[string]string{
	"treadmill-jobs": "F", // accepts is not a list
	"attic-archive":  "F", "cabinet-essays": "F", "glasswing-census": "F", "hedgerow-games": "F", "hourglass-cron": "F",
	"larkspur-recipes": "F", "scholium-feeds": "F", "millstone-grain": "F", "oldgate-sanctions": "F",
	"windlass-transcode":  "F",
	"lamplighter-domains": "unknown", "weighbridge-facts": "unknown",

	"plinthstone-gas": "B", // names and amounts of version 1

	"driftwood-treasury":  "C", // paid to nobody
	"fingerpost-identity": "C", "pennyfarthing-tax": "C", "sandglass-trivia": "C", "thimble-classifier": "C",
	"tinderbox-tokens": "C",
}

// TestHistoryAgreesWithProber probes every service with the real prober. The results must equal the end of the history,
// so that a demo's first visits change nothing. Services without defects must have grade A.
func TestHistoryAgreesWithProber(t *testing.T) {
	t.Parallel()
	const timeout = 10 * time.Second
	now := time.Date(2026, 11, 21, 14, 30, 0, 0, time.UTC)
	w, err := sample.Start(t.Context(), sample.Options{Now: func() time.Time { return now }, Pace: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p := probe.New(probe.Options{
		RequestTimeout: timeout,
		Routes:         []probe.Route{{Domain: sample.Domain, Dial: w.Dial, RootCAs: w.RootCAs()}},
	})
	defer p.Close()
	histories := sample.Histories(now)
	for i, l := range sample.Listings(now, time.Minute) {
		if l.Slug == "riverbend-hydrology" { // up and down
			continue
		}
		got := probeAll(t, p, l)
		last := histories[i].Checks[len(histories[i].Checks)-1]
		if want := min(len(l.Endpoints), 25) * min(got.paid, 1); last.EndpointsFound != want ||
			last.Counted != got.conclusive {
			t.Errorf("%s: %d paid, conclusive %v; history ends with %d, counted %v", l.Slug, got.paid,
				got.conclusive, last.EndpointsFound, last.Counted)
		}
		status := 0
		if last.StatusCode != nil {
			status = *last.StatusCode
		}
		// The wording of reasons may differ.
		if status != got.status || (last.ErrorMessage == nil) != (got.reason == "") {
			t.Errorf("%s: answers %d, %q; history ends with %+v", l.Slug, got.status, got.reason, last)
		}
		assessed := x402.Assess(got.evidence)
		if want := cmp.Or(grades[l.Slug], "A"); assessed.Grade != want {
			t.Errorf("%s: grade %s (%d of %d), want %s: %+v", l.Slug, assessed.Grade, assessed.Passed, assessed.Total,
				want, failures(assessed))
		}
	}
}

func failures(c x402.Compliance) []string {
	var list []string
	for _, check := range c.Checks {
		if !check.Pass {
			list = append(list, check.ID+": "+check.Reason)
		}
	}
	return list
}
