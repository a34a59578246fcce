package build

import (
	"cmp"
	"slices"
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
)

// earning is what one service was paid at its recipients while they were its own. Where it shares one, volumes are its
// part and numbers are whole.
type earning struct {
	whole7, whole30 usd // of its recipients, undivided
	part30, partAll usd
	count30         int64
	countAll        int64
	via             []viaPart // of 30 days, by id
	days            []dayPart // oldest first
	first, last     time.Time // settlements; zero without
}

type viaPart struct {
	facilitator string
	usd         usd
	count       int64
}

type dayPart struct {
	day   int // UTC days since 1970
	usd   usd
	count int64
}

// dollarsAt is an amount as site/postgres told it: always plain digits.
func dollarsAt(s string) usd {
	u, err := parseUSD(s)
	if err != nil {
		return usd{}
	}
	return u
}

// earnings divides what recipients took among the services that are paid there. A recipient's volume of a stretch of days
// on which the same services hold it is divided by their number, to the micro-dollar: see usd.part, by slug. So are the 30
// days and all days; of single days, and of facilitators within the 30, each service has what its part of the running sum
// grows by, so that they sum to its whole and to everybody's.
func (p *payouts) earnings(t *postgres.Takings, services int, now time.Time) []earning {
	list := make([]earning, services)
	if t == nil {
		return list
	}
	today := dayNumber(now)
	for i := range t.Payees {
		payee := &t.Payees[i]
		holders := p.holders[recipient{payee.Network, payee.Address}]
		for parts := payee.Days; len(parts) > 0; {
			holders = slices.DeleteFunc(slices.Clone(holders), func(h held) bool { return !h.until.IsZero() && h.until.Before(parts[0].Day) })
			n := 1
			for n < len(parts) && !slices.ContainsFunc(holders, func(h held) bool { return !h.until.IsZero() && h.until.Before(parts[n].Day) }) {
				n++
			}
			s := sumStretch(parts[:n], today)
			for place, h := range holders {
				list[h.service].take(s, payee.FirstAt, place, len(holders))
			}
			parts = parts[n:]
		}
	}
	return list
}

func dayNumber(t time.Time) int { return int(t.Unix() / (24 * 60 * 60)) }

// stretch is some days of a recipient on which the same services hold it.
type stretch struct {
	seven, thirty, all usd
	count30, countAll  int64
	days               []dayPart // amounts are running sums
	via                []viaPart // of those among the last 30 days, by id; amounts are running sums
	last               time.Time
}

func sumStretch(parts []postgres.TakingDay, today int) *stretch {
	s := &stretch{days: make([]dayPart, 0, len(parts))}
	for i := range parts {
		d := &parts[i]
		amount, day := dollarsAt(d.USD), dayNumber(d.Day)
		s.all.add(amount)
		s.countAll += d.Settlements
		if n := len(s.days); n > 0 && s.days[n-1].day == day {
			s.days[n-1].usd = s.all
			s.days[n-1].count += d.Settlements
		} else {
			s.days = append(s.days, dayPart{day, s.all, d.Settlements})
		}
		if d.LastAt.After(s.last) {
			s.last = d.LastAt
		}
		if today-day >= site.WindowDays["30d"] {
			continue
		}
		s.thirty.add(amount)
		s.count30 += d.Settlements
		if today-day < site.WindowDays["7d"] {
			s.seven.add(amount)
		}
		s.via = addVia(s.via, viaPart{d.Facilitator, amount, d.Settlements})
	}
	var sum usd
	for i := range s.via {
		sum.add(s.via[i].usd)
		s.via[i].usd = sum
	}
	return s
}

// addVia keeps a list by id.
func addVia(list []viaPart, v viaPart) []viaPart {
	i, found := slices.BinarySearchFunc(list, v.facilitator, func(o viaPart, id string) int { return cmp.Compare(o.facilitator, id) })
	if !found {
		return slices.Insert(list, i, v)
	}
	list[i].usd.add(v.usd)
	list[i].count += v.count
	return list
}

// take adds a stretch of a recipient that began to take at first, held by n services, of which e's is at place.
func (e *earning) take(s *stretch, first time.Time, place, n int) {
	e.whole7.add(s.seven)
	e.whole30.add(s.thirty)
	e.part30.add(s.thirty.part(place, n))
	e.partAll.add(s.all.part(place, n))
	e.count30 += s.count30
	e.countAll += s.countAll
	if e.first.IsZero() || first.Before(e.first) {
		e.first = first
	}
	if s.last.After(e.last) {
		e.last = s.last
	}
	days := make([]dayPart, len(s.days))
	var before usd
	for i, d := range s.days {
		after := d.usd.part(place, n)
		days[i] = dayPart{d.day, after.less(before), d.count}
		before = after
	}
	e.days = mergeDays(e.days, days)
	before = usd{}
	for _, v := range s.via {
		after := v.usd.part(place, n)
		e.via = addVia(e.via, viaPart{v.facilitator, after.less(before), v.count})
		before = after
	}
}

// mergeDays adds two series, both oldest first.
func mergeDays(a, b []dayPart) []dayPart {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	out := make([]dayPart, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].day < b[0].day:
			out, a = append(out, a[0]), a[1:]
		case b[0].day < a[0].day:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, dayPart{a[0].day, a[0].usd.plus(b[0].usd), a[0].count + b[0].count})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// volume is a point for each UTC day with a settlement, oldest first; date names days.
func (e *earning) volume(date func(day int) string) []site.VolumePoint {
	points := make([]site.VolumePoint, len(e.days))
	for i, d := range e.days {
		points[i] = site.VolumePoint{Date: date(d.day), VolumeUSD: d.usd.decimal(), TxCount: d.count}
	}
	return points
}

// settledVia are the facilitators of 30 days, largest volume first, then by id.
func (e *earning) settledVia() []site.SettledVia {
	list := make([]site.SettledVia, len(e.via))
	for i, v := range e.via {
		list[i] = site.SettledVia{ID: v.facilitator, VolumeUSD30d: v.usd.decimal(), TxCount30d: v.count}
	}
	slices.SortStableFunc(list, func(a, b site.SettledVia) int { return b.VolumeUSD30d.Compare(a.VolumeUSD30d) })
	return list
}
