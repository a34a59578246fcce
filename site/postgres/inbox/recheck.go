package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// day is the time in which re-checks of a service are counted.
const day = 24 * time.Hour

// RequestRecheck makes a service due at once. A visit that runs is not disturbed: its result is the one that was asked
// for. Besides errors of the database it returns site.ErrNoDatabase, site.ErrNotFound, *site.UnvisitedError and
// *site.SubmissionLimitError.
func (b *Inbox) RequestRecheck(ctx context.Context, r site.IncomingRecheck) (site.RecheckResult, error) {
	at := r.At.Truncate(time.Millisecond) // as the response has it
	m := &entry{kind: rechecks, id: uuid.New(), at: at, hash: []byte{}, body: struct{}{}, state: "closed",
		decidedAt: &at}
	var s service
	_, err := b.receive(ctx, m, r.Client, 0, func(tx pgx.Tx) (err error) {
		if s, err = lockService(ctx, tx, r.Slug); err == nil {
			err = s.check(at)
		}
		m.service = &s.id
		return err
	}, func(tx pgx.Tx) error {
		if err := checkService(ctx, tx, s.id, at); err != nil {
			return err
		}
		// A service that is due already, or that a worker visits, keeps its time.
		_, err := tx.Exec(ctx, `
			UPDATE service_states SET next_check_at = $2
			WHERE service_id = $1 AND next_check_at > $2 AND lease_ends IS DISTINCT FROM next_check_at`, s.id, at)
		return err
	})
	if err != nil {
		return site.RecheckResult{}, err
	}
	result := site.RecheckResult{Slug: r.Slug, NextCheckAt: site.NewTime(at)}
	if s.checked != nil {
		result.LastCheckedAt = site.TimeOrNull(*s.checked)
	}
	return result, nil
}

// service is what a re-check needs of a service.
type service struct {
	id       int64
	state    string
	checked  *time.Time
	interval time.Duration // from one visit to the next, as long as the service works
}

// lockService reads a service and locks the row that says when it is due.
func lockService(ctx context.Context, tx pgx.Tx, slug string) (s service, err error) {
	err = tx.QueryRow(ctx, `
		SELECT id, listing_state, last_checked_at, check_interval FROM services JOIN service_states ON service_id = id
		WHERE slug = $1 AND listing_state <> 'hidden' FOR NO KEY UPDATE OF service_states`, slug).
		Scan(&s.id, &s.state, &s.checked, &s.interval)
	if errors.Is(err, pgx.ErrNoRows) {
		err = site.ErrNotFound
	}
	return s, err
}

// check refuses a service that is not visited, and one that was visited a moment ago.
func (s service) check(now time.Time) error {
	switch s.state {
	case "paused":
		return &site.UnvisitedError{Message: "checks of this service are paused"}
	case "retired":
		return &site.UnvisitedError{Message: "this service is delisted; its checks have ended"}
	}
	if s.checked == nil {
		return nil
	}
	after := min(site.RecheckAfter, s.interval/3)
	// A check in the future was recorded while a clock was ahead.
	if ago := now.Sub(*s.checked); ago.Abs() < after {
		return newLimitError(after-max(ago, 0), "this service was checked %d seconds ago", int(max(ago, 0).Seconds()))
	}
	return nil
}

// newLimitError returns the refusal of a re-check that may be requested again after a time. People read its message on
// a page, so it contains that time.
func newLimitError(after time.Duration, format string, args ...any) error {
	unit := time.Second
	for _, longer := range []time.Duration{time.Minute, time.Hour} {
		if after > 2*longer {
			unit = longer
		}
	}
	n := (after + unit - 1) / unit
	name := map[time.Duration]string{time.Second: "second", time.Minute: "minute", time.Hour: "hour"}[unit]
	if n != 1 {
		name += "s"
	}
	return &site.SubmissionLimitError{
		Message: fmt.Sprintf(format, args...) + fmt.Sprintf("; ask again in %d %s", n, name), RetryAfter: after,
	}
}

// checkService deletes requests that no limit counts any more. It refuses a service for which a re-check was requested
// a moment ago or the maximum number of times in a day.
func checkService(ctx context.Context, tx pgx.Tx, service int64, now time.Time) error {
	if _, err := tx.Exec(ctx, `
		DELETE FROM inbox WHERE ctid = ANY (ARRAY (
			SELECT ctid FROM inbox WHERE kind = 'recheck' AND received_at <= $1 FOR UPDATE SKIP LOCKED))`,
		now.Add(-day)); err != nil {
		return err
	}
	var n int
	var newest, first *time.Time // first: of the newest ones that reach the limit
	err := tx.QueryRow(ctx, `
		SELECT max(received_at), min(received_at), count(*) FROM (
			SELECT received_at FROM inbox WHERE kind = 'recheck' AND service_id = $1 AND received_at > $2
			ORDER BY received_at DESC LIMIT $3) AS recent`,
		service, now.Add(-day), site.RechecksPerDay).Scan(&newest, &first, &n)
	switch {
	case err != nil:
		return err
	case n >= site.RechecksPerDay:
		return newLimitError(first.Add(day).Sub(now), "%d re-checks a day are made of one service", site.RechecksPerDay)
	case newest != nil && now.Sub(*newest) < site.RecheckGap:
		return newLimitError(newest.Add(site.RecheckGap).Sub(now),
			"a re-check of this service was requested within the last %d minutes", int(site.RecheckGap.Minutes()))
	}
	return nil
}
