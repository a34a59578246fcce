package checks

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/change"
	"tollbook/site/postgres/rows"
)

// followGrades compares the published grades with their baselines, and stores a record of each change. It returns the
// number of records.
func followGrades(ctx context.Context, tx pgx.Tx, now time.Time) (records int, err error) {
	if err := followGradeBaselines(ctx, tx); err != nil {
		return 0, err
	}
	changes, err := findGradeChanges(ctx, tx, now)
	if err != nil {
		return 0, err
	}
	return len(changes), storeGradeChanges(ctx, tx, now, changes)
}

// followGradeBaselines stores the baselines of services that give no change record: the first grade of a service, other
// failed checks with the same grade, and grades by other rules, whose differences are not the service's.
func followGradeBaselines(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO grade_baselines AS b (service_id, grade, failed, reasons, methodology)
		SELECT service_id, grade, failed, reasons, methodology FROM published WHERE grade <> $1 ORDER BY service_id
		ON CONFLICT (service_id) DO UPDATE SET grade = excluded.grade, failed = excluded.failed,
			reasons = excluded.reasons, methodology = excluded.methodology
		WHERE b.methodology <> excluded.methodology
			OR b.grade = excluded.grade AND b.failed IS DISTINCT FROM excluded.failed`, site.GradeUnknown)
	return err
}

// findGradeChanges returns the changes of grades since the baselines, by service. Those of a service whose last record is
// less than judgmentRate old are left for a later build.
func findGradeChanges(ctx context.Context, tx pgx.Tx, now time.Time) (changes []judgmentChange, err error) {
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
			changes = append(changes, judgmentChange{service, text})
		}, site.GradeUnknown, now, judgmentRate)
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

// storeGradeChanges stores a record of each change, and the present grade as the baseline of the next one.
func storeGradeChanges(ctx context.Context, tx pgx.Tx, now time.Time, changes []judgmentChange) error {
	b := &pgx.Batch{}
	for i := range changes {
		changes[i].store(b, site.GradeChanged, now)
		b.Queue(`
			UPDATE grade_baselines b SET grade = p.grade, failed = p.failed, reasons = p.reasons,
				methodology = p.methodology, recorded_at = $2
			FROM published p WHERE b.service_id = $1 AND p.service_id = $1`, changes[i].service, now)
	}
	return tx.SendBatch(ctx, b).Close()
}
