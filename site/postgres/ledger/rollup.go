package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/rows"
)

// rollups sums settlements into the rows that they add to the tables of sums, so that one statement for each table adds
// them all.
type rollups struct {
	hours          map[hourKey]sum
	tokens         map[dayKey]*tokenSum
	settlers       map[settlerKey]*settlerDay
	payees         map[payeeKey]*timedSum
	payers         map[payerKey]sum
	amounts        map[amountKey]int64
	larges         map[largeKey]int64         // amounts that do not fit into a uint64
	pairs          map[pairKey]int32          // the last day of each payer of a token
	authorizations map[authorizationKey]int64 // authorisations among the settlements
}

type (
	hourKey struct {
		tokenID int32
		hour    int64 // since 1970
	}
	dayKey struct {
		tokenID, day int32 // days since 1970, here and below
	}
	settlerKey struct {
		chain   int16
		settler int64
		day     int32
	}
	payeeKey struct {
		tokenID, day int32
		payee        int64
	}
	payerKey struct {
		tokenID, day int32
		payee, payer int64
	}
	amountKey struct {
		tokenID, day int32
		payee        int64
		amount       uint64
	}
	largeKey struct {
		tokenID, day int32
		payee        int64
		amount       string
	}
	pairKey struct {
		tokenID int32
		payer   int64
	}
	authorizationKey struct {
		chain int16
		day   int32
		token string
	}
)

// settlerDay counts the settlements of an account on a day.
type settlerDay struct {
	n    int64
	last time.Time
}

func newRollups(n int) *rollups {
	return &rollups{
		hours: map[hourKey]sum{}, tokens: map[dayKey]*tokenSum{}, payees: map[payeeKey]*timedSum{},
		settlers: map[settlerKey]*settlerDay{},
		payers:   make(map[payerKey]sum, n),
		amounts:  map[amountKey]int64{}, larges: map[largeKey]int64{}, pairs: make(map[pairKey]int32, n),
		authorizations: map[authorizationKey]int64{},
	}
}

func (t *rollups) add(e *entry) {
	hour := floorDiv(e.at.Unix(), 3600)
	day := int32(floorDiv(hour, 24))
	h := hourKey{e.tokenID, hour}
	t.hours[h] = t.hours[h].plus(e.amount)
	f := t.tokens[dayKey{e.tokenID, day}]
	if f == nil {
		f = &tokenSum{}
		t.tokens[dayKey{e.tokenID, day}] = f
	}
	f.add(e)
	if e.payer == e.payee {
		f.self = f.self.plus(e.amount)
	}
	t.addSettler(settlerKey{e.chain, e.settler, day}, settlerDay{1, e.at})
	p := t.payees[payeeKey{e.tokenID, day, e.payee}]
	if p == nil {
		p = &timedSum{}
		t.payees[payeeKey{e.tokenID, day, e.payee}] = p
	}
	p.add(e)
	if e.method == MethodBatch {
		return
	}
	k := payerKey{e.tokenID, day, e.payee, e.payer}
	t.payers[k] = t.payers[k].plus(e.amount)
	if e.amount.large == nil {
		t.amounts[amountKey{e.tokenID, day, e.payee, e.amount.small}]++
	} else {
		t.larges[largeKey{e.tokenID, day, e.payee, e.amount.String()}]++
	}
	pair := pairKey{e.tokenID, e.payer}
	if last, ok := t.pairs[pair]; !ok || last < day {
		t.pairs[pair] = day
	}
	if e.method == methodAuthorization {
		t.authorizations[authorizationKey{e.chain, day, e.token}]++
	}
}

func (t *rollups) addSettler(k settlerKey, more settlerDay) {
	s := t.settlers[k]
	if s == nil {
		s = &settlerDay{}
		t.settlers[k] = s
	}
	s.n += more.n
	if more.last.After(s.last) {
		s.last = more.last
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// queue queues the statements for all tables, and returns the rows to copy after the batch was sent. Rows are sorted by
// the keys of their tables, so that neighbours are written together. The caller has locked the chains, so that no other
// writer changes rows of these tokens.
func (t *rollups) queue(b *pgx.Batch) []*insertRows {
	t.queueTokens(b)
	t.queueSettlers(b)
	t.queuePayees(b)
	t.queuePairs(b)
	for _, k := range sortedKeys(t.authorizations, func(a, b authorizationKey) int {
		return cmp.Or(cmp.Compare(a.chain, b.chain), cmp.Compare(a.day, b.day), cmp.Compare(a.token, b.token))
	}) {
		b.Queue(addAuthorizations, k.chain, k.token, dayTime(k.day), 0, t.authorizations[k])
	}
	return []*insertRows{t.queuePayers(b), t.queueAmounts(b)}
}

// addAuthorizations adds to a token's authorisations on a day: all of them, and those of listed settlers.
const addAuthorizations = `
	INSERT INTO authorization_days AS old (chain_id, token, day, authorizations, attributed) VALUES ($1, $2, $3, $4, $5)
	ON CONFLICT (chain_id, day, token) DO UPDATE SET authorizations = old.authorizations + excluded.authorizations,
		attributed = old.attributed + excluded.attributed`

func dayTime(day int32) time.Time { return time.Unix(int64(day)*86400, 0).UTC() }

func sortedKeys[K comparable, V any](m map[K]V, compare func(a, b K) int) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compare)
	return keys
}

// columns contains the arrays that a statement unnests.
type columns struct {
	tokens, days         []int32
	payees, payers       []int64
	hours, firsts, lasts []time.Time
	counts               []int64
	chains               []int16
	settlers             []int64
	amounts              []string
	selfCounts           []int64
	selfAmounts          []string
}

func (t *rollups) queueTokens(b *pgx.Batch) {
	var c columns
	for _, k := range sortedKeys(t.hours, func(a, b hourKey) int {
		return cmp.Or(cmp.Compare(a.hour, b.hour), cmp.Compare(a.tokenID, b.tokenID))
	}) {
		s := t.hours[k]
		c.tokens, c.hours = append(c.tokens, k.tokenID), append(c.hours, time.Unix(k.hour*3600, 0).UTC())
		c.counts, c.amounts = append(c.counts, s.n), append(c.amounts, s.amount.String())
	}
	b.Queue(`
		INSERT INTO token_hours AS old (token_id, hour, settlements, amount)
		SELECT * FROM unnest($1::integer[], $2::timestamptz[], $3::bigint[], $4::text[]::numeric[])
		ON CONFLICT (hour, token_id) DO UPDATE SET settlements = old.settlements + excluded.settlements,
			amount = old.amount + excluded.amount`,
		c.tokens, c.hours, c.counts, c.amounts)
	c = columns{}
	for _, k := range sortedKeys(t.tokens, func(a, b dayKey) int {
		return cmp.Or(cmp.Compare(a.tokenID, b.tokenID), cmp.Compare(a.day, b.day))
	}) {
		s := t.tokens[k]
		c.tokens, c.days, c.lasts = append(c.tokens, k.tokenID), append(c.days, k.day), append(c.lasts, s.last)
		c.counts, c.amounts = append(c.counts, s.n), append(c.amounts, s.amount.String())
		c.selfCounts, c.selfAmounts = append(c.selfCounts, s.self.n), append(c.selfAmounts, s.self.amount.String())
	}
	b.Queue(`
		INSERT INTO token_days AS old (token_id, day, settlements, amount, self_settlements, self_amount, last_at)
		SELECT flow, date '1970-01-01' + day, n, amount, self_n, self_amount, last
		FROM unnest($1::integer[], $2::integer[], $3::bigint[], $4::text[]::numeric[], $5::bigint[],
			$6::text[]::numeric[], $7::timestamptz[])
			u (flow, day, n, amount, self_n, self_amount, last)
		ON CONFLICT (token_id, day) DO UPDATE SET settlements = old.settlements + excluded.settlements,
			amount = old.amount + excluded.amount,
			self_settlements = old.self_settlements + excluded.self_settlements,
			self_amount = old.self_amount + excluded.self_amount, last_at = greatest(old.last_at, excluded.last_at)`,
		c.tokens, c.days, c.counts, c.amounts, c.selfCounts, c.selfAmounts, c.lasts)
	b.Queue(`
		INSERT INTO token_totals AS old (token_id, settlements, amount, payers, first_day, last_at)
		SELECT flow, sum(n), sum(amount), 0, date '1970-01-01' + min(day), max(last)
		FROM unnest($1::integer[], $2::integer[], $3::bigint[], $4::text[]::numeric[], $5::timestamptz[]) u (flow, day,
			n, amount, last)
		GROUP BY flow ORDER BY flow
		ON CONFLICT (token_id) DO UPDATE SET settlements = old.settlements + excluded.settlements,
			amount = old.amount + excluded.amount,
			first_day = least(old.first_day, excluded.first_day), last_at = greatest(old.last_at, excluded.last_at)`,
		c.tokens, c.days, c.counts, c.amounts, c.lasts)
}

func (t *rollups) queueSettlers(b *pgx.Batch) {
	var c columns
	for _, k := range sortedKeys(t.settlers, func(a, b settlerKey) int {
		return cmp.Or(cmp.Compare(a.chain, b.chain), cmp.Compare(a.settler, b.settler), cmp.Compare(a.day, b.day))
	}) {
		s := t.settlers[k]
		c.chains, c.settlers, c.days = append(c.chains, k.chain), append(c.settlers, k.settler), append(c.days, k.day)
		c.counts, c.lasts = append(c.counts, s.n), append(c.lasts, s.last)
	}
	b.Queue(`
		INSERT INTO settler_days AS old (chain_id, settler_id, day, settlements, last_at)
		SELECT chain, settler, date '1970-01-01' + day, n, last
		FROM unnest($1::smallint[], $2::bigint[], $3::integer[], $4::bigint[], $5::timestamptz[])
			u (chain, settler, day, n, last)
		ON CONFLICT (chain_id, settler_id, day) DO UPDATE SET settlements = old.settlements + excluded.settlements,
			last_at = greatest(old.last_at, excluded.last_at)`,
		c.chains, c.settlers, c.days, c.counts, c.lasts)
}

func (t *rollups) queuePayees(b *pgx.Batch) {
	var c columns
	for _, k := range sortedKeys(t.payees, func(a, b payeeKey) int {
		return cmp.Or(cmp.Compare(a.payee, b.payee), cmp.Compare(a.tokenID, b.tokenID), cmp.Compare(a.day, b.day))
	}) {
		s := t.payees[k]
		c.payees, c.tokens, c.days = append(c.payees, k.payee), append(c.tokens, k.tokenID), append(c.days, k.day)
		c.counts, c.amounts = append(c.counts, s.n), append(c.amounts, s.amount.String())
		c.firsts, c.lasts = append(c.firsts, s.first), append(c.lasts, s.last)
	}
	b.Queue(`
		WITH u AS MATERIALIZED (
			SELECT payee, flow, date '1970-01-01' + day AS day, n, amount, first, last
			FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::bigint[], $5::text[]::numeric[],
				$6::timestamptz[], $7::timestamptz[])
				u (payee, flow, day, n, amount, first, last)
		), days AS (
			INSERT INTO payee_days AS old (payee_id, token_id, day, settlements, amount, first_at, last_at) SELECT *
				FROM u
			ON CONFLICT (payee_id, token_id, day) DO UPDATE SET settlements = old.settlements + excluded.settlements,
				amount = old.amount + excluded.amount, first_at = least(old.first_at, excluded.first_at),
				last_at = greatest(old.last_at, excluded.last_at)
		)
		INSERT INTO payee_totals AS old (payee_id, token_id, settlements, amount, first_at, last_at)
		SELECT payee, flow, sum(n), sum(amount), min(first), max(last) FROM u GROUP BY payee, flow ORDER BY payee, flow
		ON CONFLICT (payee_id, token_id) DO UPDATE SET settlements = old.settlements + excluded.settlements,
			amount = old.amount + excluded.amount, first_at = least(old.first_at, excluded.first_at),
			last_at = greatest(old.last_at, excluded.last_at)`,
		c.payees, c.tokens, c.days, c.counts, c.amounts, c.firsts, c.lasts)
}

// queuePayers adds to payments by payee, payer and day, and returns the new rows.
func (t *rollups) queuePayers(b *pgx.Batch) *insertRows {
	keys := sortedKeys(t.payers, func(a, b payerKey) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.payee, b.payee), cmp.Compare(a.payer, b.payer),
			cmp.Compare(a.tokenID, b.tokenID))
	})
	var c columns
	for _, k := range keys {
		s := t.payers[k]
		c.days, c.tokens, c.payees, c.payers = append(c.days, k.day), append(c.tokens, k.tokenID),
			append(c.payees, k.payee),
			append(c.payers, k.payer)
		c.counts, c.amounts = append(c.counts, s.n), append(c.amounts, s.amount.String())
	}
	r := newInsertRows("payer_days", "day, token_id, payee_id, payer_id, settlements, amount", keys,
		func(row []any, k *payerKey) {
			s := t.payers[*k]
			rows.Put(row, dayTime(k.day), k.tokenID, k.payee, k.payer, s.n, s.amount.value())
		})
	b.Queue(`
		UPDATE payer_days o SET settlements = o.settlements + u.n, amount = o.amount + u.amount
		FROM unnest($1::integer[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[],
			$6::text[]::numeric[]) WITH ORDINALITY u (day, flow, payee, payer, n, amount, i)
		WHERE o.day = date '1970-01-01' + u.day AND o.payee_id = u.payee AND o.payer_id = u.payer
			AND o.token_id = u.flow
			RETURNING u.i`,
		c.days, c.tokens, c.payees, c.payers, c.counts, c.amounts).Query(r.mark)
	return r
}

// queueAmounts adds to the counts of amounts by day, and returns the new rows.
func (t *rollups) queueAmounts(b *pgx.Batch) *insertRows {
	type amountRow struct {
		flow, day int32
		payee     int64
		amount    amount
		n         int64
	}
	list := make([]amountRow, 0, len(t.amounts)+len(t.larges))
	for k, n := range t.amounts {
		list = append(list, amountRow{k.tokenID, k.day, k.payee, amount{small: k.amount}, n})
	}
	for k, n := range t.larges {
		large, _ := parseAmount(k.amount) // the text of an amount
		list = append(list, amountRow{k.tokenID, k.day, k.payee, large, n})
	}
	slices.SortFunc(list, func(a, b amountRow) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.payee, b.payee), cmp.Compare(a.flow, b.flow),
			a.amount.compare(b.amount))
	})
	var c columns
	for i := range list {
		c.days, c.tokens, c.payees = append(c.days, list[i].day), append(c.tokens, list[i].flow),
			append(c.payees, list[i].payee)
		c.counts, c.amounts = append(c.counts, list[i].n), append(c.amounts, list[i].amount.String())
	}
	r := newInsertRows("amount_days", "day, token_id, payee_id, amount, settlements", list,
		func(into []any, r *amountRow) {
			rows.Put(into, dayTime(r.day), r.flow, r.payee, r.amount.value(), r.n)
		})
	b.Queue(`
		UPDATE amount_days o SET settlements = o.settlements + u.n
		FROM unnest($1::integer[], $2::integer[], $3::bigint[], $4::text[]::numeric[],
			$5::bigint[]) WITH ORDINALITY u (day, flow, payee, amount, n, i)
		WHERE o.day = date '1970-01-01' + u.day AND o.payee_id = u.payee AND o.token_id = u.flow AND o.amount = u.amount
			RETURNING u.i`,
		c.days, c.tokens, c.payees, c.amounts, c.counts).Query(r.mark)
	return r
}

// queuePairs updates each payer's last day. Most payers paid on that day before, and nothing is written for them.
func (t *rollups) queuePairs(b *pgx.Batch) {
	var c columns
	for _, k := range sortedKeys(t.pairs, func(a, b pairKey) int {
		return cmp.Or(cmp.Compare(a.tokenID, b.tokenID), cmp.Compare(a.payer, b.payer))
	}) {
		c.tokens, c.payers, c.days = append(c.tokens, k.tokenID), append(c.payers, k.payer), append(c.days, t.pairs[k])
	}
	b.Queue(`
		WITH paid AS MATERIALIZED (
			SELECT flow, payer, date '1970-01-01' + day AS day, (SELECT last_day FROM token_payers p
				WHERE p.token_id = flow AND p.payer_id = payer) AS before
			FROM unnest($1::integer[], $2::bigint[], $3::integer[]) u (flow, payer, day)
		), put AS (
			INSERT INTO token_payers (token_id, payer_id, last_day) SELECT flow, payer, day FROM paid
				WHERE before IS NULL
				OR before < day
			ON CONFLICT (token_id, payer_id) DO UPDATE SET last_day = excluded.last_day
		)
		UPDATE token_totals t SET payers = payers + n FROM (SELECT flow, count(*) AS n FROM paid WHERE before IS NULL
			GROUP BY flow) came
		WHERE t.token_id = came.flow`,
		c.tokens, c.payers, c.days)
}
