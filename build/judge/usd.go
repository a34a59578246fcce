package judge

import (
	"cmp"
	"fmt"
	"math/big"
	"math/bits"
	"strings"

	"tollbook/site"
)

// usd is an exact amount of dollars, not negative, in units of 10^-usdDecimals. Its 128 bits hold more than 10^20
// dollars. A larger sum stays at the maximum.
type usd struct{ hi, lo uint64 }

const (
	usdDecimals = 18                        // no token that is worth a dollar has more
	usdOne      = 1_000_000_000_000_000_000 // units of a dollar
	usdMicro    = usdOne / 1_000_000
)

var mostUSD = usd{^uint64(0), ^uint64(0)}

// parseUSD parses decimal digits.
func parseUSD(s string) (usd, error) {
	whole, frac, _ := strings.Cut(s, ".")
	if whole == "" || len(frac) > usdDecimals {
		return usd{}, fmt.Errorf("parse dollars %.80q: want digits, at most %d after the point", s, usdDecimals)
	}
	var u usd
	for i := range len(whole) + usdDecimals {
		c := byte('0')
		if i < len(whole) {
			c = whole[i]
		} else if i-len(whole) < len(frac) {
			c = frac[i-len(whole)]
		}
		if c < '0' || c > '9' {
			return usd{}, fmt.Errorf("parse dollars %.80q: want digits", s)
		}
		u = u.times(10).plus(usd{0, uint64(c - '0')})
	}
	if u == mostUSD {
		return usd{}, fmt.Errorf("parse dollars %.80q: number too large", s)
	}
	return u, nil
}

func (u usd) plus(v usd) usd {
	lo, overflow := bits.Add64(u.lo, v.lo, 0)
	hi, overflow := bits.Add64(u.hi, v.hi, overflow)
	if overflow != 0 {
		return mostUSD
	}
	return usd{hi, lo}
}

func (u *usd) add(v usd) { *u = u.plus(v) }

// minus returns u - v, 0 if v is larger.
func (u usd) minus(v usd) usd {
	lo, borrow := bits.Sub64(u.lo, v.lo, 0)
	hi, under := bits.Sub64(u.hi, v.hi, borrow)
	if under != 0 {
		return usd{}
	}
	return usd{hi, lo}
}

func (u usd) times(n uint64) usd {
	high, hi := bits.Mul64(u.hi, n)
	add, lo := bits.Mul64(u.lo, n)
	hi, overflow := bits.Add64(hi, add, 0)
	if high != 0 || overflow != 0 {
		return mostUSD
	}
	return usd{hi, lo}
}

// divide returns u / n and the remainder.
func (u usd) divide(n uint64) (usd, uint64) {
	hi, rest := u.hi/n, u.hi%n
	lo, rest := bits.Div64(rest, u.lo, n)
	return usd{hi, lo}, rest
}

func (u usd) compare(v usd) int { return cmp.Or(cmp.Compare(u.hi, v.hi), cmp.Compare(u.lo, v.lo)) }

func (u usd) isZero() bool { return u == usd{} }

// units returns the number of units, for calculations that need more than 128 bits.
func (u usd) units() *big.Int {
	n := new(big.Int).SetUint64(u.hi)
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(u.lo))
}

// decimal returns the amount without trailing zeros.
func (u usd) decimal() site.Decimal {
	var digits [40]byte // of 2^128
	at := len(digits)
	for n := 0; n <= usdDecimals || !u.isZero(); {
		var group uint64 // 18 digits at a time
		u, group = u.divide(usdOne)
		for range usdDecimals {
			if at > 0 {
				at--
				digits[at] = byte('0' + group%10)
			}
			group /= 10
			n++
		}
	}
	point := len(digits) - usdDecimals
	frac := strings.TrimRight(string(digits[point:]), "0")
	whole := strings.TrimLeft(string(digits[at:point]), "0")
	if whole == "" {
		whole = "0"
	}
	if frac == "" {
		return site.Decimal(whole)
	}
	return site.Decimal(whole + "." + frac)
}

// share returns the ith of n equal shares of u, i from 0, in whole micro-dollars. The first shares get one of the
// remaining micro-dollars each, and the next one the rest below a micro-dollar. The shares of all add up to u exactly,
// and no share falls while u rises.
func (u usd) share(i, n int) usd {
	if n <= 1 {
		return u
	}
	micros, over := u.divide(usdMicro * uint64(n))
	p := micros.times(usdMicro)
	switch first := int(over / usdMicro); { // less than n
	case i < first:
		p.add(usd{0, usdMicro})
	case i == first:
		p.add(usd{0, over % usdMicro})
	}
	return p
}

// ratio returns times * a / b to four decimals, halves rounded up, and nil if b is zero. It is exact until it rounds.
func ratio(times int64, a, b usd) *float64 {
	if b.isZero() {
		return nil
	}
	const steps = 10_000
	n := a.units()
	n.Mul(n, big.NewInt(2*steps*times)).Add(n, b.units()).Quo(n, new(big.Int).Lsh(b.units(), 1))
	f, _ := new(big.Float).SetInt(n).Float64()
	f /= steps
	return &f
}
