package checks

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/rows"
)

// Visit is everything that one visit to a service found.
type Visit struct {
	Check         Check
	Lease         time.Time // end of the lease of this visit; zero without a lease
	NextCheckAt   time.Time
	FailingSince  *time.Time // after this visit
	LastSuccessAt *time.Time // nil leaves the stored one
	Endpoints     []EndpointVisit
	Changes       []Change
	ClearedTypes  []string   // types whose baseline is removed, because nothing is left to record
	BaselineAt    *time.Time // adds a baseline at this time for each type without one

	// Where several places visit services:
	Finding  *PlaceFinding // nil for an inconclusive visit
	Terms    []PlaceTerms  // that the place of the visit was asked
	Question *Question     // replaces the stored one; nil leaves it
}

// EndpointVisit is the result of a probe of one endpoint.
type EndpointVisit struct {
	ID             uuid.UUID `db:"id,uuid"`
	ProbedAt       time.Time `db:"at,timestamptz"`
	Method         string    // that responded; "" leaves the stored one
	Verdict        *string   `db:"verdict,text"` // nil for an inconclusive response, which leaves the stored one
	Class          string    `db:"class,text"`
	Reason         string    `db:"reason,text"`
	ResponseTimeMS *int      `db:"ms,integer"`
	Paid           bool      `db:"paid,boolean"`
	Description    *string   `db:"description,text"` // nil leaves the stored one
	MimeType       *string   `db:"mime_type,text"`
	Envelope       *Envelope // nil without one
	Response       *Response // nil with an envelope
	Fingerprint    *string   `db:"fingerprint,text"` // of the requirement set; nil leaves the stored one
	PricesChanged  bool      // the current prices end at ProbedAt, and Prices replace them
	Prices         []Price
	AsksPayment    bool       `db:"asks,boolean"` // the response is a 402, so Offers replace the stored ones
	Offers         []Offer    `db:"offers,jsonb"` // that can be paid
	OffersChanged  bool       // the current set of offers ends at ProbedAt, and Offers replace it
	HeadAt         *time.Time `db:"head_at,timestamptz"`   // nil when none was sent
	HeadFree       *bool      `db:"head_free,boolean"`     // nil leaves the stored one
	HeadURL        *string    `db:"head_url,text"`         // of the HEAD that decided HeadFree; nil leaves the stored one
	HeadStatus     *int       `db:"head_status,integer"`   // of its response
	LookedAt       *time.Time `db:"looked_at,timestamptz"` // when it was compared what readers are asked for; nil if it was not
	Readers        []Reader   `db:"readers,jsonb"`
	Signed         bool       `db:"signed,boolean"` // whether the request was signed
}

// RecordVisits stores visits: checks, states, endpoints, envelopes, prices and changes; each visit completely or not at
// all. A visit whose check is stored already changes nothing, so that a visit may be sent twice. Visits to erased
// services, and visits whose lease another worker has, are dropped. Commit does not wait for the disk: a crash of the
// server loses at most the last second, and those services are visited again.
func (st *Store) RecordVisits(ctx context.Context, visits []Visit) error {
	list := make([]*Visit, len(visits))
	for i := range visits {
		list[i] = &visits[i]
	}
	err := st.CreateDayPartitions(ctx, checksOf(list))
	if err == nil {
		err = st.transact(ctx, func(tx pgx.Tx) error { return record(ctx, tx, list) })
	}
	if err != nil {
		return fmt.Errorf("record %d visits: %w", len(visits), err)
	}
	return nil
}

// record stores the visits that are new.
func record(ctx context.Context, tx pgx.Tx, visits []*Visit) error {
	visits, err := lockLeased(ctx, tx, visits)
	if err != nil {
		return err
	}
	fresh, err := recordChecks(ctx, tx, checksOf(visits))
	if err != nil {
		return err
	}
	visits = filterVisits(visits, fresh)
	b := &pgx.Batch{}
	queueStates(b, visits)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("keep the states of services: %w", err)
	}
	return recordFindings(ctx, tx, visits)
}

func checksOf(visits []*Visit) []*Check {
	checks := make([]*Check, len(visits))
	for i := range visits {
		checks[i] = &visits[i].Check
	}
	return checks
}

// filterVisits returns the marked visits.
func filterVisits(visits []*Visit, marked []bool) (list []*Visit) {
	if !slices.Contains(marked, false) {
		return visits
	}
	for i, v := range visits {
		if marked[i] {
			list = append(list, v)
		}
	}
	return list
}

// queueTimeouts makes the commit not wait for the disk, and makes the server end the transaction if the client stops
// before it commits.
func queueTimeouts(b *pgx.Batch) {
	b.Queue(`SET LOCAL synchronous_commit = off`)
	b.Queue(`SET LOCAL idle_in_transaction_session_timeout = '30s'`)
}

// lockLeased locks the services of visits and returns the visits whose service exists and whose lease is still valid.
// Every transaction that changes several services locks them in the order of their ids.
func lockLeased(ctx context.Context, tx pgx.Tx, visits []*Visit) ([]*Visit, error) {
	type taken struct {
		ServiceID int64      `db:"service_id,bigint"`
		Lease     *time.Time `db:"lease,timestamptz"` // nil for a visit without a lease
	}
	list := make([]taken, len(visits))
	for i, v := range visits {
		list[i] = taken{ServiceID: v.Check.ServiceID}
		if !v.Lease.IsZero() {
			list[i].Lease = &v.Lease
		}
	}
	var there []int64
	b := &pgx.Batch{}
	queueTimeouts(b)
	queueSealed(b)
	from, args := rows.Unnest(list)
	b.Queue(`
		SELECT s.service_id FROM `+from+` JOIN service_states s USING (service_id)
		WHERE v.lease IS NULL OR v.lease = s.next_check_at
		ORDER BY s.service_id FOR NO KEY UPDATE OF s`, args...).Query(func(rows pgx.Rows) (err error) {
		there, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("hold services: %w", err)
	}
	if len(there) == len(visits) {
		return visits, nil
	}
	var kept []*Visit
	for _, v := range visits {
		if _, ok := slices.BinarySearch(there, v.Check.ServiceID); ok {
			kept = append(kept, v)
		}
	}
	return kept, nil
}
