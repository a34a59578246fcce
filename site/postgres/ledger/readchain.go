package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// ChainFacts is how far a network is indexed, and what was seen there beyond the settlements of listed settlers.
type ChainFacts struct {
	Network       string     // CAIP-2
	MeasuredSince *time.Time // all settlements since then are stored; nil before the first complete scan
	Block         int64      // newest indexed block; 0 on networks that walks read
	// time of that block; on networks that walks read the time up to which the transactions of all settlers are read
	At       *time.Time
	Head     int64      // the chain's confirmed head at the last poll, 0 before the first
	PolledAt *time.Time // time of the last poll
	// nodes whose settlements are compared, 1 if a single one is believed; nil if unknown
	ComparedNodes *int
	// blocks that backfills have to read; on networks that walks read the number of unfinished walks
	BackfillBlocks int64
	Authorizations []AuthorizationFacts // of the last 30 UTC days, by token
	Candidates     []CandidateFacts     // of the same days, at most 20, by payments, then sender and token
}

// AuthorizationFacts counts the authorisations of a token, and those among them by listed settlers.
type AuthorizationFacts struct {
	Token                      string
	Authorizations, Attributed int64
	Configured                 *Token `db:"-"` // the token in the operator's configuration; nil if it is not configured
}

// CandidateFacts is a sender that no list names, of payments to known recipients.
type CandidateFacts struct {
	Sender, Token     string
	Payments          int64
	Amount            string // atomic units
	Recipients        int64  // lower bound
	FirstDay, LastDay time.Time
	Configured        *Token `db:"-"` // likewise
}

const maxCandidates = 20

// readChains reads every network that an indexer works on, by network.
func (r *Reader) readChains(ctx context.Context, now time.Time) ([]ChainFacts, error) {
	// Counting scans are adjacent, from the head down. The network is measured above the uppermost unfinished scan.
	rows, err := r.tx.Query(ctx, `
		SELECT h.network, CASE WHEN w.walks > 0 THEN w.since ELSE (
				SELECT min(c.since) FROM scans c WHERE c.chain_id = h.id AND c.counts
					AND (c.until IS NULL OR c.next >= c.until)
					AND c.first > ALL (SELECT o.first FROM scans o WHERE o.chain_id = h.id AND o.counts
						AND o.next < o.until)
			) END,
			coalesce((SELECT r.last FROM ranges r WHERE r.scan_id = head.id ORDER BY r.last DESC LIMIT 1), 0),
			CASE WHEN w.walks > 0 THEN w.through ELSE (SELECT r.at FROM ranges r WHERE r.scan_id = head.id
			ORDER BY r.last DESC LIMIT 1) END, coalesce(h.head_block, 0), h.polled_at, h.compared_nodes,
			w.open + coalesce((SELECT sum(c.until - c.next) FROM scans c WHERE c.chain_id = h.id AND c.until IS NOT NULL
			AND `+openScan+`), 0)::bigint
		FROM chains h LEFT JOIN scans head ON head.chain_id = h.id AND head.until IS NULL, LATERAL (
			SELECT count(w.address) AS walks, count(*) FILTER (WHERE w.address IS NOT NULL
				AND (w.through IS NULL OR w.newest <> '')) AS open,
				CASE WHEN count(*) = count(w.through) THEN min(w.through) END AS through,
				CASE WHEN count(*) = count(w.through)
				THEN coalesce(max(w.history_start), least(min(s.since)::timestamp AT TIME ZONE 'UTC', (
					SELECT min(t.first_day)::timestamp AT TIME ZONE 'UTC' FROM token_totals t
						JOIN facilitator_tokens f ON f.id = t.token_id WHERE f.chain_id = h.id
				), min(w.through))) END AS since
			FROM settlers s LEFT JOIN walks w USING (network, address) WHERE s.network = h.network
		) w
		WHERE head.id IS NOT NULL OR w.walks > 0 OR h.polled_at IS NOT NULL
		ORDER BY h.network COLLATE "C"`)
	if err != nil {
		return nil, fmt.Errorf("read indexed networks from chains, scans, ranges, walks and token_totals: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f ChainFacts, err error) {
		return f, row.Scan(&f.Network, &f.MeasuredSince, &f.Block, &f.At, &f.Head, &f.PolledAt, &f.ComparedNodes, &f.BackfillBlocks)
	})
	if err != nil {
		return nil, fmt.Errorf("read indexed networks from chains, scans, ranges, walks and token_totals: %w", err)
	}
	today := now.UTC().Truncate(24 * time.Hour)
	since := today.AddDate(0, 0, 1-site.WindowDays["30d"])
	for i := range list {
		if err := r.readAuthorizations(ctx, &list[i], since, today); err != nil {
			return nil, fmt.Errorf("read authorization_days of %s: %w", list[i].Network, err)
		}
	}
	return list, nil
}

func (r *Reader) readAuthorizations(ctx context.Context, f *ChainFacts, since, today time.Time) error {
	// Only days with counted authorisations: a backfill may have attributed settlements before the counting scan.
	rows, err := r.tx.Query(ctx, `
		SELECT d.token, sum(d.authorizations)::bigint, sum(least(d.attributed, d.authorizations))::bigint
			FROM authorization_days d JOIN chains c ON c.id = d.chain_id
		WHERE c.network = $1 AND d.day >= $2 AND d.day <= $3 GROUP BY d.token HAVING sum(d.authorizations) > 0
			ORDER BY d.token COLLATE "C"`, f.Network, since, today)
	if err != nil {
		return err
	}
	if f.Authorizations, err = pgx.CollectRows(rows, pgx.RowToStructByPos[AuthorizationFacts]); err != nil {
		return err
	}
	rows, err = r.tx.Query(ctx, `
		SELECT d.sender, d.token, sum(d.payments)::bigint AS payments, sum(d.amount)::text, max(d.recipients),
			min(d.day)::timestamptz, max(d.day)::timestamptz
		FROM sender_days d JOIN chains c ON c.id = d.chain_id
		WHERE c.network = $1 AND d.day >= $2 AND d.day <= $3
			AND NOT EXISTS (SELECT FROM settlers s WHERE s.network = c.network AND s.address = d.sender)
		GROUP BY d.sender, d.token ORDER BY payments DESC, d.sender COLLATE "C", d.token COLLATE "C"
			LIMIT $4`, f.Network, since, today, maxCandidates)
	if err != nil {
		return err
	}
	f.Candidates, err = pgx.CollectRows(rows, pgx.RowToStructByPos[CandidateFacts])
	return err
}
