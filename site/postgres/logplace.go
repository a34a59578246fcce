package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// placesOfRow is how many services' places are in one row of log_places.
const placesOfRow = 128

// logPlaces are how many rows of sealed hours logs have ever had, by service, 0 being the log of all; by row of log_places.
type logPlaces map[int64]*[placesOfRow]int64

func (l logPlaces) of(service int64) *int64 {
	row := l[service/placesOfRow]
	if row == nil {
		row = new([placesOfRow]int64)
		l[service/placesOfRow] = row
	}
	return &row[service%placesOfRow]
}

// read reads the rows in which services are and that are not held yet.
func (l logPlaces) read(ctx context.Context, q querier, services []int64) error {
	var rows []int64
	for _, id := range services {
		if n := id / placesOfRow; l[n] == nil && (len(rows) == 0 || rows[len(rows)-1] != n) {
			rows = append(rows, n)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	slices.Sort(rows)
	answer, err := q.Query(ctx, `SELECT chunk, rows FROM log_places WHERE chunk = ANY($1)`, slices.Compact(rows))
	if err != nil {
		return err
	}
	var chunk int64
	var places []int64
	_, err = pgx.ForEachRow(answer, []any{&chunk, &places}, func() error {
		l[chunk] = new([placesOfRow]int64)
		copy(l[chunk][:], places)
		return nil
	})
	return err
}

// keep writes all that are held.
func (l logPlaces) keep(ctx context.Context, tx pgx.Tx) error {
	b := &pgx.Batch{}
	for _, chunk := range slices.Sorted(maps.Keys(l)) {
		b.Queue(`INSERT INTO log_places (chunk, rows) VALUES ($1, $2) ON CONFLICT (chunk) DO UPDATE SET rows = excluded.rows`, chunk, l[chunk][:])
	}
	return tx.SendBatch(ctx, b).Close()
}

// filled is a block of a log that is full.
type filled struct {
	service, block int64
	hour           time.Time // of its last row
	after          int       // rows of that hour after its last row
}

// number gives so many rows of an hour their numbers, and answers which blocks they fill beside those that were.
func (l logPlaces) number(full []filled, service int64, hour time.Time, rows int) []filled {
	place := l.of(service)
	for block := *place / site.BlockSize; block < (*place+int64(rows))/site.BlockSize; block++ {
		full = append(full, filled{service, block, hour, int(*place + int64(rows) - (block+1)*site.BlockSize)})
	}
	*place += int64(rows)
	return full
}

func copyBlocks(ctx context.Context, tx pgx.Tx, full []filled) error {
	return copyBinary(ctx, tx, "log_blocks", "service_id, block, hour, rows_after", len(full), func(w *binaryRow, i int) {
		w.bigint(full[i].service)
		w.bigint(full[i].block)
		w.timestamptz(full[i].hour)
		w.integer(full[i].after)
	})
}

// startPlaces counts what was rolled up before the logs began.
func startPlaces(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `SELECT service_id, sum(checks)::bigint FROM check_days GROUP BY service_id`)
	if err != nil {
		return fmt.Errorf("start log positions: %w", err)
	}
	l := logPlaces{}
	var service, n int64
	_, err = pgx.ForEachRow(rows, []any{&service, &n}, func() error {
		*l.of(service) = n
		*l.of(0) += n
		return nil
	})
	if err == nil {
		err = l.keep(ctx, tx)
	}
	if err != nil {
		return fmt.Errorf("start log positions: %w", err)
	}
	return nil
}
