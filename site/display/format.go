// Package display formats figures, times and other people's texts for readers: on pages, in Markdown, in feeds and in
// responses to agents. An unknown value is "", never zero. Texts lose every invisible character. The package leaves
// markup in them: html/template escapes it on pages, and Markdown escapes it in Markdown.
//
// It does no I/O, and must never know a page, a route or a service.
package display

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tollbook/site"
)

// NBSP keeps a number and its unit on one line.
const NBSP = "\u00a0"

// Number returns n with its digits grouped, as in 12,345.
func Number(n int64) string {
	if n < 0 {
		return "−" + GroupDigits(strconv.FormatUint(uint64(-n), 10))
	}
	return GroupDigits(strconv.FormatInt(n, 10))
}

// Bytes returns a size with its unit, in powers of 1000: "980 bytes", "1.2 MB".
func Bytes(n int64) string {
	if n < 1000 {
		return Plural(n, "byte", "bytes")
	}
	size, unit := float64(n)/1000, "kB"
	for _, next := range []string{"MB", "GB", "TB"} {
		if size < 999.95 {
			break
		}
		size, unit = size/1000, next
	}
	return fmt.Sprintf("%.1f%s%s", size, NBSP, unit)
}

// GroupDigits returns digits with a comma between groups of three, counted from the right.
func GroupDigits(digits string) string {
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

// Percent returns f with up to two decimals and a percent sign, or "" for nil and NaN. A value below 100 is never
// rounded up to 100%.
func Percent(f *float64) string {
	if f == nil || math.IsNaN(*f) {
		return ""
	}
	v := site.Round2(*f)
	if v >= 100 && *f < 100 {
		v = 99.99
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + "%"
}

// Confidence returns a model's confidence, from 0 to 1, as a percentage.
func Confidence(confidence float64) string { return Percent(new(100 * confidence)) }

// Millis returns a response time: in milliseconds below ten seconds, in seconds from there on. It is "" for nil.
func Millis(ms *int) string {
	switch {
	case ms == nil:
		return ""
	case *ms < 10_000:
		return Number(int64(*ms)) + NBSP + "ms"
	default:
		return strconv.FormatFloat(float64(*ms)/1000, 'f', 1, 64) + NBSP + "s"
	}
}

// Rate returns a count per hour, with one decimal below 10.
func Rate(f float64) string {
	if f < 10 {
		return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64)
	}
	return Number(int64(math.Round(f)))
}

// Plural returns a count with its noun: 1 service, 2 services.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1" + NBSP + one
	}
	return Number(n) + NBSP + many
}

// PlainPlural is Plural for a text that is no HTML: with a plain space.
func PlainPlural(n int64, one, many string) string {
	return strings.ReplaceAll(Plural(n, one, many), NBSP, " ")
}

// Share returns a share, from 0 to 1, as a percentage, or "" for nil.
func Share(share *float64) string {
	if share == nil {
		return ""
	}
	p := *share * 100
	return Percent(&p)
}

// Age returns a duration in seconds, minutes, hours or days. It changes to the next unit when two of that unit have
// passed. It is "" for nil.
func Age(seconds *int64) string {
	if seconds == nil {
		return ""
	}
	switch s := *seconds; {
	case s < 120:
		return strconv.FormatInt(s, 10) + NBSP + "s"
	case s < 2*3600:
		return strconv.FormatInt(s/60, 10) + NBSP + "min"
	case s < 2*86400:
		return strconv.FormatInt(s/3600, 10) + NBSP + "h"
	default:
		return Number(s/86400) + NBSP + "days"
	}
}

// Moment is a time, once for machines (RFC 3339) and once for readers.
type Moment struct{ ISO, Text string }

const (
	MinuteLayout = "2 Jan 2006, 15:04"
	SecondLayout = "2 Jan, 15:04:05"
	ClockLayout  = "2 Jan, 15:04"
	DayLayout    = "2 Jan 2006"
)

// When returns a time to the minute, with its zone. It takes a site.Time or a pointer to one, and returns nil for nil
// and for the zero time.
func When(v any) (*Moment, error) { return moment(v, MinuteLayout, " UTC") }

// At returns a time to the minute, without its zone, for a column whose heading says UTC.
func At(v any) (*Moment, error) { return moment(v, MinuteLayout, "") }

// Second returns a time to the second, without year and zone, for recent times in a column whose heading says UTC.
func Second(v any) (*Moment, error) { return moment(v, SecondLayout, "") }

// Clock returns a time to the minute, without year and zone, for recent times below a heading that says UTC.
func Clock(v any) (*Moment, error) { return moment(v, ClockLayout, "") }

// Day returns the UTC day of a time.
func Day(v any) (*Moment, error) { return moment(v, DayLayout, "") }

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
