package judge

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"tollbook/site"
	"tollbook/site/postgres/ledger"
)

// earning is what one service was paid at its recipients while they were its own. Where it shares one, volumes are its
// part and numbers are whole.
type earning struct {
	whole7, whole30 usd // of its recipients, undivided
	part30, partAll usd
	count30         int64
	countAll        int64
	via             []viaPart // of 30 days, by id
	days            []dayPart // oldest first: of the window, and before it of recipients that somebody stopped holding before it
	past            []pastPart
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

// earnings divides what recipients took among the services that are paid there. A recipient's volume of a stretch of
// days on which the same services hold it is divided by their number, to the micro-dollar: see usd.part, by slug. So
// are the 30 days and all days; of single days, and of facilitators within the 30, each service has what its part of
// the running sum grows by, so that they sum to its whole and to everybody's.
func (p *payouts) earnings(t *ledger.Takings, services int, now time.Time) []earning {
	list := make([]earning, services)
	if t == nil {
		return list
	}
	today := dayNumber(now)
	for i := range t.Payees {
		payee := &t.Payees[i]
		holders := p.holders[recipient{payee.Network, payee.Address}]
		before := dayPart{usd: dollarsAt(payee.Before.USD), count: payee.Before.Settlements}
		parts := stretches(payee.Days, before, holders, today)
		if before.count > 0 { // no holder stops before the window, so that it is the first stretch's
			if len(parts) == 1 {
				parts[0].last = payee.LastAt
			}
			shared := &past{payee: *payee, holders: len(parts[0].holders)}
			shared.payee.Days = nil // nothing asks for them, and the past is kept until it is written
			for place, h := range parts[0].holders {
				list[h.service].past = append(list[h.service].past, pastPart{shared, place})
			}
		}
		for _, s := range parts {
			for place, h := range s.holders {
				list[h.service].take(s, payee.FirstAt, place, len(s.holders))
			}
		}
	}
	return list
}

func dayNumber(t time.Time) int { return int(t.Unix() / (24 * 60 * 60)) }

// stretch is some days of a recipient on which the same services hold it.
type stretch struct {
	holders            []held
	seven, thirty, all usd
	count30, countAll  int64
	before             usd       // of all, what came before days
	days               []dayPart // amounts are running sums
	via                []viaPart // of those among the last 30 days, by id; amounts are running sums
	last               time.Time
}

// stretches cuts the days of a recipient where a holder of it stops to be one. What came before them is of the first.
func stretches(parts []ledger.TakingDay, before dayPart, holders []held, today int) []*stretch {
	var list []*stretch
	for len(parts) > 0 || before.count > 0 {
		if len(parts) > 0 && before.count == 0 {
			holders = slices.DeleteFunc(slices.Clone(holders), func(h held) bool { return !h.until.IsZero() && h.until.Before(parts[0].Day) })
		}
		n := 0
		for n < len(parts) && !slices.ContainsFunc(holders, func(h held) bool { return !h.until.IsZero() && h.until.Before(parts[n].Day) }) {
			n++
		}
		s := sumStretch(parts[:n], before, today)
		s.holders = holders
		list = append(list, s)
		parts, before = parts[n:], dayPart{}
	}
	return list
}

func sumStretch(parts []ledger.TakingDay, before dayPart, today int) *stretch {
	s := &stretch{days: make([]dayPart, 0, len(parts)), before: before.usd, all: before.usd, countAll: before.count}
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
	e.days = mergeDays(e.days, s.daysOf(place, n))
	var before usd
	for _, v := range s.via {
		after := v.usd.part(place, n)
		e.via = addVia(e.via, viaPart{v.facilitator, after.less(before), v.count})
		before = after
	}
}

// daysOf are the parts of one of n holders.
func (s *stretch) daysOf(place, n int) []dayPart {
	days := make([]dayPart, len(s.days))
	before := s.before.part(place, n)
	for i, d := range s.days {
		after := d.usd.part(place, n)
		days[i] = dayPart{d.day, after.less(before), d.count}
		before = after
	}
	return days
}

// past is what a recipient took before the window, while the same services held it. It is unfolded where it is shown;
// of a recipient that several hold, once.
type past struct {
	payee   ledger.PayeeFacts
	holders int

	once sync.Once
	sums *stretch
	err  error
}

// pastPart is one holder's.
type pastPart struct {
	*past
	place int
}

func (p *past) read() {
	days, err := p.payee.Past()
	p.sums, p.err = sumStretch(days, dayPart{}, 1<<30), err
}

func (p pastPart) days() ([]dayPart, error) {
	of := p.past
	if p.holders > 1 {
		of.once.Do(of.read)
	} else {
		of = &past{payee: p.payee}
		of.read()
	}
	if of.err != nil {
		return nil, of.err
	}
	return of.sums.daysOf(p.place, p.holders), nil
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

// volume is a point for each UTC day from the first on with a settlement, oldest first; older makes the points before
// them, which are as many as history has days.
func (e *earning) volume(first int, names dayNames) (points []site.VolumePoint, older olderVolume) {
	n, _ := slices.BinarySearchFunc(e.days, first, func(d dayPart, first int) int { return cmp.Compare(d.day, first) })
	return volumePoints(e.days[n:], names), olderVolume{slices.Clone(e.days[:n]), e.past}
}

// olderVolume is what the days before those of a series are made of.
type olderVolume struct {
	days []dayPart
	past []pastPart
}

func (o olderVolume) any() bool { return len(o.days) > 0 || len(o.past) > 0 }

// points are as many as history has days.
func (o olderVolume) points() ([]site.VolumePoint, error) {
	all := o.days
	for _, p := range o.past {
		part, err := p.days()
		if err != nil {
			return nil, err
		}
		all = mergeDays(all, part)
	}
	return volumePoints(all, nil), nil
}

func volumePoints(days []dayPart, names dayNames) []site.VolumePoint {
	points := make([]site.VolumePoint, len(days))
	for i, d := range days {
		points[i] = site.VolumePoint{Date: names.of(d.day), VolumeUSD: d.usd.decimal(), TxCount: d.count}
	}
	return points
}

// dayNames are dates of days that are often named.
type dayNames map[int]string

func newDayNames(now time.Time) dayNames {
	names := dayNames{}
	for day := range site.SeriesDays {
		names[dayNumber(now)-day] = names.of(dayNumber(now) - day)
	}
	return names
}

func (n dayNames) of(day int) string {
	if name, known := n[day]; known {
		return name
	}
	return time.Unix(int64(day)*24*60*60, 0).UTC().Format(time.DateOnly)
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
