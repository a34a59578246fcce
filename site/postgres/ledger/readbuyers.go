package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// buyerReader sums payments by payer, day by day. It reads the rows of each day once, by simple scans, and adds them
// here, which is cheaper than in the database.
type buyerReader struct {
	*revenueReader
	services  map[recipientKey][]share
	purchases map[pair]*purchases         // of the month, for every payee
	partial   map[servicePayer]*purchases // at recipients that the service has not on every day of the month
	days      map[servicePayer]struct{}   // buyers of each service on the current day
	amounts   map[int64]map[priceKey]int64
}

// share says that a recipient belongs to a service from one day since 1970 to another.
type share struct {
	service      int64
	since, until int32
}

// includes reports whether the recipient belongs to the service on a day.
func (s share) includes(day int32) bool { return s.since <= day && day <= s.until }

// adjoins reports whether a share is of the same service, and no day is between them.
func (s share) adjoins(o share) bool {
	return s.service == o.service && int64(s.since) <= int64(o.until)+1 && int64(o.since) <= int64(s.until)+1
}

// isWhole reports whether the recipient belongs to the service on every day of the month.
func (t *revenueReader) isWhole(s share) bool {
	return s.since <= dayNumber(t.month) && s.until == forever
}

type pair struct {
	recipientKey
	payer int64
}

type purchases struct {
	n           int64
	value       money
	first, last int32
	networks    uint64 // set of indexes into networks
}

func (p *purchases) add(n int64, value money, first, last int32, networks uint64) {
	if p.n == 0 || first < p.first {
		p.first = first
	}
	p.last = max(p.last, last)
	p.n += n
	p.value = p.value.plus(value)
	p.networks |= networks
}

func sumOf[K comparable](sums map[K]*purchases, k K) *purchases {
	p := sums[k]
	if p == nil {
		p = &purchases{}
		sums[k] = p
	}
	return p
}

type servicePayer struct{ service, payer int64 }

// priceKey identifies an amount: small if it fits into a uint64, else large.
type priceKey struct {
	small uint64
	scale int
	large string
}

const forever = 1<<31 - 1

func dayNumber(t time.Time) int32 { return int32(floorDiv(t.Unix(), 86400)) }

// sumBuyers sums the days and amounts of payers, for services and for payees with a single payer.
func (t *revenueReader) sumBuyers(ctx context.Context) error {
	b := buyerReader{revenueReader: t, services: t.shares, purchases: map[pair]*purchases{},
		partial: map[servicePayer]*purchases{},
		days:    map[servicePayer]struct{}{}, amounts: map[int64]map[priceKey]int64{}}
	today := dayNumber(t.today)
	for day := today + 1 - int32(site.WindowDays["90d"]); day <= today; day++ {
		if err := b.readDay(ctx, day); err != nil {
			return err
		}
	}
	for day := dayNumber(t.month); day <= today; day++ {
		if err := b.readPrices(ctx, day); err != nil {
			return err
		}
	}
	b.finishPrices()
	b.findSinglePayers()
	return b.rank(ctx)
}

// amountWord is an amount of a row as a bigint, -1 if it does not fit.
const amountWord = `CASE WHEN amount <= ` + maxWord + ` THEN amount::bigint ELSE -1 END`

// wideAmounts reads the rows of a day whose amount does not fit into a bigint. It is a separate query, because there
// are hardly any.
func (b *buyerReader) wideAmounts(ctx context.Context, day int32, sql string, take func(a amount) error,
	into ...any) error {
	rows, err := b.tx.Query(ctx, sql+` WHERE day = $1 AND amount > `+maxWord, dayTime(day))
	if err != nil {
		return err
	}
	var text string
	_, err = pgx.ForEachRow(rows, append(into, &text), func() error {
		a, ok := parseAmount(text)
		if !ok {
			return fmt.Errorf("amount %.80q is no integer", text)
		}
		return take(a)
	})
	return err
}

func (b *buyerReader) readDay(ctx context.Context, day int32) error {
	if day < dayNumber(b.month) {
		return b.readPayers(ctx, day)
	}
	rows, err := b.tx.Query(ctx, `SELECT token_id, payee_id, payer_id, settlements, `+amountWord+
		` FROM payer_days WHERE day = $1`, dayTime(day))
	if err != nil {
		return err
	}
	var flow int32
	var payee, payer, n, units int64
	wide := false
	take := func(a amount) error {
		f, counts := b.tokens[flow]
		if !counts {
			return nil
		}
		at := recipientKey{payee, f.network}
		value := f.unit.times(a)
		sumOf(b.purchases, pair{at, payer}).add(n, value, day, day, 1<<f.network)
		for _, s := range b.services[at] {
			if !s.includes(day) {
				continue
			}
			b.days[servicePayer{s.service, payer}] = struct{}{}
			if !b.isWhole(s) {
				sumOf(b.partial, servicePayer{s.service, payer}).add(n, value, day, day, 1<<f.network)
			}
		}
		return nil
	}
	_, err = pgx.ForEachRow(rows, []any{&flow, &payee, &payer, &n, &units}, func() error {
		if units < 0 {
			wide = true
			return nil
		}
		return take(amount{small: uint64(units)})
	})
	if err == nil && wide {
		err = b.wideAmounts(ctx, day, `SELECT token_id, payee_id, payer_id, settlements, amount::text FROM payer_days`,
			take, &flow, &payee, &payer, &n)
	}
	b.countDay(day)
	return err
}

// readPayers reads the payers of a day before the month. An index-only scan is enough.
func (b *buyerReader) readPayers(ctx context.Context, day int32) error {
	rows, err := b.tx.Query(ctx, `SELECT token_id, payee_id, payer_id FROM payer_days WHERE day = $1`, dayTime(day))
	if err != nil {
		return err
	}
	var flow int32
	var payee, payer int64
	_, err = pgx.ForEachRow(rows, []any{&flow, &payee, &payer}, func() error {
		if f, counts := b.tokens[flow]; counts {
			for _, s := range b.services[recipientKey{payee, f.network}] {
				if s.includes(day) {
					b.days[servicePayer{s.service, payer}] = struct{}{}
				}
			}
		}
		return nil
	})
	b.countDay(day)
	return err
}

// countDay counts the buyers of each service on a day.
func (b *buyerReader) countDay(day int32) {
	counts := map[int64]int64{}
	for k := range b.days {
		counts[k.service]++
	}
	for service, n := range counts {
		s := b.service(service)
		s.BuyerDays = append(s.BuyerDays, BuyerDay{dayTime(day), n})
	}
	clear(b.days)
}

// service returns the buyers of a service; it creates them if they are missing.
func (t *revenueReader) service(id int64) *ServiceBuyers {
	s := t.services[id]
	if s == nil {
		s = &ServiceBuyers{ServiceID: id}
		t.services[id] = s
	}
	return s
}

func (b *buyerReader) readPrices(ctx context.Context, day int32) error {
	rows, err := b.tx.Query(ctx, `SELECT token_id, payee_id, settlements, `+amountWord+
		` FROM amount_days WHERE day = $1`,
		dayTime(day))
	if err != nil {
		return err
	}
	var flow int32
	var payee, n, units int64
	wide := false
	take := func(a amount) error {
		f, counts := b.tokens[flow]
		if !counts {
			return nil
		}
		for _, s := range b.services[recipientKey{payee, f.network}] {
			if !s.includes(day) {
				continue
			}
			value := f.unit.times(a)
			k := priceKey{value.units.small, value.scale, ""}
			if value.units.large != nil {
				k = priceKey{0, value.scale, value.units.String()}
			}
			if b.amounts[s.service] == nil {
				b.amounts[s.service] = map[priceKey]int64{}
			}
			b.amounts[s.service][k] += n
		}
		return nil
	}
	_, err = pgx.ForEachRow(rows, []any{&flow, &payee, &n, &units}, func() error {
		if units < 0 {
			wide = true
			return nil
		}
		return take(amount{small: uint64(units)})
	})
	if err == nil && wide {
		err = b.wideAmounts(ctx, day, `SELECT token_id, payee_id, settlements, amount::text FROM amount_days`, take,
			&flow, &payee, &n)
	}
	return err
}

func (b *buyerReader) finishPrices() {
	type price struct {
		value money
		n     int64
	}
	for id, counts := range b.amounts {
		list := make([]price, 0, len(counts))
		for k, n := range counts {
			units := amount{small: k.small}
			if k.large != "" {
				units, _ = parseAmount(k.large)
			}
			list = append(list, price{money{units, k.scale}, n})
		}
		slices.SortFunc(list, func(a, b price) int { return a.value.compare(b.value) })
		s := b.service(id)
		for i, p := range list {
			if i > 0 && list[i-1].value.compare(p.value) == 0 { // the same amount in tokens with different decimals
				s.Amounts[len(s.Amounts)-1].Settlements += p.n
			} else {
				s.Amounts = append(s.Amounts, AmountCount{p.value.String(), p.n})
			}
		}
	}
}

// findSinglePayers sums the payees that one payer paid nearly all, also payees that no service lists. Payments to
// oneself are excluded; they are reported separately.
func (b *buyerReader) findSinglePayers() {
	type received struct {
		n          int64
		value, top money
	}
	payees := map[recipientKey]*received{}
	for k, p := range b.purchases {
		if k.payer == k.payee {
			continue
		}
		r := payees[k.recipientKey]
		if r == nil {
			r = &received{}
			payees[k.recipientKey] = r
		}
		r.n += p.n
		r.value = r.value.plus(p.value)
		if p.value.compare(r.top) > 0 {
			r.top = p.value
		}
	}
	var n int64
	var value money
	for _, r := range payees {
		if r.n >= minSettlements && r.top.compare(money{}) > 0 && scaled(r.top, 10).compare(scaled(r.value, 9)) >= 0 {
			n += r.n
			value = value.plus(r.value)
		}
	}
	b.revenue.Quality.SinglePayerSettlements30d, b.revenue.Quality.SinglePayerUSD30d = n, value.String()
}

func scaled(m money, by uint64) money { return m.times(amount{small: by}) }
