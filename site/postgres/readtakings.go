package postgres

import (
	"cmp"
	"context"
	"encoding/binary"
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
	t := takingsReader{Reader: r, today: now.UTC().Truncate(24 * time.Hour), services: map[int64]*ServiceTakings{}, named: map[uint64][]string{}}
	t.month = t.today.AddDate(0, 0, 1-site.WindowDays["30d"])
	for _, part := range []struct {
		what string
		read func(context.Context) error
	}{
		{"number flows", func(ctx context.Context) error { return t.numberFlows(ctx, flows) }},
		{"number recipients", func(ctx context.Context) error { return t.numberRecipients(ctx, recipients) }},
		{"sum days", t.readPayees},
		{"sum buyers", t.readBuyers},
		{"sum self-payments", t.readWhole},
	} {
		if err := part.read(ctx); err != nil {
			return nil, fmt.Errorf("read takings: %s: %w", part.what, err)
		}
	}
	for _, s := range t.services {
		t.takings.Services = append(t.takings.Services, *s)
	}
	slices.SortFunc(t.takings.Services, func(a, b ServiceTakings) int { return cmp.Compare(a.ServiceID, b.ServiceID) })
	return &t.takings, nil
}

type takingsReader struct {
	*Reader
	today, month time.Time
	takings      Takings

	flows    map[int32]numberedFlow
	networks []string            // by the number that a flow has for its own
	named    map[uint64][]string // networks by the bits of their numbers
	flowArgs []any               // numbers and units of the flows, for SQL

	shares    map[place][]share
	addresses map[int64]string // of the recipients
	services  map[int64]*ServiceTakings
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
		ids, texts = append(ids, id), append(texts, text)
		return nil
	})
	t.flowArgs = []any{ids, texts}
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
	t.shares, t.addresses = make(map[place][]share, len(recipients)), make(map[int64]string, len(recipients))
	for _, r := range recipients {
		payee, paid := accounts[r.Address]
		network, counts := slices.BinarySearch(t.networks, r.Network)
		if !paid || !counts {
			continue
		}
		until := int32(forever)
		if r.Until != nil {
			until = dayNumber(*r.Until)
		}
		k := place{payee, int16(network)}
		t.addresses[payee] = r.Address
		if i := slices.IndexFunc(t.shares[k], func(s share) bool { return s.service == r.ServiceID }); i >= 0 {
			t.shares[k][i].until = max(t.shares[k][i].until, until)
		} else {
			t.shares[k] = append(t.shares[k], share{r.ServiceID, until})
		}
	}
	return nil
}

// readPayees reads the days of each payee. They are the one thing that is as long as history: a flow's days come in one
// value, a record of fixed width each, since rows cost more than what they hold.
func (t *takingsReader) readPayees(ctx context.Context) error {
	ids := make([]int64, 0, len(t.shares))
	for p := range t.shares {
		ids = append(ids, p.payee)
	}
	slices.Sort(ids)
	rows, err := t.tx.Query(ctx, `
		SELECT payee_id, flow_id, min(first_at), string_agg(
			int4send(day - date '1970-01-01') || int8send(settlements) || int8send(CASE WHEN amount <= `+maxWord+` THEN amount::bigint ELSE -1 END) || timestamptz_send(last_at), '')
		FROM payee_days WHERE payee_id = ANY($1) AND flow_id = ANY($2) AND day <= $3 GROUP BY payee_id, flow_id`,
		slices.Compact(ids), t.flowArgs[0], t.today)
	if err != nil {
		return err
	}
	all := map[place]*payeeSums{}
	var wide []payeeFlow
	var id payeeFlow
	var first time.Time
	var records []byte
	_, err = pgx.ForEachRow(rows, []any{&id.payee, &id.flow, &first, &records}, func() error {
		f := t.flows[id.flow]
		at := place{id.payee, f.network}
		if t.shares[at] == nil {
			return nil
		}
		p := all[at]
		if p == nil {
			p = &payeeSums{facts: PayeeFacts{Network: t.networks[at.network], Address: t.addresses[at.payee], FirstAt: first}}
			all[at] = p
		}
		large, err := p.add(id.flow, f, first, records)
		if large {
			wide = append(wide, id)
		}
		return err
	})
	if err == nil {
		err = t.readWide(ctx, wide, all)
	}
	if err != nil {
		return err
	}
	t.takings.Payees = make([]PayeeFacts, 0, len(all))
	for _, p := range all {
		t.takings.Payees = append(t.takings.Payees, p.finish())
	}
	slices.SortFunc(t.takings.Payees, func(a, b PayeeFacts) int {
		return cmp.Or(cmp.Compare(a.Network, b.Network), cmp.Compare(a.Address, b.Address))
	})
	return nil
}

// maxWord is the largest amount that comes as a word.
const maxWord = `9223372036854775807`

// payeeFlow is what one flow settles to a payee.
type payeeFlow struct {
	payee int64
	flow  int32
}

// readWide reads the days' sums that no word holds. They are few: a token would need eighteen decimals.
func (t *takingsReader) readWide(ctx context.Context, of []payeeFlow, all map[place]*payeeSums) error {
	for _, id := range of {
		rows, err := t.tx.Query(ctx, `
			SELECT day - date '1970-01-01', amount::text FROM payee_days WHERE payee_id = $1 AND flow_id = $2 AND day <= $3 AND amount > `+maxWord, id.payee, id.flow, t.today)
		if err != nil {
			return err
		}
		f := t.flows[id.flow]
		p := all[place{id.payee, f.network}]
		var day int32
		var text string
		_, err = pgx.ForEachRow(rows, []any{&day, &text}, func() error {
			a, ok := parseAmount(text)
			i := slices.IndexFunc(p.days, func(s daySum) bool { return s.day == day && s.flow == id.flow })
			if !ok || i < 0 {
				return fmt.Errorf("sum %.80q of a day is not to be placed", text)
			}
			p.days[i].value = f.unit.times(a)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// payeeSums collects a payee's flows.
type payeeSums struct {
	facts PayeeFacts
	days  []daySum
}

type daySum struct {
	day, flow   int32
	facilitator string
	n           int64
	value       money
	last        time.Time
}

const recordSize = 4 + 8 + 8 + 8

// epoch is where the database's times begin.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// add takes a flow's days, and says whether some sum of theirs is too large for a record.
func (p *payeeSums) add(flow int32, f numberedFlow, first time.Time, records []byte) (large bool, err error) {
	if len(records)%recordSize != 0 {
		return false, fmt.Errorf("%d bytes are no records of days", len(records))
	}
	if first.Before(p.facts.FirstAt) {
		p.facts.FirstAt = first
	}
	p.days = slices.Grow(p.days, len(records)/recordSize)
	for r := range slices.Chunk(records, recordSize) {
		s := daySum{
			day: int32(binary.BigEndian.Uint32(r)), flow: flow, facilitator: f.facilitator, n: int64(binary.BigEndian.Uint64(r[4:])),
			last: epoch.Add(time.Duration(binary.BigEndian.Uint64(r[20:])) * time.Microsecond),
		}
		if units := int64(binary.BigEndian.Uint64(r[12:])); units >= 0 {
			s.value = f.unit.times(amount{small: uint64(units)})
		} else {
			large = true
		}
		if s.last.After(p.facts.LastAt) {
			p.facts.LastAt = s.last
		}
		p.days = append(p.days, s)
	}
	return large, nil
}

// merge sums what came through one facilitator on one day in several tokens.
func (p *payeeSums) merge() {
	slices.SortStableFunc(p.days, func(a, b daySum) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.facilitator, b.facilitator))
	})
	merged := p.days[:0]
	for _, s := range p.days {
		n := len(merged) - 1
		if n < 0 || merged[n].day != s.day || merged[n].facilitator != s.facilitator {
			merged = append(merged, s)
			continue
		}
		merged[n].n += s.n
		merged[n].value = merged[n].value.plus(s.value)
		if s.last.After(merged[n].last) {
			merged[n].last = s.last
		}
	}
	p.days = merged
}

func (p *payeeSums) finish() PayeeFacts {
	p.merge()
	f := p.facts
	f.Days = make([]TakingDay, len(p.days))
	for i, s := range p.days {
		f.Days[i] = TakingDay{dayTime(s.day), s.facilitator, s.n, s.value.String(), s.last}
	}
	p.days = nil
	return f
}

const countedFlows = `
	WITH f AS MATERIALIZED (
		SELECT * FROM unnest($1::integer[], $2::text[]::numeric[]) f (flow_id, unit)
	)`

func (t *takingsReader) readWhole(ctx context.Context) error {
	q := &t.takings.Whole
	return t.tx.QueryRow(ctx, countedFlows+`
		SELECT coalesce(trim_scale(sum(d.amount * f.unit))::text, '0'), coalesce(sum(d.settlements), 0)::bigint,
			coalesce(trim_scale(sum(d.self_amount * f.unit))::text, '0'), coalesce(sum(d.self_settlements), 0)::bigint
		FROM f JOIN flow_days d ON d.flow_id = f.flow_id WHERE d.day >= $3 AND d.day <= $4`,
		slices.Concat(t.flowArgs, []any{t.month, t.today})...).Scan(&q.USD30d, &q.Settlements30d, &q.SelfUSD30d, &q.SelfSettlements30d)
}
