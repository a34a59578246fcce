package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrMoved refuses a commit whose scan or walk is no longer where it was when it was read: another indexer was faster, or
// a reorganisation was rolled back. Nothing is kept of it; whoever made it reads the scans anew.
var ErrMoved = errors.New("the scan has moved")

// keptBlocks is how far below the head ranges are remembered, so that a reorganisation within them can be taken back.
const keptBlocks = 100_000

// Scan looks for the settlements of its settlers over the blocks [Next, End). Of every block exactly one scan counts.
type Scan struct {
	ID       int64 // another one whenever settlers join the scan
	Network  string
	Next     int64
	End      *int64 // nil follows the head
	Counts   bool   // sums all authorisations that it sees, whoever sent them
	Settlers []ScanSettler
}

// ScanSettler is a settler as the lists say it now.
type ScanSettler struct {
	Address     string
	Facilitator string
	Tokens      []string
	Since       *time.Time // what it settled before that day is nobody's
	Deprecated  bool
}

// Range is what a scan found over the blocks [First, Last]: it is kept whole or not at all.
type Range struct {
	Scan        int64
	Network     string
	First, Last int64
	Hash        string    // of block Last
	Time        time.Time // of block Last
	Settlements []Settlement
	Seen        []SeenDay   // of a counting scan
	Senders     []SenderDay // of a counting scan
}

// SeenDay counts authorisations of a token on a UTC day, whoever sent them.
type SeenDay struct {
	Token          string
	Day            time.Time
	Authorizations int64
}

// SenderDay is what a sender that no list names moved to known recipients on a UTC day.
type SenderDay struct {
	Sender     string
	Day        time.Time
	Token      string
	Payments   int64
	Amount     string // atomic units
	Recipients int64  // distinct ones within the range
}

// RangeEnd is the last block of a range that was committed.
type RangeEnd struct {
	Last int64
	Hash string
}

// Head is the newest block that a chain calls confirmed.
type Head struct {
	Network  string
	Block    int64
	Time     time.Time
	PolledAt time.Time
}

const scanSettlerColumns = `s.address, s.facilitator_id, s.tokens, s.since, s.deprecated`

func scanSettler(row pgx.CollectableRow) (s ScanSettler, err error) {
	return s, row.Scan(&s.Address, &s.Facilitator, &s.Tokens, &s.Since, &s.Deprecated)
}

// NewSettlers are a network's settlers that no scan looks for yet, by address.
func (db *DB) NewSettlers(ctx context.Context, network string) ([]ScanSettler, error) {
	rows, err := db.pool.Query(ctx, `
		SELECT `+scanSettlerColumns+` FROM settlers s
		WHERE s.network = $1 AND NOT EXISTS (
			SELECT FROM scan_settlers j JOIN scans c ON c.id = j.scan_id WHERE j.network = s.network AND j.address = s.address AND c.until IS NULL
		) ORDER BY s.address COLLATE "C"`, network)
	if err != nil {
		return nil, fmt.Errorf("read new settlers of %s: %w", network, err)
	}
	list, err := pgx.CollectRows(rows, scanSettler)
	if err != nil {
		return nil, fmt.Errorf("read new settlers of %s: %w", network, err)
	}
	return list, nil
}

// OpenScans registers those of the settlers that no scan looks for yet. The head scan begins at block head, or goes on for
// them too from where it is; fills cover what is behind it, from block first on, whose time is firstTime. It may be told
// twice, also at once.
func (db *DB) OpenScans(ctx context.Context, network string, settlers []ScanSettler, first int64, firstTime time.Time, head int64) error {
	addresses := make([]string, len(settlers))
	for i, s := range settlers {
		addresses[i] = s.Address
	}
	chain, err := db.chain(ctx, network)
	if err == nil {
		err = db.transact(ctx, func(tx pgx.Tx) error {
			if err := lock(ctx, tx, chain); err != nil {
				return err
			}
			return openScans(ctx, tx, chain, network, addresses, first, firstTime, head)
		})
	}
	if err != nil {
		return fmt.Errorf("open scans of %s for %d settlers: %w", network, len(settlers), err)
	}
	return nil
}

func openScans(ctx context.Context, tx pgx.Tx, chain int16, network string, addresses []string, first int64, firstTime time.Time, head int64) error {
	rows, err := tx.Query(ctx, `
		SELECT s.address FROM settlers s
		WHERE s.network = $1 AND s.address = ANY($2) AND NOT EXISTS (
			SELECT FROM scan_settlers j JOIN scans c ON c.id = j.scan_id WHERE j.network = s.network AND j.address = s.address AND c.until IS NULL
		) ORDER BY s.address FOR KEY SHARE OF s`, network, addresses)
	if err != nil {
		return err
	}
	fresh, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(fresh) == 0 {
		return err
	}
	open := func(first int64, since *time.Time, until *int64, counts bool) (id int32, err error) {
		err = tx.QueryRow(ctx, `
			INSERT INTO scans (chain_id, first, since, next, until, counts) VALUES ($1, $2, $3, $2, $4, $5) RETURNING id`,
			chain, first, since, until, counts).Scan(&id)
		if err == nil {
			err = join(ctx, tx, id, network, fresh)
		}
		return id, err
	}
	var headScan int32
	var next, counted int64
	err = tx.QueryRow(ctx, `SELECT s.id, s.next, c.counted_from FROM scans s JOIN chains c ON c.id = s.chain_id WHERE s.chain_id = $1 AND s.until IS NULL`,
		chain).Scan(&headScan, &next, &counted)
	if errors.Is(err, pgx.ErrNoRows) {
		since := &firstTime
		if first < head {
			if _, err := open(first, since, &head, true); err != nil {
				return err
			}
			since = nil
		}
		if _, err := open(head, since, nil, true); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE chains SET counted_from = $2 WHERE id = $1`, chain, min(first, head))
		return err
	}
	if err != nil {
		return err
	}
	if err := join(ctx, tx, headScan, network, fresh); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE scans SET ticket = DEFAULT WHERE id = $1`, headScan); err != nil {
		return err
	}
	if low := max(first, counted); low < next {
		if _, err := open(low, nil, &next, false); err != nil {
			return err
		}
	}
	if first >= counted {
		return nil
	}
	if _, err := open(first, &firstTime, &counted, true); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE chains SET counted_from = $2 WHERE id = $1`, chain, first)
	return err
}

func join(ctx context.Context, tx pgx.Tx, scan int32, network string, addresses []string) error {
	_, err := tx.Exec(ctx, `INSERT INTO scan_settlers (scan_id, network, address) SELECT $1, $2, unnest($3::text[])`, scan, network, addresses)
	return err
}

// openScan is what a scan is as long as it has blocks to go. One that neither counts nor has settlers left looks for nothing.
const openScan = `(c.until IS NULL OR c.next < c.until) AND (c.counts OR EXISTS (SELECT FROM scan_settlers j WHERE j.scan_id = c.id))`

// Scans are a network's open ones, the head scan first, with their settlers as the lists say them now, by address.
func (db *DB) Scans(ctx context.Context, network string) ([]Scan, error) {
	var list []Scan
	err := pgx.BeginTxFunc(ctx, db.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT c.ticket, h.network, c.next, c.until, c.counts FROM scans c JOIN chains h ON h.id = c.chain_id
			WHERE h.network = $1 AND `+openScan+` ORDER BY c.until IS NOT NULL, c.id`, network)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (s Scan, err error) {
			return s, row.Scan(&s.ID, &s.Network, &s.Next, &s.End, &s.Counts)
		})
		for i := range list {
			if err != nil {
				return err
			}
			rows, err = tx.Query(ctx, `
				SELECT `+scanSettlerColumns+` FROM scans c JOIN scan_settlers j ON j.scan_id = c.id JOIN settlers s USING (network, address)
				WHERE c.ticket = $1 ORDER BY s.address COLLATE "C"`, list[i].ID)
			if err == nil {
				list[i].Settlers, err = pgx.CollectRows(rows, scanSettler)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read scans of %s: %w", network, err)
	}
	return list, nil
}

// CommitRanges keeps ranges of a scan that follow each other, with their roll-ups, and moves the scan behind them, all in one
// transaction, or answers ErrMoved. Tables say the same as when each was kept by itself. fresh counts the settlements that were
// not kept already.
func (db *DB) CommitRanges(ctx context.Context, ranges ...Range) (fresh int64, err error) {
	if len(ranges) == 0 {
		return 0, nil
	}
	first, last := &ranges[0], &ranges[len(ranges)-1]
	if err = checkRanges(ranges); err == nil {
		fresh, err = db.commitRanges(ctx, ranges)
	}
	if err != nil {
		return 0, fmt.Errorf("commit blocks %d to %d of %s: %w", first.First, last.Last, first.Network, err)
	}
	return fresh, nil
}

// checkRanges refuses ranges that are not one piece, and what lies outside of its range: it could not be rolled back with it.
func checkRanges(ranges []Range) error {
	for i := range ranges {
		r := &ranges[i]
		if r.Last < r.First {
			return fmt.Errorf("blocks %d to %d: there is none", r.First, r.Last)
		}
		if i > 0 && (r.First != ranges[i-1].Last+1 || r.Scan != ranges[0].Scan || r.Network != ranges[0].Network) {
			return fmt.Errorf("blocks %d to %d do not follow those before", r.First, r.Last)
		}
		for j := range r.Settlements {
			if s := &r.Settlements[j]; s.Network != r.Network || s.Block < r.First || s.Block > r.Last {
				return fmt.Errorf("a settlement of block %d is not of blocks %d to %d", s.Block, r.First, r.Last)
			}
		}
		for _, s := range r.Senders {
			if _, ok := parseAmount(s.Amount); !ok {
				return fmt.Errorf("sender %.80q: amount %.80q is no decimal integer", s.Sender, s.Amount)
			}
		}
	}
	return nil
}

func (db *DB) commitRanges(ctx context.Context, ranges []Range) (fresh int64, err error) {
	chain, err := db.chain(ctx, ranges[0].Network)
	if err != nil {
		return 0, err
	}
	lists := make([][]Settlement, len(ranges))
	for i := range ranges {
		lists[i] = ranges[i].Settlements
	}
	entries, err := db.entries(ctx, lists...)
	if err != nil {
		return 0, err
	}
	err = db.transact(ctx, func(tx pgx.Tx) error {
		if err := lock(ctx, tx, chain); err != nil {
			return err
		}
		scan, counts, err := moveScan(ctx, tx, chain, ranges)
		if err != nil {
			return err
		}
		if !counts && slices.ContainsFunc(ranges, func(r Range) bool { return len(r.Seen)+len(r.Senders) > 0 }) {
			return errors.New("a scan that does not count has counted")
		}
		batch := &pgx.Batch{}
		queueRanges(batch, chain, scan, ranges)
		queueSeen(batch, chain, scan, ranges)
		queueSenders(batch, chain, scan, ranges)
		queuePrune(batch, chain)
		fresh, err = keep(ctx, tx, entries, &scan, batch)
		return err
	})
	return fresh, err
}

// moveScan moves the scan from the first block of the ranges behind their last, and says what scan it is.
func moveScan(ctx context.Context, tx pgx.Tx, chain int16, ranges []Range) (scan int32, counts bool, err error) {
	err = tx.QueryRow(ctx, `
		UPDATE scans SET next = $4 + 1 WHERE chain_id = $1 AND ticket = $2 AND next = $3 AND (until IS NULL OR $4 < until) RETURNING id, counts`,
		chain, ranges[0].Scan, ranges[0].First, ranges[len(ranges)-1].Last).Scan(&scan, &counts)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrMoved
	}
	return scan, counts, err
}

func queueRanges(b *pgx.Batch, chain int16, scan int32, ranges []Range) {
	var firsts, lasts []int64
	var hashes []string
	var times []time.Time
	for i := range ranges {
		r := &ranges[i]
		firsts, lasts, hashes, times = append(firsts, r.First), append(lasts, r.Last), append(hashes, r.Hash), append(times, r.Time)
	}
	b.Queue(`
		INSERT INTO ranges (chain_id, scan_id, first, last, hash, at)
		SELECT $1, $2, u.* FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::timestamptz[]) u`, chain, scan, firsts, lasts, hashes, times)
}

// queueSeen keeps what each range has seen, to be taken back with it, and the sums of all.
func queueSeen(b *pgx.Batch, chain int16, scan int32, ranges []Range) {
	var lasts, counts []int64
	var tokens []string
	var days []time.Time
	for i := range ranges {
		for _, s := range ranges[i].Seen {
			if s.Authorizations != 0 {
				lasts, tokens = append(lasts, ranges[i].Last), append(tokens, s.Token)
				days, counts = append(days, s.Day), append(counts, s.Authorizations)
			}
		}
	}
	if len(lasts) == 0 {
		return
	}
	const u = `unnest($2::bigint[], $3::text[], $4::date[], $5::bigint[]) u (last, token, day, n)`
	b.Queue(`
		INSERT INTO range_seen (range_id, token, day, authorizations)
		SELECT r.id, token, day, sum(n) FROM `+u+` JOIN ranges r ON r.scan_id = $1 AND r.last = u.last GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
		scan, lasts, tokens, days, counts)
	b.Queue(`
		INSERT INTO seen_days AS old (chain_id, token, day, authorizations)
		SELECT $1, token, day, sum(n) FROM `+u+` GROUP BY 2, 3 ORDER BY 3, 2
		ON CONFLICT (chain_id, day, token) DO UPDATE SET authorizations = old.authorizations + excluded.authorizations`,
		chain, lasts, tokens, days, counts)
}

// queueSenders keeps what each range has found of senders in no list, to be taken back with it, and the sums of all.
func queueSenders(b *pgx.Batch, chain int16, scan int32, ranges []Range) {
	var lasts, payments, recipients []int64
	var senders, tokens, amounts []string
	var days []time.Time
	for i := range ranges {
		for _, s := range ranges[i].Senders {
			if s.Payments != 0 {
				lasts, days = append(lasts, ranges[i].Last), append(days, s.Day)
				senders, tokens, amounts = append(senders, s.Sender), append(tokens, s.Token), append(amounts, s.Amount)
				payments, recipients = append(payments, s.Payments), append(recipients, s.Recipients)
			}
		}
	}
	if len(lasts) == 0 {
		return
	}
	const u = `unnest($2::bigint[], $3::date[], $4::text[], $5::text[], $6::bigint[], $7::text[]::numeric[], $8::bigint[])
		u (last, day, sender, token, payments, amount, recipients)`
	b.Queue(`
		INSERT INTO range_senders (range_id, day, sender, token, payments, amount, recipients)
		SELECT r.id, day, sender, token, sum(payments), sum(amount), max(recipients) FROM `+u+` JOIN ranges r ON r.scan_id = $1 AND r.last = u.last
		GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
		scan, lasts, days, senders, tokens, payments, amounts, recipients)
	b.Queue(`
		INSERT INTO sender_days AS old (chain_id, day, sender, token, payments, amount, recipients)
		SELECT $1, day, sender, token, sum(payments), sum(amount), max(recipients) FROM `+u+` GROUP BY 2, 3, 4 ORDER BY 2, 3, 4
		ON CONFLICT (chain_id, day, sender, token) DO UPDATE SET payments = old.payments + excluded.payments, amount = old.amount + excluded.amount,
			recipients = greatest(old.recipients, excluded.recipients)`,
		chain, lasts, days, senders, tokens, payments, amounts, recipients)
}

// queuePrune forgets the ranges that lie too far below the head to be rolled back, and fills that are done and have none
// left.
func queuePrune(b *pgx.Batch, chain int16) {
	const low = `(SELECT next - 1 - $2 FROM scans WHERE chain_id = $1 AND until IS NULL)`
	b.Queue(`
		UPDATE sender_days d SET forgotten = greatest(d.forgotten, g.recipients) FROM (
			SELECT s.day, s.sender, s.token, max(s.recipients) AS recipients FROM ranges r JOIN range_senders s ON s.range_id = r.id
			WHERE r.chain_id = $1 AND r.last < `+low+` GROUP BY 1, 2, 3
		) g WHERE d.chain_id = $1 AND d.day = g.day AND d.sender = g.sender AND d.token = g.token`, chain, keptBlocks)
	b.Queue(`
		WITH gone AS (DELETE FROM ranges WHERE chain_id = $1 AND last < `+low+` RETURNING last)
		UPDATE chains SET pruned_to = greatest(pruned_to, (SELECT max(last) FROM gone)) WHERE id = $1 AND EXISTS (SELECT FROM gone)`, chain, keptBlocks)
	b.Queue(`
		DELETE FROM scans c WHERE c.chain_id = $1 AND NOT c.counts AND c.next >= c.until AND NOT EXISTS (SELECT FROM ranges r WHERE r.scan_id = c.id)`, chain)
}

// RangeEnds are the ends of a network's ranges that are kept, of every scan, newest first.
func (db *DB) RangeEnds(ctx context.Context, network string) ([]RangeEnd, error) {
	rows, err := db.pool.Query(ctx, `
		SELECT DISTINCT r.last, r.hash FROM ranges r JOIN chains c ON c.id = r.chain_id
		WHERE c.network = $1 ORDER BY r.last DESC, r.hash`, network)
	if err != nil {
		return nil, fmt.Errorf("read ranges of %s: %w", network, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[RangeEnd])
	if err != nil {
		return nil, fmt.Errorf("read ranges of %s: %w", network, err)
	}
	return list, nil
}

// SetHead keeps the chain's confirmed head. It may fall: a reorganisation can shorten a chain.
func (db *DB) SetHead(ctx context.Context, h Head) error {
	chain, err := db.chain(ctx, h.Network)
	if err == nil {
		_, err = db.pool.Exec(ctx, `UPDATE chains SET head_block = $2, head_at = $3, polled_at = $4 WHERE id = $1`, chain, h.Block, h.Time, h.PolledAt)
	}
	if err != nil {
		return fmt.Errorf("keep the head of %s: %w", h.Network, err)
	}
	return nil
}

// Recipients are the addresses on a network that listed services asked to be paid to within the last 90 days, in normal
// form, sorted.
func (db *DB) Recipients(ctx context.Context, network string) ([]string, error) {
	// Only EVM networks are indexed that do not tell cases apart.
	rows, err := db.pool.Query(ctx, `
		SELECT DISTINCT CASE WHEN network_caip2 LIKE 'eip155:%' THEN lower(btrim(pay_to)) ELSE btrim(pay_to) END COLLATE "C" AS address FROM prices
		WHERE network_caip2 = $1 AND btrim(pay_to) <> '' AND (until IS NULL OR until >= now() - interval '90 days') ORDER BY address`, network)
	if err != nil {
		return nil, fmt.Errorf("read recipients on %s: %w", network, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read recipients on %s: %w", network, err)
	}
	return list, nil
}

// LockIndex lets one indexer at a time work on a network: ok is false while another does. The lock lies on a connection of
// its own, and falls with it.
func (db *DB) LockIndex(ctx context.Context, network string) (release func(), ok bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, db.pool.Config().ConnConfig)
	if err == nil {
		err = conn.QueryRow(ctx, `SELECT pg_try_advisory_lock(hashtextextended('index ' || $1, 0))`, network).Scan(&ok)
	}
	release = func() {
		if conn == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		// Told, the server lets go at once; else when it sees the connection end, which may be after the next one has asked.
		_, _ = conn.Exec(ctx, `SELECT pg_advisory_unlock_all()`)
		_ = conn.Close(ctx)
	}
	if err != nil || !ok {
		release()
		release = func() {}
	}
	if err != nil {
		return nil, false, fmt.Errorf("lock the index of %s: %w", network, err)
	}
	return release, ok, nil
}
