package ledger

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/rows"
)

// insertRows are rows of a roll-up, of which those are copied that an UPDATE before did not change. The chain's lock
// keeps others from inserting the same keys. Most rows of a commit are new, and COPY is cheaper than a statement that
// tries each.
type insertRows struct {
	updated []bool
	copy    func(ctx context.Context, tx pgx.Tx, updated []bool) error
}

// mark marks the rows that the UPDATE changed. It returns their numbers, from 1.
func (r *insertRows) mark(numbers pgx.Rows) error {
	var i int64
	_, err := pgx.ForEachRow(numbers, []any{&i}, func() error {
		r.updated[i-1] = true
		return nil
	})
	return err
}

// newInsertRows returns rows of a list to be copied into a table.
func newInsertRows[T any](table, columns string, list []T, fill func(row []any, of *T)) *insertRows {
	return &insertRows{make([]bool, len(list)), func(ctx context.Context, tx pgx.Tx, updated []bool) error {
		fresh := make([]T, 0, len(list))
		for i, there := range updated {
			if !there {
				fresh = append(fresh, list[i])
			}
		}
		return rows.Copy(ctx, tx, table, columns, fresh, fill)
	}}
}
