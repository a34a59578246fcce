package build_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/build/judge"
	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/crawl/sample"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/rail"
	"tollbook/site/routes"
	"tollbook/site/testgate"
	"tollbook/site/x402"
)

// TestEvidenceSufficesToJudge visits the sample world and checks the services again, from nothing but the published
// evidence. Checks with their reasons, warnings and grades must be the same.
func TestEvidenceSufficesToJudge(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	db := open(t)
	world, err := sample.Start(t.Context(), sample.Options{Pace: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { world.Close() })
	now := time.Now()
	listings := sample.Listings(now, 0) // long ago: what cannot be paid now is not active
	if err := db.AddListings(t.Context(), listings); err != nil {
		t.Fatal(err)
	}
	c := crawl.New(db, crawl.Options{HostGap: time.Microsecond, Hourly: -1}, probe.Options{
		UserAgent: "Tollbook/test (+https://tollbook.example/bot)", RequestTimeout: 10 * time.Second,
		Routes: []probe.Route{{Domain: sample.Domain, Dial: world.Dial, RootCAs: world.RootCAs()}},
	})
	t.Cleanup(c.Close)
	if _, err := c.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := tempDir(t)
	run(t, db, dir, options(time.Now()))
	files, err := filepath.Glob(filepath.Join(dir, "current", "v1/services/*/evidence.json"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files of evidence (%v), want one for each of more than 40 services", len(files), err)
	}
	grades, classes := map[string]int{}, map[string]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Data site.Evidence }
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		e := got.Data
		rows := readEvidence(t, e)
		again, offers := x402.Assess(rows), railOffers(e)
		again.Warnings = append(again.Warnings, rail.Warnings(offers)...)
		if verdicts := rail.AssessAll(offers); len(verdicts) > 0 && !slices.ContainsFunc(rows, hasTerms) {
			again.Grade, again.GradeReason = rail.Best(verdicts).Grade, rail.Best(verdicts).Reason
		}
		want := site.Evidence{Slug: e.Slug, Grade: again.Grade, Passed: again.Passed, Total: again.Total,
			Checks:   judge.ExplainChecks(again.Checks, slices.ContainsFunc(rows, hasTerms)),
			Warnings: judge.ExplainWarnings(again.Warnings), Endpoints: e.Endpoints,
			WarningCount: len(again.Warnings), GradeReason: again.GradeReason,
			Input: e.Input, SiteAnswers: e.SiteAnswers, Registration: e.Registration, VerifiedBy: e.VerifiedBy}
		if diff := cmp.Diff(want, e); diff != "" {
			t.Errorf("%s, judged again (-want +got):\n%s", e.Slug, diff)
		}
		checkDetail(t, filepath.Join(dir, "current", "v1/services", e.Slug+".json"), e)
		grades[e.Grade]++
		for _, p := range e.Endpoints {
			if classes[class(p)]++; class(p) != "" {
				checkEndpoint(t, e.Slug, p)
			}
		}
		if strings.Contains(string(data), "Set-Cookie") {
			t.Errorf("%s publishes cookies", e.Slug)
		}
	}
	for _, grade := range []string{"A", "C", "F", "unknown"} {
		if grades[grade] == 0 {
			t.Errorf("no service has grade %s: %v", grade, grades)
		}
	}
	if classes[""] != 0 {
		t.Errorf("%d endpoints show nothing", classes[""])
	}
	for _, of := range []string{"paid_ok", "paid_broken", "paid_unreadable", "paid_other", "host_disabled", "open",
		"gone", "server_error",
		"unreachable", "challenge", "rate_limited"} {
		if classes[of] == 0 {
			t.Errorf("no endpoint shows class %s: %v", of, classes)
		}
	}
}

// TestPricesHaveEvidence builds the sample directory before the first visit. Each service with a price must publish the
// response that asked for it.
func TestPricesHaveEvidence(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	dir, snapshot := buildSample(t)
	z := openZip(t, dir, snapshot)
	var index routes.Index
	readJSON(t, z, routes.IndexFile, &index)
	priced := 0
	for _, slug := range index.Slugs {
		var service site.One[site.ServiceDetail]
		readJSON(t, z, "v1/services/"+slug+".json", &service)
		var evidence site.One[site.Evidence]
		readJSON(t, z, "v1/services/"+slug+"/evidence.json", &evidence)
		captured := map[string]bool{}
		for _, e := range evidence.Data.Endpoints {
			captured[e.ID] = e.Captured != nil && (e.Answer != nil || e.Terms != nil) ||
				e.Answer != nil && e.Class != nil && *e.Class == "paid_other" // nothing of x402 is captured
			if e.Verdict == nil && e.Inconclusive == nil {
				t.Errorf("%s %s: no response", slug, e.Path)
			}
		}
		price := service.Data.MinPriceUSD
		for _, e := range service.Data.Endpoints {
			if e.IsActive && len(e.Pricing) > 0 && !captured[e.ID] {
				t.Errorf("%s %s: a price without the response that asked for it", slug, e.Path)
			}
		}
		if price != nil {
			priced++
			if at := service.Data.Assessment.Compliance.Staleness.EnvelopeCapturedAt; at == nil {
				t.Errorf("%s: a price of %s without an envelope", slug, *price)
			}
		}
	}
	if priced < 40 {
		t.Errorf("%d services with a price, want 40", priced)
	}
}

// readJSON reads a JSON file of a snapshot.
func readJSON(t *testing.T, z *archive.ZipFile, name string, v any) {
	t.Helper()
	data, err := z.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// readEvidence returns the input of the checks, read from published evidence.
func readEvidence(t *testing.T, e site.Evidence) (list []x402.Evidence) {
	t.Helper()
	none := !slices.ContainsFunc(e.Endpoints, func(p site.EndpointEvidence) bool { return p.IsActive })
	for _, p := range e.Endpoints {
		if !p.IsActive && !none {
			continue
		}
		row := x402.Evidence{Endpoint: p.Method + " " + p.Path, URL: p.URL, Inconclusive: p.Verdict == nil,
			HeadFree: p.HeadFree != nil && *p.HeadFree}
		judged := p.Terms
		if judged == nil {
			judged = p.Answer
		}
		if judged != nil && judged.Status != nil {
			body := []byte(judged.Body.Text)
			if judged.Body.Encoding == "base64" {
				var err error
				if body, err = base64.StdEncoding.DecodeString(judged.Body.Text); err != nil {
					t.Fatal(err)
				}
			}
			row.TLSVerified, row.Hops = judged.TLSVerified, judged.Redirects
			row.Captured = x402.Capture(x402.Answer{Status: *judged.Status, Header: judged.Headers, Body: body,
				Truncated: judged.Body.Truncated, URL: p.URL})
		}
		list = append(list, row)
	}
	return list
}

func hasTerms(r x402.Evidence) bool { return r.Captured.Envelope != nil }

// railOffers reads the published answers of active endpoints for offers over other protocols than x402.
func railOffers(e site.Evidence) (list []rail.Listed) {
	for _, p := range e.Endpoints {
		if a := p.Answer; p.IsActive && a != nil && a.Status != nil && *a.Status == 402 {
			for _, o := range rail.Read(rail.Answer{Header: a.Headers, URL: p.URL, TLSVerified: a.TLSVerified,
				ReceivedAt: a.ReceivedAt.Time}) {
				list = append(list, rail.Listed{Endpoint: p.Method + " " + p.Path, Offer: o})
			}
		}
	}
	return list
}

// checkDetail checks that the compliance in a service's detail is that of its evidence.
func checkDetail(t *testing.T, file string, e site.Evidence) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Data site.ServiceDetail }
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	c := got.Data.Assessment.Compliance
	if c.Grade != e.Grade || c.GradeReason != e.GradeReason || c.Passed != e.Passed || len(c.Checks) != len(e.Checks) {
		t.Errorf("%s: the detail says %q, %d; the evidence %q, %d", e.Slug, c.GradeReason, c.Passed, e.GradeReason,
			e.Passed)
	}
}

func class(p site.EndpointEvidence) string {
	if p.Inconclusive != nil {
		return p.Inconclusive.Class
	}
	if p.Class == nil {
		return ""
	}
	return *p.Class
}

// checkEndpoint checks that the evidence of an endpoint contains what the API promises for its verdict.
func checkEndpoint(t *testing.T, slug string, p site.EndpointEvidence) {
	t.Helper()
	shown := p.Answer
	if p.Inconclusive != nil {
		shown = p.Inconclusive.Answer
	}
	asks := 402
	if strings.Contains(p.Path, "#") {
		asks = 200 // the result of a tool that is an error
	}
	switch {
	case shown == nil || shown.Request == nil || shown.PhasesMS == nil:
		t.Errorf("%s %s: no request and answer are shown: %+v", slug, p.Path, shown)
	case shown.Request.Headers["User-Agent"][0] != "Tollbook/test (+https://tollbook.example/bot)":
		t.Errorf("%s %s: asked as %v", slug, p.Path, shown.Request.Headers)
	case (shown.Status == nil) != (shown.ResponseTimeMS == nil):
		t.Errorf("%s %s: status %v, response time %v", slug, p.Path, shown.Status, shown.ResponseTimeMS)
	case p.Verdict != nil && *p.Verdict == "paid" &&
		(p.Captured == nil && *p.Class != "paid_other" || *shown.Status != asks):
		t.Errorf("%s %s: paid without terms", slug, p.Path)
	}
}
