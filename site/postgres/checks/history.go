package checks

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// History is what visits to a service would have left before it was first visited.
type History struct {
	ServiceID int64
	Days      []Rollup // UTC days before the first of Checks, oldest first
	Checks    []Check  // oldest first; their ServiceID is set by AddHistories
	Prices    []Price  // closed ones (Until set) and current ones
	Offers    []OfferSet
	Changes   []Change // oldest first

	// The newest responses of the endpoints, oldest first. Each list has an endpoint at most once. Prices are not among
	// them.
	Responses [][]EndpointVisit
}

// AddHistories stores histories of services. The logs start at the oldest check. The days of the checks have partitions
// (CreateDayPartitions).
func AddHistories(ctx context.Context, tx pgx.Tx, histories []History) error {
	var checks []*Check
	for _, h := range histories {
		if err := addCheckDays(ctx, tx, h.ServiceID, h.Days); err != nil {
			return err
		}
		for _, c := range h.Checks {
			c.ServiceID = h.ServiceID
			checks = append(checks, &c)
		}
	}
	slices.SortFunc(checks, func(a, b *Check) int { return a.CheckedAt.Compare(b.CheckedAt) })
	if _, err := startLogs(ctx, tx, checks); err != nil {
		return err
	}
	if _, err := recordChecks(ctx, tx, checks); err != nil {
		return err
	}
	b := &pgx.Batch{}
	for _, h := range histories {
		queuePrices(b, h.Prices)
		queueOfferSets(b, h.Offers)
		for _, c := range h.Changes { // oldest first, because each sets the baseline of its type
			queueChange(b, h.ServiceID, c)
		}
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("store prices and changes: %w", err)
	}
	var visits []*Visit
	for _, h := range histories {
		for _, list := range h.Responses {
			visits = append(visits, &Visit{Check: Check{ServiceID: h.ServiceID}, Endpoints: list})
		}
	}
	return recordFindings(ctx, tx, visits)
}

// addCheckDays adds days of a service to those that are stored.
func addCheckDays(ctx context.Context, tx pgx.Tx, service int64, days []Rollup) error {
	b := &pgx.Batch{}
	for _, d := range days {
		b.Queue(`INSERT INTO check_days AS old (service_id, day, `+sumColumns+
			`, histogram, known_ms, up_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`+addToDay,
			service, d.Start, d.Checks, d.Counted, d.Up, d.Timed, d.ResponseMS, d.Histogram, d.KnownMS, d.UpMS)
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("add to days: %w", err)
	}
	return nil
}
