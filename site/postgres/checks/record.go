package checks

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres/rows"
)

// Published is the assessment of a service in a snapshot that was just published. Its Day is not used.
type Published struct {
	Assessment
	Reasons []string            // why, for each of Failed
	Why     string              // the grade with its reason, as in "F: accepts is missing"
	Advice  []site.AdviceReason // why, for Verdict
}

// judgmentRate is the minimum time between two change records of a service's grade, and of its verdict.
const judgmentRate = time.Hour

// Record records the snapshot of a build as of now, for the UTC day of now, with a change record for each grade and
// each verdict that changed. All of it is one transaction. A crash before it ends records nothing; the next build records its own
// snapshot. If a later build, or this one, is recorded already, Record does nothing and returns 0. Otherwise it returns
// the number of change records.
func (st *AssessmentStore) Record(ctx context.Context, now time.Time, list []Published) (records int, err error) {
	err = st.transact(ctx, func(tx pgx.Tx) error {
		newer, err := seal(ctx, tx, now)
		if err != nil || !newer {
			return err
		}
		if err := stage(ctx, tx, list); err != nil {
			return err
		}
		if err := storeDay(ctx, tx, now.UTC().Truncate(24*time.Hour)); err != nil {
			return err
		}
		grades, err := followGrades(ctx, tx, now)
		if err != nil {
			return err
		}
		verdicts, err := followVerdicts(ctx, tx, now, list)
		records = grades + verdicts
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("record assessments: %w", err)
	}
	return records, nil
}

// seal lets one build at a time record, and reports whether no later build is recorded. A recorded time that is more
// than a day in the future is that of a wrong clock.
func seal(ctx context.Context, tx pgx.Tx, now time.Time) (newer bool, err error) {
	tag, err := tx.Exec(ctx, `
		INSERT INTO assessment_seal AS s (recorded_at) VALUES ($1)
		ON CONFLICT (only_row) DO UPDATE SET recorded_at = excluded.recorded_at
		WHERE s.recorded_at < excluded.recorded_at OR s.recorded_at > excluded.recorded_at + interval '1 day'`, now)
	return tag.RowsAffected() > 0, err
}

// stage fills the temporary table published.
func stage(ctx context.Context, tx pgx.Tx, list []Published) error {
	if _, err := tx.Exec(ctx, `
		CREATE TEMPORARY TABLE published (
			service_id bigint PRIMARY KEY, grade text, checks smallint, failed text[], reasons text[], why text,
			risk_level text, risk_flags text[], price text, p95 integer, methodology smallint, verdict text
		) ON COMMIT DROP`); err != nil {
		return err
	}
	err := rows.Copy(ctx, tx, "published", `service_id, grade, checks, failed, reasons, why, risk_level, risk_flags,
		price, p95, methodology, verdict`, list, func(row []any, p *Published) {
		rows.Put(row, p.ServiceID, p.Grade, int16(p.Checks), texts(p.Failed), texts(p.Reasons), p.Why, p.RiskLevel,
			texts(p.RiskFlags), p.MinPriceUSD, p.ResponseP95MS, int16(p.Methodology), p.Verdict)
	})
	if err != nil {
		return err
	}
	// A service may have been erased since the build read it.
	_, err = tx.Exec(ctx, `DELETE FROM published WHERE service_id NOT IN (SELECT id FROM services)`)
	return err
}

// texts returns a list that is not stored as null.
func texts(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// storeDay stores the published assessments as those of a day. Rows that are the same are not rewritten.
func storeDay(ctx context.Context, tx pgx.Tx, day time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO assessments AS a (service_id, day, grade, checks, failed, risk_level, risk_flags, min_price_usd,
			response_p95_ms, methodology, verdict)
		SELECT service_id, $1, grade, checks, failed, risk_level, risk_flags, price::numeric, p95, methodology, verdict
		FROM published ORDER BY service_id
		ON CONFLICT (service_id, day) DO UPDATE SET grade = excluded.grade, checks = excluded.checks,
			failed = excluded.failed, risk_level = excluded.risk_level, risk_flags = excluded.risk_flags,
			min_price_usd = excluded.min_price_usd, response_p95_ms = excluded.response_p95_ms,
			methodology = excluded.methodology, verdict = excluded.verdict
		WHERE (a.grade, a.checks, a.failed, a.risk_level, a.risk_flags, a.min_price_usd, a.response_p95_ms,
			a.methodology, a.verdict)
			IS DISTINCT FROM (excluded.grade, excluded.checks, excluded.failed, excluded.risk_level,
			excluded.risk_flags, excluded.min_price_usd, excluded.response_p95_ms, excluded.methodology,
			excluded.verdict)`, day)
	return err
}

// judgmentChange is a change of a service's grade or verdict.
type judgmentChange struct {
	service int64
	summary json.RawMessage
}

// storeChange queues the record of a change. The time of a record is that of the build, or the end of the sealed hours
// if that is later: a sealed hour gets no further record.
func (c *judgmentChange) store(b *pgx.Batch, kind string, now time.Time) {
	b.Queue(`
		INSERT INTO changes (service_id, type, observed_at, summary, old_snapshot, new_snapshot)
		SELECT $1, $2, greatest($3, (SELECT through FROM log_seal)), $4, '[]', '[]'`, c.service, kind, now, c.summary)
}
