package build

import (
	"fmt"
	"time"

	"tollbook/build/data"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
)

// Caveats of the series of prices and scores.
const (
	priceCaveat = "Counted prices in dollars of the endpoints that are active now; other prices count as changes " +
		"only. Days without a point are like the last point before them, which may be older than the period. Prices " +
		"are those that visits found: a price that lasted only between two visits is missing."
	scoreCaveat = "Uptime is of the day's known time, response time of its counted checks, price_stability is of the 30 days that " +
		"end with the day. Grade, risk, lowest price and response_p95_ms are what was published last on the day; " +
		"they are null for days on which nothing was recorded."
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
	return fmt.Sprintf("Accounts that paid in a UTC day, for the last %d days. An account counts once a day, on all "+
		"networks together. One person may pay from several accounts. %s", site.BuyersDays, t.Caveat)
}

// writeSeries writes the series of a service, each as one file with all its history, and all of them as one table.
func writeSeries(l *site.Listing, put addFunc) error {
	if err := addSeries("price", l.Item.Slug, l.Prices, priceCaveat, put); err != nil {
		return err
	}
	if err := addSeries("scores", l.Item.Slug, l.Scores, scoreCaveat, put); err != nil {
		return err
	}
	volume, err := l.AllVolume()
	if err != nil {
		return err
	}
	if err := addSeries("volume", l.Item.Slug, volume, volumeCaveat(&l.Detail.Assessment.Traction), put); err != nil {
		return err
	}
	if err := addSeries("buyers", l.Item.Slug, l.Buyers, buyersCaveat(&l.Detail.Assessment.Traction), put); err != nil {
		return err
	}
	return addFile(routes.DaysKey(l.Item.Slug), put, func(b []byte) ([]byte, error) {
		return data.AppendServiceDays(b, l, volume), nil
	})
}

// addSeries adds one series.
func addSeries[T any](route, slug string, points []T, caveat string, put addFunc) error {
	q := bare(route, slug).Untrimmed()
	return addFile(q.Key(), put, func(b []byte) ([]byte, error) {
		return encode.AppendFramed(b, q.Route.Framing, points, caveat)
	})
}

// writeUptime writes the days of each period. Those of a shorter period are the newest of a longer one.
func writeUptime(l *site.Listing, today time.Time, put addFunc) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	rows, used, err := encode.RowsOf((*buffer)[:0], l.Uptime)
	if err != nil {
		return err
	}
	*buffer = used
	q := bare("uptime", l.Item.Slug)
	for _, period := range append([]string{""}, q.Route.Param("period").Values...) {
		of := q
		if period != "" {
			of = q.With("period", period)
		}
		last := lastDays(l.Uptime, of.Text("period"), today)
		shown := rows[len(rows)-len(last):]
		err := addFile(of.Key(), put, func(b []byte) ([]byte, error) { return encode.AppendList(b, shown), nil })
		if err != nil {
			return err
		}
	}
	return nil
}

// lastDays returns the points of a period. Those of 24h are the UTC days that the last 24 hours touch: today and the
// day before.
func lastDays(points []site.UptimeDataPoint, period string, today time.Time) []site.UptimeDataPoint {
	from := today.AddDate(0, 0, 1-site.WindowDays[period])
	if period == "24h" {
		from = today.AddDate(0, 0, -1)
	}
	for i, p := range points {
		if !p.PeriodStart.Before(from) {
			return points[i:]
		}
	}
	return nil
}
