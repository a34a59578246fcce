package ledger

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/rows"
)

// Errors of replacements. Each means that nothing was changed.
var (
	// ErrUnfinished refuses a replacement of a network of which some blocks or transactions were not read yet. They
	// would count as settlements that were missed.
	ErrUnfinished = errors.New("it is not read up to its end yet; run tollbook index --once first")
	// ErrForgotten says that no node has the chain back to the day on which a replacement begins.
	ErrForgotten = errors.New("no node has the chain back to that day")
)

// Replacement replaces what is stored of a stretch of a chain by what a reader reads of it again. It is the store of
// that reader: it gives the reader scans or walks of the stretch alone (replacementstore.go), and keeps what the reader
// commits in temporary tables of one connection. Apply compares both and writes the differences in one transaction. A
// crash before that leaves the database as it was.
//
// The stretch ends where the network was read to. The scans and walks of the network do not move. Settlements of
// settlers and tokens that are not listed now stay as they are, because they cannot be read again.
//
// The caller holds the lock of the network's index.
type Replacement struct {
	db      *DB
	conn    *pgx.Conn
	network string
	chain   int16
	from    time.Time
	tokens  []string
	margin  int64
	scans   scanReplacement
	walks   []walkReplacement
	mu      sync.Mutex // guards the connection, the positions of scans and walks, and what they read
}

// ReplacementOptions say what a replacement is of.
type ReplacementOptions struct {
	Network string
	From    time.Time // the first instant of a UTC day
	Tokens  []string  // that the reader measures, in normal form
	// Margin is how many blocks below the head of a walk its nodes may still list later.
	Margin int64
}

// Replaced is what a replacement did.
type Replaced struct {
	Network string
	From    time.Time
	First   int64 // block; 0 on networks that walks read
	Last    int64 // newest block of the stretch
	Before  int64 // settlements of the stretch
	After   int64
	Added   int64 // settlements that were not stored
	Removed int64 // settlements that were stored and do not exist
	Changed int64 // of both numbers, settlements that are stored with other facts now
	Days    []time.Time
	Tokens  []ReplacedToken
}

// ReplacedToken is what a replacement did to the settlements of a token.
type ReplacedToken struct {
	Token                     string
	Before, After             int64
	AmountBefore, AmountAfter string // atomic units
}

// BeginReplacement begins a replacement from a day on. Close ends it. It returns ErrUnfinished if scans or walks of the
// network are not finished, and ErrNotFound if the network was never read.
func (db *DB) BeginReplacement(ctx context.Context, o ReplacementOptions) (*Replacement, error) {
	r := &Replacement{db: db, network: o.Network, from: o.From.UTC(), tokens: o.Tokens, margin: o.Margin}
	err := r.begin(ctx)
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("read %s again: %w", o.Network, err)
	}
	return r, nil
}

func (r *Replacement) begin(ctx context.Context) (err error) {
	if r.chain, err = r.db.chainID(ctx, r.network); err != nil {
		return err
	}
	if r.conn, err = pgx.ConnectConfig(ctx, r.db.pool.Config().ConnConfig); err != nil {
		return err
	}
	if _, err := r.conn.Exec(ctx, `CREATE TEMPORARY TABLE read_again (LIKE settlements)`); err != nil {
		return err
	}
	if err := r.beginScans(ctx); err != nil {
		return err
	}
	if err := r.beginWalks(ctx); err != nil {
		return err
	}
	if !r.scans.exists && len(r.walks) == 0 {
		return fmt.Errorf("no settlements of it were ever read: %w", ErrNotFound)
	}
	return nil
}

// Close ends the replacement. What was not applied is gone.
func (r *Replacement) Close() {
	if r.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = r.conn.Close(ctx)
	}
}

// stage keeps settlements until Apply.
func (r *Replacement) stage(ctx context.Context, list []Settlement) error {
	entries, err := r.db.entries(ctx, list)
	if err != nil || len(entries) == 0 {
		return err
	}
	return pgx.BeginFunc(ctx, r.conn, func(tx pgx.Tx) error { return copyEntries(ctx, tx, "read_again", entries, nil) })
}

// Apply replaces what is stored by what was read, and ends the stretch. It is one transaction, so that a build reads
// what was before or what is after.
func (r *Replacement) Apply(ctx context.Context, now time.Time) (Replaced, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	done := Replaced{Network: r.network, From: r.from, First: r.scans.first, Last: r.last()}
	err := r.checkFinished()
	if err == nil {
		err = pgx.BeginFunc(ctx, r.conn, func(tx pgx.Tx) error {
			if err := lock(ctx, tx, r.chain); err != nil {
				return err
			}
			return r.apply(ctx, tx, now, &done)
		})
	}
	if err != nil {
		return Replaced{}, fmt.Errorf("replace what is stored of %s: %w", r.network, err)
	}
	return done, nil
}

func (r *Replacement) apply(ctx context.Context, tx pgx.Tx, now time.Time, done *Replaced) error {
	if err := r.selectScope(ctx, tx); err != nil {
		return err
	}
	if err := runSteps(ctx, tx, []step{
		{"plan for many rows", planForMany, nil},
		{"select what was read", createReadRows, nil},
		{"analyze it", `ANALYZE read_rows`, nil},
		{"select what is the same", createSameRows, []any{r.chain}},
		{"analyze it", `ANALYZE same_rows`, nil},
		{"select settlements to add", createAddedRows, nil},
		{"analyze them", `ANALYZE added_rows`, nil},
		{"select settlements to remove", fmt.Sprintf(createReplacedSettlements, r.chain), nil},
		{"analyze them", `ANALYZE removed_settlements`, nil},
	}); err != nil {
		return err
	}
	if err := r.compare(ctx, tx, done); err != nil {
		return err
	}
	var steps []step
	if done.Removed > 0 {
		steps = append(steps, removeSettlements(r.chain, `EXISTS (SELECT FROM removed_settlements d
			WHERE d.day = (settlements.settled_at AT TIME ZONE 'UTC')::date)`)...)
	}
	if r.scans.exists {
		steps = append(steps,
			step{"select ranges to remove", fmt.Sprintf(createReplacedRanges, r.chain, r.scans.first), nil})
		steps = append(steps, removeCounts(r.chain)...)
		steps = append(steps,
			step{"forget authorisations of older ranges", `UPDATE authorization_days SET authorizations = 0
				WHERE chain_id = $1 AND day >= $2`, []any{r.chain, r.from}},
			step{"forget senders of older ranges", `DELETE FROM sender_days WHERE chain_id = $1 AND day >= $2`,
				[]any{r.chain, r.from}},
			step{"delete ranges", deleteRanges, nil})
	}
	if err := runSteps(ctx, tx, steps); err != nil {
		return err
	}
	if err := r.addRows(ctx, tx); err != nil {
		return err
	}
	batch := &pgx.Batch{}
	for _, p := range r.scans.parts {
		if len(p.ranges) > 0 {
			queueRanges(batch, r.chain, p.scan, p.ranges)
			queueAuthorizations(batch, r.chain, p.scan, p.ranges)
			queueSenders(batch, r.chain, p.scan, p.ranges)
		}
	}
	batch.Queue(deleteEmptyAuthorizations, r.chain)
	queuePrune(batch, r.chain)
	batch.Queue(markDays, now.UTC().Format(time.RFC3339))
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("store ranges: %w", err)
	}
	return nil
}

// planForMany undoes what lock sets: here are more rows than in a commit.
const planForMany = `SELECT set_config(name, 'on', true)
	FROM unnest('{enable_seqscan,enable_hashjoin,enable_mergejoin}'::text[]) name`

// selectScope makes the tables of the settlers, tokens and payees whose settlements are compared.
func (r *Replacement) selectScope(ctx context.Context, tx pgx.Tx) error {
	settlers, err := r.scope(ctx)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		CREATE TEMPORARY TABLE scope_settlers (settler_id bigint, first bigint, last bigint, since timestamptz,
			payees boolean) ON COMMIT DROP;
		CREATE TEMPORARY TABLE scope_payees (settler_id bigint, payee_id bigint) ON COMMIT DROP;
		CREATE TEMPORARY TABLE scope_tokens (token text) ON COMMIT DROP`)
	if err != nil {
		return err
	}
	type payee struct{ settler, payee int64 }
	var payees []payee
	for _, s := range settlers {
		for _, p := range s.payees {
			payees = append(payees, payee{s.id, p})
		}
	}
	if err := rows.Copy(ctx, tx, "scope_settlers", "settler_id, first, last, since, payees", settlers,
		func(row []any, s *scopeSettler) { rows.Put(row, s.id, s.first, s.last, s.since, s.byPayee) }); err != nil {
		return err
	}
	if err := rows.Copy(ctx, tx, "scope_payees", "settler_id, payee_id", payees,
		func(row []any, p *payee) { rows.Put(row, p.settler, p.payee) }); err != nil {
		return err
	}
	return rows.Copy(ctx, tx, "scope_tokens", "token", r.tokens,
		func(row []any, t *string) { rows.Put(row, *t) })
}

// scopeSettler is a settler with the blocks and the time from which its settlements are compared.
type scopeSettler struct {
	id          int64
	first, last int64
	since       time.Time
	byPayee     bool    // only payments to the payees are compared
	payees      []int64 // accounts
}

func (r *Replacement) scope(ctx context.Context) ([]scopeSettler, error) {
	var list []scopeSettler
	var names []string
	for _, s := range r.scans.settlers {
		names = append(names, s.Address)
		one := scopeSettler{first: r.scans.first, last: r.scans.last}
		if s.Since != nil {
			one.since = *s.Since
		}
		list = append(list, one)
	}
	for _, w := range r.walks {
		names = append(names, w.is.Settler.Address)
		one := scopeSettler{first: math.MinInt64, last: w.last, since: r.from}
		if s := w.is.Settler.Since; s != nil && s.After(one.since) {
			one.since = *s
		}
		var err error
		if one.byPayee = w.payees != nil; one.byPayee {
			if one.payees, err = r.db.accountIDs(ctx, w.commonPayees()); err != nil {
				return nil, err
			}
		}
		list = append(list, one)
	}
	ids, err := r.db.accountIDs(ctx, names)
	for i := range ids {
		list[i].id = ids[i]
	}
	return list, err
}

// inScope is true of a row s of a table of settlements, with the row f of its token, that the replacement is of.
const inScope = `EXISTS (SELECT FROM scope_settlers z WHERE z.settler_id = s.settler_id
		AND s.block BETWEEN z.first AND z.last AND s.settled_at >= z.since
		AND (NOT z.payees OR EXISTS (SELECT FROM scope_payees p WHERE p.settler_id = s.settler_id AND p.payee_id = s.payee_id)))
	AND f.token IN (SELECT token FROM scope_tokens)`

// createReadRows selects what was read, each settlement once.
const createReadRows = `
	CREATE TEMPORARY TABLE read_rows ON COMMIT DROP AS
	SELECT DISTINCT ON (s.block, s.transaction, s.log_index) s.*, f.token
	FROM read_again s JOIN facilitator_tokens f ON f.id = s.token_id WHERE ` + inScope + `
	ORDER BY s.block, s.transaction, s.log_index`

// createSameRows selects the stored settlements that were read with the same facts. Their facilitator may be another
// now; a stored settlement keeps its own.
const createSameRows = `
	CREATE TEMPORARY TABLE same_rows ON COMMIT DROP AS
	SELECT s.block, s.transaction, s.log_index, f.token, s.amount
	FROM settlements s JOIN facilitator_tokens f ON f.id = s.token_id JOIN read_rows n
		ON n.block = s.block AND n.transaction = s.transaction AND n.log_index = s.log_index
	WHERE s.chain_id = $1 AND n.token = f.token
		AND (n.settled_at, n.block_hash, n.settler_id, n.payer_id, n.payee_id, n.amount, n.method)
			= (s.settled_at, s.block_hash, s.settler_id, s.payer_id, s.payee_id, s.amount, s.method)`

// createReplacedSettlements selects the stored settlements of the stretch that do not exist, and others that contradict
// one that is added: in its place, or of the same transaction in another block. Joins, because both may be many.
const createReplacedSettlements = `
	CREATE TEMPORARY TABLE removed_settlements ON COMMIT DROP AS
	SELECT s.*, ` + settlementSums + `
	FROM settlements s JOIN facilitator_tokens f ON f.id = s.token_id
	WHERE s.chain_id = %[1]d AND ` + inScope + notSame + `
	UNION
	SELECT s.*, ` + settlementSums + `
	FROM settlements s JOIN added_rows n USING (block, transaction, log_index) WHERE s.chain_id = %[1]d
	UNION
	SELECT s.*, ` + settlementSums + `
	FROM settlements s JOIN facilitator_tokens f ON f.id = s.token_id
		JOIN (SELECT DISTINCT transaction FROM added_rows) n USING (transaction)
	WHERE s.chain_id = %[1]d AND f.token IN (SELECT token FROM scope_tokens)
		AND s.settler_id IN (SELECT settler_id FROM scope_settlers)` + notSame

// notSame is true of a settlement s that was not read with the same facts.
const notSame = `
		AND NOT EXISTS (SELECT FROM same_rows e
			WHERE e.block = s.block AND e.transaction = s.transaction AND e.log_index = s.log_index)`

const createAddedRows = `
	CREATE TEMPORARY TABLE added_rows ON COMMIT DROP AS
	SELECT n.*, row_number() OVER (ORDER BY n.block, n.transaction, n.log_index) AS place FROM read_rows n
	WHERE NOT EXISTS (SELECT FROM same_rows e
		WHERE e.block = n.block AND e.transaction = n.transaction AND e.log_index = n.log_index)`

// createReplacedRanges selects the ranges of the stretch that count. Those of other scans have no counts, and stay.
const createReplacedRanges = `
	CREATE TEMPORARY TABLE removed_ranges ON COMMIT DROP AS
	SELECT r.id, r.scan_id, r.first FROM ranges r JOIN scans c ON c.id = r.scan_id
	WHERE r.chain_id = %d AND c.counts AND r.last >= %d`

// markDays makes the files of days that are over be written again (bulk.SettledDays), also if their sums are equal.
const markDays = `
	INSERT INTO settings (name, value)
	SELECT '` + DayReadAgain + `' || day, $1 FROM (SELECT day FROM removed_settlements
		UNION SELECT (settled_at AT TIME ZONE 'UTC')::date FROM added_rows) d
	ON CONFLICT (name) DO UPDATE SET value = excluded.value`

// DayReadAgain begins the name of the setting of a day whose settlements were read again and changed. Its value is when.
const DayReadAgain = "settlements read again "

// compare counts the differences.
func (r *Replacement) compare(ctx context.Context, tx pgx.Tx, done *Replaced) error {
	err := tx.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM same_rows), (SELECT count(*) FROM removed_settlements),
			(SELECT count(*) FROM added_rows), (SELECT count(*) FROM removed_settlements s JOIN added_rows n
				ON n.transaction = s.transaction AND n.log_index = s.log_index)`).
		Scan(&done.Before, &done.Removed, &done.Added, &done.Changed)
	if err != nil {
		return fmt.Errorf("count the differences: %w", err)
	}
	done.After = done.Before + done.Added
	done.Before += done.Removed
	var t ReplacedToken
	if err := rows.Each(ctx, tx, `
		SELECT token, sum(kept + removed)::bigint, sum(kept + added)::bigint,
			sum((kept + removed) * amount)::text, sum((kept + added) * amount)::text FROM (
			SELECT token, amount, 1 AS kept, 0 AS removed, 0 AS added FROM same_rows
			UNION ALL SELECT f.token, s.amount, 0, 1, 0 FROM removed_settlements s
				JOIN facilitator_tokens f ON f.id = s.token_id
			UNION ALL SELECT token, amount, 0, 0, 1 FROM added_rows
		) all_rows GROUP BY token ORDER BY token COLLATE "C"`,
		[]any{&t.Token, &t.Before, &t.After, &t.AmountBefore, &t.AmountAfter},
		func() { done.Tokens = append(done.Tokens, t) }); err != nil {
		return fmt.Errorf("sum the differences: %w", err)
	}
	done.Days, err = rows.Column[time.Time](ctx, tx, `SELECT day::timestamptz FROM (SELECT day FROM removed_settlements
		UNION SELECT (settled_at AT TIME ZONE 'UTC')::date FROM added_rows) d ORDER BY 1`)
	if err != nil {
		return fmt.Errorf("list the days that differ: %w", err)
	}
	for i := range done.Days {
		done.Days[i] = done.Days[i].UTC()
	}
	return nil
}

// addedAtOnce is how many settlements are added by one set of statements.
const addedAtOnce = 20_000

// addRows stores what was not stored, with its sums.
func (r *Replacement) addRows(ctx context.Context, tx pgx.Tx) error {
	for last := int64(0); ; last += addedAtOnce {
		var e entry
		var list []entry
		var text string
		var unreadable string
		err := rows.Each(ctx, tx, `
			SELECT token_id, token, settler_id, payer_id, payee_id, block, log_index, settled_at, transaction, block_hash,
				method, amount::text
			FROM added_rows WHERE place > $1 AND place <= $2 ORDER BY place`,
			[]any{&e.tokenID, &e.token, &e.settler, &e.payer, &e.payee, &e.block, &e.log, &e.at, &e.transaction, &e.hash,
				&e.method, &text}, func() {
				value, ok := parseAmount(text)
				if !ok {
					unreadable = text
				}
				e.chain, e.amount = r.chain, value
				e.transaction, e.hash = slices.Clone(e.transaction), slices.Clone(e.hash)
				list = append(list, e)
			}, last, last+addedAtOnce)
		if err == nil && unreadable != "" {
			err = fmt.Errorf("amount %.80q is no decimal integer", unreadable)
		}
		if err != nil {
			return fmt.Errorf("read settlements to add: %w", err)
		}
		if len(list) == 0 {
			return nil
		}
		fresh, err := storeEntries(ctx, tx, list, nil, &pgx.Batch{})
		if err == nil && fresh != int64(len(list)) {
			err = fmt.Errorf("%d of %d settlements are stored already", int64(len(list))-fresh, len(list))
		}
		if err != nil {
			return err
		}
	}
}
