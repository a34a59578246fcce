package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// copyBinary is one COPY of so many rows, each of which append writes with all its columns. They are written while the server
// takes those before: nothing that append reads may change until then. It is copyTo for the tables that most rows go to, at a
// fraction of what it costs to find out anew for each value how its type is written.
func copyBinary(ctx context.Context, tx pgx.Tx, table, columns string, rows int, append func(w *binaryRow, i int)) error {
	if rows == 0 {
		return nil
	}
	r := &binaryReader{columns: strings.Count(columns, ",") + 1, rows: rows, append: append}
	r.w.b = binary.BigEndian.AppendUint64([]byte("PGCOPY\n\xff\r\n\x00"), 0) // no flags, no extension
	tag, err := tx.Conn().PgConn().CopyFrom(ctx, r, `COPY `+pgx.Identifier{table}.Sanitize()+` (`+columns+`) FROM STDIN (FORMAT binary)`)
	if err == nil && tag.RowsAffected() != int64(rows) {
		err = fmt.Errorf("%d rows of %d", tag.RowsAffected(), rows)
	}
	if err != nil {
		return fmt.Errorf("copy to %s: %w", table, err)
	}
	return nil
}

// newRows are rows of a roll-up of which only those are copied whose keys an UPDATE before did not find. Nobody else writes such keys
// between. Most rows of a commit are new, and to copy them is less work than a statement that tries each.
type newRows struct {
	table, columns string
	there          []bool
	append         func(*binaryRow, int)
}

func newRowsOf(table, columns string, rows int, append func(*binaryRow, int)) *newRows {
	return &newRows{table, columns, make([]bool, rows), append}
}

// mark takes the numbers, from 1, of the rows that the UPDATE found.
func (r *newRows) mark(rows pgx.Rows) error {
	var i int64
	_, err := pgx.ForEachRow(rows, []any{&i}, func() error {
		r.there[i-1] = true
		return nil
	})
	return err
}

func (r *newRows) copy(ctx context.Context, tx pgx.Tx) error {
	fresh := make([]int, 0, len(r.there))
	for i, there := range r.there {
		if !there {
			fresh = append(fresh, i)
		}
	}
	return copyBinary(ctx, tx, r.table, r.columns, len(fresh), func(w *binaryRow, i int) { r.append(w, fresh[i]) })
}

// binaryReader writes rows as they are read.
type binaryReader struct {
	columns, rows int
	append        func(*binaryRow, int)

	next int // row
	w    binaryRow
	read int // of what is written
}

func (r *binaryReader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if r.read == len(r.w.b) {
			if r.next == r.rows {
				return n, io.EOF
			}
			r.w.b, r.read = r.w.b[:0], 0
		}
		for len(r.w.b) < len(p) && r.next < r.rows {
			r.w.b = binary.BigEndian.AppendUint16(r.w.b, uint16(r.columns))
			r.w.columns = 0
			r.append(&r.w, r.next)
			if r.w.columns != r.columns {
				return n, fmt.Errorf("row of %d columns, want %d", r.w.columns, r.columns)
			}
			if r.w.err != nil {
				return n, r.w.err
			}
			if r.next++; r.next == r.rows {
				r.w.b = binary.BigEndian.AppendUint16(r.w.b, math.MaxUint16) // the end
			}
		}
		m := copy(p[n:], r.w.b[r.read:])
		n, r.read = n+m, r.read+m
	}
	return n, nil
}

// binaryRow takes the values of a row as Postgres sends and receives them: how long each is, then its bytes.
type binaryRow struct {
	b       []byte
	columns int
	err     error // first value that its column cannot hold
}

var errInteger = errors.New("integer out of range")

func (w *binaryRow) length(n int) {
	w.columns++
	w.b = binary.BigEndian.AppendUint32(w.b, uint32(n))
}

func (w *binaryRow) null() { w.length(-1) }

func (w *binaryRow) bigint(v int64) {
	w.length(8)
	w.b = binary.BigEndian.AppendUint64(w.b, uint64(v))
}

func (w *binaryRow) integer(v int) {
	w.length(4)
	w.element(int64(v))
}

func (w *binaryRow) element(v int64) {
	if v != int64(int32(v)) && w.err == nil {
		w.err = fmt.Errorf("%w: %d", errInteger, v)
	}
	w.b = binary.BigEndian.AppendUint32(w.b, uint32(v))
}

func (w *binaryRow) maybeText(v *string) {
	if v == nil {
		w.null()
		return
	}
	w.length(len(*v))
	w.b = append(w.b, *v...)
}

// epoch is what Postgres counts from.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// timestamptz takes whole microseconds, as every time of the database.
func (w *binaryRow) timestamptz(v time.Time) { w.bigint(v.UnixMicro() - epoch.UnixMicro()) }

// date takes the start of a UTC day.
func (w *binaryRow) date(v time.Time) {
	w.integer(int((v.Unix() - epoch.Unix()) / (24 * 60 * 60)))
}

// day takes a UTC day since 1970.
func (w *binaryRow) day(v int32) { w.integer(int(v) - int(epoch.Unix()/(24*60*60))) }

func (w *binaryRow) smallint(v int16) {
	w.length(2)
	w.b = binary.BigEndian.AppendUint16(w.b, uint16(v))
}

func (w *binaryRow) bytea(v []byte) {
	w.length(len(v))
	w.b = append(w.b, v...)
}

// numeric takes a whole number: its digits to the base of 10,000, the first of weight n - 1.
func (w *binaryRow) numeric(a amount) {
	const base = 10_000
	var digits [maxDigits]uint16 // the last one first
	n := 0
	if a.large == nil {
		for v := a.small; v > 0; v /= base {
			digits[n] = uint16(v % base)
			n++
		}
	} else {
		v, digit, by := new(big.Int).Set(a.large), new(big.Int), big.NewInt(base)
		for ; v.Sign() > 0 && n < len(digits); n++ {
			v.QuoRem(v, by, digit)
			digits[n] = uint16(digit.Uint64())
		}
	}
	w.length(8 + 2*n)
	for _, v := range [...]uint16{uint16(n), uint16(max(n-1, 0)), 0, 0} { // digits, weight, sign, digits behind the point
		w.b = binary.BigEndian.AppendUint16(w.b, v)
	}
	for i := n - 1; i >= 0; i-- {
		w.b = binary.BigEndian.AppendUint16(w.b, digits[i])
	}
}

// integers takes an array of integer.
func (w *binaryRow) integers(list []int64) {
	const oid = 23 // of integer
	w.length(20 + 8*len(list))
	for _, v := range [...]uint32{1, 0, oid, uint32(len(list)), 1} { // dimensions, whether some are null, type, length, first index
		w.b = binary.BigEndian.AppendUint32(w.b, v)
	}
	for _, v := range list {
		w.b = binary.BigEndian.AppendUint32(w.b, 4)
		w.element(v)
	}
}

// maybeTexts takes an array of text; null where there is none.
func (w *binaryRow) maybeTexts(list []string) {
	if len(list) == 0 {
		w.null()
		return
	}
	const oid = 25 // of text
	size := 20 + 4*len(list)
	for _, v := range list {
		size += len(v)
	}
	w.length(size)
	for _, v := range [...]uint32{1, 0, oid, uint32(len(list)), 1} {
		w.b = binary.BigEndian.AppendUint32(w.b, v)
	}
	for _, v := range list {
		w.b = binary.BigEndian.AppendUint32(w.b, uint32(len(v)))
		w.b = append(w.b, v...)
	}
}
