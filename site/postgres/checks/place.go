package checks

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres/rows"
)

// Question is what one place found and other places did not. Until it is answered, the service is visited by those that
// it is asked of.
type Question struct {
	At    time.Time // when the first visit found it
	Until time.Time // those that have not come by then have no say
	Of    []string  // places that have not visited the service since; empty when the question is answered
}

// PlaceFinding is what a place found in its last conclusive visit of a service, whether the visit counted or not.
type PlaceFinding struct {
	ServiceID int64     `db:"service_id,bigint"`
	Vantage   string    `db:"vantage,text"` // "" for the place without a name
	CheckedAt time.Time `db:"checked_at,timestamptz"`
	IsUp      bool      `db:"is_up,boolean"`
	Reason    *string   `db:"reason,text"` // what went wrong; nil if nothing did
}

// PlaceTerms are the terms that a place was last asked by an endpoint.
type PlaceTerms struct {
	EndpointID  uuid.UUID `db:"endpoint_id,uuid"`
	Vantage     string    `db:"vantage,text"`
	Fingerprint string    `db:"fingerprint,text"` // of all terms, and of whether the request was signed
	Signed      bool      `db:"signed,boolean"`
	Terms       []Offer   `db:"terms,jsonb"` // the first few; those of x402 have the protocol x402
	FirstAt     time.Time `db:"first_at,timestamptz"`
	LastAt      time.Time `db:"last_at,timestamptz"`
	Times       int       `db:"times,integer"` // how often in a row, from FirstAt to LastAt
}

// PlaceFacts is what places found of one service.
type PlaceFacts struct {
	Question *Question // nil without an open one
	Findings []PlaceFinding
	Terms    []PlaceTerms
}

// SeePlace stores that a worker in a place asks now what is due, and returns the names of all places in which one did
// since a time, sorted. A place is stored once a minute at most.
func (st *Store) SeePlace(ctx context.Context, name string, now, since time.Time) ([]string, error) {
	_, err := st.pool.Exec(ctx, `
		INSERT INTO vantages (name, seen_at)
		SELECT $1, $2::timestamptz WHERE NOT EXISTS (
			SELECT FROM vantages WHERE name = $1 AND seen_at > $2 - interval '1 minute' AND seen_at <= $2)
		ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at`, name, now)
	if err != nil {
		return nil, fmt.Errorf("store the place %q: %w", name, err)
	}
	names, err := rows.Column[string](ctx, st.pool,
		`SELECT name FROM vantages WHERE seen_at > $1 ORDER BY name COLLATE "C"`, since)
	if err != nil {
		return nil, fmt.Errorf("read places: %w", err)
	}
	return names, nil
}

// Vantage is a place that visits services.
type Vantage struct {
	Name   string    `db:"name,text"`
	SeenAt time.Time `db:"seen_at,timestamptz"` // when a worker there last asked what is due
}

// ReadVantages reads the places that visit services now, by name.
func (r *LogReader) ReadVantages(ctx context.Context, now time.Time) ([]Vantage, error) {
	return collect[Vantage](ctx, r.tx, "places", `
		SELECT name, seen_at FROM vantages WHERE seen_at > $1 AND isfinite(seen_at) ORDER BY name COLLATE "C"`,
		now.Add(-site.PlaceActive))
}

// Places reads what places found of a service.
func (st *Store) Places(ctx context.Context, serviceID int64) (f PlaceFacts, err error) {
	var q Question
	var of []byte
	var at, until *time.Time
	err = st.pool.QueryRow(ctx, `SELECT asked_at, asked_until, asked_of FROM service_states WHERE service_id = $1`,
		serviceID).Scan(&at, &until, &of)
	if err == nil && at != nil && until != nil {
		q.At, q.Until = *at, *until
		err = json.Unmarshal(of, &q.Of)
		f.Question = &q
	}
	if err != nil {
		return f, fmt.Errorf("read what places are asked of service %d: %w", serviceID, err)
	}
	if f.Findings, err = ReadPlaceFindings(ctx, st.pool, []int64{serviceID}); err != nil {
		return f, err
	}
	f.Terms, err = ReadPlaceTerms(ctx, st.pool, []int64{serviceID})
	return f, err
}

// ReadPlaceFindings reads what each place found of services, by service and place.
func ReadPlaceFindings(ctx context.Context, q rows.Querier, services []int64) ([]PlaceFinding, error) {
	return collect[PlaceFinding](ctx, q, "findings of places", `
		SELECT `+rows.Columns[PlaceFinding]()+` FROM place_findings WHERE service_id = ANY($1)
		ORDER BY service_id, vantage COLLATE "C"`, services)
}

// ReadPlaceTerms reads the terms that each place was asked by the endpoints of services, by endpoint and place.
func ReadPlaceTerms(ctx context.Context, q rows.Querier, services []int64) ([]PlaceTerms, error) {
	return collect[PlaceTerms](ctx, q, "terms of places", `
		SELECT `+rows.Columns[PlaceTerms]()+` FROM place_terms
		WHERE endpoint_id IN (SELECT id FROM endpoints WHERE service_id = ANY($1))
		ORDER BY endpoint_id, vantage COLLATE "C"`, services)
}

// collect returns the rows of a query. what names them in an error.
func collect[T any](ctx context.Context, q rows.Querier, what, sql string, args ...any) ([]T, error) {
	found, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	list, err := pgx.CollectRows(found, pgx.RowToStructByName[T])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return list, nil
}

// queuePlaces stores what the place of a visit found, and whom it asks. The visit's service is locked.
func queuePlaces(b *pgx.Batch, v Visit) {
	if q := v.Question; q != nil {
		if len(q.Of) == 0 {
			b.Queue(`UPDATE service_states SET asked_at = NULL, asked_until = NULL, asked_of = NULL WHERE service_id = $1`,
				v.Check.ServiceID)
		} else {
			b.Queue(`UPDATE service_states SET asked_at = $2, asked_until = $3, asked_of = $4 WHERE service_id = $1`,
				v.Check.ServiceID, q.At, q.Until, q.Of)
		}
	}
	if f := v.Finding; f != nil {
		from, args := rows.Unnest([]PlaceFinding{*f})
		b.Queue(`
			INSERT INTO place_findings (`+rows.Columns[PlaceFinding]()+`) SELECT * FROM `+from+`
			ON CONFLICT (service_id, vantage) DO UPDATE SET checked_at = excluded.checked_at, is_up = excluded.is_up,
				reason = excluded.reason`, args...)
	}
	if len(v.Terms) == 0 {
		return
	}
	from, args := rows.Unnest(v.Terms)
	b.Queue(`
		INSERT INTO place_terms AS old (`+rows.Columns[PlaceTerms]()+`) SELECT * FROM `+from+`
			WHERE endpoint_id IN (SELECT id FROM endpoints)
		ON CONFLICT (endpoint_id, vantage) DO UPDATE SET fingerprint = excluded.fingerprint, signed = excluded.signed,
			terms = excluded.terms,
			first_at = CASE WHEN old.fingerprint = excluded.fingerprint THEN old.first_at ELSE excluded.first_at END,
			times = CASE WHEN old.fingerprint = excluded.fingerprint THEN old.times + 1 ELSE 1 END,
			last_at = excluded.last_at`, args...)
}
