package judge

import (
	"slices"
	"time"

	"tollbook/build/judge/price"
	"tollbook/site"
	"tollbook/site/hint"
	"tollbook/site/postgres"
	"tollbook/site/postgres/sources"
	"tollbook/site/routes"
	"tollbook/site/synthesis"
	"tollbook/site/x402"
)

// A usable 402 makes a service payment_ready for readyFor. An operator's confirmation makes it verified for verifiedFor,
// and an owner's token for tokenFor after it was last seen.
const (
	readyFor    = 7 * 24 * time.Hour
	verifiedFor = 30 * 24 * time.Hour
	tokenFor    = 7 * 24 * time.Hour
)

// serviceInput is everything that one service is judged by, except the time.
type serviceInput struct {
	Source, BaseURL string // of the directory
	Facts           *postgres.ServiceFacts
	Detail          site.ServiceDetail // by newDetail
	Day             *checkCounter      // of the last 24 hours
	Offer           *offer
	Rank            price.Rank
	History         *price.History
	FreeHost        bool
	Operator        string // slug of the first service of its operator
	Public          *sources.Facts
	Foreign         *naming // the account of another operator that it names; nil for none
	Claimed         *naming // its account that another operator names later; nil for none
	Tainted         *naming // its account that a dangerous service named first; nil for none
	Traction        site.Traction
	Volume          []site.VolumePoint
	OlderVolume     olderVolume
	Buyers          []site.BuyersPoint
	AllBuyers       []site.NumberedBuyer
	NetworkPrices   []site.NetworkPrice
	Settlements     site.Settlements
	Incidents       []site.IncidentDetail
}

// input collects what the ith service is judged by. Its facts must be complete. It drops the terms that nobody can pay
// from these facts, so that no later judgment reads them.
func (d *Directory) input(i int) *serviceInput {
	f := &d.facts.Services[i]
	dropUnpayable(f)
	o := newOffer(f, d.options.Now)
	b := &serviceInput{
		Source: d.facts.Source, BaseURL: d.options.BaseURL, Facts: f, Day: &d.hours.services[i], Offer: &o,
		FreeHost: d.options.FreeHosts.Has(hostname(f.BaseURL)),
		Public:   &d.facts.Public,
		Traction: d.revenue.traction(i), History: price.NewHistory(f, d.options.Now),
	}
	b.Operator = d.facts.Services[d.operatorOf[i]].Slug
	b.Foreign = d.revenue.ownership.foreign(i, d.facts.Services)
	b.Claimed = d.revenue.ownership.claimed(i, d.facts.Services)
	b.Tainted = d.danger.tainted(i, d.claims[i])
	b.Detail = newDetail(f, &o, &d.hours.services[i], d.options.Now)
	b.Detail.ListedBy = newListedBy(d.facts.Public.ListedBy[f.ID])
	b.Detail.OperatorLinks = d.operators.Of(i)
	d.addIncidents(i, &b.Detail)
	b.Incidents = d.incidentDetails(i, b.Detail.Endpoints)
	b.Detail.GoneSince, b.Detail.LiveServices = d.Snapshot.Services[i].Item.GoneSince, d.live[i]
	if !o.speaksOther() { // prices over other protocols are not in the market
		b.Rank = d.market.Rank(f.Category, i, &o.prices)
	}
	b.Volume, b.OlderVolume, b.Buyers = d.revenue.series(i)
	b.AllBuyers, b.NetworkPrices = d.revenue.buyers(i), newNetworkPrices(&o)
	b.Settlements = d.revenue.settlements(i)
	addCharges(b.Detail.Endpoints, f, &b.Settlements, d.options.Now)
	return b
}

// judgeService judges everything about a service.
func judgeService(b *serviceInput, now time.Time) site.Listing {
	f, d := b.Facts, b.Detail
	d.TotalChecks, d.PayToChanges = f.TotalChecks, findPayToChanges(f)
	d.Places = newPlaces(f, now)
	d.Provenance, d.Uptime = newProvenance(f, b.Source, b.BaseURL), uptimeWindows(f, b.Day, now)
	captures := activeCaptures(f, now)
	addPayers(d.Endpoints, f, captures, now)
	result := judgeCompliance(f, captures)
	d.Rails = judgeRails(f, &result)
	known := hintFacts(f, result, now)
	d.Hints, d.Catalogues = hint.Judge(known), newCatalogues(b.Public, f, known, now)
	input := modelInput(f, captures, now)
	pay := newPayability(result.captures, d.PayToChanges, now)
	d.Assessment = newAssessment(b, &d, input, result, now)
	d.Assessment.Risk = newRisk(b, &d, &result, pay, now)
	verdict := verdictInput{detail: &d, endpoints: judgeEndpoints(f, captures, d.Endpoints, now), isFree: isFree(f),
		tainted: b.Tainted, now: now}
	d.Assessment.Advice = verdict.service()
	d.PaymentReady = d.PaymentReady && d.IsAdvised()
	verdict.addVerdicts(d.Endpoints)
	l := site.Listing{Item: d.Item(), Trend: site.TrendOf(&b.Traction), Uptime30d: d.Uptime.D30}
	l.ListingDetail = &site.ListingDetail{
		Detail: d, Operator: b.Operator, Incidents: b.Incidents, Changes: serviceChanges(f),
		Terms: newTerms(f, captures, d.Endpoints, verdict.endpoints, now),
		ServiceFiles: &site.ServiceFiles{
			Uptime: newUptimePoints(f, now), Checks: serviceLog(f), Evidence: newEvidence(f, result, now),
			ChangeLogs: serviceChangeLogs(f),
			Prices:     b.History.Points(), Volume: b.Volume, Buyers: b.Buyers, Settlements: b.Settlements,
			AllBuyers: b.AllBuyers, NetworkPrices: b.NetworkPrices,
			Scores: newScorePoints(f, b.History, newRecorded(&d.Assessment), now),
		},
	}
	l.Evidence.Input = input
	addSiteEvidence(f, &l.Evidence)
	if b.OlderVolume.any() {
		l.OlderVolume = b.OlderVolume.points
	}
	return l
}

// newDetail returns the part of a service's detail that needs no further facts. Its row shows no more, except the risk
// and the advice.
func newDetail(f *postgres.ServiceFacts, o *offer, day *checkCounter, now time.Time) site.ServiceDetail {
	d := site.ServiceDetail{
		Slug: f.Slug, Name: f.Name, Description: f.Description, BaseURL: f.BaseURL, WebsiteURL: f.WebsiteURL,
		Category: f.Category, Source: f.Source, CreatedAt: site.NewTime(f.CreatedAt),
		Status:        serviceStatus(&f.Service, now),
		LastCheckedAt: timeOrNull(f.LastCheckedAt), LastSuccessAt: timeOrNull(f.LastSuccessAt),
		ConsecutiveFailures:  f.ConsecutiveFailures,
		CheckIntervalMinutes: max(1, int(f.CheckInterval/time.Minute)),
		Endpoints:            o.endpoints, EndpointCount: len(o.endpoints),
		MinPriceUSD: o.figures().Lowest, Networks: o.networks, NetworksCAIP2: o.networksCAIP2,
		Asset: o.figures().Asset, PriceCondition: o.figures().Condition,
	}
	d.Verified, d.VerifiedUntil = verifiedUntil(f, now)
	d.PaymentReady, d.PaymentReadyUntil = validUntil(f.LastSuccessAt, readyFor, now)
	switch f.State {
	case postgres.StatePaused:
		d.PausedAt = timeOrNull(f.StateAt)
	case postgres.StateRetired: // nobody knows what it does now
		d.DelistedAt, d.Status, d.PaymentReady = timeOrNull(f.StateAt), site.StatusUnknown, false
	}
	if !wasSeen(f, day, now) {
		d.Status = site.StatusUnknown
	}
	d.Uptime24h, d.AvgResponseTimeMS = day.percentOrNull(), day.average()
	return d
}

// isFree reports whether each endpoint that ever answered did so without asking for payment, last.
func isFree(f *postgres.ServiceFacts) bool {
	open := 0
	for i := range f.Endpoints {
		if v := f.Endpoints[i].Verdict; v != nil && *v != "open" {
			return false
		} else if v != nil {
			open++
		}
	}
	return open > 0
}

// unseenAfter is how long no visit may tell whether a service is up until its status is unknown.
const unseenAfter = 24 * time.Hour

// wasSeen reports whether a visit within unseenAfter told whether the service is up: a check was counted, a failure
// began, or a conclusive response came. The counted checks of a day lack the visits of the last minutes. A service that
// is visited once a day is known until serviceStatus says otherwise.
func wasSeen(f *postgres.ServiceFacts, day *checkCounter, now time.Time) bool {
	if day.counted > 0 || site.Interval(f.CheckInterval, f.FailingSince, now) >= unseenAfter {
		return true
	}
	isRecent := func(at *time.Time) bool { return at != nil && now.Sub(*at) < unseenAfter }
	return isRecent(f.LastSuccessAt) || isRecent(f.FailingSince) ||
		slices.ContainsFunc(f.Endpoints, func(e postgres.EndpointFacts) bool {
			return e.Conclusive != nil && isRecent(&e.Conclusive.ReceivedAt) ||
				e.Envelope != nil && isRecent(&e.Envelope.ReceivedAt)
		})
}

// verifiedUntil reports whether a service is verified, and when that ends or ended. An owner's proof ends when the site
// answers without the token, or tokenFor after the token was last seen.
func verifiedUntil(f *postgres.ServiceFacts, now time.Time) (bool, *site.Time) {
	if !f.OwnerProved {
		return validUntil(f.VerifiedAt, verifiedFor, now)
	}
	verified, until := validUntil(f.VerifiedAt, tokenFor, now)
	if missing := f.TokenMissingAt; until != nil && missing != nil && missing.After(*f.VerifiedAt) &&
		missing.Before(until.Time) && !missing.After(now) {
		return false, site.TimeOrNull(*missing)
	}
	return verified, until
}

// validUntil reports whether less than span has passed since an event, and when the span ends. The end is nil if the
// event never happened.
func validUntil(seen *time.Time, span time.Duration, now time.Time) (bool, *site.Time) {
	if seen == nil {
		return false, nil
	}
	until := seen.Add(span)
	return until.After(now), site.TimeOrNull(until)
}

// offlineAfter is how many conclusive offline visits in a row make a service offline.
const offlineAfter = 3

// serviceStatus returns the status of a service by its last visit. It is unknown if the service was never checked
// conclusively, or not within three check intervals (at least an hour). Otherwise it is the status after the last
// visit.
func serviceStatus(s *postgres.Service, now time.Time) string {
	if s.LastCheckedAt == nil || s.LastStatus == nil {
		return site.StatusUnknown
	}
	patience := max(time.Hour, 3*site.Interval(s.CheckInterval, s.FailingSince, now))
	if now.Sub(*s.LastCheckedAt) > patience {
		return site.StatusUnknown
	}
	return statusAfterCheck(*s.LastStatus, s.ConsecutiveFailures)
}

// statusAfterCheck returns the status of a service right after a conclusive visit: offline from the third offline visit
// in a row on, degraded if the visit was degraded or offline, and online otherwise.
func statusAfterCheck(check string, consecutiveFailures int) string {
	switch {
	case check == site.StatusOffline && consecutiveFailures >= offlineAfter:
		return site.StatusOffline
	case check == site.StatusOffline || check == site.StatusDegraded:
		return site.StatusDegraded
	}
	return site.StatusOnline
}

// newAssessment returns the assessment of a service without its risk and advice. UpdatedAt is the time of the newest
// fact behind it. input is by modelInput.
func newAssessment(b *serviceInput, d *site.ServiceDetail, input string, result complianceResult,
	now time.Time) site.Assessment {
	f := b.Facts
	a := site.Assessment{
		UpdatedAt: timeOrNull(newestFact(f, &b.Traction)),
		Reliability: site.Reliability{
			Uptime: site.ReliabilityUptime{H24: d.Uptime.H24, D7: d.Uptime.D7, D30: d.Uptime.D30,
				D90: d.Uptime.D90},
			ResponseP95MS: responseP95(f.Days), AvgResponseMS: d.AvgResponseTimeMS,
			LastCheckedAt: d.LastCheckedAt, ConsecutiveFailures: d.ConsecutiveFailures, TotalChecks: d.TotalChecks,
		},
		Compliance: newCompliance(f, result, now),
		Site:       newSiteFacts(f),
		Domain:     newDomainFacts(f, b.FreeHost, now),
		Economics:  price.NewEconomics(f, b.Offer.figures(), b.Rank, b.History, now),
		Traction:   b.Traction,
	}
	addSynthesis(f, &a, input)
	return a
}

// newProvenance returns the source of a record. In a directory of generated data each record says so.
func newProvenance(f *postgres.ServiceFacts, source, baseURL string) site.Provenance {
	from := "probed by Tollbook; listing " + f.Source
	if source != "" {
		from = source
	}
	page := routes.Query{Route: routes.ByName("service-page"), Slug: f.Slug, Bare: true}.Key()
	return site.NewProvenance(baseURL, baseURL+"/"+page, from)
}

// timeOrNull returns the published form of a time, nil for nil.
func timeOrNull(t *time.Time) *site.Time {
	if t == nil {
		return nil
	}
	return site.TimeOrNull(*t)
}

// modelInput returns the document that a language model gets about a service. captures are those of the active
// endpoints.
func modelInput(f *postgres.ServiceFacts, captures []x402.Evidence, now time.Time) string {
	read := make(map[*postgres.EndpointFacts]x402.Captured, len(captures))
	for i := range f.Endpoints {
		if e := &f.Endpoints[i]; len(read) < len(captures) && e.IsActive(now) {
			read[e] = captures[len(read)].Captured
		}
	}
	return synthesis.InputOf(f, func(e *postgres.EndpointFacts) x402.Captured {
		if captured, ok := read[e]; ok {
			return captured
		}
		return synthesis.Capture(e)
	}).Document()
}

// addSynthesis adds the hash of the model's input to an assessment. It adds the model's answer if that belongs to the
// same hash: an answer about former texts is outdated.
func addSynthesis(f *postgres.ServiceFacts, a *site.Assessment, input string) {
	a.InputHash = synthesis.HashDocument(input)
	if s := f.Synthesis; s != nil && s.InputHash == a.InputHash {
		if at := site.TimeOrNull(s.AskedAt); a.UpdatedAt == nil || s.AskedAt.After(a.UpdatedAt.Time) {
			a.UpdatedAt = at
		}
		a.ModelID, a.PromptVersion, a.Synthesis = &s.ModelID, &s.PromptVersion, &s.Answer
	}
}
