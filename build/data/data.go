// Package data owns the tables that a directory gives away: their columns with type, unit, description and source,
// their rows as functions of facts and judgments, the questions that they answer, and their files.
//
// Column, Table, Maker and the makers say what a table is. ParquetWriter, CSVWriter and SQLiteFile write rows in one
// format each, and know no table. A Set writes all files of a snapshot: the tables, the Parquet files of days that are
// over, and their description. Two smaller tables are for the API alone: AppendServiceDays writes the days of one
// service, NewAssetTables returns the known networks and tokens.
//
// It must never judge, nor know a page or a route.
package data

import (
	"slices"

	"tollbook/site/invisible"
)

// Kind is the type of a column.
type Kind uint8

// Kinds of columns. Values of Text and JSON are texts. A Decimal is an exact decimal number with up to Column.Scale
// digits after the point and 38 digits in all. A Timestamp counts microseconds since 1970 in UTC, a Date counts days.
const (
	Text Kind = iota
	JSON
	Integer
	Boolean
	Decimal
	Timestamp
	Date
)

// Precision is the number of digits of a Decimal.
const Precision = 38

// Column describes a column of a table.
type Column struct {
	Name        string
	Kind        Kind
	Scale       int    // of a Decimal
	Required    bool   // never null
	Unit        string // "" for none
	Description string
	Source      string // where the value comes from
}

// Reference is a foreign key: a column that contains keys of another table.
type Reference struct {
	Column string
	Table  string
	Key    string
}

// Table describes a table.
type Table struct {
	Name        string
	Description string
	Columns     []Column
	Key         []string // columns of the primary key
	Sort        []string // columns that rows are sorted by, as bytes
	References  []Reference
	Days        bool // in a file for each UTC day that is over; else all rows are in each snapshot
	Retention   int  // days that a file of a day is published; 0 for always
	Open        bool // with Days: each snapshot has a further file with the rows of days without a file
	Recent      bool // with Days: the SQLite file has the rows of the last RecentDays days
}

// RecentDays is how many UTC days, today included, the SQLite file has of a table with Recent.
const RecentDays = 30

// Value is a value of a row; the zero value is null.
type Value struct {
	text   string
	number int64
	isSet  bool
}

// Row is a row of a table: a value for each column.
type Row []Value

// IsNull reports whether the value is null.
func (v Value) IsNull() bool { return !v.isSet }

// Text returns the value of a Text, JSON or Decimal. A Decimal is in canonical form: digits, and a point only before
// further digits.
func (v Value) Text() string { return v.text }

// Number returns the value of any other kind; true is 1.
func (v Value) Number() int64 { return v.number }

// NewText returns a value of a Text or Decimal, with U+FFFD in place of each invisible character.
func NewText(s string) Value { return Value{text: invisible.Replace(s), isSet: true} }

// NewJSON returns a value of a JSON, with each invisible character escaped.
func NewJSON(b []byte) Value { return Value{text: string(invisible.EscapeJSON(b)), isSet: true} }

// NewNumber returns a value of an Integer, Boolean, Timestamp or Date.
func NewNumber(n int64) Value { return Value{number: n, isSet: true} }

// Place returns the place of a column, -1 without one.
func (t *Table) Place(column string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == column })
}

// field is a column with the function that computes its value.
type field[T any] struct {
	Column
	of func(T) Value
}

// Maker makes the rows of a table from values of type T.
type Maker[T any] struct {
	Table
	fields []field[T]
}

// newMaker returns the maker of a table with these fields.
func newMaker[T any](t Table, fields ...field[T]) *Maker[T] {
	for _, f := range fields {
		t.Columns = append(t.Columns, f.Column)
	}
	return &Maker[T]{t, fields}
}

// Append appends the values of a row.
func (m *Maker[T]) Append(row Row, of T) Row {
	for i := range m.fields {
		row = append(row, m.fields[i].of(of))
	}
	return row
}
