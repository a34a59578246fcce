package display

import (
	"fmt"
	"math/big"
	"strings"

	"tollbook/site"
)

// Dollars is an exact price: whole dollars as they are, else at least two decimals and as many as it has.
func Dollars(d site.Decimal) string {
	if d == "" {
		return ""
	}
	return "$" + exact(d)
}

// maxWhole is the length of whole dollars beyond which a price is a mistake or a joke, and only its size is told.
const maxWhole = 15

// exact is a decimal for reading: grouped, with at least two decimals if any.
func exact(d site.Decimal) string {
	whole, frac, found := strings.Cut(string(d), ".")
	if len(whole) > maxWhole {
		return fmt.Sprintf("%s.%s × 10^%d", whole[:1], whole[1:3], len(whole)-1)
	}
	if !found {
		return GroupDigits(whole)
	}
	return GroupDigits(whole) + "." + frac + strings.Repeat("0", max(0, 2-len(frac)))
}

// DollarsOrNull is dollars of a price that may be unknown.
func DollarsOrNull(d *site.Decimal) string {
	if d == nil {
		return ""
	}
	return Dollars(*d)
}

// Cents is a volume for reading: dollars and cents, halves up. What is less than a cent is told exactly.
func Cents(d site.Decimal) string {
	if d == "" {
		return ""
	}
	r := Rational(d)
	if r.Sign() == 0 || r.Cmp(big.NewRat(1, 100)) < 0 {
		return Dollars(d)
	}
	whole, frac, _ := strings.Cut(r.FloatString(2), ".")
	if len(whole) > maxWhole {
		return Dollars(d)
	}
	return "$" + GroupDigits(whole) + "." + frac
}

// Roughly is a volume at a glance: whole dollars from a thousand on, halves up.
func Roughly(d site.Decimal) string {
	r := Rational(d)
	if whole := r.FloatString(0); r.Cmp(big.NewRat(1000, 1)) >= 0 && len(whole) <= maxWhole {
		return "$" + GroupDigits(whole)
	}
	return Cents(d)
}

// FormatDecimal formats a decimal, or one that may be unknown.
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

// Rational is a decimal to reckon with; what is none counts as 0.
func Rational(d site.Decimal) *big.Rat {
	if r, ok := new(big.Rat).SetString(string(d)); ok && len(d) < 100 {
		return r
	}
	return new(big.Rat)
}

func DecimalOf(r *big.Rat) site.Decimal {
	d, err := site.ParseDecimal(r.FloatString(18))
	if err != nil {
		return "0" // never of sums of non-negative amounts
	}
	return d
}
