package rows

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// A struct that is a row of a statement names the column of each field and its type in the tag of the field, as in
// `db:"service_id,bigint"`. pgx.RowToStructByName reads rows into it by the same names. A field with the tag `db:"-"`,
// or without a type, is in no statement.

// Columns returns the columns of T, separated by commas, in the order of its fields.
func Columns[T any]() string {
	var names []string
	for _, c := range columnsOf[T]() {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

// Unnest returns a source of rows for FROM, "unnest($1::bigint[], …) AS v (service_id, …)", and its arguments: an array
// for each column of T. One statement then writes all rows of a list.
func Unnest[T any](list []T) (from string, args []any) {
	columns := columnsOf[T]()
	arrays, names := make([]string, len(columns)), make([]string, len(columns))
	args = make([]any, len(columns))
	all := reflect.ValueOf(list)
	for i, c := range columns {
		arrays[i], names[i] = fmt.Sprintf("$%d::%s[]", i+1, c.kind), c.name
		of := c.field.Type
		if of == reflect.TypeFor[uuid.UUID]() {
			of = reflect.TypeFor[[16]byte]() // pgx would write a uuid.UUID as text
		}
		array := reflect.MakeSlice(reflect.SliceOf(of), len(list), len(list))
		for k := range list {
			value := all.Index(k).FieldByIndex(c.field.Index)
			if of != c.field.Type {
				value = value.Convert(of)
			}
			array.Index(k).Set(value)
		}
		args[i] = array.Interface()
	}
	return fmt.Sprintf("unnest(%s) AS v (%s)", strings.Join(arrays, ", "), strings.Join(names, ", ")), args
}

// CopyStructs copies a list into the columns of T of a table by one COPY.
func CopyStructs[T any](ctx context.Context, tx pgx.Tx, table string, list []T) error {
	columns := columnsOf[T]()
	return Copy(ctx, tx, table, Columns[T](), list, func(row []any, of *T) {
		value := reflect.ValueOf(of).Elem()
		for i, c := range columns {
			row[i] = value.FieldByIndex(c.field.Index).Interface()
		}
	})
}

// Pointers returns pointers to the fields of a struct that are in Columns, in the same order, for Each.
func Pointers[T any](of *T) (list []any) {
	value := reflect.ValueOf(of).Elem()
	for _, c := range columnsOf[T]() {
		list = append(list, value.FieldByIndex(c.field.Index).Addr().Interface())
	}
	return list
}

// column is a field of a row.
type column struct {
	name, kind string
	field      reflect.StructField
}

func columnsOf[T any]() (list []column) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name, kind, ok := strings.Cut(f.Tag.Get("db"), ","); ok {
			list = append(list, column{name, kind, f})
		}
	}
	return list
}
