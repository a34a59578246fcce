package checks

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// DirectoryFacts is what a build needs of the logs of all services.
type DirectoryFacts struct {
	Log        LogFacts
	Changes    []Change         // of the open blocks and newest windows of the logs, oldest first
	ChangeLogs []ChangeLogFacts // the log of all types first; none without records
}

// Facts is what visits found of one service.
type Facts struct {
	Runs        []FailureRun // that did not end more than 90 UTC days ago, oldest first
	Hours       []Rollup     // the last 24 closed UTC hours and the open one, oldest first, without histograms
	Days        []Rollup     // the last 90 UTC days, today included, oldest first; histograms of the last 7
	DaySums     []DaySum     // all days with a counted check, oldest first
	TotalChecks int64        // rows ever in the log
	Log         LogFacts

	Changes    []Change         // the newest maxChanges, newest first
	ChangeLogs []ChangeLogFacts // the log of all types first; none without records
	Records    []Change         // of the open blocks and newest windows of ChangeLogs, oldest first
	PriceSpans []PriceSpan      // by endpoint, then since
	PriceDays  []PriceDay       // by endpoint, then day
	OfferSpans []PriceSpan      // as PriceSpans, over other protocols than x402
	OfferDays  []PriceDay
}

// EndpointPrices are the prices of an endpoint as ReadPrices returned them.
type EndpointPrices struct {
	ID     uuid.UUID
	Prices []Price
}

// Index finds the facts of services by id.
type Index struct {
	ids       []int64
	services  map[int64]*Facts
	endpoints map[int64][]EndpointPrices
}

// NewIndex returns an index without services.
func NewIndex() *Index {
	return &Index{services: map[int64]*Facts{}, endpoints: map[int64][]EndpointPrices{}}
}

// Add adds a service, whose facts go into f, with the prices of its endpoints.
func (x *Index) Add(serviceID int64, f *Facts, endpoints []EndpointPrices) {
	x.ids = append(x.ids, serviceID)
	x.services[serviceID], x.endpoints[serviceID] = f, endpoints
}

// ReadHours reads the hours of each service in the index. all says that no other services exist, which makes the query
// cheaper.
func (r *LogReader) ReadHours(ctx context.Context, now time.Time, services *Index, all bool) error {
	sealed, _, err := r.seal(ctx)
	if err != nil {
		return fmt.Errorf("read logs: %w", err)
	}
	return r.readHours(ctx, now, sealed, services, all)
}

// ReadDirectory reads the logs of all services. A row enters a log of all services delay after its time: until then
// rows before it may still be stored. It enters the sums and the log of its service at once, because a service's visits
// are stored in order.
func (r *LogReader) ReadDirectory(ctx context.Context, now time.Time, delay time.Duration) (f DirectoryFacts,
	err error) {
	if err := r.readChangeLogs(ctx, now, now.Add(-delay), &f); err != nil {
		return f, fmt.Errorf("read changes: %w", err)
	}
	if err := r.readLog(ctx, now.Add(-delay), &f); err != nil {
		return f, fmt.Errorf("read logs: %w", err)
	}
	return f, nil
}

// ReadServices reads of each service in the index all facts but its hours.
func (r *LogReader) ReadServices(ctx context.Context, now time.Time, delay time.Duration, services *Index) error {
	sealed, keptSince, err := r.seal(ctx)
	if err != nil {
		return fmt.Errorf("read logs: %w", err)
	}
	if err := r.readDays(ctx, now, sealed, keptSince, services); err != nil {
		return err
	}
	if err := r.readSeries(ctx, now, services); err != nil {
		return err
	}
	if err := r.readChanges(ctx, now.Add(-delay), services); err != nil {
		return err
	}
	if err := r.readServiceChangeLogs(ctx, now, now.Add(-delay), services); err != nil {
		return fmt.Errorf("read changes: %w", err)
	}
	if err := r.readServiceLogs(ctx, now, sealed, keptSince, services); err != nil {
		return fmt.Errorf("read logs: %w", err)
	}
	return nil
}
