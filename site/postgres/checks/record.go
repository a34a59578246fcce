package checks

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/change"
	"tollbook/site/postgres/rows"
)

// Published is the assessment of a service in a snapshot that was just published. Its Day is not used.
type Published struct {
	Assessment
	Reasons []string // why, for each of Failed
	Why     string   // the grade with its reason, as in "F: accepts is missing"
}

// gradeChangeRate is the minimum time between two change records of a service's grade.
const gradeChangeRate = time.Hour

// Record records the snapshot of a build as of now, for the UTC day of now, with a change record for each grade that
// changed. All of it is one transaction. A crash before it ends records nothing; the next build records its own
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
		if err := followBaselines(ctx, tx); err != nil {
			return err
		}
		changes, err := findChanges(ctx, tx, now)
		if err != nil {
			return err
		}
		records = len(changes)
		return storeChanges(ctx, tx, now, changes)
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
			risk_level text, risk_flags text[], price text, p95 integer, methodology smallint
		) ON COMMIT DROP`); err != nil {
		return err
	}
	err := rows.Copy(ctx, tx, "published", `service_id, grade, checks, failed, reasons, why, risk_level, risk_flags,
		price, p95, methodology`, list, func(row []any, p *Published) {
		rows.Put(row, p.ServiceID, p.Grade, int16(p.Checks), texts(p.Failed), texts(p.Reasons), p.Why, p.RiskLevel,
			texts(p.RiskFlags), p.MinPriceUSD, p.ResponseP95MS, int16(p.Methodology))
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
			response_p95_ms, methodology)
		SELECT service_id, $1, grade, checks, failed, risk_level, risk_flags, price::numeric, p95, methodology
		FROM published ORDER BY service_id
		ON CONFLICT (service_id, day) DO UPDATE SET grade = excluded.grade, checks = excluded.checks,
			failed = excluded.failed, risk_level = excluded.risk_level, risk_flags = excluded.risk_flags,
			min_price_usd = excluded.min_price_usd, response_p95_ms = excluded.response_p95_ms,
			methodology = excluded.methodology
		WHERE (a.grade, a.checks, a.failed, a.risk_level, a.risk_flags, a.min_price_usd, a.response_p95_ms,
			a.methodology)
			IS DISTINCT FROM (excluded.grade, excluded.checks, excluded.failed, excluded.risk_level,
			excluded.risk_flags, excluded.min_price_usd, excluded.response_p95_ms, excluded.methodology)`, day)
	return err
}

// followBaselines stores the baselines of services that give no change record: the first grade of a service, other
// failed checks with the same grade, and grades by other rules, whose differences are not the service's.
func followBaselines(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO grade_baselines AS b (service_id, grade, failed, reasons, methodology)
		SELECT service_id, grade, failed, reasons, methodology FROM published WHERE grade <> $1 ORDER BY service_id
		ON CONFLICT (service_id) DO UPDATE SET grade = excluded.grade, failed = excluded.failed,
			reasons = excluded.reasons, methodology = excluded.methodology
		WHERE b.methodology <> excluded.methodology
			OR b.grade = excluded.grade AND b.failed IS DISTINCT FROM excluded.failed`, site.GradeUnknown)
	return err
}

// gradeChange is a change of a service's grade.
type gradeChange struct {
	service int64
	summary json.RawMessage
}

// findChanges returns the changes of grades since the baselines, by service. Those of a service whose last record is
// less than changeRate old are left for a later build.
func findChanges(ctx context.Context, tx pgx.Tx, now time.Time) (changes []gradeChange, err error) {
	var service int64
	var before, after change.Grade
	var failedBefore, reasonsBefore, failed, reasons []string
	var why string
	eachErr := rows.Each(ctx, tx, `
		SELECT service_id, b.grade, array_remove(b.failed, NULL), array_remove(b.reasons, NULL), p.grade, p.failed,
			p.reasons, p.why
		FROM published p JOIN grade_baselines b USING (service_id)
		WHERE p.grade NOT IN ($1, b.grade)
			AND (b.recorded_at IS NULL OR b.recorded_at <= $2::timestamptz - $3::interval
				OR b.recorded_at > $2::timestamptz + interval '1 day')
		ORDER BY service_id`,
		[]any{&service, &before.Grade, &failedBefore, &reasonsBefore, &after.Grade, &failed, &reasons, &why}, func() {
			before.Failed, after.Failed = newFailures(failedBefore, reasonsBefore), newFailures(failed, reasons)
			summary := change.CompareGrades(before, after)
			summary.Reason = why
			text, jsonErr := json.Marshal(summary)
			if jsonErr != nil {
				err = jsonErr
			}
			changes = append(changes, gradeChange{service, text})
		}, site.GradeUnknown, now, gradeChangeRate)
	if eachErr != nil {
		return nil, eachErr
	}
	return changes, err
}

// newFailures returns failed checks with their reasons. Only damaged rows have fewer reasons than checks.
func newFailures(ids, reasons []string) []site.FailedCheck {
	list := make([]site.FailedCheck, len(ids))
	for i, id := range ids {
		list[i].ID = id
		if i < len(reasons) {
			list[i].Reason = reasons[i]
		}
	}
	return list
}

// storeChanges stores a record of each change, and the present grade as the baseline of the next one. The time of a
// record is that of the build, or the end of the sealed hours if that is later: a sealed hour gets no further record.
func storeChanges(ctx context.Context, tx pgx.Tx, now time.Time, changes []gradeChange) error {
	b := &pgx.Batch{}
	for _, c := range changes {
		b.Queue(`
			INSERT INTO changes (service_id, type, observed_at, summary, old_snapshot, new_snapshot)
			SELECT $1, $2, greatest($3, (SELECT through FROM log_seal)), $4, '[]', '[]'`,
			c.service, site.GradeChanged, now, c.summary)
		b.Queue(`
			UPDATE grade_baselines b SET grade = p.grade, failed = p.failed, reasons = p.reasons,
				methodology = p.methodology, recorded_at = $2
			FROM published p WHERE b.service_id = $1 AND p.service_id = $1`, c.service, now)
	}
	return tx.SendBatch(ctx, b).Close()
}
