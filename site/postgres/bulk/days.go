package bulk

import (
	"context"
	"encoding/json"
	"time"

	"tollbook/site/change"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/ledger"
)

// Check is a visit of a service.
type Check struct {
	ID              string
	Slug            string
	CheckedAt       time.Time
	Counted, IsUp   bool
	Status          *string
	StatusCode      *int
	ResponseTimeMS  *int
	EndpointsFound  int
	ErrorMessage    *string
	UncountedReason *string
}

// Checks reads the visits of a UTC day, by slug and time.
func (r *Reader) Checks(ctx context.Context, day time.Time, do func(*Check) error) error {
	var c Check
	return r.each(ctx, "checks of "+day.Format(time.DateOnly), `
		SELECT t.id::text, s.slug, t.checked_at, t.counted, t.is_up, t.status, t.status_code, t.response_time_ms,
			t.endpoints_found, t.error_message, t.uncounted_reason
		FROM checks t`+listed+`
		WHERE t.checked_at >= $1 AND t.checked_at < $2
		ORDER BY s.slug COLLATE "C", t.checked_at, t.id`,
		[]any{&c.ID, &c.Slug, &c.CheckedAt, &c.Counted, &c.IsUp, &c.Status, &c.StatusCode, &c.ResponseTimeMS,
			&c.EndpointsFound, &c.ErrorMessage, &c.UncountedReason},
		func() error { return do(&c) }, day, day.AddDate(0, 0, 1))
}

// Uptime sums the visits of a service on a UTC day.
type Uptime struct {
	Day        time.Time
	Slug       string
	Checks     int64
	Counted    int64
	Up         int64
	Timed      int64
	ResponseMS int64 // sum over the timed
	KnownMS    int64 // milliseconds in which the state was known, up to the last full hour
	UpMS       int64 // of these, in which the service was up
}

// UptimeOfDays reads the sums of days that are sealed, the first and last included, the newest day first, by slug.
func (r *Reader) UptimeOfDays(ctx context.Context, first, last time.Time, do func(*Uptime) error) error {
	var u Uptime
	return r.each(ctx, "uptime of "+first.Format(time.DateOnly)+" to "+last.Format(time.DateOnly), `
		SELECT t.day, s.slug, t.checks, t.counted, t.up, t.timed, t.response_ms, t.known_ms, t.up_ms
		FROM check_days t`+listed+`
		WHERE t.day BETWEEN $1 AND $2 ORDER BY t.day DESC, s.slug COLLATE "C"`,
		[]any{&u.Day, &u.Slug, &u.Checks, &u.Counted, &u.Up, &u.Timed, &u.ResponseMS, &u.KnownMS,
			&u.UpMS},
		func() error { return do(&u) }, first, last)
}

// Uptime reads the sums of all days from one on, up to now, by slug and day.
func (r *Reader) Uptime(ctx context.Context, from, now time.Time, do func(*Uptime) error) error {
	var u Uptime
	return r.each(ctx, "uptime", `
		WITH sums AS (
			SELECT service_id, day, checks, counted, up, timed, response_ms, known_ms, up_ms FROM check_days
				WHERE day >= $1 AND day <= '9999-12-31'
			UNION ALL SELECT service_id, (checked_at AT TIME ZONE 'UTC')::date, count(*), count(*) FILTER (WHERE
				counted),
				count(*) FILTER (WHERE counted AND is_up), count(response_time_ms) FILTER (WHERE counted),
				coalesce(sum(response_time_ms) FILTER (WHERE counted), 0), 0, 0
			FROM checks WHERE checked_at >= greatest((SELECT through FROM log_seal), $1) AND checked_at <= $2
			GROUP BY 1, 2
			UNION ALL SELECT service_id, (hour AT TIME ZONE 'UTC')::date, 0, 0, 0, 0, 0, sum(known_ms), sum(up_ms)
			FROM (`+checks.KnownHours("(SELECT through FROM log_seal)", "date_trunc('hour', $2::timestamptz, 'UTC')",
		"true")+`) AS known WHERE hour >= $1 GROUP BY 1, 2
		)
		SELECT s.slug, t.day, sum(t.checks)::bigint, sum(t.counted)::bigint, sum(t.up)::bigint, sum(t.timed)::bigint,
			sum(t.response_ms)::bigint, sum(t.known_ms)::bigint, sum(t.up_ms)::bigint
		FROM sums t`+listed+`
		GROUP BY s.slug, t.day ORDER BY s.slug COLLATE "C", t.day`,
		[]any{&u.Slug, &u.Day, &u.Checks, &u.Counted, &u.Up, &u.Timed, &u.ResponseMS, &u.KnownMS, &u.UpMS},
		func() error { return do(&u) }, from, now)
}

// Change is a change of what a service asks for.
type Change struct {
	Number     int64 // in the log of all services
	Slug       string
	Type       string
	ObservedAt time.Time
	Summary    json.RawMessage
}

// Changes reads the sealed changes from one time up to another, by number.
func (r *Reader) Changes(ctx context.Context, from, to time.Time, do func(*Change) error) error {
	var c Change
	return r.each(ctx, "changes", `
		SELECT t.number, s.slug, t.type, t.observed_at, t.summary FROM changes t`+listed+`
		WHERE t.number IS NOT NULL AND t.observed_at >= $1 AND t.observed_at < $2 ORDER BY t.number`,
		[]any{&c.Number, &c.Slug, &c.Type, &c.ObservedAt, &c.Summary}, func() error {
			c.Summary, _, _ = change.Cut(c.Type, c.Summary, nil, nil, change.MaxRecord) // of older programs
			return do(&c)
		}, from, to)
}

// Day is a UTC day with rows of a table. MadeFrom changes with each row that is added later or changes.
type Day struct {
	Day      time.Time
	MadeFrom string // "" if no row is added later, or was changed
}

// lastVoid is an expression of SQL for the last change of the checks whose states reach into a day, ” for none. A state
// lasts for at most three days after its check.
const lastVoid = `coalesce((SELECT 'void change ' || max(change_id) FROM voids
	WHERE starts_at < day::timestamp AT TIME ZONE 'UTC' + interval '1 day'
		AND ends_at > day::timestamp AT TIME ZONE 'UTC' - interval '3 days'), '')`

// CheckDays reads the days with visits from one time up to another, by day.
func (r *Reader) CheckDays(ctx context.Context, from, to time.Time) ([]Day, error) {
	return r.days(ctx, "checks", `SELECT day, `+lastVoid+` FROM (
		SELECT (at AT TIME ZONE 'UTC')::date AS day
		FROM generate_series($1::timestamptz, $2::timestamptz - interval '1 s', interval '1 day') AS at
		WHERE EXISTS (SELECT FROM checks WHERE checked_at >= at AND checked_at < at + interval '1 day')
	) AS days ORDER BY day`, from, to)
}

// UptimeDays reads the days with sums of visits before a time, by day.
func (r *Reader) UptimeDays(ctx context.Context, to time.Time) ([]Day, error) {
	return r.days(ctx, "uptime", `SELECT day, `+lastVoid+` FROM (
			SELECT DISTINCT day FROM check_days WHERE day >= '1970-01-01' AND day < $1
		) AS days ORDER BY day`, to)
}

// ChangeDays reads the days with sealed changes before a time, by day. A change may be sealed later than others of its
// day.
func (r *Reader) ChangeDays(ctx context.Context, to time.Time) ([]Day, error) {
	return r.days(ctx, "changes", `
		SELECT (t.observed_at AT TIME ZONE 'UTC')::date AS day, count(*)::text || ' changes' FROM changes t`+listed+`
		WHERE t.number IS NOT NULL AND t.observed_at >= '1970-01-01' AND t.observed_at < $1 GROUP BY 1 ORDER BY 1`, to)
}

// SettledDays reads the days with settlements before one, by day. Settlements of a day may be found later, such as
// those of an account that is added to a facilitator. Others may take their place when a chain is read again.
func (r *Reader) SettledDays(ctx context.Context, to time.Time) ([]Day, error) {
	return r.days(ctx, "settlements", `
		SELECT day, sum(settlements) || ' settlements of ' || sum(amount) || coalesce(', read again at '
			|| (SELECT value FROM settings WHERE name = '`+ledger.DayReadAgain+`' || day), '') FROM token_days
		WHERE day >= '1970-01-01' AND day < $1 AND amount < 'Infinity' GROUP BY day ORDER BY day`, to)
}

// days reads days and what their rows are made from.
func (r *Reader) days(ctx context.Context, table, sql string, args ...any) (list []Day, err error) {
	var d Day
	err = r.each(ctx, "days of "+table, sql, []any{&d.Day, &d.MadeFrom}, func() error {
		list = append(list, d)
		return nil
	}, args...)
	return list, err
}

// Settlement sums what one payer paid to a recipient on a UTC day.
type Settlement struct {
	Day         time.Time
	Facilitator string
	Network     string // CAIP-2
	Token       string // in normal form
	Payee       string // in normal form
	Payer       int64  // number among the payers of the recipient on that day, from 1; 0 for redemptions
	Settlements int64
	Amount      string // atomic units
}

// Settlements reads the settlements from one day up to another one, by day, facilitator, network, token, payee and
// payer. Numbers of payers follow the addresses, so that they do not depend on when an address was stored. Redemptions,
// which name no payer, are the part of a recipient's day that no payer paid.
func (r *Reader) Settlements(ctx context.Context, from, to time.Time, do func(*Settlement) error) error {
	var s Settlement
	return r.each(ctx, "settlements", `
		SELECT d.day, f.facilitator_id, c.network, f.token, payee.address, d.payer, d.settlements, d.amount::text
		FROM (
			SELECT p.day, p.token_id, p.payee_id,
				dense_rank() OVER (PARTITION BY p.day, p.payee_id ORDER BY a.address COLLATE "C") AS payer,
				p.settlements, p.amount
			FROM payer_days p JOIN accounts a ON a.id = p.payer_id WHERE p.day >= $1 AND p.day < $2
			UNION ALL
			SELECT r.day, r.token_id, r.payee_id, 0, (r.settlements - coalesce(sum(p.settlements), 0))::bigint,
				r.amount - coalesce(sum(p.amount), 0)
			FROM payee_days r LEFT JOIN payer_days p USING (day, token_id, payee_id)
			WHERE r.day >= $1 AND r.day < $2 GROUP BY r.day, r.token_id, r.payee_id
			HAVING r.settlements > coalesce(sum(p.settlements), 0)
		) d JOIN facilitator_tokens f ON f.id = d.token_id JOIN chains c ON c.id = f.chain_id
			JOIN accounts payee ON payee.id = d.payee_id
		WHERE d.amount < 'Infinity'
		ORDER BY d.day, f.facilitator_id COLLATE "C", c.network COLLATE "C", f.token COLLATE "C",
			payee.address COLLATE "C", 6`,
		[]any{&s.Day, &s.Facilitator, &s.Network, &s.Token, &s.Payee, &s.Payer, &s.Settlements, &s.Amount},
		func() error { return do(&s) }, from, to)
}

// Assessment is what a directory published last of a service on a UTC day.
type Assessment struct {
	Day           time.Time
	Slug          string
	Grade         string
	Checks        int
	Failed        []string // ids of checks
	RiskLevel     string
	RiskFlags     []string // codes
	MinPriceUSD   *string
	ResponseP95MS *int
	Methodology   int
	Verdict       *string
}

// Assessments reads the assessments from one day up to another one, by slug and day.
func (r *Reader) Assessments(ctx context.Context, from, to time.Time, do func(*Assessment) error) error {
	var a Assessment
	return r.each(ctx, "assessments", `
		SELECT t.day, s.slug, t.grade, t.checks, array_remove(t.failed, NULL), t.risk_level,
			array_remove(t.risk_flags, NULL), t.min_price_usd::text,
			t.response_p95_ms, t.methodology, t.verdict
		FROM assessments t`+listed+`
		WHERE t.day >= $1 AND t.day < $2 AND coalesce(t.min_price_usd, 0) < 'Infinity'
		ORDER BY s.slug COLLATE "C", t.day`,
		[]any{&a.Day, &a.Slug, &a.Grade, &a.Checks, &a.Failed, &a.RiskLevel, &a.RiskFlags, &a.MinPriceUSD,
			&a.ResponseP95MS, &a.Methodology, &a.Verdict},
		func() error { return do(&a) }, from, to)
}

// AssessedDays reads the days with assessments before one, by day.
func (r *Reader) AssessedDays(ctx context.Context, to time.Time) ([]Day, error) {
	return r.days(ctx, "assessments", `SELECT DISTINCT day, '' FROM assessments
		WHERE day >= '1970-01-01' AND day < $1 ORDER BY day`, to)
}
