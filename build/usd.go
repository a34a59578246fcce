package build

import (
	"fmt"
	"math/big"
	"strings"

	"tollbook/site"
)

// usd is an exact, non-negative amount of dollars, counted in units of 10^-maxDecimals of one.
type usd struct{ units big.Int }

var (
	usdMicro = new(big.Int).Exp(big.NewInt(10), big.NewInt(maxDecimals-6), nil) // a millionth of a dollar
	usdOne   = new(big.Int).Exp(big.NewInt(10), big.NewInt(maxDecimals), nil)
)

// parseUSD reads plain decimal text.
func parseUSD(s string) (*usd, error) {
	whole, frac, _ := strings.Cut(s, ".")
	u := &usd{}
	if len(frac) > maxDecimals || strings.Trim(whole+frac, "0123456789") != "" {
		return nil, fmt.Errorf("parse dollars %.80q: not plain digits, %d after the point at most", s, maxDecimals)
	}
	if _, ok := u.units.SetString(whole+frac+zeros[len(frac):], 10); !ok || whole == "" {
		return nil, fmt.Errorf("parse dollars %.80q: not plain digits", s)
	}
	return u, nil
}

var zeros = strings.Repeat("0", maxDecimals)

func (u *usd) add(v *usd) { u.units.Add(&u.units, &v.units) }

// less is u - v, which must not be larger.
func (u *usd) less(v *usd) *usd {
	d := &usd{}
	d.units.Sub(&u.units, &v.units)
	return d
}

func (u *usd) decimal() site.Decimal {
	digits := u.units.String()
	if len(digits) <= maxDecimals {
		digits = zeros[:maxDecimals+1-len(digits)] + digits
	}
	point := len(digits) - maxDecimals
	frac := strings.TrimRight(digits[point:], "0")
	if frac == "" {
		return site.Decimal(digits[:point])
	}
	return site.Decimal(digits[:point] + "." + frac)
}

// part is what the ith of n gets of u, from 0: whole micro-dollars by the largest remainder, which is the same for all, so
// that the first get what is over; what is less than one goes to the next of them. The parts of all sum to u exactly, and
// none falls while u rises.
func (u *usd) part(i, n int) *usd {
	if n <= 1 {
		return u
	}
	p, over := &usd{}, &big.Int{}
	p.units.DivMod(&u.units, new(big.Int).Mul(usdMicro, big.NewInt(int64(n))), over)
	p.units.Mul(&p.units, usdMicro)
	more, rest := over.DivMod(over, usdMicro, new(big.Int))
	switch first := int(more.Int64()); { // below n
	case i < first:
		p.units.Add(&p.units, usdMicro)
	case i == first:
		p.units.Add(&p.units, rest)
	}
	return p
}

// ratio is times * a / b to four decimals, halves up; nil where b is zero. It is exact up to the last step.
func ratio(times int64, a, b *usd) *float64 {
	if b.units.Sign() == 0 {
		return nil
	}
	const steps = 10_000
	n := new(big.Int).Mul(&a.units, big.NewInt(2*steps*times))
	n.Add(n, &b.units)
	n.Quo(n, new(big.Int).Lsh(&b.units, 1))
	f, _ := new(big.Float).SetInt(n).Float64()
	f /= steps
	return &f
}
