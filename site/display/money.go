package display

import (
	"fmt"
	"math/big"
	"strings"

	"tollbook/site"
)

// Dollars returns an exact price in US dollars: no decimals for whole dollars, else all decimals and at least two.
func Dollars(d site.Decimal) string {
	if d == "" {
		return ""
	}
	return "$" + exact(d)
}

// maxWhole is the largest number of digits of whole dollars. A longer price is a mistake or a joke, so exact returns it
// with three digits and a power of ten.
const maxWhole = 15

// exact returns a decimal with its digits grouped, and with at least two decimals if it has any.
func exact(d site.Decimal) string {
	whole, frac, ok := strings.Cut(string(d), ".")
	if len(whole) > maxWhole {
		return fmt.Sprintf("%s.%s × 10^%d", whole[:1], whole[1:3], len(whole)-1)
	}
	if !ok {
		return GroupDigits(whole)
	}
	return GroupDigits(whole) + "." + frac + strings.Repeat("0", max(0, 2-len(frac)))
}

// DollarsOrNull returns Dollars of a price, or "" for nil.
func DollarsOrNull(d *site.Decimal) string {
	if d == nil {
		return ""
	}
	return Dollars(*d)
}

// Cents returns a volume in dollars and cents, with halves rounded up. Amounts below a cent are exact.
func Cents(d site.Decimal) string {
	if d == "" {
		return ""
	}
	r := d.Rational()
	if r.Sign() == 0 || r.Cmp(big.NewRat(1, 100)) < 0 {
		return Dollars(d)
	}
	whole, frac, _ := strings.Cut(r.FloatString(2), ".")
	if len(whole) > maxWhole {
		return Dollars(d)
	}
	return "$" + GroupDigits(whole) + "." + frac
}

// Roughly returns a volume in whole dollars from a thousand dollars on, with halves rounded up, and as Cents below.
func Roughly(d site.Decimal) string {
	r := d.Rational()
	if whole := r.FloatString(0); r.Cmp(big.NewRat(1000, 1)) >= 0 && len(whole) <= maxWhole {
		return "$" + GroupDigits(whole)
	}
	return Cents(d)
}

// FormatDecimal applies format to a site.Decimal or to a pointer to one. It returns "" for a nil pointer.
func FormatDecimal(v any, format func(site.Decimal) string) (string, error) {
	switch d := v.(type) {
	case site.Decimal:
		return format(d), nil
	case *site.Decimal:
		if d == nil {
			return "", nil
		}
		return format(*d), nil
	}
	return "", fmt.Errorf("format %T as dollars", v)
}
