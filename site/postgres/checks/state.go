package checks

import (
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// states contains the state of each service after its visits, one slice for each column. If a service was visited
// twice, the later visit in the list counts. An inconclusive visit keeps the stored status.
type states struct {
	ids           []int64
	leases        []*time.Time // nil where the service was not taken
	oneLease      bool         // no service was taken twice
	first, newest []time.Time  // of the service's checks
	checked, next []time.Time
	statuses      []*string // nil leaves the stored one
	succeeded     []*time.Time
	failures      []int32
	failing       []*time.Time
}

// statesOf returns states sorted by service id: every transaction that updates several services locks them in this
// order.
func statesOf(visits []*Visit) states {
	ids, of := servicesOf(len(visits), func(i int) int64 { return visits[i].Check.ServiceID })
	n := len(ids)
	s := states{ids: ids, leases: make([]*time.Time, n), oneLease: true, first: make([]time.Time, n),
		newest: make([]time.Time, n), checked: make([]time.Time, n),
		next: make([]time.Time, n), statuses: make([]*string, n), succeeded: make([]*time.Time, n),
		failures: make([]int32, n), failing: make([]*time.Time, n)}
	for k, v := range visits {
		i := of[k]
		at := v.Check.CheckedAt
		if s.first[i].IsZero() {
			s.leases[i], s.first[i] = v.lease(), at
		}
		s.oneLease = s.oneLease && sameLease(s.leases[i], v.lease())
		if at.Before(s.first[i]) {
			s.first[i] = at
		}
		if at.After(s.newest[i]) {
			s.newest[i] = at
		}
		s.checked[i], s.next[i], s.failures[i], s.failing[i] = at, v.NextCheckAt, int32(v.Check.ConsecutiveFailures),
			v.FailingSince
		if v.Check.Counted {
			s.statuses[i] = v.Check.Status
		}
		if v.LastSuccessAt != nil {
			s.succeeded[i] = v.LastSuccessAt
		}
	}
	return s
}

// queue updates the services s whose row and visits v meet a condition, and counts them.
func (s states) queue(b *pgx.Batch, condition string) (updated *int64) {
	updated = new(int64)
	// nil arrays save bandwidth: in most batches each service has one visit
	leases, first, newest := s.leases, s.first, s.newest
	if !slices.ContainsFunc(leases, func(t *time.Time) bool { return t != nil }) {
		leases = nil
	}
	if slices.Equal(first, s.checked) {
		first = nil
	}
	if slices.Equal(newest, s.checked) {
		newest = nil
	}
	b.Queue(`
		UPDATE service_states s SET last_checked_at = v.checked, next_check_at = v.next,
			last_status = coalesce(v.status, s.last_status),
			last_success_at = coalesce(v.succeeded, s.last_success_at), consecutive_failures = v.failures,
			failing_since = v.failing,
			newest_check_at = greatest(s.newest_check_at, coalesce(v.newest, v.checked),
			(SELECT through FROM log_seal)) -- late checks are moved there
		FROM unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::timestamptz[],
			$6::timestamptz[], $7::text[], $8::timestamptz[],
			$9::integer[], $10::timestamptz[]) AS v (id, lease, first, newest, checked, next, status, succeeded,
			failures, failing)
		WHERE s.service_id = v.id `+condition,
		s.ids, leases, first, newest, s.checked, s.next, s.statuses, s.succeeded, s.failures,
		s.failing).Exec(func(tag pgconn.CommandTag) error {
		*updated = tag.RowsAffected()
		return nil
	})
	return updated
}
