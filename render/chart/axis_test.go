package chart

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

func TestAxis(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		most   string
		least  int64
		format func(*big.Rat) string
		want   string // labels from the top
	}{
		{"0", 0, dollarTick, "$1 $0.50 $0"},
		{"1", 0, dollarTick, "$1 $0.50 $0"},
		{"1000.125", 0, dollarTick, "$1,500 $1,000 $500 $0"},
		{"250", 0, dollarTick, "$300 $200 $100 $0"},
		{"0.0000001", 0, dollarTick, "$0.0000001 $0.00000005 $0"},
		{"0.0025", 0, dollarTick, "$0.003 $0.002 $0.001 $0"},
		{"1000000000000000000", 0, dollarTick, "$1.00 × 10^18 $5.00 × 10^17 $0"},
		{"1", 1, numberTick, "1 0"},
		{"3", 1, numberTick, "3 2 1 0"},
		{"953", 1, millisTick, "1,000 ms 500 ms 0 ms"},
		{"30000", 1, millisTick, "30.0 s 20.0 s 10.0 s 0 ms"},
	} {
		most, _ := new(big.Rat).SetString(c.most)
		got := strings.ReplaceAll(strings.Join(newAxis(most, c.least, c.format).ticks, " "), "\u00a0", " ")
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("up to %s (-want +got):\n%s", c.most, diff)
		}
	}
}

// TestDateTicks checks the ticks of each range, in a calendar that begins in one year and ends in the next.
func TestDateTicks(t *testing.T) {
	t.Parallel()
	c := NewCalendar(site.NewTime(time.Date(2027, 1, 5, 12, 0, 0, 0, time.UTC)))
	var got []string
	for tick := range strings.SplitSeq(strings.TrimSuffix(string(c.ticks.html()), "</svg>"), "</svg>") {
		class, rest, _ := strings.Cut(strings.TrimPrefix(tick, `<svg class="`), `" x="`)
		x, _, _ := strings.Cut(rest, `"`)
		_, label, _ := strings.Cut(tick, `y="100%">`)
		got = append(got, class+" "+x+" "+strings.TrimSuffix(label, "</text>"))
	}
	want := []string{
		"half 7.78% 15 Oct", "month 26.67% 1 Nov", "half 42.22% 15 Nov", "month 60.00% 1 Dec", "week 66.67% 7 Dec",
		"week 74.44% 14 Dec", "half 75.56% 15 Dec", "week 82.22% 21 Dec", "week 90.00% 28 Dec", "day 92.22% 30 Dec",
		"day other 93.33% 31 Dec", "month end 94.44% 1 Jan 2027", "day 94.44% 1 Jan", "day other 95.56% 2 Jan",
		"day 96.67% 3 Jan", "week end 97.78% 4 Jan", "day other 97.78% 4 Jan", "day 98.89% 5 Jan",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ticks (-want +got):\n%s", diff)
	}
}
