// This part of the package stores what builds published of each service: one row for each service and UTC day, and the
// change records of grades and verdicts.
//
// It owns the tables assessments, grade_baselines, verdict_baselines and assessment_seal, and adds the change records
// "grade_changed" and "verdict_changed". It must never judge: the build says what it published.

package checks

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tollbook/site/postgres/rows"
)

// Assessment is what a build published last of a service on a UTC day.
type Assessment struct {
	ServiceID     int64
	Day           time.Time
	Grade         string   // A, B, C, D, F or unknown
	Checks        int      // number of compliance checks
	Failed        []string // ids of those that failed, in the order of the checks
	RiskLevel     string
	RiskFlags     []string // codes, the most serious first
	MinPriceUSD   *string  // decimal; nil without a price that counts
	ResponseP95MS *int     // of 7 days; nil without response times
	Methodology   int      // version of the rules that judged
	Verdict       *string  // nil for a day before verdicts were recorded
}

// AssessmentStore stores assessments.
type AssessmentStore struct{ pool *pgxpool.Pool }

// NewAssessments returns the store of the database that a pool is connected to.
func NewAssessments(pool *pgxpool.Pool) *AssessmentStore { return &AssessmentStore{pool} }

// columns are those of assessments in the order of Assessment's fields. Only damaged rows have null in a list.
const columns = `service_id, day::timestamptz, grade, checks, array_remove(failed, NULL), risk_level,
	array_remove(risk_flags, NULL), min_price_usd::text, response_p95_ms, methodology, verdict`

// ReadAssessments reads the assessments of services on the UTC days before a day, by service, oldest first.
func ReadAssessments(ctx context.Context, q rows.Querier, services []int64, before time.Time) (map[int64][]Assessment, error) {
	by := make(map[int64][]Assessment, len(services))
	err := read(ctx, q, func(a Assessment) { by[a.ServiceID] = append(by[a.ServiceID], a) },
		`SELECT `+columns+` FROM assessments WHERE service_id = ANY($1) AND day < $2 AND isfinite(day)
		ORDER BY service_id, day`, services, before)
	return by, err
}

// ReadAssessmentDays reads the UTC days before a day that have assessments, oldest first.
func ReadAssessmentDays(ctx context.Context, q rows.Querier, before time.Time) ([]time.Time, error) {
	days, err := rows.Column[time.Time](ctx, q, `
		SELECT day::timestamptz FROM assessments WHERE day < $1 AND isfinite(day) GROUP BY day ORDER BY day`, before)
	if err != nil {
		return nil, fmt.Errorf("read days with assessments: %w", err)
	}
	return days, nil
}

// read calls each with the rows of a query of columns.
func read(ctx context.Context, q rows.Querier, each func(Assessment), sql string, args ...any) error {
	var a Assessment
	texts := rows.Intern{}
	err := rows.Each(ctx, q, sql, []any{&a.ServiceID, &a.Day, &a.Grade, &a.Checks, &a.Failed, &a.RiskLevel,
		&a.RiskFlags, &a.MinPriceUSD, &a.ResponseP95MS, &a.Methodology, &a.Verdict}, func() {
		a.Grade, a.RiskLevel, a.MinPriceUSD, a.Verdict = texts.String(a.Grade), texts.String(a.RiskLevel),
			texts.Pointer(a.MinPriceUSD), texts.Pointer(a.Verdict)
		for _, list := range [][]string{a.Failed, a.RiskFlags} {
			for i := range list {
				list[i] = texts.String(list[i])
			}
		}
		each(a)
		a = Assessment{} // the next row must not share lists
	}, args...)
	if err != nil {
		return fmt.Errorf("read assessments: %w", err)
	}
	return nil
}

// transact runs f in one transaction; an error rolls all of it back.
func (st *AssessmentStore) transact(ctx context.Context, f func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, st.pool, f)
}
