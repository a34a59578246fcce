// Package datatest makes tables and rows with values of every kind, for tests of file formats. It must never know a
// format.
package datatest

import (
	"fmt"
	"strings"
	"time"

	"tollbook/build/data"
)

// Table has a column of every kind, each required or not.
func Table() *data.Table {
	t := &data.Table{Name: "mixed", Description: "Values of every kind.", Key: []string{"name"}, Sort: []string{"name"}}
	for _, kind := range []struct {
		name  string
		kind  data.Kind
		scale int
	}{
		{"name", data.Text, 0}, {"list", data.JSON, 0}, {"count", data.Integer, 0}, {"good", data.Boolean, 0},
		{"amount", data.Decimal, 0}, {"usd", data.Decimal, 18}, {"percent", data.Decimal, 2}, {"at", data.Timestamp, 0},
		{"day", data.Date, 0},
	} {
		c := data.Column{Name: kind.name, Kind: kind.kind, Scale: kind.scale, Required: true, Description: "A value."}
		t.Columns = append(t.Columns, c)
		if kind.name != "name" {
			c.Name, c.Required = "maybe_"+c.Name, false
			t.Columns = append(t.Columns, c)
		}
	}
	return t
}

// Rows returns rows of the table, sorted: with the smallest and largest values, with nulls, and with strange texts.
func Rows(t *data.Table, n int) []data.Row {
	texts := []string{"", "plain", "“quoted”, \"with\", commas\nand lines", "日本語 \u202e", "=1+1", "'; DROP TABLE x; --",
		strings.Repeat("long ", 2000)}
	decimals := map[int][]string{
		0:  {"0", "1", "9223372036854775807", "9223372036854775808", strings.Repeat("9", data.Precision)},
		18: {"0", "0.01", "0.000000000000000001", "99999999999999999999.999999999999999999", "12.5", "7"},
		2:  {"0", "99.87", "100", "33.3"},
	}
	start := time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)
	rows := make([]data.Row, n)
	for i := range rows {
		for k, c := range t.Columns {
			var v data.Value
			switch {
			case c.Name == "name":
				v = data.NewText(fmt.Sprintf("row-%07d", i))
			case !c.Required && (i+k)%3 == 0: // null
			case c.Kind == data.Text:
				v = data.NewText(texts[(i+k)%len(texts)])
			case c.Kind == data.JSON:
				v = data.NewJSON(fmt.Appendf(nil, `["a", %d]`, i%5))
			case c.Kind == data.Integer:
				v = data.NewNumber([]int64{0, 1, -1, 1<<63 - 1, -1 << 63, int64(i)}[i%6])
			case c.Kind == data.Boolean:
				v = data.NewNumber(int64(i % 2))
			case c.Kind == data.Decimal:
				of := decimals[c.Scale]
				v = data.NewText(of[i%len(of)])
			case c.Kind == data.Timestamp:
				v = data.NewNumber(start.Add(time.Duration(i) * time.Second).UnixMicro())
			case c.Kind == data.Date:
				v = data.NewNumber(start.AddDate(0, 0, -i%40).Unix() / 86400)
			}
			rows[i] = append(rows[i], v)
		}
	}
	return rows
}
