package data

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
)

// QuerySQLite returns the names of a query's columns and at most limit of its rows, as texts; nil stands for NULL. A
// limit of 0 is none.
func QuerySQLite(ctx context.Context, db *sql.DB, query string, limit int) (columns []string, list [][]*string,
	err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if columns, err = rows.Columns(); err != nil {
		return nil, nil, err
	}
	list = [][]*string{}
	values, to := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		to[i] = &values[i]
	}
	for rows.Next() && (limit == 0 || len(list) < limit) {
		if err := rows.Scan(to...); err != nil {
			return nil, nil, err
		}
		row := make([]*string, len(values))
		for i, v := range values {
			row[i] = driverText(v)
		}
		list = append(list, row)
	}
	return columns, list, rows.Err()
}

// driverText returns a value of the driver as a text, nil for NULL.
func driverText(v any) *string {
	var text string
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		text = v
	case []byte:
		text = string(v)
	case int64:
		text = strconv.FormatInt(v, 10)
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	default:
		text = fmt.Sprint(v)
	}
	return &text
}
