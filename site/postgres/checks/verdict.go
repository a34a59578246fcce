package checks

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres/rows"
)

// followVerdicts compares the published verdicts with their baselines, and stores a record of each change. It returns
// the number of records. A verdict without a baseline, and one by other rules, gives no record; nor does unknown.
func followVerdicts(ctx context.Context, tx pgx.Tx, now time.Time, list []Published) (records int, err error) {
	_, err = tx.Exec(ctx, `
		INSERT INTO verdict_baselines AS b (service_id, verdict, methodology)
		SELECT service_id, verdict, methodology FROM published WHERE verdict <> $1 ORDER BY service_id
		ON CONFLICT (service_id) DO UPDATE SET verdict = excluded.verdict, methodology = excluded.methodology
		WHERE b.methodology <> excluded.methodology`, site.AdviceUnknown)
	if err != nil {
		return 0, err
	}
	changes, err := findVerdictChanges(ctx, tx, now, list)
	if err != nil {
		return 0, err
	}
	b := &pgx.Batch{}
	for i := range changes {
		changes[i].store(b, site.VerdictChanged, now)
		b.Queue(`
			UPDATE verdict_baselines b SET verdict = p.verdict, recorded_at = $2
			FROM published p WHERE b.service_id = $1 AND p.service_id = $1`, changes[i].service, now)
	}
	return len(changes), tx.SendBatch(ctx, b).Close()
}

// findVerdictChanges returns the changes of verdicts since the baselines, by service. Those of a service whose last
// record is less than judgmentRate old are left for a later build.
func findVerdictChanges(ctx context.Context, tx pgx.Tx, now time.Time, list []Published) (changes []judgmentChange,
	err error) {
	reasons := make(map[int64][]site.AdviceReason, len(list))
	for i := range list {
		reasons[list[i].ServiceID] = list[i].Advice
	}
	var service int64
	var summary site.VerdictSummary
	eachErr := rows.Each(ctx, tx, `
		SELECT service_id, b.verdict, p.verdict
		FROM published p JOIN verdict_baselines b USING (service_id)
		WHERE p.verdict NOT IN ($1, b.verdict)
			AND (b.recorded_at IS NULL OR b.recorded_at <= $2::timestamptz - $3::interval
				OR b.recorded_at > $2::timestamptz + interval '1 day')
		ORDER BY service_id`,
		[]any{&service, &summary.OldVerdict, &summary.NewVerdict}, func() {
			summary.Reasons = reasons[service]
			text, jsonErr := json.Marshal(summary)
			if jsonErr != nil {
				err = jsonErr
			}
			changes = append(changes, judgmentChange{service, text})
		}, site.AdviceUnknown, now, judgmentRate)
	if eachErr != nil {
		return nil, eachErr
	}
	return changes, err
}
