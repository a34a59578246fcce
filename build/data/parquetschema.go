package data

import (
	"math/bits"

	"github.com/parquet-go/parquet-go"
)

// parquetGroup is the root of a schema. parquet.Group sorts its fields by name; a table has them in its own order.
type parquetGroup struct {
	parquet.Group
	table *Table
}

// Fields returns the fields in the order of the table's columns.
func (g parquetGroup) Fields() []parquet.Field {
	sorted := g.Group.Fields()
	fields := make([]parquet.Field, len(sorted))
	for _, f := range sorted {
		fields[g.table.Place(f.Name())] = f
	}
	return fields
}

// newParquetSchema returns the schema of a table.
func newParquetSchema(t *Table) *parquet.Schema {
	fields := parquet.Group{}
	for _, c := range t.Columns {
		node := newParquetNode(c)
		if !c.Required {
			node = parquet.Optional(node)
		}
		fields[c.Name] = node
	}
	return parquet.NewSchema(t.Name, parquetGroup{fields, t})
}

// decimalBytes is the length of a decimal number of Precision digits.
const decimalBytes = 16

// newParquetNode returns the type of a column's values, and how they are encoded.
func newParquetNode(c Column) parquet.Node {
	switch c.Kind {
	case Integer:
		return parquet.Encoded(parquet.Int(64), &parquet.DeltaBinaryPacked)
	case Boolean:
		return parquet.Leaf(parquet.BooleanType)
	case Decimal:
		return parquet.Encoded(parquet.Decimal(c.Scale, Precision, parquet.FixedLenByteArrayType(decimalBytes)),
			&parquet.RLEDictionary)
	case Timestamp:
		return parquet.Encoded(parquet.Timestamp(parquet.Microsecond), &parquet.DeltaBinaryPacked)
	case Date:
		return parquet.Encoded(parquet.Date(), &parquet.DeltaBinaryPacked)
	case JSON:
		return parquet.Encoded(parquet.JSON(), &parquet.RLEDictionary)
	}
	return parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
}

// newParquetValue returns a value of a column. Decimals are written to digits.
func newParquetValue(c *Column, v Value, digits *[decimalBytes]byte) parquet.Value {
	switch c.Kind {
	case Integer, Timestamp:
		return parquet.Int64Value(v.Number())
	case Boolean:
		return parquet.BooleanValue(v.Number() != 0)
	case Date:
		return parquet.Int32Value(int32(v.Number()))
	case Decimal:
		putDecimal(digits, v.Text(), c.Scale)
		return parquet.FixedLenByteArrayValue(digits[:])
	}
	return parquet.ValueOf(v.Text())
}

// putDecimal writes a decimal number as a big-endian integer in units of 10^-scale. Its digits fit, as Value says.
func putDecimal(to *[decimalBytes]byte, text string, scale int) {
	var hi, lo uint64
	digits, after := 0, -1 // digits after the point
	for i := 0; i < len(text) || digits < scale; i++ {
		digit := uint64(0)
		switch {
		case i < len(text) && text[i] == '.':
			after = 0
			continue
		case i < len(text):
			digit = uint64(text[i] - '0')
		}
		if after >= 0 || i >= len(text) {
			after++
			digits++
		}
		high, low := bits.Mul64(lo, 10)
		var over uint64
		lo, over = bits.Add64(low, digit, 0)
		hi = hi*10 + high + over
	}
	for i := range 8 {
		to[7-i], to[15-i] = byte(hi>>(8*i)), byte(lo>>(8*i))
	}
}
