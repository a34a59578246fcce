package data

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Limits of a connection that a query runs on, beside those of OpenSQLite: it attaches no file, which VACUUM INTO does too,
// and no value has more than maxValue bytes. The file and the query may come from a stranger.
const maxValue = 16 << 20

// QuerySQLite returns the names of a query's columns and at most limit of its rows, as texts; nil stands for NULL. A
// limit of 0 is none. The query writes no file.
func QuerySQLite(ctx context.Context, db *sql.DB, query string, limit int) (columns []string, list [][]*string,
	err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	for id, most := range map[int]int{sqlite3.SQLITE_LIMIT_ATTACHED: 0, sqlite3.SQLITE_LIMIT_LENGTH: maxValue} {
		if _, err := sqlite.Limit(conn, id, most); err != nil {
			return nil, nil, err
		}
	}
	rows, err := conn.QueryContext(ctx, query)
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
