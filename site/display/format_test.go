package display

import (
	"math"
	"testing"

	"tollbook/site"
)

func TestDollars(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   site.Decimal
		want string
	}{
		{"0", "$0"},
		{"0.01", "$0.01"},
		{"0.1", "$0.10"},
		{"5", "$5"},
		{"1.5", "$1.50"},
		{"0.0025", "$0.0025"},
		{"0.0000001", "$0.0000001"},
		{"0.000000000000000001", "$0.000000000000000001"},
		{"999", "$999"},
		{"1000", "$1,000"},
		{"12345.678", "$12,345.678"},
		{"1000000", "$1,000,000"},
		{"999999999999999", "$999,999,999,999,999"},
		{"1000000000000000", "$1.00 × 10^15"},
		{"1234567890123456789012345678901234567890", "$1.23 × 10^39"},
		{"", ""},
	} {
		if got := Dollars(c.in); got != c.want {
			t.Errorf("Dollars(%q) = %q, want %q", c.in, got, c.want)
		}
	}
	if got := DollarsOrNull(nil); got != "" {
		t.Errorf("an unknown price is %q", got)
	}
}

func TestPercent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   float64
		want string
	}{
		{0, "0%"},
		{100, "100%"},
		{99.95, "99.95%"},
		{99.4, "99.4%"},
		{33.3333, "33.33%"},
		{99.9999, "99.99%"}, // never rounded up to 100%
		{math.NaN(), ""},
	} {
		if got := Percent(&c.in); got != c.want {
			t.Errorf("percent(%v) = %q, want %q", c.in, got, c.want)
		}
	}
	if got := Percent(nil); got != "" {
		t.Errorf("an unknown percentage is %q", got)
	}
}

func TestMillis(t *testing.T) {
	t.Parallel()
	for in, want := range map[int]string{0: "0\u00a0ms", 703: "703\u00a0ms", 1370: "1,370\u00a0ms",
		9999: "9,999\u00a0ms", 10_000: "10.0\u00a0s", 12_345: "12.3\u00a0s"} {
		if got := Millis(&in); got != want {
			t.Errorf("millis(%d) = %q, want %q", in, got, want)
		}
	}
	if got := Millis(nil); got != "" {
		t.Errorf("an unknown time is %q", got)
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for in, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567",
		-1234: "−1,234", math.MinInt64: "−9,223,372,036,854,775,808"} {
		if got := Number(in); got != want {
			t.Errorf("number(%d) = %q, want %q", in, got, want)
		}
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	for in, want := range map[float64]string{0: "0", 0.04: "0", 0.25: "0.3", 9.96: "10", 214.4: "214",
		12345.6: "12,346"} {
		if got := Rate(in); got != want {
			t.Errorf("rate(%v) = %q, want %q", in, got, want)
		}
	}
}

func TestMoment(t *testing.T) {
	t.Parallel()
	var instant site.Time
	if err := instant.UnmarshalJSON([]byte(`"2026-11-02T03:04:05.678Z"`)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		format func(any) (*Moment, error)
		want   string
	}{
		{"when", When, "2 Nov 2026, 03:04 UTC"},
		{"at", At, "2 Nov 2026, 03:04"},
		{"second", Second, "2 Nov, 03:04:05"},
		{"clock", Clock, "2 Nov, 03:04"},
		{"day", Day, "2 Nov 2026"},
	} {
		for _, v := range []any{instant, &instant} {
			m, err := c.format(v)
			if err != nil || m.Text != c.want || m.ISO != "2026-11-02T03:04:05.678Z" {
				t.Errorf("%s(%T) = %v, %v, want %q", c.name, v, m, err, c.want)
			}
		}
		for _, v := range []any{site.Time{}, (*site.Time)(nil)} {
			if m, err := c.format(v); m != nil || err != nil {
				t.Errorf("%s of an unknown time = %v, %v", c.name, m, err)
			}
		}
		if _, err := c.format("yesterday"); err == nil {
			t.Errorf("%s accepted a string as a time", c.name)
		}
	}
}
