package checks

import (
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/rows"
)

// state is the state of a service after its visits.
type state struct {
	ServiceID int64      `db:"service_id,bigint"`
	Newest    time.Time  `db:"newest,timestamptz"` // of the service's checks
	Checked   time.Time  `db:"checked,timestamptz"`
	Next      time.Time  `db:"next,timestamptz"`
	Status    *string    `db:"status,text"` // nil leaves the stored one
	Succeeded *time.Time `db:"succeeded,timestamptz"`
	Failures  int        `db:"failures,integer"`
	Failing   *time.Time `db:"failing,timestamptz"`
}

// queueStates updates the states of services. If a service was visited twice, the later visit in the list counts. An
// inconclusive visit keeps the stored status.
func queueStates(b *pgx.Batch, visits []*Visit) {
	var states []state
	of := make(map[int64]int, len(visits))
	for _, v := range visits {
		c := &v.Check
		i, again := of[c.ServiceID]
		if !again {
			i = len(states)
			of[c.ServiceID], states = i, append(states, state{ServiceID: c.ServiceID})
		}
		s := &states[i]
		if c.CheckedAt.After(s.Newest) {
			s.Newest = c.CheckedAt
		}
		s.Checked, s.Next, s.Failures, s.Failing = c.CheckedAt, v.NextCheckAt, c.ConsecutiveFailures, v.FailingSince
		if c.Counted {
			s.Status = c.Status
		}
		if v.LastSuccessAt != nil {
			s.Succeeded = v.LastSuccessAt
		}
	}
	from, args := rows.Unnest(states)
	b.Queue(`
		UPDATE service_states s SET last_checked_at = v.checked, next_check_at = v.next,
			last_status = coalesce(v.status, s.last_status),
			last_success_at = coalesce(v.succeeded, s.last_success_at), consecutive_failures = v.failures,
			failing_since = v.failing, newest_check_at = greatest(s.newest_check_at, v.newest,
				(SELECT through FROM log_seal)) -- late checks are moved there
		FROM `+from+` WHERE s.service_id = v.service_id`, args...)
}
