// Package display returns figures, instants and other people's words in the form that a reader sees: on pages, in
// Markdown, in feeds and in what agents are told. What is unknown is "", never zero. Words lose every character that is
// not seen; markup in them is for html/template to escape, or for Markdown.
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

// Number groups the digits of n: 12,345.
func Number(n int64) string {
	if n < 0 {
		return "−" + GroupDigits(strconv.FormatUint(uint64(-n), 10))
	}
	return GroupDigits(strconv.FormatInt(n, 10))
}

// GroupDigits puts a comma before every third digit from the right.
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

// Percent has up to two decimals. What is not quite all does not read as all.
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

// WholePercent returns a percentage without decimals, for a sentence. It is "" for an unknown one.
func WholePercent(f *float64) string {
	if f == nil || math.IsNaN(*f) {
		return ""
	}
	return strconv.FormatFloat(math.Round(*f), 'f', 0, 64) + "%"
}

// Confidence is a model's confidence, from 0 to 1, in percent.
func Confidence(confidence float64) string { return Percent(new(100 * confidence)) }

// Millis is a response time: milliseconds below ten seconds, then seconds.
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

// Rate is a count an hour, with a decimal where it is small.
func Rate(f float64) string {
	if f < 10 {
		return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64)
	}
	return Number(int64(math.Round(f)))
}

// Plural is a count with its noun: 1 service, 2 services.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1" + NBSP + one
	}
	return Number(n) + NBSP + many
}

// Share is a share, 0 to 1, as percent; "" for null.
func Share(share *float64) string {
	if share == nil {
		return ""
	}
	p := *share * 100
	return Percent(&p)
}

// Age is how long ago something was, in the largest unit that it fills; "" for null.
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

// Moment is an instant for machines and for readers.
type Moment struct{ ISO, Text string }

const (
	minuteLayout = "2 Jan 2006, 15:04"
	SecondLayout = "2 Jan, 15:04:05"
	DayLayout    = "2 Jan 2006"
)

// When is an instant to the minute; nil and the zero instant are unknown. It takes a site.Time or a pointer to one.
func When(v any) (*Moment, error) { return moment(v, minuteLayout, " UTC") }

// At is an instant to the minute under a heading that says UTC.
func At(v any) (*Moment, error) { return moment(v, minuteLayout, "") }

// Second is an instant of the last weeks to the second under a heading that says UTC.
func Second(v any) (*Moment, error) { return moment(v, SecondLayout, "") }

// Day is the UTC day of an instant.
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
