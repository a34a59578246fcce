package checks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
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
}

// EndpointVisit is the result of a probe of one endpoint.
type EndpointVisit struct {
	ID             uuid.UUID
	ProbedAt       time.Time
	Method         string  // that responded; "" leaves the stored one
	Verdict        *string // nil for an inconclusive response, which leaves the stored one
	Class, Reason  string
	ResponseTimeMS *int
	Paid           bool
	Description    *string // nil leaves the stored one
	MimeType       *string
	Envelope       *Envelope // nil without one
	Response       *Response // nil with an envelope
	Fingerprint    *string   // of the requirement set; nil leaves the stored one
	PricesChanged  bool      // the current prices end at ProbedAt, and Prices replace them
	Prices         []Price
	AsksPayment    bool       // the response is a 402, so Offers replace the stored ones
	Offers         []Offer    // that can be paid
	OffersChanged  bool       // the current set of offers ends at ProbedAt, and Offers replace it
	HeadAt         *time.Time // nil when none was sent
	HeadFree       *bool      // nil leaves the stored one
	HeadURL        *string    // of the HEAD that decided HeadFree; nil leaves the stored one
	HeadStatus     *int       // of its response
	LookedAt       *time.Time // when it was compared what readers are asked for; nil if it was not
	Readers        []Reader
	Signed         bool // whether the request was signed
}

// errNotNew says that some visit is older than a stored check of its service, is stored already, or lost its lease.
var errNotNew = errors.New("visits are not all new")

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
		err = errNotNew
		if s := statesOf(list); s.oneLease {
			err = st.transact(ctx, func(tx pgx.Tx) error { return recordNew(ctx, tx, list, s) })
		}
	}
	if errors.Is(err, errNotNew) {
		err = st.transact(ctx, func(tx pgx.Tx) error { return recordAny(ctx, tx, list) })
	}
	if err != nil {
		return fmt.Errorf("record %d visits: %w", len(visits), err)
	}
	return nil
}

// recordNew stores visits that are later than all stored checks of their services and still have their leases, which is
// true of nearly all. The statement that updates the states of services tests this, and locks them. Otherwise it
// returns errNotNew, and nothing is stored.
func recordNew(ctx context.Context, tx pgx.Tx, visits []*Visit, s states) error {
	b := &pgx.Batch{}
	queueTimeouts(b)
	sealed := queueSealed(b)
	held := s.queue(b,
		`AND (v.lease IS NULL OR v.lease = s.next_check_at) AND s.newest_check_at < coalesce(v.first, v.checked)`)
	checks, fresh := checksOf(visits), []bool(nil)
	if len(s.ids) < len(visits) { // a visit may be in the list twice
		checks, fresh = excludeStored(checks, nil)
	}
	queueChecks(b, checks)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("keep checks and the states of services: %w", err)
	}
	if sealed() == nil || *held != int64(len(s.ids)) || slices.ContainsFunc(checks, func(c *Check) bool {
		return c.CheckedAt.Before(*sealed())
	}) {
		return errNotNew
	}
	return recordFindings(ctx, tx, filterVisits(visits, fresh))
}

// recordAny stores the visits that are new.
func recordAny(ctx context.Context, tx pgx.Tx, visits []*Visit) error {
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
	statesOf(visits).queue(b, ``)
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

// servicesOf returns the services of rows, sorted and each once, and for each row the index of its service.
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
	if slices.IsSorted(ids) {
		return ids, of
	}
	place := make([]int32, len(ids)) // sorted position, by order of first appearance
	slices.Sort(ids)
	for i, id := range ids {
		place[at[id]] = int32(i)
	}
	for i := range of {
		of[i] = place[of[i]]
	}
	return ids, of
}

// lockLeased locks the services of visits and returns the visits whose service exists and whose lease is still valid.
func lockLeased(ctx context.Context, tx pgx.Tx, visits []*Visit) ([]*Visit, error) {
	ids, of := servicesOf(len(visits), func(i int) int64 { return visits[i].Check.ServiceID })
	services := len(ids)
	leases, leased := make([]*time.Time, services), make([]bool, services)
	for i := range visits {
		n, lease := of[i], visits[i].lease()
		switch last := leases[n]; {
		case !leased[n]:
			leases[n], leased[n] = lease, true
		case !sameLease(last, lease):
			ids, leases = append(ids, ids[n]), append(leases, lease)
		}
	}
	var there []int64
	b := &pgx.Batch{}
	queueTimeouts(b)
	queueSealed(b)
	b.Queue(`
		SELECT s.service_id FROM unnest($1::bigint[], $2::timestamptz[]) AS v (id, lease)
			JOIN service_states s ON s.service_id = v.id
		WHERE v.lease IS NULL OR v.lease = s.next_check_at
		ORDER BY s.service_id FOR NO KEY UPDATE OF s`, ids, leases).Query(func(rows pgx.Rows) (err error) {
		there, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("hold services: %w", err)
	}
	if there = slices.Compact(there); len(there) == services {
		return visits, nil
	}
	count := make([]*Visit, 0, len(visits))
	for _, v := range visits {
		if _, ok := slices.BinarySearch(there, v.Check.ServiceID); ok {
			count = append(count, v)
		}
	}
	return count, nil
}

// lease returns nil for a visit without a lease.
func (v *Visit) lease() *time.Time {
	if v.Lease.IsZero() {
		return nil
	}
	return &v.Lease
}

func sameLease(a, b *time.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Equal(*b)
}
