package build

import (
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
)

// serviceInput is everything that one service is judged by, beside the moment.
type serviceInput struct {
	Source, BaseURL string // of the directory
	Facts           *postgres.ServiceFacts
	Item            site.ServiceListItem // as list judged it, with what is known of the detail by then
	Detail          site.ServiceDetail
	Day             *tally // of the window of 24h
	Offer           *offer
	Standing        standing
	FreeHost        bool
	Traction        site.Traction
	Volume          []site.VolumePoint
	Older           olderVolume
	Buyers          []site.BuyersPoint
}

// input collects what the ith service is judged by. Its details must have been read.
func (j *judgment) input(i int) *serviceInput {
	f := &j.facts.Services[i]
	o := offerOf(f, j.now)
	b := &serviceInput{
		Source: j.facts.Source, BaseURL: j.baseURL, Facts: f, Day: &j.hours.days[i], Offer: &o,
		Standing: j.market.standing(f.Category, &o), FreeHost: j.free.Has(hostOf(f.BaseURL)), Traction: j.settled.traction(i),
	}
	b.Item, b.Detail = list(f, &o, &j.hours.days[i], j.now)
	b.Volume, b.Older, b.Buyers = j.settled.series(i)
	return b
}

// complete judges all of a service.
func complete(b *serviceInput, now time.Time) site.Listing {
	f, d := b.Facts, b.Detail
	d.TotalChecks, d.PayToChanges = f.TotalChecks, payToChanges(f)
	d.Provenance, d.Uptime = provenance(f, b.Source, b.BaseURL), uptime(f, b.Day, now)
	shown := evidence(f, now)
	got := judge(f, shown)
	d.Assessment = assess(b, &d, shown, got, now)
	l := site.Listing{Item: b.Item, Trend: site.TrendOf(&b.Traction), Known: &site.Known{
		Detail: d, Changes: changes(f), Terms: termsOf(f, reasons(f, shown, got, now), now),
		Own: &site.Own{
			Uptime: uptimePoints(f, now), Checks: serviceLog(f), Evidence: evidenceOf(f, got, now), ChangeLogs: serviceChangeLogs(f),
			Prices: pricePoints(f), Scores: scorePoints(f), Volume: b.Volume, Buyers: b.Buyers,
		},
	}}
	if b.Older.any() {
		l.OlderVolume = b.Older.points
	}
	return l
}
