package build

import (
	"fmt"

	"tollbook/site"
)

// Caveats of the series of prices and scores.
const (
	priceCaveat = "Amounts in assets that are known to be worth a dollar each; others count in changes alone. Prices " +
		"are those that were seen by visits: one that came and went between two of them is not here."
	scoreCaveat = "Uptime and response time are those of the day's counted checks, price_stability is of the 30 days " +
		"that end with the day. Grades of compliance and levels of risk are judged as of now alone and have no history."
)

// volumeCaveat returns the caveat of a service's series of volume.
func volumeCaveat(t *site.Traction) string {
	if t.Status != site.TractionMeasured {
		return t.Caveat
	}
	return t.Caveat + " Days are UTC. " + t.AllTimeCaveat
}

// buyersCaveat returns the caveat of a service's series of buyers.
func buyersCaveat(t *site.Traction) string {
	if t.Status != site.TractionMeasured {
		return t.Caveat
	}
	return fmt.Sprintf("Accounts that paid in a UTC day, each once whatever network it paid on; the last %d days. "+
		"One person may pay from many accounts. %s", site.BuyersDays, t.Caveat)
}

// writeSeries writes the series of a service. Each is one file with all its history.
func writeSeries(l *site.Listing, put addFunc) error {
	if err := addSeries("price", l.Item.Slug, l.Prices, priceCaveat, put); err != nil {
		return err
	}
	if err := addSeries("scores", l.Item.Slug, l.Scores, scoreCaveat, put); err != nil {
		return err
	}
	volume := l.Volume
	if l.OlderVolume != nil {
		older, err := l.OlderVolume()
		if err != nil {
			return err
		}
		volume = append(older, volume...)
	}
	if err := addSeries("volume", l.Item.Slug, volume, volumeCaveat(&l.Detail.Assessment.Traction), put); err != nil {
		return err
	}
	return addSeries("buyers", l.Item.Slug, l.Buyers, buyersCaveat(&l.Detail.Assessment.Traction), put)
}

// addSeries adds one series.
func addSeries[T any](route, slug string, points []T, caveat string, put addFunc) error {
	q := bare(route, slug).Untrimmed()
	return addFile(q.Key(), put, func(b []byte) ([]byte, error) {
		return site.AppendFrameOf(b, q.Route.Framing, points, caveat)
	})
}
