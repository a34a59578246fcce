package rows

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Querier runs queries: a pool, a connection or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Column returns the values of a query of one column.
func Column[T any](ctx context.Context, q Querier, sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[T])
}

// Each scans every row of a query into the pointers of scan and then calls do.
func Each(ctx context.Context, q Querier, sql string, scan []any, do func(), args ...any) error {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, scan, func() error { do(); return nil })
	return err
}
