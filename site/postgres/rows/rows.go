// Package rows reads and writes many rows by one statement. It must never know a table.
package rows

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Copy copies a list into a table by one COPY; fill writes an element into its first argument, in the order of columns.
func Copy[T any](ctx context.Context, tx pgx.Tx, table, columns string, list []T, fill func(row []any, of *T)) error {
	if len(list) == 0 {
		return nil
	}
	names := strings.Fields(strings.ReplaceAll(columns, ",", " "))
	row := make([]any, len(names))
	_, err := tx.CopyFrom(ctx, pgx.Identifier{table}, names, pgx.CopyFromSlice(len(list), func(i int) ([]any, error) {
		fill(row, &list[i])
		return row, nil
	}))
	if err != nil {
		return fmt.Errorf("copy to %s: %w", table, err)
	}
	return nil
}

// Put fills a row.
func Put(row []any, values ...any) { copy(row, values) }
