package judge

import (
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// readyFor is how long one usable 402 makes a service ready to be paid; vouchedFor how long one proof makes it
// verified.
const (
	readyFor    = 7 * 24 * time.Hour
	verifiedFor = 30 * 24 * time.Hour
)

// serviceInput is everything that one service is judged by, beside the moment.
type serviceInput struct {
	Source, BaseURL string // of the directory
	Facts           *postgres.ServiceFacts
	Item            site.ServiceListItem // as list judged it, with what is known of the detail by then
	Detail          site.ServiceDetail
	Day             *checkCounter // of the window of 24h
	Offer           *offer
	Rank            priceRank
	FreeHost        bool
	Traction        site.Traction
	Volume          []site.VolumePoint
	OlderVolume     olderVolume
	Buyers          []site.BuyersPoint
}

// input collects what the ith service is judged by. Its details must have been read.
func (d *Directory) input(i int) *serviceInput {
	f := &d.facts.Services[i]
	o := newOffer(f, d.options.Now)
	b := &serviceInput{
		Source: d.facts.Source, BaseURL: d.options.BaseURL, Facts: f, Day: &d.hours.services[i], Offer: &o,
		Rank: d.market.rank(f.Category, &o), FreeHost: d.options.FreeHosts.Has(hostname(f.BaseURL)),
		Traction: d.revenue.traction(i),
	}
	b.Item, b.Detail = newItem(f, &o, &d.hours.services[i], d.options.Now)
	b.Volume, b.OlderVolume, b.Buyers = d.revenue.series(i)
	return b
}

// judgeService judges all of a service.
func judgeService(b *serviceInput, now time.Time) site.Listing {
	f, d := b.Facts, b.Detail
	d.TotalChecks, d.PayToChanges = f.TotalChecks, findPayToChanges(f)
	d.Provenance, d.Uptime = newProvenance(f, b.Source, b.BaseURL), uptimeWindows(f, b.Day, now)
	shown := activeCaptures(f, now)
	got := judgeCompliance(f, shown)
	d.Assessment = newAssessment(b, &d, shown, got, now)
	l := site.Listing{Item: b.Item, Trend: site.TrendOf(&b.Traction), ListingDetail: &site.ListingDetail{
		Detail: d, Changes: serviceChanges(f), Terms: newTerms(f, listReasons(f, shown, got, now), now),
		ServiceFiles: &site.ServiceFiles{
			Uptime: newUptimePoints(f, now), Checks: serviceLog(f), Evidence: newEvidence(f, got, now),
			ChangeLogs: serviceChangeLogs(f),
			Prices:     newPricePoints(f), Scores: newScorePoints(f), Volume: b.Volume, Buyers: b.Buyers,
		},
	}}
	if b.OlderVolume.any() {
		l.OlderVolume = b.OlderVolume.points
	}
	return l
}

// newItem judges a service by what is known of it without its details.
func newItem(f *postgres.ServiceFacts, o *offer, day *checkCounter, now time.Time) (site.ServiceListItem, site.ServiceDetail) {
	d := site.ServiceDetail{
		Slug: f.Slug, Name: f.Name, Description: f.Description, BaseURL: f.BaseURL, WebsiteURL: f.WebsiteURL,
		Category: f.Category, Source: f.Source, CreatedAt: site.NewTime(f.CreatedAt),
		Status:        serviceStatus(&f.Service, now),
		LastCheckedAt: timeOrNull(f.LastCheckedAt), LastSuccessAt: timeOrNull(f.LastSuccessAt),
		ConsecutiveFailures:  f.ConsecutiveFailures,
		CheckIntervalMinutes: max(1, int(f.CheckInterval/time.Minute)),
		Endpoints:            o.endpoints, EndpointCount: len(o.endpoints),
		MinPriceUSD: o.min, Networks: o.networks, NetworksCAIP2: o.networksCAIP2, Asset: o.asset,
	}
	d.Verified, d.VerifiedUntil = validUntil(f.VerifiedAt, verifiedFor, now)
	d.PaymentReady, d.PaymentReadyUntil = validUntil(f.LastSuccessAt, readyFor, now)
	d.Uptime24h, d.AvgResponseTimeMS = day.percentOrNull(), day.average()
	return site.ServiceListItem{
		Slug: d.Slug, Name: d.Name, Description: d.Description, BaseURL: d.BaseURL, WebsiteURL: d.WebsiteURL,
		Category: d.Category, Status: d.Status, Verified: d.Verified, EndpointCount: d.EndpointCount,
		MinPriceUSD: d.MinPriceUSD, Networks: d.Networks, Uptime24h: d.Uptime24h,
		AvgResponseTimeMS: d.AvgResponseTimeMS,
		LastCheckedAt:     d.LastCheckedAt, CreatedAt: d.CreatedAt,
	}, d
}

// validUntil is what holds for a span after it was last seen: whether it does now, and until when; null when it was
// never seen. A usable 402 makes a service payment_ready for readyFor, a proof of control makes it verified for
// vouchedFor.
func validUntil(seen *time.Time, span time.Duration, now time.Time) (bool, *site.Time) {
	if seen == nil {
		return false, nil
	}
	until := seen.Add(span)
	return until.After(now), site.TimeOrNull(until)
}

// offlineAfter is how many conclusive offline visits in a row make a service offline.
const offlineAfter = 3

// serviceStatus is a service's state: unknown never checked conclusively or not within three intervals (an hour at
// least); offline after three offline visits or more in a row; degraded when the last visit was degraded, or offline
// for fewer than three; else online.
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

// statusAfterCheck is a service's state right after a conclusive visit: offline when it is the offlineAfter-th offline
// one in a row or more; degraded when it is degraded, or offline for fewer; else online.
func statusAfterCheck(check string, consecutiveFailures int) string {
	switch {
	case check == site.StatusOffline && consecutiveFailures >= offlineAfter:
		return site.StatusOffline
	case check == site.StatusOffline || check == site.StatusDegraded:
		return site.StatusDegraded
	}
	return site.StatusOnline
}

// newAssessment puts the parts of an assessment together. Its time is that of the newest fact behind it.
func newAssessment(b *serviceInput, d *site.ServiceDetail, shown []x402.Evidence, got complianceResult, now time.Time) site.Assessment {
	f := b.Facts
	a := site.Assessment{
		UpdatedAt: timeOrNull(newestFact(f, &b.Traction)),
		Reliability: site.Reliability{
			Uptime: site.ReliabilityUptime{H24: d.Uptime.H24, D7: d.Uptime.D7, D30: d.Uptime.D30,
				D90: d.Uptime.D90},
			ResponseP95MS: responseP95(f.Days), AvgResponseMS: d.AvgResponseTimeMS,
			LastCheckedAt: d.LastCheckedAt, ConsecutiveFailures: d.ConsecutiveFailures, TotalChecks: d.TotalChecks,
		},
		Compliance: newCompliance(f, got, now),
		Site:       newSiteFacts(f),
		Domain:     newDomainFacts(f, b.FreeHost, now),
		Economics:  newEconomics(f, b.Offer, b.Rank, now),
		Traction:   b.Traction,
	}
	addSynthesis(f, &a, shown, now)
	a.Risk = newRisk(b, d, a, now)
	return a
}

// newProvenance says where the record comes from. A directory of made-up data says so in every record.
func newProvenance(f *postgres.ServiceFacts, source, baseURL string) site.Provenance {
	from := "probed by Tollbook; listing " + f.Source
	if source != "" {
		from = source
	}
	return site.Provenance{
		License: "CC-BY-4.0", AttributionRequired: true,
		Attribution: "Tollbook, " + baseURL,
		CiteAs:      baseURL + "/" + site.Query{Route: site.ByName("service-page"), Slug: f.Slug, Bare: true}.Key(),
		Source:      from,
	}
}

func timeOrNull(t *time.Time) *site.Time {
	if t == nil {
		return nil
	}
	return site.TimeOrNull(*t)
}

// newRequirement is a kept price as the protocol's reader would answer it.
func newRequirement(p *postgres.Price) x402.Requirement {
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
