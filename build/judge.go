package build

import (
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
	s := &site.Snapshot{Now: site.NewTime(now), Next: site.NewTime(next)}
	s.Services = make([]site.Listing, len(f.Services))
	offers := make([]offer, len(f.Services))
	for i := range f.Services {
		offers[i] = offerOf(&f.Services[i], now)
	}
	market, settled := newMarket(f.Services, offers), newTractions(f, now)
	for i := range f.Services {
		s.Services[i] = list(&f.Services[i], offers[i], market, settled.traction(i), now, f.Source, baseURL, free)
		s.Services[i].Prices, s.Services[i].Scores = pricePoints(&f.Services[i]), scorePoints(&f.Services[i])
		s.Services[i].Volume, s.Services[i].OlderVolume, s.Services[i].Buyers = settled.series(i)
	}
	s.Checks = globalLog(f, now)
	judgeChanges(s, f, now)
	aggregate(s, f)
	s.Facilitators = facilitators(f.Facilitators, now)
	settledFor(s)
	s.Coverage = coverage(f, settled, now)
	return s
}

// list judges one service.
func list(f *postgres.ServiceFacts, o offer, m *market, t site.Traction, now time.Time, source, baseURL string, free site.FreeHosts) site.Listing {
	d := site.ServiceDetail{
		Slug: f.Slug, Name: f.Name, Description: f.Description, BaseURL: f.BaseURL, WebsiteURL: f.WebsiteURL,
		Category: f.Category, Source: f.Source, CreatedAt: site.NewTime(f.CreatedAt),
		Status:        status(&f.Service, now),
		LastCheckedAt: timeOrNull(f.LastCheckedAt), LastSuccessAt: timeOrNull(f.LastSuccessAt),
		ConsecutiveFailures:  f.ConsecutiveFailures,
		CheckIntervalMinutes: max(1, int(f.CheckInterval/time.Minute)),
		TotalChecks:          f.TotalChecks,
		Endpoints:            o.endpoints, EndpointCount: len(o.endpoints),
		MinPriceUSD: o.min, Networks: o.networks, NetworksCAIP2: o.networksCAIP2, Asset: o.asset,
		PayToChanges: payToChanges(f),
		Provenance:   provenance(f, source, baseURL),
	}
	d.Verified, d.VerifiedUntil = lasting(f.VerifiedAt, vouchedFor, now)
	d.PaymentReady, d.PaymentReadyUntil = lasting(f.LastSuccessAt, readyFor, now)
	d.Uptime = uptime(f, now)
	d.Uptime24h = d.Uptime.H24
	d.AvgResponseTimeMS = averageResponse(f.Hours)
	shown := evidence(f, now)
	d.Assessment = assess(f, &d, o, m, t, shown, now, free)
	return site.Listing{
		Item: site.ServiceListItem{
			Slug: d.Slug, Name: d.Name, Description: d.Description, BaseURL: d.BaseURL, WebsiteURL: d.WebsiteURL,
			Category: d.Category, Status: d.Status, Verified: d.Verified, EndpointCount: d.EndpointCount,
			MinPriceUSD: d.MinPriceUSD, Networks: d.Networks, Uptime24h: d.Uptime24h, AvgResponseTimeMS: d.AvgResponseTimeMS,
			LastCheckedAt: d.LastCheckedAt, CreatedAt: d.CreatedAt,
		},
		Detail: d, Uptime: uptimePoints(f, now), Checks: serviceLog(f, now), Changes: changes(f), Terms: termsOf(f, shown, now),
		Evidence: evidenceOf(f, shown, now),
	}
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
func assess(f *postgres.ServiceFacts, d *site.ServiceDetail, o offer, m *market, t site.Traction, shown []x402.Evidence, now time.Time, free site.FreeHosts) site.Assessment {
	a := site.Assessment{
		UpdatedAt: timeOrNull(newestFact(f, &t)),
		Reliability: site.Reliability{
			Uptime:        site.ReliabilityUptime{H24: d.Uptime.H24, D7: d.Uptime.D7, D30: d.Uptime.D30, D90: d.Uptime.D90},
			ResponseP95MS: responseP95(f.Days), AvgResponseMS: d.AvgResponseTimeMS,
			LastCheckedAt: d.LastCheckedAt, ConsecutiveFailures: d.ConsecutiveFailures, TotalChecks: d.TotalChecks,
		},
		Compliance: compliance(f, shown, now),
		Site:       siteFacts(f),
		Domain:     domainFacts(f, now, free),
		Economics:  m.economics(f, o, now),
		Traction:   t,
	}
	synthesize(f, &a, shown, now)
	a.Risk = risk(f, d, a, m, o, now)
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
func requirement(p postgres.Price) x402.Requirement {
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
