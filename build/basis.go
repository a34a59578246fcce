package build

import (
	"tollbook/render"
	"tollbook/site"
	"tollbook/site/postgres"
)

// basis is all that the files of one service are made of, beside the clock and what the files of every service show
// (render.Shown). complete and serviceFiles are given nothing else, so that a service whose basis is as it was has the files
// that it had. What is added here is added to its digest.
type basis struct {
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
	Peers           []render.Peer
}

// basis collects what the files of the ith service are made of, whose details are there. Its peers are the edition's to tell.
func (j *judgment) basis(i int) *basis {
	f := &j.facts.Services[i]
	o := offerOf(f, j.now)
	b := &basis{
		Source: j.facts.Source, BaseURL: j.baseURL, Facts: f, Day: &j.hours.days[i], Offer: &o,
		Standing: j.market.standing(f.Category, &o), FreeHost: j.free.Has(hostOf(f.BaseURL)), Traction: j.settled.traction(i),
	}
	b.Item, b.Detail = list(f, &o, &j.hours.days[i], j.now)
	b.Volume, b.Older, b.Buyers = j.settled.series(i)
	return b
}

// complete judges all of a service.
func complete(b *basis, c *clock) site.Listing {
	f, d := b.Facts, b.Detail
	d.TotalChecks, d.PayToChanges, d.Provenance, d.Uptime = f.TotalChecks, payToChanges(f), provenance(f, b.Source, b.BaseURL), uptime(f, b.Day, c)
	shown := evidence(f, c)
	got := judge(f, shown)
	d.Assessment = assess(b, &d, shown, got, c)
	l := site.Listing{Item: b.Item, Known: &site.Known{
		Detail: d, Changes: changes(f), Terms: termsOf(f, reasons(f, shown, got, c), c),
		Own: &site.Own{
			Uptime: uptimePoints(f, c), Checks: serviceLog(f), Evidence: evidenceOf(f, got, c), ChangeLogs: serviceChangeLogs(f),
			Prices: pricePoints(f), Scores: scorePoints(f), Volume: b.Volume, Buyers: b.Buyers,
		},
	}}
	if b.Older.any() {
		l.OlderVolume = b.Older.points
	}
	return l
}
