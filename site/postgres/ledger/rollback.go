package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// ErrTooDeep refuses a roll-back to a block below the oldest stored range.
var ErrTooDeep = errors.New("the reorganisation is deeper than the stored ranges")

// RollBack removes, in one transaction, everything that scans found above a block, and moves the scans back to the
// block after it. It returns how many settlements it removed. A range that contains the block is removed as a whole,
// and its scan moves back to its first block. Afterwards every table is as if only the remaining ranges had been
// indexed.
func (db *DB) RollBack(ctx context.Context, network string, ancestor int64) (removed int64, err error) {
	chain, err := db.chainID(ctx, network)
	if err == nil {
		err = db.transact(ctx, func(tx pgx.Tx) error {
			if err := lock(ctx, tx, chain); err != nil {
				return err
			}
			removed, err = rollBack(ctx, tx, chain, ancestor)
			return err
		})
	}
	if err != nil {
		return 0, fmt.Errorf("roll %s back to block %d: %w", network, ancestor, err)
	}
	return removed, nil
}

func rollBack(ctx context.Context, tx pgx.Tx, chain int16, ancestor int64) (removed int64, err error) {
	var pruned int64
	if err := tx.QueryRow(ctx, `SELECT pruned_to FROM chains WHERE id = $1`, chain).Scan(&pruned); err != nil {
		return 0, err
	}
	if ancestor < pruned {
		return 0, fmt.Errorf("%w, which is down to block %d", ErrTooDeep, pruned)
	}
	steps := []step{
		{"plan for many rows", planForMany, nil},
		// CREATE TABLE takes no parameters
		{"select ranges to remove", fmt.Sprintf(createRemovedRanges, chain, ancestor), nil},
		{"select settlements to remove", fmt.Sprintf(createRemovedSettlements, chain, ancestor), nil},
		{"analyze them", `ANALYZE removed_settlements`, nil},
	}
	steps = append(steps, removeSettlements(chain, lastBlocks)...)
	steps = append(steps, removeCounts(chain)...)
	steps = append(steps,
		step{"delete empty authorization_days", deleteEmptyAuthorizations, []any{chain}},
		step{"move scans back", moveBack, []any{chain, ancestor}},
		step{"end backfills at the head scan", endBackfills, []any{chain}},
		step{"delete ranges", deleteRanges, nil},
	)
	if err := runSteps(ctx, tx, steps); err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `SELECT count(*) FROM removed_settlements`).Scan(&removed)
	return removed, err
}

// removeSettlements returns the statements that delete the rows of removed_settlements and take them out of all sums.
// days is a condition of the settlements that contains those of the days of the removed ones.
func removeSettlements(chain int16, days string) []step {
	steps := []step{{"delete settlements", deleteSettlements, nil}}
	for _, r := range rollupTables {
		steps = append(steps, step{"subtract from " + r.table, r.subtract(), nil})
	}
	return append(steps,
		step{"recompute payers", recomputePayers, nil},
		step{"recompute times", fmt.Sprintf(recomputeTimes, days), []any{chain}},
		step{"recompute totals", recomputeTotals, nil},
		step{"recompute payees' totals", recomputePayeeTotals, nil})
}

// removeCounts returns the statements that subtract the counts of removed_ranges, and the authorisations among
// removed_settlements.
func removeCounts(chain int16) []step {
	return []step{
		{"subtract from authorization_days", subtractAuthorizations, []any{chain}},
		{"subtract from sender_days", subtractSenders, []any{chain}},
		{"delete empty sender_days", `DELETE FROM sender_days WHERE chain_id = $1 AND payments <= 0`, []any{chain}},
	}
}

func runSteps(ctx context.Context, tx pgx.Tx, steps []step) error {
	for _, s := range steps {
		if _, err := tx.Exec(ctx, s.sql, s.args...); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	return nil
}

// step is one statement of a roll-back or a replacement.
type step struct {
	what, sql string
	args      []any
}

// createRemovedRanges selects the ranges to remove. Each scan moves back to the first block of its ranges.
const createRemovedRanges = `
	CREATE TEMPORARY TABLE removed_ranges ON COMMIT DROP AS SELECT id, scan_id, first FROM ranges WHERE chain_id = %d
		AND last > %d`

// createRemovedSettlements selects the settlements to remove: those of removed ranges, also between the start of a
// range and an ancestor within it. Settlements of other scans there stay. Its columns hour and day are named as in the
// sums.
const createRemovedSettlements = `
	CREATE TEMPORARY TABLE removed_settlements ON COMMIT DROP AS
	SELECT s.*, ` + settlementSums + `
	FROM settlements s
	WHERE s.chain_id = %[1]d AND s.block > least(%[2]d, (SELECT min(first) - 1 FROM removed_ranges)) AND (
		s.block > %[2]d OR s.block >= (SELECT min(l.first) FROM removed_ranges l WHERE l.scan_id = s.scan_id))`

// settlementSums are the columns of a settlement s that sums need.
const settlementSums = `(s.settled_at AT TIME ZONE 'UTC')::date AS day, date_trunc('hour', s.settled_at, 'UTC') AS hour,
		CASE WHEN s.payer_id = s.payee_id THEN 1 ELSE 0 END AS self,
		CASE WHEN s.payer_id = s.payee_id THEN s.amount ELSE 0 END AS self_amount`

const deleteRanges = `DELETE FROM ranges r USING removed_ranges l WHERE r.id = l.id`

const deleteEmptyAuthorizations = `DELETE FROM authorization_days
	WHERE chain_id = $1 AND authorizations = 0 AND attributed = 0`

const deleteSettlements = `
	DELETE FROM settlements s USING removed_settlements l
	WHERE s.chain_id = l.chain_id AND s.block = l.block AND s.transaction = l.transaction AND s.log_index = l.log_index`

// rollupTable is a table of sums of settlements, from which settlements can be subtracted.
type rollupTable struct {
	table string
	keys  []string
	sums  [][2]string // a column, and the expression of a settlement that it sums
	of    string      // a condition of the settlements that it sums, "" for all
}

const notBatch = ` WHERE method <> '` + MethodBatch + `'`

var rollupTables = []rollupTable{
	{"token_totals", []string{"token_id"}, [][2]string{{"amount", "amount"}}, ""},
	{"token_hours", []string{"hour", "token_id"}, [][2]string{{"amount", "amount"}}, ""},
	{"token_days", []string{"token_id", "day"}, [][2]string{{"amount", "amount"}, {"self_settlements", "self"},
		{"self_amount", "self_amount"}}, ""},
	{"settler_days", []string{"chain_id", "settler_id", "day"}, nil, ""},
	{"payee_days", []string{"payee_id", "token_id", "day"}, [][2]string{{"amount", "amount"}}, ""},
	{"payee_totals", []string{"payee_id", "token_id"}, [][2]string{{"amount", "amount"}}, ""},
	{"payer_days", []string{"day", "payee_id", "payer_id", "token_id"}, [][2]string{{"amount", "amount"}},
		notBatch},
	{"amount_days", []string{"day", "payee_id", "token_id", "amount"}, nil, notBatch},
}

// subtract returns the statement that subtracts the removed settlements. Rows without remaining settlements are
// deleted.
func (r rollupTable) subtract() string {
	sums, sets := []string{"count(*) AS settlements"}, []string{"settlements = t.settlements - g.settlements"}
	for _, s := range r.sums {
		sums = append(sums, fmt.Sprintf("sum(%s) AS sum_%s", s[1], s[0]))
		sets = append(sets, fmt.Sprintf("%[1]s = t.%[1]s - g.sum_%[1]s", s[0]))
	}
	var same []string
	for _, k := range r.keys {
		same = append(same, fmt.Sprintf("t.%[1]s = g.%[1]s", k))
	}
	keys := strings.Join(r.keys, ", ")
	return `
	WITH g AS MATERIALIZED (
		SELECT ` + keys + `, ` + strings.Join(sums, ", ") + ` FROM removed_settlements` + r.of + ` GROUP BY ` + keys + `
	), less AS (
		UPDATE ` + r.table + ` t SET ` + strings.Join(sets, ", ") + `
		FROM g WHERE ` + strings.Join(same, " AND ") + ` AND t.settlements > g.settlements
	)
	DELETE FROM ` + r.table + ` t USING g WHERE ` + strings.Join(same, " AND ") + ` AND t.settlements <= g.settlements`
}

// The last day of a payer comes from the payer's own rows. The addition keeps the planner from scanning the days of all
// payers backwards.
const recomputePayers = `
	WITH paid AS MATERIALIZED (
		SELECT token_id, payer_id, (
			SELECT date '1970-01-01' + max(d.day - date '1970-01-01') FROM payer_days d WHERE d.payer_id = p.payer_id
				AND d.token_id = p.token_id
		) AS last_day
		FROM (SELECT DISTINCT token_id, payer_id FROM removed_settlements` + notBatch + `) p
	), back AS (
		UPDATE token_payers t SET last_day = p.last_day FROM paid p
		WHERE t.token_id = p.token_id AND t.payer_id = p.payer_id AND t.last_day > p.last_day
	), gone AS (
		DELETE FROM token_payers t USING paid p WHERE t.token_id = p.token_id AND t.payer_id = p.payer_id
			AND p.last_day IS NULL RETURNING t.token_id
	)
	UPDATE token_totals t SET payers = payers - n FROM (SELECT token_id, count(*) AS n FROM gone GROUP BY token_id) g
		WHERE t.token_id = g.token_id`

// lastBlocks is true of the settlements of removed days, if nothing remains behind the removed settlements: time rises
// with blocks, so that they are the last ones of the chain.
const lastBlocks = `block > coalesce((
			SELECT s.block FROM settlements s
			WHERE s.chain_id = $1 AND s.block < (SELECT min(block) FROM removed_settlements)
				AND s.settled_at < (SELECT min(day) FROM removed_settlements)::timestamp AT TIME ZONE 'UTC'
			ORDER BY s.block DESC LIMIT 1), -1)`

// The first and last times of days come from the remaining settlements.
const recomputeTimes = `
	WITH remaining AS MATERIALIZED (
		SELECT token_id, settler_id, payee_id, (settled_at AT TIME ZONE 'UTC')::date AS day, settled_at
		FROM settlements
		WHERE chain_id = $1 AND %s
	), tokens AS (
		UPDATE token_days t SET last_at = r.last_at FROM (
			SELECT token_id, day, max(settled_at) AS last_at FROM remaining
				JOIN (SELECT DISTINCT token_id, day FROM removed_settlements) l USING (token_id, day) GROUP BY 1, 2
		) r WHERE t.token_id = r.token_id AND t.day = r.day
	), settlers AS (
		UPDATE settler_days t SET last_at = r.last_at FROM (
			SELECT settler_id, day, max(settled_at) AS last_at FROM remaining
				JOIN (SELECT DISTINCT settler_id, day FROM removed_settlements) l USING (settler_id, day) GROUP BY 1, 2
		) r WHERE t.chain_id = $1 AND t.settler_id = r.settler_id AND t.day = r.day
	)
	UPDATE payee_days t SET first_at = r.first_at, last_at = r.last_at FROM (
		SELECT payee_id, token_id, day, min(settled_at) AS first_at, max(settled_at) AS last_at
		FROM remaining JOIN (SELECT DISTINCT payee_id, token_id, day FROM removed_settlements) l USING (payee_id,
			token_id, day)
			GROUP BY 1, 2, 3
	) r WHERE t.payee_id = r.payee_id AND t.token_id = r.token_id AND t.day = r.day`

const recomputeTotals = `
	UPDATE token_totals t SET first_day = (SELECT min(d.day) FROM token_days d WHERE d.token_id = t.token_id),
		last_at = (SELECT d.last_at FROM token_days d WHERE d.token_id = t.token_id ORDER BY d.day DESC LIMIT 1)
	WHERE t.token_id IN (SELECT token_id FROM removed_settlements)`

// A payee's first and last days come from the key of payee_days.
const recomputePayeeTotals = `
	UPDATE payee_totals t SET first_at = r.first_at, last_at = r.last_at FROM (
		SELECT payee_id, token_id,
			(SELECT d.first_at FROM payee_days d WHERE d.payee_id = l.payee_id AND d.token_id = l.token_id
			ORDER BY d.day
			LIMIT 1) AS first_at,
			(SELECT d.last_at FROM payee_days d WHERE d.payee_id = l.payee_id AND d.token_id = l.token_id
			ORDER BY d.day DESC LIMIT 1) AS last_at
		FROM (SELECT DISTINCT payee_id, token_id FROM removed_settlements) l
	) r WHERE t.payee_id = r.payee_id AND t.token_id = r.token_id`

const subtractAuthorizations = `
	UPDATE authorization_days t SET authorizations = t.authorizations - g.authorizations,
		attributed = t.attributed - g.attributed FROM (
		SELECT token, day, sum(authorizations) AS authorizations, sum(attributed) AS attributed FROM (
			SELECT token, day, authorizations, 0 AS attributed FROM range_authorizations s
				JOIN removed_ranges l ON l.id = s.range_id
			UNION ALL
			SELECT f.token, l.day, 0, 1 FROM removed_settlements l JOIN facilitator_tokens f ON f.id = l.token_id
				WHERE l.method = '` + methodAuthorization + `'
		) x GROUP BY token, day
	) g WHERE t.chain_id = $1 AND t.token = g.token AND t.day = g.day`

const subtractSenders = `
	WITH g AS (
		SELECT s.day, s.sender, s.token, sum(s.payments) FILTER (WHERE l.id IS NOT NULL) AS payments,
			sum(s.amount) FILTER (WHERE l.id IS NOT NULL) AS amount,
			max(s.recipients) FILTER (WHERE l.id IS NULL) AS recipients
		FROM ranges r JOIN range_senders s ON s.range_id = r.id LEFT JOIN removed_ranges l ON l.id = r.id
		WHERE r.chain_id = $1 GROUP BY 1, 2, 3 HAVING bool_or(l.id IS NOT NULL)
	)
	UPDATE sender_days t SET payments = t.payments - g.payments, amount = t.amount - g.amount,
		recipients = greatest(t.pruned_recipients, g.recipients) FROM g
	WHERE t.chain_id = $1 AND t.day = g.day AND t.sender = g.sender AND t.token = g.token`

// No scan moves below the lowest block that is counted.
const moveBack = `
	UPDATE scans s SET next = greatest(c.counted_from,
		least($2 + 1, (SELECT min(l.first) FROM removed_ranges l WHERE l.scan_id = s.id)))
	FROM chains c WHERE c.id = $1 AND s.chain_id = $1
		AND s.next > greatest(c.counted_from, least($2 + 1, (SELECT min(l.first) FROM removed_ranges l
			WHERE l.scan_id = s.id)))`

// The head scan reads for all settlers from its new position, so backfills end there.
const endBackfills = `
	UPDATE scans s SET until = h.next FROM scans h WHERE s.chain_id = $1 AND h.chain_id = $1 AND h.until IS NULL
		AND s.until > h.next`
