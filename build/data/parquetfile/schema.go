package parquetfile

import (
	"math/bits"

	"github.com/parquet-go/parquet-go"

	"tollbook/build/data"
)

// group is the root of a schema. parquet.Group sorts its fields by name; a table has them in its own order.
type group struct {
	parquet.Group
	table *data.Table
}

// Fields returns the fields in the order of the table's columns.
func (g group) Fields() []parquet.Field {
	sorted := g.Group.Fields()
	fields := make([]parquet.Field, len(sorted))
	for _, f := range sorted {
		fields[g.table.Place(f.Name())] = f
	}
	return fields
}

// newSchema returns the schema of a table.
func newSchema(t *data.Table) *parquet.Schema {
	fields := parquet.Group{}
	for _, c := range t.Columns {
		node := newNode(c)
		if !c.Required {
			node = parquet.Optional(node)
		}
		fields[c.Name] = node
	}
	return parquet.NewSchema(t.Name, group{fields, t})
}

// decimalBytes is the length of a decimal number of data.Precision digits.
const decimalBytes = 16

// newNode returns the type of a column's values, and how they are encoded.
func newNode(c data.Column) parquet.Node {
	switch c.Kind {
	case data.Integer:
		return parquet.Encoded(parquet.Int(64), &parquet.DeltaBinaryPacked)
	case data.Boolean:
		return parquet.Leaf(parquet.BooleanType)
	case data.Decimal:
		return parquet.Encoded(parquet.Decimal(c.Scale, data.Precision, parquet.FixedLenByteArrayType(decimalBytes)),
			&parquet.RLEDictionary)
	case data.Timestamp:
		return parquet.Encoded(parquet.Timestamp(parquet.Microsecond), &parquet.DeltaBinaryPacked)
	case data.Date:
		return parquet.Encoded(parquet.Date(), &parquet.DeltaBinaryPacked)
	case data.JSON:
		return parquet.Encoded(parquet.JSON(), &parquet.RLEDictionary)
	}
	return parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
}

// newValue returns a value of a column. Decimals are written to digits.
func newValue(c *data.Column, v data.Value, digits *[decimalBytes]byte) parquet.Value {
	switch c.Kind {
	case data.Integer, data.Timestamp:
		return parquet.Int64Value(v.Number())
	case data.Boolean:
		return parquet.BooleanValue(v.Number() != 0)
	case data.Date:
		return parquet.Int32Value(int32(v.Number()))
	case data.Decimal:
		putDecimal(digits, v.Text(), c.Scale)
		return parquet.FixedLenByteArrayValue(digits[:])
	}
	return parquet.ValueOf(v.Text())
}

// putDecimal writes a decimal number as a big-endian integer in units of 10^-scale. Its digits fit, as data.Value says.
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
