package build

import (
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// readyFor is how long one usable 402 makes a service ready to be paid; vouchedFor how long one proof makes it
// verified.
const (
	readyFor   = 7 * 24 * time.Hour
	vouchedFor = 30 * 24 * time.Hour
)

// Judge makes a snapshot of facts: every judgment as of now. It is pure.
func Judge(f *postgres.Facts, now, next time.Time, baseURL string, free site.FreeHosts) *site.Snapshot {
	j := newJudgment(f, sumHours(f, now), now, next, baseURL, free, nil)
	all := j.newAggregator()
	for i := range f.Services {
		l := &j.snapshot.Services[i]
		*l = complete(j.input(i), now)
		all.add(l)
	}
	all.end()
	return j.snapshot
}

// judgment is a snapshot that is being made. The details of a directory need not be in memory together: survey takes,
// of some services after the others, what others are judged by; conclude judges what needs no details; complete judges
// the rest of one service by its input; an aggregator adds up what is said of all of them.
type judgment struct {
	facts    *postgres.Facts
	snapshot *site.Snapshot
	hours    hours
	market   *market
	claims   [][]claim
	settled  *tractions
	inFeed   map[string]bool // slugs of services with a record in the feed of changes
	now      time.Time
	baseURL  string
	free     site.FreeHosts
}

// surveyed is called with the active endpoints of the ith service, by slug; nil for no call.
type surveyed func(i int, endpoints []site.Endpoint)

// newJudgment judges what needs no details: rows of lists, what services offer, what they took, and all that is not of
// a service. The facts must have the endpoints of all services.
func newJudgment(f *postgres.Facts, h hours, now, next time.Time, baseURL string, free site.FreeHosts,
	tell surveyed) *judgment {
	j := beginJudgment(f, h, now, next, baseURL, free)
	j.survey(0, len(f.Services), tell)
	j.conclude()
	return j
}

func beginJudgment(f *postgres.Facts, h hours, now, next time.Time, baseURL string, free site.FreeHosts) *judgment {
	s := &site.Snapshot{Now: site.NewTime(now), Next: site.NewTime(next), Services: make([]site.Listing, len(f.Services))}
	return &judgment{
		facts: f, snapshot: s, hours: h, market: newMarket(), claims: make([][]claim, len(f.Services)), inFeed: map[string]bool{},
		now: now, baseURL: baseURL, free: free,
	}
}

// survey judges services by their endpoints: their rows, their prices among those of others, and who is paid.
func (j *judgment) survey(from, to int, tell surveyed) {
	for i := from; i < to; i++ {
		f := &j.facts.Services[i]
		o := offerOf(f, j.now)
		j.snapshot.Services[i].Item, _ = list(f, &o, &j.hours.days[i], j.now)
		j.market.add(f.Category, &o)
		j.claims[i] = claimsOf(f, j.now)
		if tell != nil {
			tell(i, o.endpoints)
		}
	}
}

// surveyTogether is how many services are surveyed at once, whose endpoints are then in memory.
const surveyTogether = 500

// surveyAll surveys all services, some after the others. Their endpoints are read again when their files are made.
func (j *judgment) surveyAll(read readFacts, tell surveyed) error {
	for from := 0; from < len(j.facts.Services); from += surveyTogether {
		to := min(from+surveyTogether, len(j.facts.Services))
		if err := read(j.facts.Services[from:to]); err != nil {
			return err
		}
		j.survey(from, to, tell)
		for i := from; i < to; i++ {
			j.facts.Services[i].Endpoints = nil
		}
	}
	return nil
}

// endpoints reads and judges the active endpoints of the ith service, which the facts need not have.
func (j *judgment) endpoints(i int, read readFacts) ([]site.Endpoint, error) {
	f := []postgres.ServiceFacts{j.facts.Services[i]}
	if err := read(f); err != nil {
		return nil, err
	}
	return offerOf(&f[0], j.now).endpoints, nil
}

// conclude judges what is known once all services are surveyed, and what they took.
func (j *judgment) conclude() {
	s, f := j.snapshot, j.facts
	j.market.sort()
	j.settled = newTractions(f, j.claims, j.now)
	s.Checks = globalLog(f, j.now)
	judgeChanges(s, f, j.now)
	for _, r := range s.Changes.Feed {
		j.inFeed[r.Slug] = true
	}
	group(s)
	s.Facilitators = facilitators(f.Facilitators, j.now)
	s.Coverage = coverage(f, j.settled, j.now)
}

// list judges a service by what is known of it without its details.
func list(f *postgres.ServiceFacts, o *offer, day *tally, now time.Time) (site.ServiceListItem, site.ServiceDetail) {
	d := site.ServiceDetail{
		Slug: f.Slug, Name: f.Name, Description: f.Description, BaseURL: f.BaseURL, WebsiteURL: f.WebsiteURL,
		Category: f.Category, Source: f.Source, CreatedAt: site.NewTime(f.CreatedAt),
		Status:        status(&f.Service, now),
		LastCheckedAt: timeOrNull(f.LastCheckedAt), LastSuccessAt: timeOrNull(f.LastSuccessAt),
		ConsecutiveFailures:  f.ConsecutiveFailures,
		CheckIntervalMinutes: max(1, int(f.CheckInterval/time.Minute)),
		Endpoints:            o.endpoints, EndpointCount: len(o.endpoints),
		MinPriceUSD: o.min, Networks: o.networks, NetworksCAIP2: o.networksCAIP2, Asset: o.asset,
	}
	d.Verified, d.VerifiedUntil = lasting(f.VerifiedAt, vouchedFor, now)
	d.PaymentReady, d.PaymentReadyUntil = lasting(f.LastSuccessAt, readyFor, now)
	d.Uptime24h, d.AvgResponseTimeMS = day.percent(), day.average()
	return site.ServiceListItem{
		Slug: d.Slug, Name: d.Name, Description: d.Description, BaseURL: d.BaseURL, WebsiteURL: d.WebsiteURL,
		Category: d.Category, Status: d.Status, Verified: d.Verified, EndpointCount: d.EndpointCount,
		MinPriceUSD: d.MinPriceUSD, Networks: d.Networks, Uptime24h: d.Uptime24h, AvgResponseTimeMS: d.AvgResponseTimeMS,
		LastCheckedAt: d.LastCheckedAt, CreatedAt: d.CreatedAt,
	}, d
}

// release drops the details of a service, facts and judgments, once its own files are written. It keeps the service's
// trend and, for the feed of changes, its prices.
func (j *judgment) release(i int, l *site.Listing) {
	kept := &j.snapshot.Services[i]
	kept.Trend = l.Trend
	if j.inFeed[l.Item.Slug] {
		kept.Known = &site.Known{Detail: site.ServiceDetail{Slug: l.Item.Slug, Endpoints: l.Detail.Endpoints}}
	}
	f := &j.facts.Services[i]
	f.Endpoints, f.Hours, f.Days, f.DaySums, f.Log = nil, nil, nil, nil, postgres.LogFacts{}
	f.Site, f.Domain, f.Synthesis = nil, nil, nil
	f.Changes, f.ChangeLogs, f.Records, f.PriceSpans, f.PriceDays = nil, nil, nil, nil, nil
	j.settled.release(i)
}

// forget drops what only services' own files are made of.
func (j *judgment) forget() {
	j.facts.Services = nil
	if j.facts.Takings != nil {
		j.facts.Takings.Services = nil
	}
	j.hours.days, j.market, j.claims, j.settled, j.inFeed = nil, nil, nil, nil, nil
}

// lasting is what holds for a span after it was last seen: whether it does now, and until when; null when it was never
// seen. A usable 402 makes a service payment_ready for readyFor, a proof of control makes it verified for vouchedFor.
func lasting(seen *time.Time, span time.Duration, now time.Time) (bool, *site.Time) {
	if seen == nil {
		return false, nil
	}
	until := seen.Add(span)
	return until.After(now), site.TimeOrNull(until)
}

// offlineAfter is how many conclusive offline visits in a row make a service offline.
const offlineAfter = 3

// status is a service's state: unknown never checked conclusively or not within three intervals (an hour at least);
// offline after three offline visits or more in a row; degraded when the last visit was degraded, or offline for fewer
// than three; else online.
func status(s *postgres.Service, now time.Time) string {
	if s.LastCheckedAt == nil || s.LastStatus == nil {
		return site.StatusUnknown
	}
	patience := max(time.Hour, 3*site.Interval(s.CheckInterval, s.FailingSince, now))
	if now.Sub(*s.LastCheckedAt) > patience {
		return site.StatusUnknown
	}
	return statusAfter(*s.LastStatus, s.ConsecutiveFailures)
}

// statusAfter is a service's state right after a conclusive visit: offline when it is the offlineAfter-th offline one
// in a row or more; degraded when it is degraded, or offline for fewer; else online.
func statusAfter(check string, consecutiveFailures int) string {
	switch {
	case check == site.StatusOffline && consecutiveFailures >= offlineAfter:
		return site.StatusOffline
	case check == site.StatusOffline || check == site.StatusDegraded:
		return site.StatusDegraded
	}
	return site.StatusOnline
}

// assess puts the parts of an assessment together. Its time is that of the newest fact behind it.
func assess(b *serviceInput, d *site.ServiceDetail, shown []x402.Evidence, got verdict, now time.Time) site.Assessment {
	f := b.Facts
	a := site.Assessment{
		UpdatedAt: timeOrNull(newestFact(f, &b.Traction)),
		Reliability: site.Reliability{
			Uptime:        site.ReliabilityUptime{H24: d.Uptime.H24, D7: d.Uptime.D7, D30: d.Uptime.D30, D90: d.Uptime.D90},
			ResponseP95MS: responseP95(f.Days), AvgResponseMS: d.AvgResponseTimeMS,
			LastCheckedAt: d.LastCheckedAt, ConsecutiveFailures: d.ConsecutiveFailures, TotalChecks: d.TotalChecks,
		},
		Compliance: compliance(f, got, now),
		Site:       siteFacts(f),
		Domain:     domainFacts(f, b.FreeHost, now),
		Economics:  economics(f, b.Offer, b.Standing, now),
		Traction:   b.Traction,
	}
	synthesize(f, &a, shown, now)
	a.Risk = risk(b, d, a, now)
	return a
}

// provenance says where the record comes from. A directory of made-up data says so in every record.
func provenance(f *postgres.ServiceFacts, source, baseURL string) site.Provenance {
	from := "probed by Tollbook; listing " + f.Source
	if source != "" {
		from = source
	}
	return site.Provenance{
		License: "CC-BY-4.0", AttributionRequired: true,
		Attribution: "Tollbook, " + baseURL,
		CiteAs:      baseURL + "/" + bare("service-page", f.Slug).Key(),
		Source:      from,
	}
}

func timeOrNull(t *time.Time) *site.Time {
	if t == nil {
		return nil
	}
	return site.TimeOrNull(*t)
}

// requirement is a kept price as the protocol's reader would answer it.
func requirement(p *postgres.Price) x402.Requirement {
	r := x402.Requirement{
		Scheme: p.Scheme, Network: p.Network, Asset: p.Asset, AssetNorm: p.Asset, AssetName: "UNKNOWN",
		Amount: p.Amount, AmountRaw: p.Amount, PayTo: p.PayTo, MaxTimeoutSeconds: p.MaxTimeoutSeconds,
	}
	if p.NetworkCAIP2 != nil {
		r.NetworkCAIP2 = *p.NetworkCAIP2
		r.AssetNorm = x402.NormalizeAddress(r.NetworkCAIP2, r.Asset)
		if a, ok := x402.LookupAsset(r.NetworkCAIP2, r.Asset); ok {
			r.AssetName = a.Symbol
		}
	}
	return r
}
