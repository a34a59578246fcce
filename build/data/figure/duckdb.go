package figure

import (
	"fmt"
	"strings"
	"time"

	"tollbook/build/data"
)

// DuckDB returns statements that give DuckDB the tables that proofs read, from the Parquet files of a folder, which base
// names: its path again, or an address where a server has its files. Times and days are texts, and booleans are 0 and 1,
// as they are in SQLite.
func DuckDB(folder, base string, asOf time.Time) ([]string, error) {
	var list []string
	for _, t := range Tables() {
		files, err := filesOf(folder, t)
		if err != nil {
			return nil, err
		}
		var names, columns, quoted []string
		for _, c := range t.Columns {
			text := c.Name
			switch c.Kind {
			case data.Timestamp:
				text = `strftime(make_timestamp(epoch_us(` + c.Name + `)), '%Y-%m-%dT%H:%M:%S.%gZ')` // needs no extension
			case data.Date:
				text = `strftime(` + c.Name + `, '%Y-%m-%d')`
			case data.Boolean:
				text = `CAST(` + c.Name + ` AS INTEGER)`
			}
			names, columns = append(names, c.Name), append(columns, text+" AS "+c.Name)
		}
		if len(files) == 0 { // no UTC day is over yet
			list = append(list, "CREATE TABLE "+t.Name+" ("+strings.Join(names, " TEXT, ")+" TEXT)")
			continue
		}
		for _, f := range files {
			quoted = append(quoted, "'"+strings.ReplaceAll(base+strings.TrimPrefix(f, folder), "'", "''")+"'")
		}
		list = append(list, fmt.Sprintf("CREATE VIEW %s AS SELECT %s FROM read_parquet([%s])", t.Name,
			strings.Join(columns, ", "), strings.Join(quoted, ", ")))
	}
	list = append(list, `CREATE VIEW current_prices AS SELECT e.method, e.path, p.* FROM prices p
JOIN endpoints e USING (endpoint_id) WHERE p.until IS NULL`)
	return append(list, statements(asOf)...), nil
}
