package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tollbook/site"
)

// What is unknown formats as "", which the templates show as a dash that says so; it never becomes a zero.

// nbsp keeps a number and its unit on one line.
const nbsp = "\u00a0"

// number groups the digits of n: 12,345.
func number(n int64) string {
	if n < 0 {
		return "−" + group(strconv.FormatUint(uint64(-n), 10))
	}
	return group(strconv.FormatInt(n, 10))
}

// group puts a comma before every third digit from the right.
func group(digits string) string {
	if len(digits) <= 3 {
		return digits
	}
	first := len(digits) % 3
	if first == 0 {
		first = min(3, len(digits))
	}
	var b strings.Builder
	b.WriteString(digits[:first])
	for i := first; i < len(digits); i += 3 {
		b.WriteByte(',')
		b.WriteString(digits[i : i+3])
	}
	return b.String()
}

// dollars is an exact price: whole dollars as they are, else at least two decimals and as many as it has.
func dollars(d site.Decimal) string {
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
		return group(whole)
	}
	return group(whole) + "." + frac + strings.Repeat("0", max(0, 2-len(frac)))
}

// dollarsOrNull is dollars of a price that may be unknown.
func dollarsOrNull(d *site.Decimal) string {
	if d == nil {
		return ""
	}
	return dollars(*d)
}

// percent has up to two decimals. What is not quite all does not read as all.
func percent(f *float64) string {
	if f == nil || math.IsNaN(*f) {
		return ""
	}
	v := site.Round2(*f)
	if v >= 100 && *f < 100 {
		v = 99.99
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + nbsp + "%"
}

// sure is a model's confidence, from 0 to 1, in percent.
func sure(confidence float64) string { return percent(new(100 * confidence)) }

// millis is a response time: milliseconds below ten seconds, then seconds.
func millis(ms *int) string {
	switch {
	case ms == nil:
		return ""
	case *ms < 10_000:
		return number(int64(*ms)) + nbsp + "ms"
	default:
		return strconv.FormatFloat(float64(*ms)/1000, 'f', 1, 64) + nbsp + "s"
	}
}

// rate is a count an hour, with a decimal where it is small.
func rate(f float64) string {
	if f < 10 {
		return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64)
	}
	return number(int64(math.Round(f)))
}

// plural is a count with its noun: 1 service, 2 services.
func plural(n int64, one, many string) string {
	if n == 1 {
		return "1" + nbsp + one
	}
	return number(n) + nbsp + many
}

// Moment is an instant for machines and for readers.
type Moment struct{ ISO, Text string }

const (
	layoutMinute = "2 Jan 2006, 15:04"
	layoutSecond = "2 Jan, 15:04:05"
	layoutDay    = "2 Jan 2006"
)

// when is an instant to the minute; nil and the zero instant are unknown. It takes a site.Time or a pointer to one.
func when(v any) (*Moment, error) { return moment(v, layoutMinute, " UTC") }

// at is an instant to the minute under a heading that says UTC.
func at(v any) (*Moment, error) { return moment(v, layoutMinute, "") }

// second is an instant of the last weeks to the second under a heading that says UTC.
func second(v any) (*Moment, error) { return moment(v, layoutSecond, "") }

// day is the UTC day of an instant.
func day(v any) (*Moment, error) { return moment(v, layoutDay, "") }

func moment(v any, layout, zone string) (*Moment, error) {
	var t time.Time
	switch v := v.(type) {
	case site.Time:
		t = v.Time
	case *site.Time:
		if v != nil {
			t = v.Time
		}
	default:
		return nil, fmt.Errorf("format %T as a time", v)
	}
	if t.IsZero() {
		return nil, nil
	}
	return &Moment{ISO: site.NewTime(t).String(), Text: t.UTC().Format(layout) + zone}, nil
}
