package judge

import (
	"cmp"
	"slices"
	"sort"
	"sync"
	"time"

	"tollbook/build/judge/revenue"
	"tollbook/site"
	"tollbook/site/postgres/ledger"
)

// addRevenue is the revenue of a service at its recipients while it owned them. For a shared recipient, the dollars are
// the service's share and the counts are of all settlements.
type addRevenue struct {
	monthSums
	alone           monthSums // of periods in which the recipients belonged to no other operator
	whole7, whole30 usd       // of its recipients in whole UTC days, which end with yesterday, not divided
	shareAll        usd
	countAll        int64
	via             []facilitatorAmount // of 30 days, by ID
	isContested     bool                // several operators divide a part of 30 days
	// oldest first; days before the window are of recipients whose owners changed before it
	days        []dayAmount
	history     []historyShare
	first, last time.Time // settlements; zero without any
}

// monthSums are sums of 30 UTC days, including today.
type monthSums struct {
	total30 usd // of the recipients, not divided
	share30 usd
	count30 int64
}

// add adds a period of a recipient with n owners, of which the service is the one at place.
func (m *monthSums) add(s *period, place, n int) {
	m.total30.add(s.thirty)
	m.share30.add(s.thirty.share(place, n))
	m.count30 += s.count30
}

type facilitatorAmount struct {
	facilitator string
	usd         usd
	count       int64
}

type dayAmount struct {
	day   int // UTC days since 1970
	usd   usd
	count int64
}

// usdOrZero returns an amount from site/postgres, which stores plain digits.
func usdOrZero(s string) usd {
	u, err := parseUSD(s)
	if err != nil {
		return usd{}
	}
	return u
}

// divideRevenue divides the revenue of recipients among their owners. The revenue of a period with the same owners is
// divided equally, to the micro-dollar (see usd.share), in the order of slugs.
//
// Days and facilitators are divided by running sums: a service has the amount by which its share of the sum grows. So
// the days of a service add up to its total, and the shares of all services to the recipient's total.
func (p *ownership) divideRevenue(t *ledger.Revenue, services int, now time.Time) []addRevenue {
	list := make([]addRevenue, services)
	if t == nil {
		return list
	}
	today := dayNumber(now)
	for i := range t.Payees {
		payee := &t.Payees[i]
		parts := splitPeriods(payee.Days, payee.Before, p.owners[recipient{payee.Network, payee.Address}], today)
		if payee.Before.Settlements > 0 { // it belongs to the first period
			shared := &history{recipient: *payee, owners: len(parts[0].owners)}
			shared.recipient.Days = nil // unused, and the history stays in memory until it is written
			for place, h := range parts[0].owners {
				list[h.service].history = append(list[h.service].history, historyShare{shared, place})
			}
		}
		for _, s := range parts {
			p.payments = append(p.payments, s.payments(payee)...)
			for place, h := range s.owners {
				list[h.service].addPeriod(s, place, len(s.owners))
			}
		}
	}
	return list
}

// dayNumber returns the number of UTC days since 1970.
func dayNumber(t time.Time) int { return int(t.Unix() / (24 * 60 * 60)) }

// dayOfNumber returns the UTC day with a number, the zero time for forever.
func dayOfNumber(day int) time.Time {
	if day == forever {
		return time.Time{}
	}
	return time.Unix(int64(day)*24*60*60, 0).UTC()
}

// period is a number of days on which the same services own a recipient.
type period struct {
	owners            []owner
	thirty, all       usd
	whole7, whole30   usd // without today
	count30, countAll int64
	before            usd                 // part of all before days
	days              []dayAmount         // amounts are running sums
	via               []facilitatorAmount // of the last 30 days, by ID; amounts are running sums
	first, last       time.Time
}

// isContested reports whether the owners are of several operators.
func (s *period) isContested() bool {
	return slices.ContainsFunc(s.owners, func(o owner) bool { return o.operator != s.owners[0].operator })
}

// listChanges returns the days on which the owners of a recipient change, sorted.
func listChanges(owners []owner) []int {
	var days []int
	for _, o := range owners {
		days = append(days, o.since)
		if o.until != forever {
			days = append(days, o.until+1)
		}
	}
	slices.Sort(days)
	return slices.Compact(days)
}

// ownersOn returns those of a recipient's owners to which it belongs on a day.
func ownersOn(owners []owner, day int) []owner {
	return slices.DeleteFunc(slices.Clone(owners), func(o owner) bool { return !o.includes(day) })
}

// splitPeriods splits the days of a recipient where its owners change. The revenue before these days belongs to the
// first period. A period may have no owner.
func splitPeriods(parts []ledger.RevenueDay, before ledger.RevenueSum, owners []owner, today int) []*period {
	var list []*period
	changes := listChanges(owners)
	for len(parts) > 0 || before.Settlements > 0 {
		first := before.FirstAt
		if before.Settlements == 0 {
			first = parts[0].Day
		}
		next, end := sort.SearchInts(changes, dayNumber(first)+1), forever
		if next < len(changes) {
			end = changes[next]
		}
		n := 0
		for n < len(parts) && dayNumber(parts[n].Day) < end {
			n++
		}
		s := sumPeriod(parts[:n], before, today)
		s.owners = ownersOn(owners, dayNumber(first))
		list = append(list, s)
		parts, before = parts[n:], ledger.RevenueSum{}
	}
	return list
}

// sumPeriod sums days with the same owners.
func sumPeriod(parts []ledger.RevenueDay, before ledger.RevenueSum, today int) *period {
	s := &period{days: make([]dayAmount, 0, len(parts)), countAll: before.Settlements, first: before.FirstAt,
		last: before.LastAt}
	if before.Settlements > 0 {
		s.before = usdOrZero(before.USD)
		s.all = s.before
	}
	for i := range parts {
		d := &parts[i]
		amount, day := usdOrZero(d.USD), dayNumber(d.Day)
		s.all.add(amount)
		s.countAll += d.Settlements
		if n := len(s.days); n > 0 && s.days[n-1].day == day {
			s.days[n-1].usd = s.all
			s.days[n-1].count += d.Settlements
		} else {
			s.days = append(s.days, dayAmount{day, s.all, d.Settlements})
		}
		if s.first.IsZero() || d.FirstAt.Before(s.first) {
			s.first = d.FirstAt
		}
		if d.LastAt.After(s.last) {
			s.last = d.LastAt
		}
		age := today - day
		if age > 0 && age <= site.WindowDays["30d"] {
			s.whole30.add(amount)
		}
		if age > 0 && age <= site.WindowDays["7d"] {
			s.whole7.add(amount)
		}
		if age >= site.WindowDays["30d"] {
			continue
		}
		s.thirty.add(amount)
		s.count30 += d.Settlements
		s.via = addFacilitator(s.via, facilitatorAmount{d.Facilitator, amount, d.Settlements})
	}
	var sum usd
	for i := range s.via {
		sum.add(s.via[i].usd)
		s.via[i].usd = sum
	}
	return s
}

// payments returns what each facilitator settled to a recipient in the period's part of the last 30 days.
func (s *period) payments(payee *ledger.PayeeFacts) []revenue.FlowPayment {
	list, before := make([]revenue.FlowPayment, len(s.via)), usd{}
	owners := make([]int, len(s.owners))
	for i, o := range s.owners {
		owners[i] = o.service
	}
	for i, v := range s.via {
		list[i] = revenue.FlowPayment{Facilitator: v.facilitator, Network: payee.Network, PayTo: payee.Address,
			Owners: owners, USD: v.usd.minus(before).decimal(), TxCount: v.count}
		before = v.usd
	}
	return list
}

// addFacilitator adds an amount to a list that is sorted by facilitator.
func addFacilitator(list []facilitatorAmount, v facilitatorAmount) []facilitatorAmount {
	i, ok := slices.BinarySearchFunc(list, v.facilitator, func(o facilitatorAmount, id string) int {
		return cmp.Compare(o.facilitator, id)
	})
	if !ok {
		return slices.Insert(list, i, v)
	}
	list[i].usd.add(v.usd)
	list[i].count += v.count
	return list
}

// addPeriod adds a period of a recipient with n owners, of which the service is the one at place.
func (e *addRevenue) addPeriod(s *period, place, n int) {
	e.monthSums.add(s, place, n)
	if !s.isContested() {
		e.alone.add(s, place, n)
	}
	e.whole7.add(s.whole7)
	e.whole30.add(s.whole30)
	e.shareAll.add(s.all.share(place, n))
	e.isContested = e.isContested || s.count30 > 0 && s.isContested()
	e.countAll += s.countAll
	if e.first.IsZero() || s.first.Before(e.first) {
		e.first = s.first
	}
	if s.last.After(e.last) {
		e.last = s.last
	}
	e.days = mergeDays(e.days, s.shareDays(place, n))
	var before usd
	for _, v := range s.via {
		after := v.usd.share(place, n)
		e.via = addFacilitator(e.via, facilitatorAmount{v.facilitator, after.minus(before), v.count})
		before = after
	}
}

// shareDays returns the days of the owner at place, of n owners.
func (s *period) shareDays(place, n int) []dayAmount {
	days := make([]dayAmount, len(s.days))
	before := s.before.share(place, n)
	for i, d := range s.days {
		after := d.usd.share(place, n)
		days[i] = dayAmount{d.day, after.minus(before), d.count}
		before = after
	}
	return days
}

// history is the revenue of a recipient before the window, while the same services owned it. It is decoded when it is
// published: once, even if several services share it.
type history struct {
	recipient ledger.PayeeFacts
	owners    int

	once   sync.Once
	period *period
	err    error
}

// historyShare is one owner's share of a history.
type historyShare struct {
	*history
	place int
}

// read decodes the history.
func (p *history) read() {
	days, err := p.recipient.Past()
	p.period, p.err = sumPeriod(days, ledger.RevenueSum{}, 1<<30), err
}

// days returns the owner's days.
func (p historyShare) days() ([]dayAmount, error) {
	of := p.history
	if p.owners > 1 {
		of.once.Do(of.read)
	} else {
		of = &history{recipient: p.recipient}
		of.read()
	}
	if of.err != nil {
		return nil, of.err
	}
	return of.period.shareDays(p.place, p.owners), nil
}

// mergeDays adds two series, both oldest first.
func mergeDays(a, b []dayAmount) []dayAmount {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	out := make([]dayAmount, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].day < b[0].day:
			out, a = append(out, a[0]), a[1:]
		case b[0].day < a[0].day:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, dayAmount{a[0].day, a[0].usd.plus(b[0].usd), a[0].count + b[0].count})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// series returns a point for each UTC day with a settlement from first on, oldest first, and the data of the points
// before them. There are as many older points as history has days.
func (e *addRevenue) series(first int, names dateCache) (points []site.VolumePoint, older olderVolume) {
	byDay := func(d dayAmount, day int) int { return cmp.Compare(d.day, day) }
	n, _ := slices.BinarySearchFunc(e.days, first, byDay)
	return volumePoints(e.days[n:], names), olderVolume{slices.Clone(e.days[:n]), e.history}
}

// olderVolume is the data of the points before those of a series.
type olderVolume struct {
	days    []dayAmount
	history []historyShare
}

// any reports whether there are older points.
func (o olderVolume) any() bool { return len(o.days) > 0 || len(o.history) > 0 }

// points returns the older points, as many as history has days.
func (o olderVolume) points() ([]site.VolumePoint, error) {
	all := o.days
	for _, p := range o.history {
		part, err := p.days()
		if err != nil {
			return nil, err
		}
		all = mergeDays(all, part)
	}
	return volumePoints(all, nil), nil
}

// volumePoints returns days in published form.
func volumePoints(days []dayAmount, names dateCache) []site.VolumePoint {
	points := make([]site.VolumePoint, len(days))
	for i, d := range days {
		points[i] = site.VolumePoint{Date: names.date(d.day), VolumeUSD: d.usd.decimal(), TxCount: d.count}
	}
	return points
}

// dateCache has the dates of the days of a series, which many services share.
type dateCache map[int]string

func newDateCache(now time.Time) dateCache {
	names := dateCache{}
	for day := range site.SeriesDays {
		names[dayNumber(now)-day] = names.date(dayNumber(now) - day)
	}
	return names
}

// date returns the date of a day number.
func (n dateCache) date(day int) string {
	if name, ok := n[day]; ok {
		return name
	}
	return time.Unix(int64(day)*24*60*60, 0).UTC().Format(time.DateOnly)
}

// listFacilitators returns the facilitators of 30 days, by volume and then by ID, the largest first.
func (e *addRevenue) listFacilitators() []site.SettledVia {
	list := make([]site.SettledVia, len(e.via))
	for i, v := range e.via {
		list[i] = site.SettledVia{ID: v.facilitator, VolumeUSD30d: v.usd.decimal(), TxCount30d: v.count}
	}
	slices.SortStableFunc(list, func(a, b site.SettledVia) int { return b.VolumeUSD30d.Compare(a.VolumeUSD30d) })
	return list
}
