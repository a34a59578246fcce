package load

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// History is what a sample service did before it was first crawled.
type History struct {
	Slug   string
	Days   []checks.Rollup // UTC days before the first of Checks, oldest first
	Checks []checks.Check  // oldest first
	// closed ones (Until set) and current ones; EndpointID from postgres.EndpointID(slug, method, path)
	Prices    []checks.Price
	Offers    []checks.OfferSet
	Endpoints []EndpointHistory
	Changes   []checks.Change          // oldest first
	Responses [][]checks.EndpointVisit // as in checks.History

	FailingSince *time.Time // the first of the failed checks that the history ends with; nil if it ends otherwise
}

// EndpointHistory is what an endpoint last was in a History.
type EndpointHistory struct {
	Method, Path string
	FirstSeenAt  time.Time
	LastPaidAt   *time.Time
	Fingerprint  *string
}

// Sample lists services with histories that were made up for them, in one transaction, and stores source as the
// setting that says so. The logs start at the oldest check.
func Sample(ctx context.Context, db *postgres.DB, source string, listings []postgres.Listing,
	histories []History) error {
	var all []*checks.Check
	for _, h := range histories {
		for i := range h.Checks {
			all = append(all, &h.Checks[i])
		}
	}
	err := db.CreateDayPartitions(ctx, all)
	if err == nil {
		err = db.Transact(ctx, func(tx pgx.Tx) error { return addSample(ctx, tx, source, listings, histories) })
	}
	if err != nil {
		return fmt.Errorf("add sample: %w", err)
	}
	return nil
}

func addSample(ctx context.Context, tx pgx.Tx, source string, listings []postgres.Listing, histories []History) error {
	ids := map[string]int64{}
	for _, l := range listings {
		id, err := postgres.AddListing(ctx, tx, l)
		if err != nil {
			return fmt.Errorf("list %s: %w", l.Slug, err)
		}
		ids[l.Slug] = id
	}
	stored := make([]checks.History, len(histories))
	for i, h := range histories {
		id, ok := ids[h.Slug]
		if !ok {
			return fmt.Errorf("store history of %s: it is not among the listings", h.Slug)
		}
		stored[i] = checks.History{ServiceID: id, Days: h.Days, Checks: h.Checks, Prices: h.Prices, Offers: h.Offers,
			Changes: h.Changes, Responses: h.Responses}
	}
	if err := checks.AddHistories(ctx, tx, stored); err != nil {
		return err
	}
	b := &pgx.Batch{}
	for _, h := range histories {
		queueStates(b, ids[h.Slug], h)
	}
	b.Queue(`INSERT INTO settings (name, value) VALUES ('source', $1)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, source)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("store states: %w", err)
	}
	return nil
}

// queueStates updates the rows of a service and its endpoints to what they last were in a history.
func queueStates(b *pgx.Batch, id int64, h History) {
	for _, e := range h.Endpoints {
		b.Queue(`
			UPDATE endpoints SET first_seen_at = $2, last_paid_at = $3, fingerprint = $4,
				last_probed_at = coalesce(last_probed_at, $3), verdict_at = coalesce(verdict_at, $3),
				verdict = CASE WHEN verdict IS NOT NULL OR $3::timestamptz IS NULL THEN verdict ELSE 'paid' END
			WHERE id = $1`,
			postgres.EndpointID(h.Slug, e.Method, e.Path), e.FirstSeenAt, e.LastPaidAt, e.Fingerprint)
	}
	if n := len(h.Checks); n > 0 {
		last := h.Checks[n-1]
		b.Queue(`
			UPDATE service_states SET last_checked_at = $2, newest_check_at = $2, last_status = $3,
				consecutive_failures = $4, last_success_at = paid.at, failing_since = $5
			FROM (SELECT max(last_paid_at) AS at FROM endpoints WHERE service_id = $1) paid
			WHERE service_id = $1`, id, last.CheckedAt, last.Status, last.ConsecutiveFailures, h.FailingSince)
	}
}
