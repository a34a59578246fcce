package checks

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"tollbook/site"
	"tollbook/site/change"
	"tollbook/site/postgres/rows"
)

// Change is a row of changes: a change record of a service.
type Change struct {
	ServiceID   int64
	Type        string
	ObservedAt  time.Time
	Summary     json.RawMessage
	OldSnapshot json.RawMessage
	NewSnapshot json.RawMessage
}

// changeRate is the minimum time between two records of a service and type.
const changeRate = time.Hour

// queueChange stores a record, and a baseline of its type at its time. If another visitor stored a record of the type
// within an hour, neither is stored: the baseline of that record stays, and the next record includes this change.
func queueChange(b *pgx.Batch, serviceID int64, c Change) {
	b.Queue(`
		WITH added AS (
			INSERT INTO changes (service_id, type, observed_at, summary, old_snapshot, new_snapshot)
			SELECT $1, $2, $3, $4, $5, $6 WHERE NOT EXISTS (
				SELECT FROM changes WHERE service_id = $1 AND type = $2
				AND observed_at > $3::timestamptz - $7::interval AND observed_at < $3::timestamptz + $7::interval
			)
			RETURNING service_id, type, observed_at
		)
		INSERT INTO change_baselines (service_id, type, prices_at) SELECT * FROM added
		ON CONFLICT (service_id, type) DO UPDATE SET prices_at = excluded.prices_at`,
		serviceID, c.Type, c.ObservedAt, c.Summary, c.OldSnapshot, c.NewSnapshot, changeRate)
}

// queueBaselines deletes the baselines that a visit clears, and adds those that it sets. The baseline of a record that
// another visitor stored meanwhile stays.
func queueBaselines(b *pgx.Batch, v Visit) {
	if len(v.ClearedTypes) > 0 {
		b.Queue(
			`DELETE FROM change_baselines WHERE service_id = $1 AND type = ANY($2)
				AND prices_at <= $3::timestamptz - $4::interval`,
			v.Check.ServiceID, v.ClearedTypes, v.Check.CheckedAt, changeRate)
	}
	if v.BaselineAt != nil {
		b.Queue(
			`INSERT INTO change_baselines (service_id, type, prices_at) SELECT $1, type, $3
				FROM unnest($2::text[]) AS type
				ON CONFLICT DO NOTHING`,
			v.Check.ServiceID, site.OfferChangeTypes, *v.BaselineAt)
	}
}

// Baselines reads the change baselines of services: by service and type of change, the time whose prices the next
// record compares with.
func Baselines(ctx context.Context, q rows.Querier, services []int64) (map[int64]map[string]time.Time, error) {
	var id int64
	var kind string
	var pricesAt time.Time
	baselines := map[int64]map[string]time.Time{}
	err := rows.Each(ctx, q, `SELECT service_id, type, prices_at FROM change_baselines WHERE service_id = ANY($1)`,
		[]any{&id, &kind, &pricesAt}, func() {
			if baselines[id] == nil {
				baselines[id] = map[string]time.Time{}
			}
			baselines[id][kind] = pricesAt
		}, services)
	if err != nil {
		return nil, fmt.Errorf("read change baselines: %w", err)
	}
	return baselines, nil
}

// scan is where the columns of a record go. Documents go in as they come: as JSON they would be read twice before they
// are copied.
func (c *Change) scan() []any {
	return []any{&c.ServiceID, &c.Type, &c.ObservedAt, (*[]byte)(&c.Summary), (*[]byte)(&c.OldSnapshot),
		(*[]byte)(&c.NewSnapshot)}
}

// cut shortens a record that is larger than records are stored now, as older programs stored them.
func (c *Change) cut() {
	c.Summary, c.OldSnapshot, c.NewSnapshot = change.Cut(c.Type, c.Summary, c.OldSnapshot, c.NewSnapshot,
		change.MaxRecord)
}

// Size returns the bytes of the record as it is stored.
func (c *Change) Size() int { return len(c.Summary) + len(c.OldSnapshot) + len(c.NewSnapshot) }

// RecordedBytes returns the bytes of all records of a service since a time.
func (st *Store) RecordedBytes(ctx context.Context, serviceID int64, since time.Time) (n int64, err error) {
	err = st.pool.QueryRow(ctx, `
		SELECT coalesce(sum(octet_length(summary::text) + octet_length(old_snapshot::text) +
			octet_length(new_snapshot::text)), 0) FROM changes WHERE service_id = $1 AND observed_at > $2`,
		serviceID, since).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("read the size of change records: %w", err)
	}
	return n, nil
}

// scanAny is scan for rows of all services. The time of a damaged record becomes 1970-01-01, because a log must keep
// its numbers. For such a record scan fails, so that its service is set aside.
func (c *Change) scanAny() []any {
	columns := c.scan()
	columns[2] = (*plausibleTime)(&c.ObservedAt)
	return columns
}

// plausibleTime scans times of which site.Time can express all but damaged ones.
type plausibleTime time.Time

// ScanTimestamptz implements pgtype.TimestamptzScanner.
func (t *plausibleTime) ScanTimestamptz(v pgtype.Timestamptz) error {
	*t = plausibleTime(v.Time)
	if year := v.Time.UTC().Year(); v.InfinityModifier != pgtype.Finite || year < 1970 || year > 9999 {
		*t = plausibleTime(time.Unix(0, 0).UTC())
	}
	return nil
}

// maxMoves is the most changes of recipients that are read of a service.
const maxMoves = 500

// ReadMoves reads the changes of recipients of services in the last 90 UTC days before cutoff, newest first, by
// service. They lack the prices before and after.
func (r *LogReader) ReadMoves(ctx context.Context, now, cutoff time.Time, services []int64) (map[int64][]Change,
	error) {
	var c Change
	moves := map[int64][]Change{}
	err := r.each(ctx, `
		SELECT c.service_id, c.type, c.observed_at, c.summary FROM services s, LATERAL (
			SELECT service_id, type, observed_at, summary, id FROM changes
			WHERE service_id = s.id AND type = $5 AND observed_at >= $1 AND observed_at < $2
			ORDER BY observed_at DESC, id DESC LIMIT $3
		) c WHERE s.id = ANY($4) ORDER BY c.service_id, c.observed_at DESC, c.id DESC`, c.scan()[:4],
		func() {
			c.cut()
			moves[c.ServiceID] = append(moves[c.ServiceID], c)
		}, windowsOf(now).days, cutoff, maxMoves, services,
		site.PayToChanged)
	if err != nil {
		return nil, fmt.Errorf("read changes of recipients: %w", err)
	}
	return moves, nil
}

const maxChanges = 20

// readChanges reads the newest records of each service before cutoff.
func (r *LogReader) readChanges(ctx context.Context, cutoff time.Time, at *Index) error {
	var c Change
	err := r.each(ctx, `
		SELECT c.service_id, c.type, c.observed_at, c.summary, c.old_snapshot, c.new_snapshot FROM services s, LATERAL (
			SELECT service_id, type, observed_at, summary, old_snapshot, new_snapshot, id FROM changes
			WHERE service_id = s.id AND observed_at < $1 ORDER BY observed_at DESC, id DESC LIMIT $2
		) c WHERE s.id = ANY($3) ORDER BY c.service_id, c.observed_at DESC, c.id DESC`, c.scan(),
		func() {
			c.cut()
			at.services[c.ServiceID].Changes = append(at.services[c.ServiceID].Changes, c)
		}, cutoff, maxChanges, at.ids)
	if err != nil {
		return fmt.Errorf("read changes: %w", err)
	}
	return nil
}
