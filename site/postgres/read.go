package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// Facts is what a build reads, all of one moment.
type Facts struct {
	Source   string         // of the whole directory: "" for a real one, else what AddHistories said
	Services []ServiceFacts // by slug
	Log      LogFacts       // of all services

	Changes    []Change         // that some log's open block or newest window needs, oldest first
	ChangeLogs []ChangeLogFacts // of all services, that of all types first; none without records

	Facilitators []FacilitatorFacts // by id
	Chains       []ChainFacts       // by network
	Takings      *Takings           // read apart, since a build says which flows count; nil before
}

// ServiceFacts is everything that is known of one service.
type ServiceFacts struct {
	Service
	Endpoints   []EndpointFacts // by path, then method
	Hours       []Rollup        // the last 24 closed UTC hours and the open one, oldest first, without histograms
	Days        []Rollup        // the last 90 UTC days, today included, oldest first; histograms of the last 7
	TotalChecks int64           // visits ever
	Log         LogFacts

	Site       *SiteFacts       // nil before the first look
	Domain     *DomainFacts     // nil where the base address has no registrable domain, and before the first look
	Synthesis  *SynthesisFacts  // nil without an answer; it need not belong to the service's present input
	Changes    []Change         // the newest maxChanges, newest first
	ChangeLogs []ChangeLogFacts // of its records, that of all types first; none without records
	PriceSpans []PriceSpan      // by endpoint, then since
	PriceDays  []PriceDay       // oldest first
	DaySums    []DaySum         // oldest first
}

// EndpointFacts is an endpoint with every way to pay it of the last 90 days, and its newest answers.
type EndpointFacts struct {
	Endpoint
	Prices       []Price   // by since, then position; current ones have no Until
	Envelope     *Envelope // the newest answer that held one; nil without
	Answer       *Answer   // the newest conclusive one, where it came after Envelope; nil without
	Inconclusive *Answer   // the newest one, where it is inconclusive; nil without
}

const maxChanges = 20

// Reader is a consistent read: everything it answers is of one moment.
type Reader struct{ tx pgx.Tx }

// Read runs f in one REPEATABLE READ, READ ONLY transaction.
func (db *DB) Read(ctx context.Context, f func(*Reader) error) error {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, db.pool, options, func(tx pgx.Tx) error { return f(&Reader{tx}) })
}

// Facts reads what a build as of now needs. Rows enter a log delay after their time.
func (r *Reader) Facts(ctx context.Context, now time.Time, delay time.Duration) (*Facts, error) {
	f := &Facts{}
	err := r.tx.QueryRow(ctx, `SELECT value FROM settings WHERE name = 'source'`).Scan(&f.Source)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("read source: %w", err)
	}
	listed, err := services(ctx, r.tx, `SELECT `+serviceColumns+` FROM services ORDER BY slug`)
	if err != nil {
		return nil, err
	}
	f.Services = make([]ServiceFacts, len(listed))
	at := make(map[int64]*ServiceFacts, len(listed))
	for i, s := range listed {
		f.Services[i].Service = s
		at[s.ID] = &f.Services[i]
	}
	if err := r.readEndpoints(ctx, now, at); err != nil {
		return nil, err
	}
	if err := r.readRollups(ctx, now, at); err != nil {
		return nil, err
	}
	if err := r.readSeries(ctx, at); err != nil {
		return nil, err
	}
	if err := r.readSites(ctx, at); err != nil {
		return nil, err
	}
	if err := r.readSyntheses(ctx, at); err != nil {
		return nil, err
	}
	if err := r.readChanges(ctx, now.Add(-delay), at); err != nil {
		return nil, err
	}
	if err := r.readChangeLogs(ctx, now, now.Add(-delay), f, at); err != nil {
		return nil, fmt.Errorf("read changes: %w", err)
	}
	if err := r.readLogs(ctx, now.Add(-delay), f, at); err != nil {
		return nil, fmt.Errorf("read logs: %w", err)
	}
	if f.Facilitators, err = r.readFacilitators(ctx, now); err != nil {
		return nil, err
	}
	if f.Chains, err = r.readChains(ctx, now); err != nil {
		return nil, err
	}
	tokens, err := r.readTokens(ctx)
	if err != nil {
		return nil, err
	}
	f.configure(tokens)
	return f, nil
}

func (r *Reader) readEndpoints(ctx context.Context, now time.Time, at map[int64]*ServiceFacts) error {
	found, err := endpoints(ctx, r.tx, `SELECT `+endpointColumns+` FROM endpoints ORDER BY service_id, path, method, id`)
	if err != nil {
		return err
	}
	service := make(map[uuid.UUID]int64, len(found))
	place := make(map[uuid.UUID]int, len(found))
	for _, e := range found {
		s := at[e.ServiceID]
		service[e.ID], place[e.ID] = e.ServiceID, len(s.Endpoints)
		s.Endpoints = append(s.Endpoints, EndpointFacts{Endpoint: e})
	}
	paid, err := prices(ctx, r.tx, `
		SELECT `+priceColumns+` FROM prices WHERE until IS NULL OR until >= $1
		ORDER BY endpoint_id, since, position`, now.AddDate(0, 0, -90))
	if err != nil {
		return err
	}
	for _, p := range paid {
		e := &at[service[p.EndpointID]].Endpoints[place[p.EndpointID]]
		e.Prices = append(e.Prices, p)
	}
	kept, err := envelopes(ctx, r.tx, `SELECT `+envelopeColumns+` FROM envelopes`)
	if err != nil {
		return err
	}
	for _, v := range kept {
		at[service[v.EndpointID]].Endpoints[place[v.EndpointID]].Envelope = v
	}
	return r.readAnswers(ctx, func(id uuid.UUID) *EndpointFacts { return &at[service[id]].Endpoints[place[id]] })
}

func (r *Reader) readRollups(ctx context.Context, now time.Time, at map[int64]*ServiceFacts) error {
	hours, err := r.rollups(ctx, `
		SELECT service_id, hour, checks, counted, up, timed, response_ms, NULL::integer[] FROM check_hours
		WHERE hour >= $1 AND service_id IN (SELECT id FROM services) ORDER BY service_id, hour`, now.UTC().Truncate(time.Hour).Add(-24*time.Hour))
	if err != nil {
		return err
	}
	for _, h := range hours {
		at[h.ServiceID].Hours = append(at[h.ServiceID].Hours, h)
	}
	today := now.UTC().Truncate(24 * time.Hour)
	days, err := r.rollups(ctx, `
		SELECT service_id, day::timestamptz, checks, counted, up, timed, response_ms, CASE WHEN day >= $2 THEN histogram END FROM check_days
		WHERE day >= $1 ORDER BY service_id, day`, today.AddDate(0, 0, 1-site.WindowDays["90d"]), today.AddDate(0, 0, 1-site.WindowDays["7d"]))
	if err != nil {
		return err
	}
	for _, d := range days {
		at[d.ServiceID].Days = append(at[d.ServiceID].Days, d)
	}
	rows, err := r.tx.Query(ctx, `SELECT service_id, sum(checks)::bigint FROM check_days GROUP BY service_id`)
	if err != nil {
		return fmt.Errorf("count checks: %w", err)
	}
	var id, n int64
	_, err = pgx.ForEachRow(rows, []any{&id, &n}, func() error { at[id].TotalChecks = n; return nil })
	return err
}

func (r *Reader) rollups(ctx context.Context, sql string, args ...any) ([]Rollup, error) {
	rows, err := r.tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read roll-ups: %w", err)
	}
	sums, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Rollup])
	if err != nil {
		return nil, fmt.Errorf("read roll-ups: %w", err)
	}
	return sums, nil
}

// readChanges reads the newest records of each service before cutoff.
func (r *Reader) readChanges(ctx context.Context, cutoff time.Time, at map[int64]*ServiceFacts) error {
	rows, err := r.tx.Query(ctx, `
		SELECT c.service_id, c.type, c.observed_at, c.summary, c.old_snapshot, c.new_snapshot FROM services s, LATERAL (
			SELECT service_id, type, observed_at, summary, old_snapshot, new_snapshot, id FROM changes
			WHERE service_id = s.id AND observed_at < $1 ORDER BY observed_at DESC, id DESC LIMIT $2
		) c ORDER BY c.service_id, c.observed_at DESC, c.id DESC`, cutoff, maxChanges)
	if err != nil {
		return fmt.Errorf("read changes: %w", err)
	}
	changes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Change])
	if err != nil {
		return fmt.Errorf("read changes: %w", err)
	}
	for _, c := range changes {
		at[c.ServiceID].Changes = append(at[c.ServiceID].Changes, c)
	}
	return nil
}
