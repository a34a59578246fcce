package ledger

import (
	"cmp"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// amount is a number of atomic units. large is nil while the amount fits into small, below 1<<63.
type amount struct {
	small uint64
	large *big.Int
}

// maxDigits is more than any token's supply has.
const maxDigits = 100

func parseAmount(s string) (amount, bool) {
	if s == "" || len(s) > maxDigits || strings.Trim(s, "0123456789") != "" {
		return amount{}, false
	}
	if n, err := strconv.ParseUint(s, 10, 63); err == nil {
		return amount{small: n}, true
	}
	n, ok := new(big.Int).SetString(s, 10)
	return amount{large: n}, ok
}

func (a amount) plus(b amount) amount {
	if a.large == nil && b.large == nil && a.small+b.small < 1<<63 { // two addends below 1<<63 do not overflow
		return amount{small: a.small + b.small}
	}
	return amount{large: new(big.Int).Add(a.int(), b.int())}
}

func (a amount) times(b amount) amount {
	if a.large == nil && b.large == nil {
		if high, low := bits.Mul64(a.small, b.small); high == 0 && low < 1<<63 {
			return amount{small: low}
		}
	}
	return amount{large: new(big.Int).Mul(a.int(), b.int())}
}

func (a amount) int() *big.Int {
	if a.large != nil {
		return a.large
	}
	return new(big.Int).SetUint64(a.small)
}

func (a amount) compare(b amount) int {
	if a.large == nil && b.large == nil {
		return cmp.Compare(a.small, b.small)
	}
	return a.int().Cmp(b.int())
}

func (a amount) String() string {
	if a.large != nil {
		return a.large.String()
	}
	return strconv.FormatUint(a.small, 10)
}

// value returns the amount as an argument for a numeric column.
func (a amount) value() any {
	if a.large != nil {
		return pgtype.Numeric{Int: a.large, Valid: true}
	}
	return int64(a.small)
}

// money is an exact decimal: units / 10^scale.
type money struct {
	units amount
	scale int
}

// maxScale is more decimals than any token has.
const maxScale = 80

func parseMoney(text string) (money, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	if len(fraction) > maxScale || whole == "" {
		return money{}, false
	}
	units, ok := parseAmount(whole + fraction)
	return money{units, len(fraction)}, ok
}

func (m money) times(a amount) money { return money{m.units.times(a), m.scale} }

func (m money) plus(o money) money {
	if m.scale < o.scale {
		m, o = o, m
	}
	if o.scale < m.scale && o.units != (amount{}) {
		o.units = amount{large: new(big.Int).Mul(o.units.int(),
			new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(m.scale-o.scale)), nil))}
	}
	return money{m.units.plus(o.units), m.scale}
}

func (m money) compare(o money) int {
	if m.scale == o.scale {
		return m.units.compare(o.units)
	}
	a, b := m.plus(money{scale: o.scale}), o.plus(money{scale: m.scale})
	return a.units.compare(b.units)
}

// String returns the shortest exact decimal.
func (m money) String() string {
	s := m.units.String()
	if m.scale == 0 {
		return s
	}
	if len(s) <= m.scale {
		s = strings.Repeat("0", m.scale-len(s)+1) + s
	}
	return strings.TrimRight(strings.TrimRight(s[:len(s)-m.scale]+"."+s[len(s)-m.scale:], "0"), ".")
}

type sum struct {
	n      int64
	amount amount
}

func (s sum) plus(a amount) sum { return sum{s.n + 1, s.amount.plus(a)} }

type timedSum struct {
	sum
	first, last time.Time
}

func (s *timedSum) add(e *entry) {
	if s.n == 0 || e.at.Before(s.first) {
		s.first = e.at
	}
	if e.at.After(s.last) {
		s.last = e.at
	}
	s.sum = s.plus(e.amount)
}

type tokenSum struct {
	timedSum
	self sum // payments to oneself
}
