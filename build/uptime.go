package build

import (
	"time"

	"tollbook/site"
)

// writeUptime writes the days of each period. Those of a shorter period are the newest of a longer one.
func writeUptime(l *site.Listing, today time.Time, put addFunc) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	rows, used, err := site.RowsOf((*buffer)[:0], l.Uptime)
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
		days := lastDays(l.Uptime, of.Text("period"), today)
		shown := rows[len(rows)-len(days):]
		err := addFile(of.Key(), put, func(b []byte) ([]byte, error) { return site.AppendList(b, shown), nil })
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
