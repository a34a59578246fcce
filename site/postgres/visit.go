package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Visit is everything that one visit to a service found.
type Visit struct {
	Check         Check
	Lease         time.Time // until which the service was taken for this visit; zero for one that was not taken
	NextCheckAt   time.Time
	FailingSince  *time.Time // after this visit
	LastSuccessAt *time.Time // nil leaves what is known
	Endpoints     []EndpointVisit
	Changes       []Change
	Told          []string   // marked types of which nothing is left to tell
	Untold        *time.Time // what was asked then could not be compared with: the next record of each type does
}

// EndpointVisit is what one endpoint answered.
type EndpointVisit struct {
	ID             uuid.UUID
	ProbedAt       time.Time
	Method         string  // that answered; "" leaves what is known
	Verdict        *string // nil for an inconclusive answer, which leaves what is known
	Class, Reason  string
	ResponseTimeMS *int
	Paid           bool
	Description    *string // nil leaves what is known
	MimeType       *string
	Envelope       *Envelope // nil without one
	Answer         *Answer   // nil with an envelope
	Fingerprint    *string   // of the requirement set; nil leaves what is known
	Repriced       bool      // the set is another one: the current prices end at ProbedAt and Prices replace them
	Prices         []Price
	HeadAt         *time.Time // nil when none was sent
	HeadFree       *bool      // nil leaves what is known
}

// RecordVisits keeps visits: checks, their roll-ups, endpoints, envelopes, prices and changes, all in one transaction.
// A visit whose check is already kept changes nothing, so that a visit may be told twice; one to a service that was erased
// meanwhile, or taken by somebody else because this visitor was held for dead, is dropped. Commit does not wait for the disk: a check counts as kept after a second (a crash of the server
// itself loses at most that, and the service is simply visited again).
func (db *DB) RecordVisits(ctx context.Context, visits []Visit) error {
	err := db.transact(ctx, func(tx pgx.Tx) error {
		visits, err := visitsThatCount(ctx, tx, visits)
		if err != nil {
			return err
		}
		checks := make([]Check, len(visits))
		for i := range visits {
			checks[i] = visits[i].Check
		}
		fresh, err := recordChecks(ctx, tx, checks)
		if err != nil {
			return err
		}
		if slices.Contains(fresh, false) {
			var list []Visit
			for i, v := range visits {
				if fresh[i] {
					list = append(list, v)
				}
			}
			visits = list
		}
		return recordFindings(ctx, tx, visits)
	})
	if err != nil {
		return fmt.Errorf("record %d visits: %w", len(visits), err)
	}
	return nil
}

// servicesOf lists the services of so many rows, each once, and which of the list each row's is.
func servicesOf(rows int, service func(i int) int64) (ids []int64, of []int32) {
	of = make([]int32, rows)
	at := make(map[int64]int32)
	for i := range of {
		id := service(i)
		if i > 0 && id == service(i-1) {
			of[i] = of[i-1]
			continue
		}
		n, again := at[id]
		if !again {
			n = int32(len(ids))
			at[id], ids = n, append(ids, id)
		}
		of[i] = n
	}
	return ids, of
}

// visitsThatCount are the visits to services that are still there and still taken for them. Their rows are locked: from here
// nobody else can take them before this visit is kept. A visitor that is stopped here is cut off by the server. The
// transaction's commit will not wait for the disk.
func visitsThatCount(ctx context.Context, tx pgx.Tx, visits []Visit) ([]Visit, error) {
	ids, of := servicesOf(len(visits), func(i int) int64 { return visits[i].Check.ServiceID })
	services := len(ids)
	leases, leased := make([]*time.Time, services), make([]bool, services)
	for i := range visits {
		n, lease := of[i], &visits[i].Lease
		if lease.IsZero() {
			lease = nil
		}
		switch last := leases[n]; {
		case !leased[n]:
			leases[n], leased[n] = lease, true
		case (last == nil) != (lease == nil) || last != nil && !last.Equal(*lease):
			ids, leases = append(ids, ids[n]), append(leases, lease)
		}
	}
	var there []int64
	b := &pgx.Batch{}
	b.Queue(`SET LOCAL synchronous_commit = off`)
	b.Queue(`SET LOCAL idle_in_transaction_session_timeout = '30s'`)
	b.Queue(`
		SELECT s.id FROM unnest($1::bigint[], $2::timestamptz[]) AS v (id, lease) JOIN services s ON s.id = v.id
		WHERE v.lease IS NULL OR v.lease = s.next_check_at
		ORDER BY s.id FOR NO KEY UPDATE OF s`, ids, leases).Query(func(rows pgx.Rows) (err error) {
		there, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("hold services: %w", err)
	}
	if there = slices.Compact(there); len(there) == services {
		return visits, nil
	}
	count := make([]Visit, 0, len(visits))
	for _, v := range visits {
		if _, ok := slices.BinarySearch(there, v.Check.ServiceID); ok {
			count = append(count, v)
		}
	}
	return count, nil
}

func queuePrice(b *pgx.Batch, p Price) {
	b.Queue(`
		INSERT INTO prices (endpoint_id, since, position, until, scheme, network, network_caip2, asset, pay_to, amount,
			max_timeout_seconds, extra, x402_version)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text::numeric, $11, $12, $13)
		ON CONFLICT (endpoint_id, since, position) DO NOTHING`,
		p.EndpointID, p.Since, p.Position, p.Until, p.Scheme, p.Network, p.NetworkCAIP2, p.Asset, p.PayTo, p.Amount,
		p.MaxTimeoutSeconds, p.Extra, p.X402Version)
}

// CurrentPrices reads the ways to pay that a service's endpoints ask now, by endpoint and position.
func (db *DB) CurrentPrices(ctx context.Context, serviceID int64) ([]Price, error) {
	return prices(ctx, db.pool, `
		SELECT `+priceColumns+` FROM prices JOIN endpoints ON endpoints.id = endpoint_id
		WHERE service_id = $1 AND until IS NULL
		ORDER BY endpoint_id, position`, serviceID)
}

// Envelopes reads the newest answers of a service's endpoints, by endpoint.
func (db *DB) Envelopes(ctx context.Context, serviceID int64) (map[uuid.UUID]*Envelope, error) {
	kept, err := envelopes(ctx, db.pool, `
		SELECT `+envelopeColumns+` FROM envelopes JOIN endpoints ON endpoints.id = endpoint_id WHERE service_id = $1`, serviceID)
	by := make(map[uuid.UUID]*Envelope, len(kept))
	for _, e := range kept {
		by[e.EndpointID] = e
	}
	return by, err
}

// envelopeColumns are the columns of envelopes in the order of Envelope's fields.
const envelopeColumns = `endpoint_id, received_at, envelopes.method, url, status_code, header, body, truncated, tls_verified, sha256, exchange`

func envelopes(ctx context.Context, q querier, sql string, args ...any) ([]*Envelope, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read envelopes: %w", err)
	}
	e, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByPos[Envelope])
	if err != nil {
		return nil, fmt.Errorf("read envelopes: %w", err)
	}
	return e, nil
}

// priceColumns are the columns of prices in the order of Price's fields.
const priceColumns = `endpoint_id, since, position, until, scheme, network, network_caip2, asset, pay_to, amount::text,
	max_timeout_seconds, extra, x402_version`

func prices(ctx context.Context, q querier, sql string, args ...any) ([]Price, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	p, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Price])
	if err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	return p, nil
}
