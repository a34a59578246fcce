package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

const (
	maxBuyers      = 100
	largestBuyers  = 3
	maxNetworks    = 63 // bits of a word that says where a buyer was seen
	minSettlements = 50 // of a payee, for one payer to be told as the one who brings it all
)

// Takings reads what the counted flows settled to recipients, and how much of them all is no trade between two. Its cost
// is that of the windows, not of history; only a payee's series is as long as its days.
func (r *Reader) Takings(ctx context.Context, now time.Time, recipients []Recipient, flows []CountedFlow) (*Takings, error) {
	// Sums of a month's payers want memory more than a common query does, and a plan for as many rows as there are.
	if _, err := r.tx.Exec(ctx, `SELECT set_config('work_mem', '96MB', true), set_config('plan_cache_mode', 'force_custom_plan', true)`); err != nil {
		return nil, fmt.Errorf("read takings: %w", err)
	}
	t := takingsReader{Reader: r, today: now.UTC().Truncate(24 * time.Hour)}
	t.month = t.today.AddDate(0, 0, 1-site.WindowDays["30d"])
	for _, part := range []struct {
		what string
		read func(context.Context) error
	}{
		{"number flows", func(ctx context.Context) error { return t.numberFlows(ctx, flows) }},
		{"number recipients", func(ctx context.Context) error { return t.numberRecipients(ctx, recipients) }},
		{"sum days", t.readPayees},
		{"count buyers", t.readBuyerDays},
		{"rank buyers", t.readBuyers},
		{"count amounts", t.readAmounts},
		{"sum self-payments", t.readWhole},
		{"sum single payers", t.readSinglePayers},
	} {
		if err := part.read(ctx); err != nil {
			return nil, fmt.Errorf("read takings: %s: %w", part.what, err)
		}
	}
	return &t.takings, nil
}

type takingsReader struct {
	*Reader
	today, month time.Time
	takings      Takings

	flows    map[int32]numberedFlow
	networks []string // by the number that a flow has for its own
	flowArgs []any    // numbers, networks' numbers and units of the flows, for SQL

	payees        map[place]bool
	recipientArgs []any // services, payees, networks' numbers and last days, for SQL
}

type numberedFlow struct {
	facilitator string
	network     int16
	unit        money
}

// place is a payee on a network.
type place struct {
	payee   int64
	network int16
}

func (t *takingsReader) numberFlows(ctx context.Context, counted []CountedFlow) error {
	type name struct{ facilitator, network, token string }
	units := make(map[name]string, len(counted))
	for _, f := range counted {
		units[name{f.Facilitator, f.Network, f.Token}] = f.Unit
		t.networks = append(t.networks, f.Network)
	}
	slices.Sort(t.networks)
	t.networks = slices.Compact(t.networks)
	if len(t.networks) > maxNetworks {
		return fmt.Errorf("flows of %d networks, more than %d", len(t.networks), maxNetworks)
	}
	rows, err := t.tx.Query(ctx, `SELECT f.id, f.facilitator_id, c.network, f.token FROM flows f JOIN chains c ON c.id = f.chain_id ORDER BY f.id`)
	if err != nil {
		return err
	}
	t.flows = map[int32]numberedFlow{}
	var ids []int32
	var networks []int16
	var texts []string
	var id int32
	var n name
	_, err = pgx.ForEachRow(rows, []any{&id, &n.facilitator, &n.network, &n.token}, func() error {
		text, counts := units[n]
		if !counts {
			return nil
		}
		unit, ok := parseMoney(text)
		if !ok {
			return fmt.Errorf("unit %.80q of %s is no decimal", text, n.token)
		}
		network, _ := slices.BinarySearch(t.networks, n.network)
		t.flows[id] = numberedFlow{n.facilitator, int16(network), unit}
		ids, networks, texts = append(ids, id), append(networks, int16(network)), append(texts, text)
		return nil
	})
	t.flowArgs = []any{ids, networks, texts}
	return err
}

func (t *takingsReader) numberRecipients(ctx context.Context, recipients []Recipient) error {
	accounts := make(map[string]int64, len(recipients))
	addresses := make([]string, 0, len(recipients))
	for _, r := range recipients {
		addresses = append(addresses, r.Address)
	}
	slices.Sort(addresses)
	if err := readAccounts(ctx, t.tx, slices.Compact(addresses), accounts); err != nil {
		return err
	}
	type key struct {
		service int64
		place
	}
	last := make(map[key]*time.Time, len(recipients))
	t.payees = make(map[place]bool, len(recipients))
	for _, r := range recipients {
		payee, paid := accounts[r.Address]
		network, counts := slices.BinarySearch(t.networks, r.Network)
		if !paid || !counts {
			continue
		}
		k := key{r.ServiceID, place{payee, int16(network)}}
		t.payees[k.place] = true
		if until, twice := last[k]; !twice || until != nil && (r.Until == nil || r.Until.After(*until)) {
			last[k] = r.Until
		}
	}
	var services, payees []int64
	var networks []int16
	var untils []*time.Time
	for k, until := range last {
		services, payees, networks, untils = append(services, k.service), append(payees, k.payee), append(networks, k.network), append(untils, until)
	}
	t.recipientArgs = []any{services, payees, networks, untils}
	return nil
}

// readPayees reads the days of each payee, every flow's by itself, in arrays: rows cost more than what they hold.
func (t *takingsReader) readPayees(ctx context.Context) error {
	ids := make([]int64, 0, len(t.payees))
	for p := range t.payees {
		ids = append(ids, p.payee)
	}
	slices.Sort(ids)
	rows, err := t.tx.Query(ctx, `
		SELECT d.payee_id, a.address, d.flow_id, d.days, d.counts, d.amounts, d.first_at, d.last_at FROM (
			SELECT payee_id, flow_id, array_agg(day - date '1970-01-01') AS days, array_agg(settlements) AS counts, array_agg(amount::text) AS amounts,
				min(first_at) AS first_at, max(last_at) AS last_at
			FROM (
				SELECT * FROM payee_days WHERE payee_id = ANY($1) AND flow_id = ANY($2) AND day <= $3 ORDER BY payee_id, flow_id, day
			) p GROUP BY payee_id, flow_id
		) d JOIN accounts a ON a.id = d.payee_id ORDER BY d.payee_id, d.flow_id`, slices.Compact(ids), t.flowArgs[0], t.today)
	if err != nil {
		return err
	}
	var all []payeeSums
	at := map[place]int{}
	var d flowDays
	var id int64
	var flow int32
	var address string
	_, err = pgx.ForEachRow(rows, []any{&id, &address, &flow, &d.days, &d.counts, &d.amounts, &d.first, &d.last}, func() error {
		d.flow = t.flows[flow]
		p := place{id, d.flow.network}
		if !t.payees[p] {
			return nil
		}
		n, known := at[p]
		if !known {
			n = len(all)
			at[p] = n
			all = append(all, payeeSums{facts: PayeeFacts{Network: t.networks[p.network], Address: address}})
		}
		return all[n].add(d, int32(t.month.Unix()/86400))
	})
	if err != nil {
		return err
	}
	t.takings.Payees = make([]PayeeFacts, len(all))
	for i := range all {
		t.takings.Payees[i] = all[i].finish()
	}
	slices.SortFunc(t.takings.Payees, func(a, b PayeeFacts) int {
		return cmp.Or(cmp.Compare(a.Network, b.Network), cmp.Compare(a.Address, b.Address))
	})
	return nil
}

// flowDays is what one flow settled to a payee, by days since 1970.
type flowDays struct {
	flow        numberedFlow
	days        []int32
	counts      []int64
	amounts     []string
	first, last time.Time
}

// payeeSums collects a payee's flows.
type payeeSums struct {
	facts PayeeFacts
	days  []daySum
	via   map[string]*viaSum
}

type daySum struct {
	day   int32
	n     int64
	value money
}

type viaSum struct {
	month, all struct {
		n     int64
		value money
	}
}

func (p *payeeSums) add(d flowDays, month int32) error {
	if p.facts.FirstAt.IsZero() || d.first.Before(p.facts.FirstAt) {
		p.facts.FirstAt = d.first
	}
	if d.last.After(p.facts.LastAt) {
		p.facts.LastAt = d.last
	}
	if p.via == nil {
		p.via = map[string]*viaSum{}
	}
	via := p.via[d.flow.facilitator]
	if via == nil {
		via = &viaSum{}
		p.via[d.flow.facilitator] = via
	}
	sorted := len(p.days) == 0
	p.days = slices.Grow(p.days, len(d.days))
	for i, day := range d.days {
		a, ok := parseAmount(d.amounts[i])
		if !ok {
			return fmt.Errorf("sum %.80q is no integer", d.amounts[i])
		}
		value := d.flow.unit.times(a)
		p.days = append(p.days, daySum{day, d.counts[i], value})
		via.all.n, via.all.value = via.all.n+d.counts[i], via.all.value.plus(value)
		if day >= month {
			via.month.n, via.month.value = via.month.n+d.counts[i], via.month.value.plus(value)
		}
	}
	if sorted {
		return nil
	}
	slices.SortStableFunc(p.days, func(a, b daySum) int { return cmp.Compare(a.day, b.day) })
	merged := p.days[:0]
	for _, s := range p.days {
		if n := len(merged); n > 0 && merged[n-1].day == s.day {
			merged[n-1].n += s.n
			merged[n-1].value = merged[n-1].value.plus(s.value)
		} else {
			merged = append(merged, s)
		}
	}
	p.days = merged
	return nil
}

func (p *payeeSums) finish() PayeeFacts {
	f := p.facts
	f.Days = make([]TakingDay, len(p.days))
	for i, s := range p.days {
		f.Days[i] = TakingDay{dayTime(s.day), s.n, s.value.String()}
	}
	for facilitator, v := range p.via {
		f.Via = append(f.Via, TakingVia{facilitator, v.month.n, v.all.n, v.month.value.String(), v.all.value.String()})
	}
	slices.SortFunc(f.Via, func(a, b TakingVia) int { return cmp.Compare(a.Facilitator, b.Facilitator) })
	p.days, p.via = nil, nil
	return f
}

// counted are the flows that count and whose each recipient is, from which day to which: $1-$3, $4-$7, $8 and $9.
const counted = `
	WITH f AS MATERIALIZED (
		SELECT * FROM unnest($1::integer[], $2::smallint[], $3::text[]::numeric[]) f (flow_id, network, unit)
	), r AS MATERIALIZED (
		SELECT * FROM unnest($4::bigint[], $5::bigint[], $6::smallint[], $7::date[]) r (service_id, payee_id, network, until)
	)`

// ofService joins a roll-up by payee to the services that its rows are of.
const ofService = ` d JOIN f ON f.flow_id = d.flow_id JOIN r ON r.payee_id = d.payee_id AND r.network = f.network
	WHERE d.day >= $8 AND d.day <= $9 AND (r.until IS NULL OR d.day <= r.until)`

func (t *takingsReader) query(ctx context.Context, since time.Time, sql string) (pgx.Rows, error) {
	return t.tx.Query(ctx, counted+sql, slices.Concat(t.flowArgs, t.recipientArgs, []any{since, t.today})...)
}

// service is the place of a service's facts, which come by id.
func (t *takingsReader) service(id int64) *ServiceTakings {
	list := &t.takings.Services
	n, known := slices.BinarySearchFunc(*list, id, func(s ServiceTakings, id int64) int { return cmp.Compare(s.ServiceID, id) })
	if !known {
		*list = slices.Insert(*list, n, ServiceTakings{ServiceID: id})
	}
	return &(*list)[n]
}

// readBuyerDays goes first over services: whoever has anything else in the window has a buyer in it.
func (t *takingsReader) readBuyerDays(ctx context.Context) error {
	rows, err := t.query(ctx, t.today.AddDate(0, 0, 1-site.WindowDays["90d"]), `
		SELECT service_id, day::timestamptz, count(*) FROM (SELECT DISTINCT r.service_id, d.day, d.payer_id FROM payer_days`+ofService+`) b
		GROUP BY service_id, day ORDER BY service_id, day`)
	if err != nil {
		return err
	}
	var id int64
	var d BuyerDay
	_, err = pgx.ForEachRow(rows, []any{&id, &d.Day, &d.Buyers}, func() error {
		s := t.service(id)
		s.BuyerDays = append(s.BuyerDays, d)
		return nil
	})
	return err
}

func (t *takingsReader) readBuyers(ctx context.Context) error {
	// Those who share the last place are told apart by address, and cut off once they are all here.
	rows, err := t.query(ctx, t.month, `
		, b AS (
			SELECT r.service_id, d.payer_id, sum(d.settlements)::bigint AS n, sum(d.amount * f.unit) AS usd, min(d.day) AS first, max(d.day) AS last,
				bit_or(1::bigint << f.network) AS networks
			FROM payer_days`+ofService+` GROUP BY 1, 2
		), ranked AS (
			SELECT *, count(*) OVER (PARTITION BY service_id) AS buyers, rank() OVER (PARTITION BY service_id ORDER BY usd DESC) AS place FROM b
		)
		SELECT service_id, buyers, a.address, n, trim_scale(usd)::text, first::timestamptz, last::timestamptz, networks
		FROM ranked JOIN accounts a ON a.id = payer_id WHERE place <= `+fmt.Sprint(maxBuyers)+`
		ORDER BY service_id, usd DESC, a.address COLLATE "C"`)
	if err != nil {
		return err
	}
	var id, buyers, networks int64
	var b BuyerFacts
	_, err = pgx.ForEachRow(rows, []any{&id, &buyers, &b.Address, &b.Settlements30d, &b.USD30d, &b.FirstDay, &b.LastDay, &networks}, func() error {
		s := t.service(id)
		s.Buyers30d = buyers
		if len(s.TopUSD) < largestBuyers {
			s.TopUSD = append(s.TopUSD, b.USD30d)
		}
		if len(s.TopBuyers) < maxBuyers {
			b.Networks = nil
			for n, name := range t.networks {
				if networks&(1<<n) != 0 {
					b.Networks = append(b.Networks, name)
				}
			}
			s.TopBuyers = append(s.TopBuyers, b)
		}
		return nil
	})
	return err
}

func (t *takingsReader) readAmounts(ctx context.Context) error {
	rows, err := t.query(ctx, t.month, `
		SELECT service_id, trim_scale(usd)::text, n FROM (
			SELECT r.service_id, d.amount * f.unit AS usd, sum(d.settlements)::bigint AS n FROM amount_days`+ofService+` GROUP BY 1, 2
		) a ORDER BY service_id, usd`)
	if err != nil {
		return err
	}
	var id int64
	var a AmountCount
	_, err = pgx.ForEachRow(rows, []any{&id, &a.USD, &a.Settlements}, func() error {
		s := t.service(id)
		s.Amounts = append(s.Amounts, a)
		return nil
	})
	return err
}

const countedFlows = `
	WITH f AS MATERIALIZED (
		SELECT * FROM unnest($1::integer[], $2::smallint[], $3::text[]::numeric[]) f (flow_id, network, unit)
	)`

func (t *takingsReader) readWhole(ctx context.Context) error {
	q := &t.takings.Whole
	return t.tx.QueryRow(ctx, countedFlows+`
		SELECT coalesce(trim_scale(sum(d.amount * f.unit))::text, '0'), coalesce(sum(d.settlements), 0)::bigint,
			coalesce(trim_scale(sum(d.self_amount * f.unit))::text, '0'), coalesce(sum(d.self_settlements), 0)::bigint
		FROM f JOIN flow_days d ON d.flow_id = f.flow_id WHERE d.day >= $4 AND d.day <= $5`,
		slices.Concat(t.flowArgs, []any{t.month, t.today})...).Scan(&q.USD30d, &q.Settlements30d, &q.SelfUSD30d, &q.SelfSettlements30d)
}

// readSinglePayers looks at all payees, also those that nobody lists. What they paid themselves is told apart from it.
func (t *takingsReader) readSinglePayers(ctx context.Context) error {
	q := &t.takings.Whole
	return t.tx.QueryRow(ctx, countedFlows+`
		, pairs AS (
			SELECT d.payee_id, f.network, sum(d.settlements) AS n, sum(d.amount * f.unit) AS usd
			FROM payer_days d JOIN f ON f.flow_id = d.flow_id
			WHERE d.day >= $4 AND d.day <= $5 AND d.payer_id <> d.payee_id GROUP BY d.payee_id, f.network, d.payer_id
		), single AS (
			SELECT sum(n) AS n, sum(usd) AS usd FROM pairs GROUP BY payee_id, network HAVING sum(n) >= `+fmt.Sprint(minSettlements)+` AND sum(usd) > 0 AND max(usd) >= 0.9 * sum(usd)
		)
		SELECT coalesce(trim_scale(sum(usd))::text, '0'), coalesce(sum(n), 0)::bigint FROM single`,
		slices.Concat(t.flowArgs, []any{t.month, t.today})...).Scan(&q.SinglePayerUSD30d, &q.SinglePayerSettlements30d)
}
