package load

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres"
)

// Assessments makes up what a sample directory published on the days before its first build, unless it has such days.
// Each service had the assessment of its first build, except that every third one was offline for some days, and that
// its lowest price followed the amounts that it asked for.
func Assessments(ctx context.Context, db *postgres.DB, days int) error {
	err := db.Transact(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO assessments (service_id, day, grade, checks, failed, risk_level, risk_flags, min_price_usd,
				response_p95_ms, methodology, verdict)
			SELECT service_id, day - n, grade, checks, failed,
				CASE WHEN down AND risk_level = 'clean' THEN 'warning' ELSE risk_level END,
				CASE WHEN down THEN array_remove(risk_flags, 'probe_failing') || '{probe_failing}' ELSE risk_flags END,
				trim_scale(round(min_price_usd * coalesce(asked.lowest / nullif(current.lowest, 0), 1), 9)),
				response_p95_ms, methodology,
				CASE WHEN down AND verdict = 'good' THEN 'caution' ELSE verdict END
			FROM assessments, generate_series(1, $1::integer) AS n,
				LATERAL (SELECT service_id % 3 = 0 AND n % 40 BETWEEN 20 AND 22) AS made (down),
				LATERAL (SELECT min(amount) FROM prices JOIN endpoints e ON e.id = endpoint_id
					WHERE e.service_id = assessments.service_id AND until IS NULL) AS current (lowest),
				LATERAL (SELECT min(amount) FROM prices JOIN endpoints e ON e.id = endpoint_id
					WHERE e.service_id = assessments.service_id AND since < day - n + 1
						AND (until IS NULL OR until >= day - n + 1)) AS asked (lowest)
			WHERE (SELECT count(DISTINCT day) FROM assessments) = 1
			ORDER BY service_id, n DESC`, days)
		return err
	})
	if err != nil {
		return fmt.Errorf("add a history of assessments: %w", err)
	}
	return nil
}
