package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// CommitRanges stores consecutive ranges of a scan with their sums, and moves the scan behind them, in one transaction,
// or returns ErrMoved. The result is the same as if each range were committed by itself. fresh counts the settlements
// that were new.
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

// checkRanges refuses ranges that are not consecutive, and settlements outside their range, because a roll-back of the
// range would miss them.
func checkRanges(ranges []Range) error {
	for i := range ranges {
		r := &ranges[i]
		if r.Last < r.First {
			return fmt.Errorf("blocks %d to %d: the range is empty", r.First, r.Last)
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
	chain, err := db.chainID(ctx, ranges[0].Network)
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
		if !counts && slices.ContainsFunc(ranges, func(r Range) bool {
			return len(r.Authorizations)+len(r.Senders) > 0
		}) {
			return errors.New("a scan that does not count has counted")
		}
		batch := &pgx.Batch{}
		queueRanges(batch, chain, scan, ranges)
		queueAuthorizations(batch, chain, scan, ranges)
		queueSenders(batch, chain, scan, ranges)
		queuePrune(batch, chain)
		fresh, err = storeEntries(ctx, tx, entries, &scan, batch)
		return err
	})
	return fresh, err
}

// moveScan moves the scan from the first block of the ranges behind the last, and returns the scan's id.
func moveScan(ctx context.Context, tx pgx.Tx, chain int16, ranges []Range) (scan int32, counts bool, err error) {
	err = tx.QueryRow(ctx, `
		UPDATE scans SET next = $4 + 1 WHERE chain_id = $1 AND version = $2 AND next = $3
			AND (until IS NULL OR $4 < until) RETURNING id, counts`,
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
		firsts, lasts, hashes, times = append(firsts, r.First), append(lasts, r.Last), append(hashes, r.Hash),
			append(times, r.Time)
	}
	b.Queue(`
		INSERT INTO ranges (chain_id, scan_id, first, last, hash, at)
		SELECT $1, $2, u.* FROM unnest($3::bigint[], $4::bigint[], $5::text[],
			$6::timestamptz[]) u`, chain, scan, firsts, lasts, hashes, times)
}

// queueAuthorizations keeps what each range has seen, to be taken back with it, and the sums of all.
func queueAuthorizations(b *pgx.Batch, chain int16, scan int32, ranges []Range) {
	var lasts, counts []int64
	var tokens []string
	var days []time.Time
	for i := range ranges {
		for _, s := range ranges[i].Authorizations {
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
		INSERT INTO range_authorizations (range_id, token, day, authorizations)
		SELECT r.id, token, day, sum(n) FROM `+u+` JOIN ranges r ON r.scan_id = $1 AND r.last = u.last
		GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
		scan, lasts, tokens, days, counts)
	b.Queue(`
		INSERT INTO authorization_days AS old (chain_id, token, day, authorizations)
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
	const u = `unnest($2::bigint[], $3::date[], $4::text[], $5::text[], $6::bigint[], $7::text[]::numeric[],
		$8::bigint[])
		u (last, day, sender, token, payments, amount, recipients)`
	b.Queue(`
		INSERT INTO range_senders (range_id, day, sender, token, payments, amount, recipients)
		SELECT r.id, day, sender, token, sum(payments), sum(amount), max(recipients)
			FROM `+u+` JOIN ranges r ON r.scan_id = $1 AND r.last = u.last
		GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
		scan, lasts, days, senders, tokens, payments, amounts, recipients)
	b.Queue(`
		INSERT INTO sender_days AS old (chain_id, day, sender, token, payments, amount, recipients)
		SELECT $1, day, sender, token, sum(payments), sum(amount), max(recipients)
			FROM `+u+` GROUP BY 2, 3, 4 ORDER BY 2, 3, 4
		ON CONFLICT (chain_id, day, sender, token) DO UPDATE SET payments = old.payments + excluded.payments,
			amount = old.amount + excluded.amount, recipients = greatest(old.recipients, excluded.recipients)`,
		chain, lasts, days, senders, tokens, payments, amounts, recipients)
}

// queuePrune deletes ranges too far below the head to be rolled back, and finished backfills without ranges.
func queuePrune(b *pgx.Batch, chain int16) {
	const low = `(SELECT next - 1 - $2 FROM scans WHERE chain_id = $1 AND until IS NULL)`
	b.Queue(`
		UPDATE sender_days d SET pruned_recipients = greatest(d.pruned_recipients, g.recipients) FROM (
			SELECT s.day, s.sender, s.token, max(s.recipients) AS recipients FROM ranges r
				JOIN range_senders s ON s.range_id = r.id
			WHERE r.chain_id = $1 AND r.last < `+low+` GROUP BY 1, 2, 3
		) g WHERE d.chain_id = $1 AND d.day = g.day AND d.sender = g.sender
			AND d.token = g.token`, chain, reorganisationDepth)
	b.Queue(`
		WITH gone AS (DELETE FROM ranges WHERE chain_id = $1 AND last < `+low+` RETURNING last)
		UPDATE chains SET pruned_to = greatest(pruned_to, (SELECT max(last) FROM gone)) WHERE id = $1
			AND EXISTS (SELECT FROM gone)`, chain, reorganisationDepth)
	b.Queue(`
		DELETE FROM scans c WHERE c.chain_id = $1 AND NOT c.counts AND c.next >= c.until
			AND NOT EXISTS (SELECT FROM ranges r WHERE r.scan_id = c.id)`, chain)
}

// RangeEnds returns the ends of a network's stored ranges, of all scans, newest first.
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
