package judge

import (
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
)

func mustParseUSD(t interface{ Fatal(...any) }, s string) usd {
	u, err := parseUSD(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestUSD(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]site.Decimal{
		"0": "0", "1": "1", "0.10": "0.1", "007": "7", "9.99": "9.99", "0.000000000000000001": "0.000000000000000001",
		"12345678901234567890.5": "12345678901234567890.5", "18.446744073709551616": "18.446744073709551616",
	} {
		if got := mustParseUSD(t, text).decimal(); got != want {
			t.Errorf("%s = %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", ".5", "-1", "1e6", "0x10", "1.0000000000000000001", "99999999999999999999999999",
		"1.2.3", " 1", "1_000"} {
		if u, err := parseUSD(text); err == nil {
			t.Errorf("%q is read as %s, want an error", text, u.decimal())
		}
	}
}

func TestSharesAreMicroDollars(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		total string
		n     int
		want  []site.Decimal
	}{
		{"0", 3, []site.Decimal{"0", "0", "0"}},
		{"1", 1, []site.Decimal{"1"}},
		{"10", 3, []site.Decimal{"3.333334", "3.333333", "3.333333"}},
		{"0.000002", 3, []site.Decimal{"0.000001", "0.000001", "0"}},
		{"20", 3, []site.Decimal{"6.666667", "6.666667", "6.666666"}},
		{"0.000001000000000001", 2, []site.Decimal{"0.000001", "0.000000000000000001"}}, // of a token with 18 decimals
	} {
		var got []site.Decimal
		for i := range c.n {
			got = append(got, mustParseUSD(t, c.total).share(i, c.n).decimal())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s among %d (-want +got):\n%s", c.total, c.n, diff)
		}
	}
}

// TestSharesAddUp checks that shares add up to the whole, that they differ by at most a micro-dollar with the largest
// first, and that none falls while the whole rises.
func TestSharesAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.StringMatching(`[0-9]{1,12}(\.[0-9]{1,18})?`)
		total, n := mustParseUSD(t, digits.Draw(t, "total")), rapid.IntRange(1, 40).Draw(t, "n")
		more := total.plus(mustParseUSD(t, digits.Draw(t, "more")))
		var sum usd
		for i := range n {
			p := total.share(i, n)
			sum.add(p)
			if i > 0 && p.units().Cmp(total.share(i-1, n).units()) > 0 {
				t.Fatalf("share %d is larger than the one before it", i)
			}
			if p.units().Cmp(more.share(i, n).units()) > 0 {
				t.Fatalf("share %d falls from %s to %s while the whole rises", i, p.decimal(),
					more.share(i, n).decimal())
			}
		}
		if sum.decimal() != total.decimal() {
			t.Fatalf("shares sum to %s, want %s", sum.decimal(), total.decimal())
		}
		if gap := total.share(0, n).minus(total.share(n-1, n)); gap.units().Cmp(big.NewInt(usdMicro)) > 0 {
			t.Fatalf("the largest and the smallest share differ by %s", gap.decimal())
		}
	})
}

func TestRatio(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		times int64
		a, b  string
		want  *float64
	}{
		{1, "1", "0", nil}, {1, "0", "3", new(0.0)}, {1, "1", "3", new(0.3333)}, {1, "2", "3", new(0.6667)},
		{1, "5", "5", new(1.0)},
		{1, "0.00005", "1", new(0.0001)}, {30, "7", "210", new(1.0)},
		{1, "90000000000000000001", "100000000000000000000", new(0.9)},
	} {
		if diff := cmp.Diff(c.want, ratio(c.times, mustParseUSD(t, c.a), mustParseUSD(t, c.b))); diff != "" {
			t.Errorf("%d * %s / %s (-want +got):\n%s", c.times, c.a, c.b, diff)
		}
	}
}
