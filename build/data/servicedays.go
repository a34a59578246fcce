package data

import (
	"maps"
	"slices"
	"strconv"

	"tollbook/site"
)

// serviceDaysHeader has the names that the columns have in the API.
const serviceDaysHeader = "date,uptime_percentage,avg_response_time_ms,total_checks,successful_checks,min_price_usd," +
	"max_price_usd,volume_usd,tx_count,unique_buyers\r\n"

// serviceDay contains what the series say of a UTC day; nil for what they do not.
type serviceDay struct {
	score  *site.ScorePoint
	uptime *site.UptimeDataPoint
	price  *site.PricePoint
	volume *site.VolumePoint
	buyers *site.BuyersPoint
}

// AppendServiceDays appends the table of a service: a row for each UTC day with a point in a series, oldest first. A
// value that is not known or that a series leaves out is empty. Prices are those of the last point, because its series
// leaves out days that are like the day before. volume contains all days.
func AppendServiceDays(b []byte, l *site.Listing, volume []site.VolumePoint) []byte {
	byDate := map[string]*serviceDay{}
	of := func(date string) *serviceDay {
		if byDate[date] == nil {
			byDate[date] = new(serviceDay)
		}
		return byDate[date]
	}
	for i := range l.Scores {
		of(l.Scores[i].Date).score = &l.Scores[i]
	}
	for i := range l.Uptime {
		of(l.Uptime[i].PeriodStart.Day()).uptime = &l.Uptime[i]
	}
	for i := range l.Prices {
		of(l.Prices[i].Date).price = &l.Prices[i]
	}
	for i := range volume {
		of(volume[i].Date).volume = &volume[i]
	}
	for i := range l.Buyers {
		of(l.Buyers[i].Date).buyers = &l.Buyers[i]
	}
	b = append(b, serviceDaysHeader...)
	var price *site.PricePoint
	for _, date := range slices.Sorted(maps.Keys(byDate)) {
		d := byDate[date]
		if d.price == nil {
			d.price = price
		}
		price = d.price
		b = d.append(append(b, date...))
	}
	return b
}

// append appends the values of a day and the end of its row.
func (d *serviceDay) append(b []byte) []byte {
	if d.score != nil {
		b = strconv.AppendFloat(append(b, ','), d.score.UptimePercentage, 'f', -1, 64)
		b = append(b, ',')
		if ms := d.score.AvgResponseTimeMS; ms != nil {
			b = strconv.AppendInt(b, int64(*ms), 10)
		}
	} else {
		b = append(b, ",,"...)
	}
	if d.uptime != nil {
		b = strconv.AppendInt(append(b, ','), d.uptime.TotalChecks, 10)
		b = strconv.AppendInt(append(b, ','), d.uptime.SuccessfulChecks, 10)
	} else {
		b = append(b, ",,"...)
	}
	if d.price != nil {
		b = appendDecimal(append(b, ','), d.price.MinPriceUSD)
		b = appendDecimal(append(b, ','), d.price.MaxPriceUSD)
	} else {
		b = append(b, ",,"...)
	}
	if d.volume != nil {
		b = appendDecimal(append(b, ','), &d.volume.VolumeUSD)
		b = strconv.AppendInt(append(b, ','), d.volume.TxCount, 10)
	} else {
		b = append(b, ",,"...)
	}
	b = append(b, ',')
	if d.buyers != nil {
		b = strconv.AppendInt(b, d.buyers.UniqueBuyers, 10)
	}
	return append(b, "\r\n"...)
}

func appendDecimal(b []byte, d *site.Decimal) []byte {
	if d == nil {
		return b
	}
	return append(b, *d...)
}
