package build

import (
	"cmp"
	"maps"
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
	via             map[string]*viaPart // of 30 days, by facilitator
	days            map[int64]*dayPart  // by UTC day since 1970
	first, last     time.Time           // settlements; zero without
}

type viaPart struct {
	usd   usd
	count int64
}

type dayPart struct {
	usd   usd
	count int64
}

// dollarsAt is an amount as site/postgres told it: always plain digits.
func dollarsAt(s string) *usd {
	u, err := parseUSD(s)
	if err != nil {
		return &usd{}
	}
	return u
}

// earnings divides what recipients took among the services that are paid there. A recipient's volume of a stretch of days
// on which the same services hold it is divided by their number, to the micro-dollar: see usd.part, by slug. So are the 30
// days and all days; of single days, and of facilitators within the 30, each service has what its part of the running sum
// grows by, so that they sum to its whole and to everybody's.
func (p *payouts) earnings(t *postgres.Takings, services int, now time.Time) []earning {
	list := make([]earning, services)
	for i := range list {
		list[i].via, list[i].days = map[string]*viaPart{}, map[int64]*dayPart{}
	}
	if t == nil {
		return list
	}
	today := now.UTC().Truncate(24 * time.Hour)
	for i := range t.Payees {
		payee := &t.Payees[i]
		holders := p.holders[recipient{payee.Network, payee.Address}]
		for days := payee.Parts; len(days) > 0; {
			holders = slices.DeleteFunc(slices.Clone(holders), func(h held) bool { return !h.until.IsZero() && h.until.Before(days[0].Day) })
			n := 1
			for n < len(days) && !slices.ContainsFunc(holders, func(h held) bool { return !h.until.IsZero() && h.until.Before(days[n].Day) }) {
				n++
			}
			s := sumStretch(days[:n], today)
			for place, h := range holders {
				list[h.service].take(s, payee.FirstAt, place, len(holders))
			}
			days = days[n:]
		}
	}
	return list
}

// stretch is some days of a recipient on which the same services hold it.
type stretch struct {
	days          []stretchDay
	seven, thirty usd
	all           usd
	count30       int64
	countAll      int64
	via           []stretchVia // of those among the last 30 days, by id
	last          time.Time
}

type stretchDay struct {
	day           time.Time
	before, after usd // running sums
	count         int64
}

type stretchVia struct {
	facilitator   string
	before, after usd // running sums
	count         int64
}

func sumStretch(days []postgres.TakingPart, today time.Time) *stretch {
	s := &stretch{last: days[len(days)-1].LastAt}
	month, week := today.AddDate(0, 0, 1-site.WindowDays["30d"]), today.AddDate(0, 0, 1-site.WindowDays["7d"])
	via := map[string]*viaPart{}
	for _, d := range days {
		amount := dollarsAt(d.USD)
		if n := len(s.days); n == 0 || !s.days[n-1].day.Equal(d.Day) {
			next := stretchDay{day: d.Day}
			next.before.add(&s.all)
			s.days = append(s.days, next)
		}
		s.all.add(amount)
		s.countAll += d.Settlements
		of := &s.days[len(s.days)-1]
		of.after.add(s.all.less(&of.after))
		of.count += d.Settlements
		if d.LastAt.After(s.last) {
			s.last = d.LastAt
		}
		if d.Day.Before(month) {
			continue
		}
		s.thirty.add(amount)
		s.count30 += d.Settlements
		if !d.Day.Before(week) {
			s.seven.add(amount)
		}
		v := via[d.Facilitator]
		if v == nil {
			v = &viaPart{}
			via[d.Facilitator] = v
		}
		v.usd.add(amount)
		v.count += d.Settlements
	}
	var sum usd
	for _, id := range slices.Sorted(maps.Keys(via)) {
		next := stretchVia{facilitator: id, count: via[id].count}
		next.before.add(&sum)
		sum.add(&via[id].usd)
		next.after.add(&sum)
		s.via = append(s.via, next)
	}
	return s
}

// take adds a stretch of a recipient that began to take at first, held by n services, of which e's is at place.
func (e *earning) take(s *stretch, first time.Time, place, n int) {
	e.whole7.add(&s.seven)
	e.whole30.add(&s.thirty)
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
	for i := range s.days {
		d := &s.days[i]
		number := d.day.Unix() / (24 * 60 * 60)
		of := e.days[number]
		if of == nil {
			of = &dayPart{}
			e.days[number] = of
		}
		of.usd.add(d.after.part(place, n).less(d.before.part(place, n)))
		of.count += d.count
	}
	for i := range s.via {
		v := &s.via[i]
		of := e.via[v.facilitator]
		if of == nil {
			of = &viaPart{}
			e.via[v.facilitator] = of
		}
		of.usd.add(v.after.part(place, n).less(v.before.part(place, n)))
		of.count += v.count
	}
}

// volume is a point for each UTC day with a settlement, oldest first.
func (e *earning) volume() []site.VolumePoint {
	points := make([]site.VolumePoint, 0, len(e.days))
	for _, number := range slices.Sorted(maps.Keys(e.days)) {
		d := e.days[number]
		day := time.Unix(number*24*60*60, 0).UTC()
		points = append(points, site.VolumePoint{Date: day.Format(time.DateOnly), VolumeUSD: d.usd.decimal(), TxCount: d.count})
	}
	return points
}

// settledVia are the facilitators of 30 days, largest volume first, then by id.
func (e *earning) settledVia() []site.SettledVia {
	list := make([]site.SettledVia, 0, len(e.via))
	for id, v := range e.via {
		list = append(list, site.SettledVia{ID: id, VolumeUSD30d: v.usd.decimal(), TxCount30d: v.count})
	}
	slices.SortFunc(list, func(a, b site.SettledVia) int {
		return cmp.Or(b.VolumeUSD30d.Compare(a.VolumeUSD30d), cmp.Compare(a.ID, b.ID))
	})
	return list
}
