package site

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"
)

// TimeLayout is the format of every time. Formatted times sort as strings.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Time is a time in UTC with milliseconds.
type Time struct{ time.Time }

// NewTime converts t to UTC and truncates it to milliseconds.
func NewTime(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// TextOrNull returns nil for an empty text.
func TextOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// TimeOrNull returns nil for the zero time.
func TimeOrNull(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	u := NewTime(t)
	return &u
}

func (t Time) String() string { return t.UTC().Format(TimeLayout) }

// Day returns the UTC day in the format time.DateOnly.
func (t Time) Day() string { return t.UTC().Format(time.DateOnly) }

// MarshalJSON implements json.Marshaler. It returns an error for a year that TimeLayout cannot express.
func (t Time) MarshalJSON() ([]byte, error) {
	if y := t.UTC().Year(); y < 0 || y > 9999 {
		return nil, fmt.Errorf("encode time: the year %d has not four digits", y)
	}
	return append(t.Append(append(make([]byte, 0, len(TimeLayout)+2), '"')), '"'), nil
}

// Append appends the time in TimeLayout.
func (t Time) Append(b []byte) []byte { return t.UTC().AppendFormat(b, TimeLayout) }

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	u, err := time.Parse(`"`+TimeLayout+`"`, string(b))
	if err != nil {
		return fmt.Errorf("parse time %s: %w", b, err)
	}
	t.Time = u
	return nil
}

// Decimal is an exact, non-negative decimal number in canonical form: no sign, no exponent, no leading zeros except one
// before the point, and no trailing zeros after it. In JSON it is a number. Amounts of money are never converted to
// floating point.
type Decimal string

// ParseDecimal converts plain decimal text ("0.010") to canonical form ("0.01").
func ParseDecimal(s string) (Decimal, error) {
	whole, frac, _ := strings.Cut(s, ".")
	if whole == "" || strings.Trim(whole, "0123456789") != "" || strings.Trim(frac, "0123456789") != "" {
		return "", fmt.Errorf("parse decimal %.40q: not plain digits", s)
	}
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if frac = strings.TrimRight(frac, "0"); frac == "" {
		return Decimal(whole), nil
	}
	return Decimal(whole + "." + frac), nil
}

// DecimalOf returns a number that is not negative, rounded to 18 decimals: no token that is worth a dollar has more.
func DecimalOf(r *big.Rat) Decimal {
	d, err := ParseDecimal(r.FloatString(18))
	if err != nil {
		return "0" // callers sum amounts, which are not negative
	}
	return d
}

// LeastPlausibleUSD is the lowest price in dollars that moves a median or a rank. Who asks for less asks for nothing, or
// for attention.
const LeastPlausibleUSD Decimal = "0.0001"

// Median returns the price in the middle, of an even number the mean of the two in the middle, and "" without prices. It
// sorts prices.
func Median(prices []Decimal) Decimal {
	n := len(prices)
	if n == 0 {
		return ""
	}
	slices.SortFunc(prices, Decimal.Compare)
	low, high := prices[(n-1)/2], prices[n/2]
	if low == high {
		return low
	}
	_, a, _ := strings.Cut(string(low), ".")
	_, b, _ := strings.Cut(string(high), ".")
	sum := new(big.Rat).Add(low.Rational(), high.Rational())
	mean, err := ParseDecimal(sum.Quo(sum, big.NewRat(2, 1)).FloatString(max(len(a), len(b)) + 1))
	if err != nil {
		return low // impossible: the mean of decimals is not negative
	}
	return mean
}

// Rational returns the number for arithmetic, 0 for a text that is not a decimal.
func (d Decimal) Rational() *big.Rat {
	if r, ok := new(big.Rat).SetString(string(d)); ok && len(d) < 100 {
		return r
	}
	return new(big.Rat)
}

// MarshalJSON implements json.Marshaler.
func (d Decimal) MarshalJSON() ([]byte, error) {
	if d == "" {
		return []byte("0"), nil
	}
	return []byte(d), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *Decimal) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	v, err := ParseDecimal(string(b))
	*d = v
	return err
}

// Compare compares two decimals by value.
func (d Decimal) Compare(e Decimal) int {
	dw, df, _ := strings.Cut(string(d), ".")
	ew, ef, _ := strings.Cut(string(e), ".")
	return cmp.Or(cmp.Compare(len(dw), len(ew)), cmp.Compare(dw, ew), cmp.Compare(df, ef))
}

// Round2 rounds a percentage or share to two decimals.
func Round2(f float64) float64 { return math.Round(f*100) / 100 }
