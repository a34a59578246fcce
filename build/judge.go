package build

import (
	"context"
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// readyFor is how long one usable 402 makes a service ready to be paid; vouchedFor how long one proof makes it verified.
const (
	readyFor   = 7 * 24 * time.Hour
	vouchedFor = 30 * 24 * time.Hour
)

// Judge makes a snapshot of facts: every judgment as of now. It is pure.
func Judge(f *postgres.Facts, now, next time.Time, baseURL string, free site.FreeHosts) *site.Snapshot {
	j := newJudgment(f, sumHours(f, now), now, next, baseURL, free)
	for i := range f.Services {
		s := &j.snapshot.Services[i]
		*s = complete(j.basis(i), at(now))
	}
	j.aggregate()
	return j.snapshot
}

// judgment is a snapshot that is being made. A directory's details need not be in memory together: survey takes, of some
// services after the others, what all must be known by, conclude says what needs no details, complete judges the rest of one by
// its basis, aggregate what is said of all of them in the end.
type judgment struct {
	facts     *postgres.Facts
	snapshot  *site.Snapshot
	hours     hours
	market    *market
	claims    [][]claim
	settled   *tractions
	endpoints *shelf[[]postgres.EndpointFacts] // of services that are surveyed; nil where the facts keep them
	known     *known                           // of services whose files are made
	now       time.Time
	baseURL   string
	free      site.FreeHosts
}

// newJudgment judges what needs no details: rows of lists, what services offer, what they took, and all that is not of a
// service.
func newJudgment(f *postgres.Facts, h hours, now, next time.Time, baseURL string, free site.FreeHosts) *judgment {
	j := beginJudgment(f, h, now, next, baseURL, free)
	j.survey(0, len(f.Services))
	j.conclude()
	return j
}

func beginJudgment(f *postgres.Facts, h hours, now, next time.Time, baseURL string, free site.FreeHosts) *judgment {
	s := &site.Snapshot{Now: site.NewTime(now), Next: site.NewTime(next), Services: make([]site.Listing, len(f.Services))}
	j := &judgment{
		facts: f, snapshot: s, hours: h, market: newMarket(), claims: make([][]claim, len(f.Services)), now: now, baseURL: baseURL, free: free,
	}
	return j
}

// survey judges services by their endpoints: their rows, their prices among those of others, and who is paid.
func (j *judgment) survey(from, to int) {
	for i := from; i < to; i++ {
		f := &j.facts.Services[i]
		o := offerOf(f, j.now)
		j.snapshot.Services[i].Item, _ = list(f, &o, &j.hours.days[i], j.now)
		j.market.add(f.Category, &o)
		j.claims[i] = claimsOf(f, j.now)
	}
}

// surveyed is how many services are surveyed at once, whose endpoints are then in memory.
const surveyed = 1000

// readEndpoints surveys all services, some after the others.
func (j *judgment) readEndpoints(ctx context.Context, r *postgres.Reader) error {
	for from := 0; from < len(j.facts.Services); from += surveyed {
		to := min(from+surveyed, len(j.facts.Services))
		if err := r.Endpoints(ctx, j.now, j.facts.Services[from:to]); err != nil {
			return err
		}
		j.survey(from, to)
		j.shelve(from, to)
	}
	return nil
}

// shelve puts the endpoints of services that are surveyed away, until their files are made.
func (j *judgment) shelve(from, to int) {
	if j.endpoints == nil {
		j.endpoints = newShelf[[]postgres.EndpointFacts](len(j.facts.Services))
	}
	for i := from; i < to; i++ {
		f := &j.facts.Services[i]
		j.endpoints.put(i, &f.Endpoints)
		f.Endpoints = nil
	}
}

// fetch gives services the endpoints that were put away.
func (j *judgment) fetch(from, to int) {
	if j.endpoints == nil {
		return
	}
	for i := from; i < to; i++ {
		j.facts.Services[i].Endpoints = j.endpoints.get(i)
		j.endpoints.drop(i)
	}
}

// offered is what the endpoints of a service are, which may be put away.
func (j *judgment) offered(i int) []site.Endpoint {
	f := j.facts.Services[i]
	if j.endpoints != nil {
		f.Endpoints = j.endpoints.get(i)
	}
	return offerOf(&f, j.now).endpoints
}

// conclude judges what is known once all services are surveyed, and what they took.
func (j *judgment) conclude() {
	s, f := j.snapshot, j.facts
	j.market.sort()
	j.settled = newTractions(f, j.claims, j.now)
	s.Checks = globalLog(f, j.now)
	judgeChanges(s, f, j.now)
	group(s)
	s.Facilitators = facilitators(f.Facilitators, j.now)
	s.Coverage = coverage(f, j.settled, j.now)
	j.known = newKnown(s)
	s.Recall = j.known
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

// remains are what aggregate, look-ups, the catalogue and lists of movers ask of a service's details once its own files are
// made.
type remains struct {
	H24, D7 *float64           // uptime
	Risk    string             // its level
	Reasons []string           // of each active endpoint, what keeps a standard client from paying it
	Change  *site.LookupChange // the newest
	Changes int                // records that its log has
}

func remainsOf(l *site.Listing) remains {
	r := remains{H24: l.Detail.Uptime.H24, D7: l.Detail.Uptime.D7, Risk: l.Detail.Assessment.Risk.Level}
	for i := range l.Terms {
		r.Reasons = append(r.Reasons, l.Terms[i].Reason)
	}
	if len(l.Changes) > 0 {
		r.Change = &site.LookupChange{Type: l.Changes[0].Type, ObservedAt: l.Changes[0].ObservedAt}
	}
	if len(l.ChangeLogs.Logs) > 0 {
		r.Changes = int(l.ChangeLogs.Index.Total())
	}
	return r
}

// release forgets the details of a service, facts and judgments, which nothing but its own files shows, but for what
// remains of them. What others ask for meanwhile, its row and its names, it does not touch.
func (j *judgment) release(done *turn) {
	i, r, t := done.place, &done.note.Remains, &done.traction
	f := &j.facts.Services[i]
	var k site.Known
	if r.Change != nil {
		k.Changes = []site.ChangeRecord{{Type: r.Change.Type, ObservedAt: r.Change.ObservedAt}}
	}
	d := &k.Detail
	d.ConsecutiveFailures, d.Uptime.H24, d.Uptime.D7, d.Assessment.Risk.Level = f.ConsecutiveFailures, r.H24, r.D7, r.Risk
	d.Assessment.Traction = site.Traction{
		Status: t.Status, VolumeUSD30d: t.VolumeUSD30d, TxCount30d: t.TxCount30d, Trend7dVs30d: t.Trend7dVs30d, SettledViaDetail: t.SettledViaDetail,
	}
	j.known.put(i, &k, done.endpoints, done.terms)
	f.Endpoints, f.Hours, f.Days, f.DaySums, f.Log = nil, nil, nil, nil, postgres.LogFacts{}
	f.Site, f.Domain, f.Synthesis = nil, nil, nil
	f.Changes, f.ChangeLogs, f.Records, f.PriceSpans, f.PriceDays = nil, nil, nil, nil, nil
	j.settled.release(i)
}

// forget forgets what only services' own files are made of. After it there is aggregate.
func (j *judgment) forget() {
	j.facts.Services = nil
	if j.facts.Takings != nil {
		j.facts.Takings.Services = nil
	}
	j.hours.days, j.market, j.claims, j.settled, j.endpoints = nil, nil, nil, nil, nil
}

// aggregate judges what is said of all services together, and tells others of each, by slug.
func (j *judgment) aggregate(tell ...func(i int, l *site.Listing)) {
	s := j.snapshot
	sum, st, settled := statusSummary{site.StatusSummary{Total: len(s.Services), Services: make([]site.StatusService, 0, len(s.Services))}}, aggregates{}, newSettledFor(s)
	for i := range s.Services {
		l := s.Listing(i)
		sum.add(l)
		st.add(l)
		settled.add(l)
		for _, to := range tell {
			to(i, l)
		}
	}
	s.Status, s.Stats = sum.StatusSummary, st.stats(s, j.hours.checks)
	settled.end()
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

// statusAfter is a service's state right after a conclusive visit: offline when it is the offlineAfter-th offline one in a
// row or more; degraded when it is degraded, or offline for fewer; else online.
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
func assess(b *basis, d *site.ServiceDetail, shown []x402.Evidence, got verdict, c *clock) site.Assessment {
	f := b.Facts
	a := site.Assessment{
		UpdatedAt: timeOrNull(newestFact(f, &b.Traction)),
		Reliability: site.Reliability{
			Uptime:        site.ReliabilityUptime{H24: d.Uptime.H24, D7: d.Uptime.D7, D30: d.Uptime.D30, D90: d.Uptime.D90},
			ResponseP95MS: responseP95(f.Days), AvgResponseMS: d.AvgResponseTimeMS,
			LastCheckedAt: d.LastCheckedAt, ConsecutiveFailures: d.ConsecutiveFailures, TotalChecks: d.TotalChecks,
		},
		Compliance: compliance(f, got, c),
		Site:       siteFacts(f),
		Domain:     domainFacts(f, b.FreeHost, c),
		Economics:  economics(f, b.Offer, b.Standing, c),
		Traction:   b.Traction,
	}
	synthesize(f, &a, shown, c)
	a.Risk = risk(b, d, a, c)
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
