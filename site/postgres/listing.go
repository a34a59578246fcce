package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/consent"
	"tollbook/site/postgres/rows"
)

// ErrListed says that the directory already has a slug or a base address.
var ErrListed = errors.New("already listed")

// ErrSlugUsed says that an erased service had a slug. A slug is never given twice, because readers keep links to it.
var ErrSlugUsed = errors.New("an erased service had this slug, and a slug is never given twice; choose another")

// listedColumns are the columns of services in the order of Service's fields, stateColumns those of service_states,
// which is what visits change.
const (
	listedColumns = `id, slug, name, description, base_url, website_url, category, source, created_at, verified_at,
		listing_state, listing_state_at, pruned, state_before_opt_out, check_interval`
	stateColumns   = `next_check_at, last_checked_at, last_status, last_success_at, consecutive_failures, failing_since`
	serviceColumns = listedColumns + `, ` + stateColumns
	serviceRows    = `services JOIN service_states state ON state.service_id = services.id`
)

// endpointColumns are the columns of endpoints in the order of Endpoint's fields.
var endpointColumns = rows.Columns[Endpoint]()

// AddListings lists services with their endpoints in one transaction. Each is due at once. It returns ErrListed or
// ErrSlugUsed, with the listing's slug, if a slug or base address is taken.
func (db *DB) AddListings(ctx context.Context, listings []Listing) error {
	return db.Transact(ctx, func(tx pgx.Tx) error {
		for _, l := range listings {
			if _, err := AddListing(ctx, tx, l); err != nil {
				return fmt.Errorf("list %s: %w", l.Slug, err)
			}
		}
		return nil
	})
}

// AddListing lists a service in a transaction and returns its id, or ErrListed, ErrSlugUsed, an *OptOutError or a
// *RemovedError.
func AddListing(ctx context.Context, tx pgx.Tx, l Listing) (id int64, err error) {
	if err := consent.Check(ctx, tx, l.BaseURL); err != nil {
		return 0, err
	}
	interval := l.Interval
	if interval == 0 {
		interval = 15 * time.Minute
	}
	err = tx.QueryRow(ctx, `
		WITH listed AS (
			INSERT INTO services (slug, name, description, base_url, website_url, category, source, created_at,
				verified_at, check_interval)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
			RETURNING id
		)
		INSERT INTO service_states (service_id, next_check_at) SELECT id, $8 FROM listed RETURNING service_id`,
		l.Slug, l.Name, l.Description, l.BaseURL, l.WebsiteURL, l.Category, l.Source, l.CreatedAt, l.VerifiedAt,
		interval,
	).Scan(&id)
	if violatedConstraint(err) != "" {
		return 0, ErrListed
	}
	if err != nil {
		return 0, fmt.Errorf("insert service: %w", err)
	}
	batch := &pgx.Batch{}
	// It follows the insert, because the insert waits until a transaction that erases this slug has ended.
	var used bool
	batch.Queue(`SELECT EXISTS (SELECT FROM removed_services WHERE slug = $1)`, l.Slug).QueryRow(
		func(row pgx.Row) error { return row.Scan(&used) })
	queueEndpoints(batch, id, l.Slug, l.CreatedAt, l.Endpoints)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return 0, fmt.Errorf("insert endpoints: %w", err)
	}
	if used {
		return 0, ErrSlugUsed
	}
	return id, checkRemoved(ctx, tx, l.BaseURL) // after the insert, for the same reason
}

// Services reads every listed service, by slug.
func (db *DB) Services(ctx context.Context) ([]Service, error) {
	return services(ctx, db.pool, `SELECT `+serviceColumns+` FROM `+serviceRows+` ORDER BY slug`)
}

func services(ctx context.Context, q rows.Querier, sql string, args ...any) ([]Service, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read services: %w", err)
	}
	s, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Service])
	if err != nil {
		return nil, fmt.Errorf("read services: %w", err)
	}
	return s, nil
}

func endpoints(ctx context.Context, q rows.Querier, sql string, args ...any) ([]Endpoint, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read endpoints: %w", err)
	}
	e, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Endpoint])
	if err != nil {
		return nil, fmt.Errorf("read endpoints: %w", err)
	}
	return e, nil
}

// DueService is a service to be visited, with all its endpoints sorted by id.
type DueService struct {
	Service
	Endpoints []Endpoint

	// Read for visits only: by type of change, the time whose prices the next record compares with.
	Baselines map[string]time.Time
	Robots    bool // its origin has a robots.txt
}

// TakeServices leases up to limit services that are due in a place, the longest overdue first. A service of which other
// places are asked is due for them alone, see checks.Question. No other visitor takes a leased service. If the visitor
// dies, the service is due again when its lease ends. A DamagedServices error comes with the services that can be read;
// the damaged ones are due again when their lease ends.
func (db *DB) TakeServices(ctx context.Context, place string, now time.Time, lease time.Duration, limit int) (
	[]DueService, error) {
	ids, err := rows.Column[int64](ctx, db.pool, `
		WITH due AS (
			SELECT service_id FROM service_states
			WHERE next_check_at <= $1 AND (asked_of IS NULL OR asked_until <= $1 OR asked_of ? $4)
			ORDER BY next_check_at, service_id
			LIMIT $2
			FOR NO KEY UPDATE SKIP LOCKED
		)
		UPDATE service_states s SET next_check_at = $1::timestamptz + $3::interval,
			lease_ends = $1::timestamptz + $3::interval
		FROM due WHERE s.service_id = due.service_id
		RETURNING s.service_id`, now, limit, lease, place)
	if err != nil {
		return nil, fmt.Errorf("take due services: %w", err)
	}
	// A crash here leaves the services leased; they are due again when the lease ends.
	due, err := db.readTaken(ctx, ids, readForVisits)
	if err != nil {
		return due, fmt.Errorf("take due services: %w", err)
	}
	return due, nil
}

// readTaken reads leased services, by id, and what read adds to them. If a stored value makes that fail, it reads them
// one by one, so that one damaged service does not keep the others from being visited.
func (db *DB) readTaken(ctx context.Context, ids []int64,
	read func(context.Context, rows.Querier, []Service) ([]DueService, error)) ([]DueService, error) {
	readAll := func(ids []int64) ([]DueService, error) {
		taken, err := services(ctx, db.pool,
			`SELECT `+serviceColumns+` FROM `+serviceRows+` WHERE id = ANY($1) ORDER BY id`, ids)
		if err != nil {
			return nil, err
		}
		return read(ctx, db.pool, taken)
	}
	due, err := readAll(ids)
	if err == nil || !isValueError(err) || db.pool.Ping(ctx) != nil {
		return due, err
	}
	due = nil
	var damaged DamagedServices
	for _, id := range slices.Sorted(slices.Values(ids)) {
		one, err := readAll([]int64{id})
		switch {
		case err == nil:
			due = append(due, one...)
		case !isValueError(err):
			return nil, err
		default:
			d := DamagedService{ID: id, Err: err}
			if err := db.pool.QueryRow(ctx, `SELECT slug FROM services WHERE id = $1`, id).Scan(&d.Slug); err != nil {
				return nil, err
			}
			damaged = append(damaged, d)
		}
	}
	if len(damaged) > 0 {
		return due, damaged
	}
	return due, nil
}

// isValueError reports whether an error may come from a stored value: the server reports nothing, or data that it
// cannot convert.
func isValueError(err error) bool {
	of := &pgconn.PgError{}
	return !errors.As(err, &of) || strings.HasPrefix(of.Code, "22")
}

// readForVisits reads what visits need of services, which are sorted by id.
func readForVisits(ctx context.Context, q rows.Querier, taken []Service) ([]DueService, error) {
	due, err := withEndpoints(ctx, q, taken)
	if err != nil || len(due) == 0 {
		return due, err
	}
	marks, err := checks.Baselines(ctx, q, serviceIDs(due))
	if err != nil {
		return nil, err
	}
	for i := range due {
		due[i].Baselines = marks[due[i].ID]
	}
	return due, addRobots(ctx, q, due)
}

func serviceIDs(due []DueService) []int64 {
	ids := make([]int64, len(due))
	for i := range due {
		ids[i] = due[i].ID
	}
	return ids
}

// findService returns the service with an id. The services are sorted by id.
func findService(due []DueService, id int64) *DueService {
	i, _ := slices.BinarySearchFunc(due, id, func(s DueService, id int64) int { return cmp.Compare(s.ID, id) })
	return &due[i]
}

// CountDue returns how many services are due now.
func (db *DB) CountDue(ctx context.Context, now time.Time) (n int, err error) {
	err = db.pool.QueryRow(ctx, `SELECT count(*) FROM service_states WHERE next_check_at <= $1`, now).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count due services: %w", err)
	}
	return n, nil
}

// NextDue returns when the next service is due in a place, nil if nothing will be, and the time of the database's clock.
// It leaves out services of which only other places are asked.
func (db *DB) NextDue(ctx context.Context, place string) (next *time.Time, now time.Time, err error) {
	if err := db.pool.QueryRow(ctx, `
		SELECT min(next_check_at), clock_timestamp() FROM service_states
		WHERE next_check_at < $1 AND (asked_of IS NULL OR asked_of ? $2)`,
		consent.NeverDue.AddDate(-1, 0, 0), place).Scan(&next, &now); err != nil {
		return nil, now, fmt.Errorf("read next due time: %w", err)
	}
	return next, now, nil
}
