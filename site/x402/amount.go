package x402

import (
	"encoding/json"
	"strings"
)

// maxDigits is the number of digits of the largest uint256, the longest amount that any known network supports.
const maxDigits = 78

// maxExponent is the largest exponent of a JSON number such as 1e40.
const maxExponent = maxDigits

// integerAmount returns text as an integer without leading zeros, "" when it is not an unsigned decimal integer of at
// most 78 digits.
func integerAmount(text string) string {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return ""
	}
	text = strings.TrimLeft(text, "0")
	switch {
	case text == "":
		return "0"
	case len(text) > maxDigits:
		return ""
	}
	return text
}

// numberText writes a JSON number as decimal text without an exponent: 1e4 is "10000", 1.50 is "1.5", 10000.0 is
// "10000". It returns "" for a number whose plain form would be longer than an amount can be.
func numberText(number json.RawMessage) string {
	text := strings.TrimSpace(string(number))
	negative := strings.HasPrefix(text, "-")
	text = strings.TrimPrefix(text, "-")
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	shift, ok := smallInt(exponent)
	if !ok || len(whole) > 2*maxDigits || len(fraction) > 2*maxDigits {
		return ""
	}
	plain := shiftPoint(whole+fraction, len(fraction)-shift)
	if plain == "" || len(plain) > 2*maxDigits {
		return ""
	}
	if negative && plain != "0" {
		plain = "-" + plain
	}
	return plain
}

// smallInt reads the exponent of a JSON number; ok is false beyond ±maxExponent.
func smallInt(text string) (n int, ok bool) {
	digits := strings.TrimLeft(text, "+-")
	for _, c := range digits {
		if n = n*10 + int(c-'0'); n > maxExponent {
			return 0, false
		}
	}
	if strings.HasPrefix(text, "-") {
		n = -n
	}
	return n, true
}

// shiftPoint returns digits/10^decimals exactly, without needless leading or trailing zeros. A negative number of
// decimals appends zeros.
func shiftPoint(digits string, decimals int) string {
	if decimals < 0 {
		digits += strings.Repeat("0", -decimals)
		decimals = 0
	}
	if len(digits) <= decimals {
		digits = strings.Repeat("0", decimals-len(digits)+1) + digits
	}
	whole := strings.TrimLeft(digits[:len(digits)-decimals], "0")
	fraction := strings.TrimRight(digits[len(digits)-decimals:], "0")
	if whole == "" {
		whole = "0"
	}
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// decimalAmount returns text in its shortest form when it is a positive decimal value as XRPL issued currencies use
// ("10.5"), else "".
func decimalAmount(text string) string {
	whole, fraction, point := strings.Cut(text, ".")
	if whole == "" || len(whole) > 16 || len(fraction) > 16 || point && fraction == "" {
		return ""
	}
	if strings.Trim(whole+fraction, "0123456789") != "" {
		return ""
	}
	return shiftPoint(whole+fraction, len(fraction))
}

// lessOrEqual compares two non-negative decimals in the form that shiftPoint writes.
func lessOrEqual(a, b string) bool {
	aw, af, _ := strings.Cut(a, ".")
	bw, bf, _ := strings.Cut(b, ".")
	if len(aw) != len(bw) {
		return len(aw) < len(bw)
	}
	if aw != bw {
		return aw < bw
	}
	return af <= bf // digits after the point compare as text, a shorter prefix being the smaller
}
