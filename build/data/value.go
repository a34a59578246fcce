package data

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"tollbook/site"
)

// textOrNull returns null for nil.
func textOrNull(s *string) Value {
	if s == nil {
		return Value{}
	}
	return NewText(*s)
}

func newBool(b bool) Value {
	if b {
		return NewNumber(1)
	}
	return NewNumber(0)
}

func newInt[T ~int | ~int16 | ~int32 | ~int64](n T) Value { return NewNumber(int64(n)) }

// intOrNull returns null for nil.
func intOrNull[T ~int | ~int64](n *T) Value {
	if n == nil {
		return Value{}
	}
	return NewNumber(int64(*n))
}

// newTime returns a Timestamp. Like all times that a directory publishes, it has whole milliseconds.
func newTime(t time.Time) Value { return NewNumber(t.UTC().Truncate(time.Millisecond).UnixMicro()) }

// timeOrNull returns null for nil.
func timeOrNull(t *site.Time) Value {
	if t == nil {
		return Value{}
	}
	return newTime(t.Time)
}

// instantOrNull returns null for nil.
func instantOrNull(t *time.Time) Value {
	if t == nil {
		return Value{}
	}
	return newTime(*t)
}

// newDate returns the UTC day of a time.
func newDate(t time.Time) Value { return NewNumber(t.UTC().Unix() / 86400) }

// newJSON returns a list or an object of types that always have JSON.
func newJSON(v any) Value {
	b, err := json.Marshal(v)
	if err != nil {
		return Value{}
	}
	return NewJSON(b)
}

// newDecimal returns an exact number, null if it does not fit into a Decimal of the scale.
func newDecimal(text string, scale int) Value {
	d, err := site.ParseDecimal(text)
	if err != nil {
		return Value{}
	}
	whole, frac, _ := strings.Cut(string(d), ".")
	if len(whole) > Precision-scale || len(frac) > scale {
		return Value{}
	}
	return NewText(string(d))
}

// usdScale is the number of digits after the point of dollars. No token that is worth a dollar has more decimals.
const usdScale = 18

// usdOrNull returns dollars, null for nil.
func usdOrNull(d *site.Decimal) Value {
	if d == nil {
		return Value{}
	}
	return newDecimal(string(*d), usdScale)
}

// percentOrNull returns a number of two decimals, null for nil.
func percentOrNull(f *float64) Value {
	if f == nil {
		return Value{}
	}
	return newDecimal(strconv.FormatFloat(*f, 'f', 2, 64), 2)
}

// shiftPoint divides a number of atomic units by 10^decimals.
func shiftPoint(digits string, decimals int) string {
	if len(digits) <= decimals {
		digits = strings.Repeat("0", decimals-len(digits)+1) + digits
	}
	at := len(digits) - decimals
	return digits[:at] + "." + digits[at:]
}

// FormatTime returns a Timestamp as text.
func FormatTime(micros int64) string { return time.UnixMicro(micros).UTC().Format(site.TimeLayout) }

// FormatDate returns a Date as text.
func FormatDate(days int64) string { return time.Unix(days*86400, 0).UTC().Format(time.DateOnly) }

// Decimals returns the number of digits after the point of an exact decimal.
func Decimals(unit string) int {
	_, frac, _ := strings.Cut(unit, ".")
	return len(frac)
}
