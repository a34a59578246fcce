package ledger

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

const (
	maxBuyers      = 100
	largestBuyers  = 3
	maxNetworks    = 63 // bits of a set of networks in a uint64
	minSettlements = 50 // of a payee, to report that one payer paid nearly all
)

// ReadRevenue reads what the counted tokens settled to recipients, and the quality of all their settlements.
func (r *Reader) ReadRevenue(ctx context.Context, now time.Time, recipients []Recipient,
	tokens []CountedToken) (*Revenue,
	error) {
	t := revenueReader{Reader: r, today: now.UTC().Truncate(24 * time.Hour), services: map[int64]*ServiceBuyers{},
		networkLists: map[uint64][]string{}}
	t.month = t.today.AddDate(0, 0, 1-site.WindowDays["30d"])
	for _, part := range []struct {
		what string
		read func(context.Context) error
	}{
		{"find tokens in facilitator_tokens", func(ctx context.Context) error { return t.numberTokens(ctx, tokens) }},
		{"find recipients in accounts", func(ctx context.Context) error { return t.numberRecipients(ctx, recipients) }},
		{"sum payee_totals and payee_days", t.sumBuyers},
		{"sum payer_days and amount_days", t.readPayees},
		{"sum token_days", t.readWhole},
	} {
		if err := part.read(ctx); err != nil {
			return nil, fmt.Errorf("read revenue: %s: %w", part.what, err)
		}
	}
	out := t.revenue // a pointer into the reader would retain the reader
	out.Services = make([]ServiceBuyers, 0, len(t.services))
	for _, s := range t.services {
		out.Services = append(out.Services, *s)
	}
	slices.SortFunc(out.Services, func(a, b ServiceBuyers) int { return cmp.Compare(a.ServiceID, b.ServiceID) })
	return &out, nil
}

type revenueReader struct {
	*Reader
	today, month time.Time
	revenue      Revenue

	tokens       map[int32]numberedToken
	networks     []string            // sorted; a numberedToken has the index
	networkLists map[uint64][]string // lists of networks by set of indexes
	tokenArgs    []any               // numbers and units of the tokens, for SQL

	shares    map[recipientKey][]share
	addresses map[int64]string // of the recipients
	operators map[int64]int    // by service
	category  map[int64]string // by service
	relatives map[relative]bool
	services  map[int64]*ServiceBuyers
}

type numberedToken struct {
	facilitator    string
	chain, network int16 // its number in the database, and its index in networks
	unit           money
}

// relative is an account that a service of an operator names.
type relative struct {
	operator int
	account  int64
}

// recipientKey identifies a payee on a network.
type recipientKey struct {
	payee   int64
	network int16
}

func (t *revenueReader) numberTokens(ctx context.Context, counted []CountedToken) error {
	type name struct{ facilitator, network, token string }
	units := make(map[name]string, len(counted))
	for _, f := range counted {
		units[name{f.Facilitator, f.Network, f.Token}] = f.Unit
		t.networks = append(t.networks, f.Network)
	}
	slices.Sort(t.networks)
	t.networks = slices.Compact(t.networks)
	if len(t.networks) > maxNetworks {
		return fmt.Errorf("tokens of %d networks, more than %d", len(t.networks), maxNetworks)
	}
	rows, err := t.tx.Query(ctx,
		`SELECT f.id, f.facilitator_id, c.id, c.network, f.token FROM facilitator_tokens f
			JOIN chains c ON c.id = f.chain_id
			ORDER BY f.id`)
	if err != nil {
		return err
	}
	t.tokens = map[int32]numberedToken{}
	var ids []int32
	var texts []string
	var id int32
	var chain int16
	var n name
	_, err = pgx.ForEachRow(rows, []any{&id, &n.facilitator, &chain, &n.network, &n.token}, func() error {
		text, counts := units[n]
		if !counts {
			return nil
		}
		unit, ok := parseMoney(text)
		if !ok {
			return fmt.Errorf("unit %.80q of %s is no decimal", text, n.token)
		}
		network, _ := slices.BinarySearch(t.networks, n.network)
		t.tokens[id] = numberedToken{n.facilitator, chain, int16(network), unit}
		ids, texts = append(ids, id), append(texts, text)
		return nil
	})
	t.tokenArgs = []any{ids, texts}
	return err
}

func (t *revenueReader) numberRecipients(ctx context.Context, recipients []Recipient) error {
	accounts := make(map[string]int64, len(recipients))
	addresses := make([]string, 0, len(recipients))
	for _, r := range recipients {
		addresses = append(addresses, r.Address)
	}
	slices.Sort(addresses)
	if err := readAccounts(ctx, t.tx, slices.Compact(addresses), accounts); err != nil {
		return err
	}
	t.shares, t.addresses = make(map[recipientKey][]share, len(recipients)), make(map[int64]string, len(recipients))
	t.operators, t.category, t.relatives = map[int64]int{}, map[int64]string{}, map[relative]bool{}
	for _, r := range recipients {
		payee, paid := accounts[r.Address]
		t.category[r.ServiceID] = r.Category
		if t.operators[r.ServiceID] = r.Operator; paid {
			t.relatives[relative{r.Operator, payee}] = true
		}
		network, counts := slices.BinarySearch(t.networks, r.Network)
		if !paid || !counts {
			continue
		}
		of := share{r.ServiceID, math.MinInt32, forever}
		if !r.Since.IsZero() {
			of.since = dayNumber(r.Since)
		}
		if r.Until != nil {
			of.until = dayNumber(*r.Until)
		}
		k := recipientKey{payee, int16(network)}
		t.addresses[payee] = r.Address
		if i := slices.IndexFunc(t.shares[k], of.adjoins); i >= 0 {
			s := &t.shares[k][i]
			s.since, s.until = min(s.since, of.since), max(s.until, of.until)
		} else {
			t.shares[k] = append(t.shares[k], of)
		}
	}
	return nil
}

// payeeSums collects what the tokens settled to a payee.
type payeeSums struct {
	recipientKey
	tokens []*payeeTokenSums
}

// payeeTokenSums is what one token settled to a payee. Days of the window are separate from earlier days. Settlements
// dated after today do not count yet, and days before the first service had the payee never count.
type payeeTokenSums struct {
	numberedToken
	first      time.Time // settlement, counted or not
	past, days []payeeDay
}

// readPayees reads the total and the days of each payee.
func (t *revenueReader) readPayees(ctx context.Context) error {
	payees, tokens, err := t.readPayeeTotals(ctx)
	if err == nil {
		err = t.readPayeeDays(ctx, tokens)
	}
	if err != nil {
		return err
	}
	t.revenue.Payees = make([]PayeeFacts, 0, len(payees))
	for _, p := range payees {
		if f, some := t.finish(p); some {
			t.revenue.Payees = append(t.revenue.Payees, f)
		}
	}
	slices.SortFunc(t.revenue.Payees, func(a, b PayeeFacts) int {
		return cmp.Or(cmp.Compare(a.Network, b.Network), cmp.Compare(a.Address, b.Address))
	})
	return nil
}

func (t *revenueReader) readPayeeTotals(ctx context.Context) (map[recipientKey]*payeeSums,
	map[payeeToken]*payeeTokenSums,
	error) {
	ids := make([]int64, 0, len(t.shares))
	for p := range t.shares {
		ids = append(ids, p.payee)
	}
	slices.Sort(ids)
	rows, err := t.tx.Query(ctx, `
		SELECT payee_id, token_id, first_at FROM payee_totals
			WHERE payee_id = ANY($1) AND token_id = ANY($2)`,
		slices.Compact(ids), t.tokenArgs[0])
	if err != nil {
		return nil, nil, err
	}
	payees, tokens := make(map[recipientKey]*payeeSums, len(t.shares)),
		make(map[payeeToken]*payeeTokenSums, len(t.shares))
	var id payeeToken
	var first time.Time
	_, err = pgx.ForEachRow(rows, []any{&id.payee, &id.tokenID, &first}, func() error {
		f := t.tokens[id.tokenID]
		at := recipientKey{id.payee, f.network}
		if t.shares[at] == nil {
			return nil
		}
		one := &payeeTokenSums{numberedToken: f, first: first}
		tokens[id] = one
		if payees[at] == nil {
			payees[at] = &payeeSums{recipientKey: at}
		}
		payees[at].tokens = append(payees[at].tokens, one)
		return nil
	})
	return payees, tokens, err
}

// readPayeeDays reads the days of all payees: the window in one scan of the newest rows, and earlier days for the
// payees that have some.
func (t *revenueReader) readPayeeDays(ctx context.Context, tokens map[payeeToken]*payeeTokenSums) error {
	today := dayNumber(t.today)
	first := windowStart(today)
	since := make(map[recipientKey]int32, len(t.shares)) // first day on which some service has the payee
	for k, shares := range t.shares {
		since[k] = shares[0].since
		for _, s := range shares {
			since[k] = min(since[k], s.since)
		}
	}
	take := func(id payeeToken, d payeeDay) error {
		f := tokens[id]
		switch {
		case f == nil || d.day > today || d.day < since[recipientKey{id.payee, f.network}]:
		case d.day >= first:
			f.days = append(f.days, d)
		default:
			f.past = append(f.past, d)
		}
		return nil
	}
	rows, err := t.tx.Query(ctx, `SELECT `+payeeDayColumns+
		` FROM payee_days d WHERE d.day >= $1 AND d.token_id = ANY($2)`, dayTime(first), t.tokenArgs[0])
	if err == nil {
		err = eachPayeeDay(rows, take)
	}
	if err != nil {
		return err
	}
	var payees []int64
	var numbers []int32
	for id, f := range tokens {
		if dayNumber(f.first) < first {
			payees, numbers = append(payees, id.payee), append(numbers, id.tokenID)
		}
	}
	rows, err = t.tx.Query(ctx, `
		SELECT `+payeeDayColumns+` FROM unnest($1::bigint[], $2::integer[]) AS u (payee, token)
			JOIN payee_days d ON d.payee_id = u.payee AND d.token_id = u.token
		WHERE d.day < $3 ORDER BY d.day`, payees, numbers, dayTime(first))
	if err != nil {
		return err
	}
	return eachPayeeDay(rows, take)
}

// finish returns the revenue of a payee, and false if there is none yet.
func (t *revenueReader) finish(p *payeeSums) (facts PayeeFacts, some bool) {
	facts = PayeeFacts{Network: t.networks[p.network], Address: t.addresses[p.payee], Before: RevenueSum{USD: "0"}}
	var days []daySum
	for _, f := range p.tokens {
		if len(f.past) > 0 {
			facts.past = append(facts.past, pastDays{f.facilitator, f.unit, f.past})
		}
		days = addDays(days, f.facilitator, f.unit, f.days)
	}
	if len(facts.past) > 0 {
		before, first, last := sumPast(facts.past)
		facts.Before = before
		if t.changesWithin(p.recipientKey, first, last) {
			for _, past := range facts.past {
				days = addDays(days, past.facilitator, past.unit, past.days)
			}
			facts.Before, facts.past = RevenueSum{USD: "0"}, nil
		}
	}
	facts.Days = mergeDays(days)
	return facts, facts.Before.Settlements+int64(len(facts.Days)) > 0
}

// sumPast sums the days before the window, of which there is one, and returns the first and the last of them.
func sumPast(past []pastDays) (s RevenueSum, first, last int32) {
	var value money
	first = forever
	firstAt, lastAt := int64(math.MaxInt64), int64(math.MinInt64)
	for _, of := range past {
		var all amount
		for _, d := range of.days {
			s.Settlements += d.n
			all = all.plus(d.amount)
			first, last = min(first, d.day), max(last, d.day)
			firstAt, lastAt = min(firstAt, d.first), max(lastAt, d.last)
		}
		value = value.plus(of.unit.times(all))
	}
	s.USD, s.FirstAt, s.LastAt = value.String(), microTime(firstAt), microTime(lastAt)
	return s, first, last
}

// changesWithin reports whether other services have a recipient on the last of some days than on an earlier one of
// them. Then the revenue of these days cannot be one sum.
func (t *revenueReader) changesWithin(at recipientKey, first, last int32) bool {
	return slices.ContainsFunc(t.shares[at], func(s share) bool {
		return first < s.since && s.since <= last || first <= s.until && s.until < last
	})
}

const countedTokens = `
	WITH f AS MATERIALIZED (
		SELECT * FROM unnest($1::integer[], $2::text[]::numeric[]) f (token_id, unit)
	)`

func (t *revenueReader) readWhole(ctx context.Context) error {
	q := &t.revenue.Quality
	return t.tx.QueryRow(ctx, countedTokens+`
		SELECT coalesce(trim_scale(sum(d.amount * f.unit))::text, '0'), coalesce(sum(d.settlements), 0)::bigint,
			coalesce(trim_scale(sum(d.self_amount * f.unit))::text, '0'), coalesce(sum(d.self_settlements), 0)::bigint
		FROM f JOIN token_days d ON d.token_id = f.token_id WHERE d.day >= $3 AND d.day <= $4`,
		slices.Concat(t.tokenArgs, []any{t.month, t.today})...).Scan(&q.USD30d, &q.Settlements30d, &q.SelfUSD30d,
		&q.SelfSettlements30d)
}
