package site_test

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
)

func TestTimeIsWrittenInMilliseconds(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 2*3600)
	for _, test := range []struct {
		at   time.Time
		want string
	}{
		{time.Date(2026, 11, 20, 23, 45, 1, 0, time.UTC), `"2026-11-20T23:45:01.000Z"`},
		{time.Date(2026, 11, 21, 1, 45, 1, 2_999_999, zone), `"2026-11-20T23:45:01.002Z"`},
		{time.Date(2024, 2, 29, 0, 0, 0, 999_000_000, time.UTC), `"2024-02-29T00:00:00.999Z"`},
	} {
		got, err := json.Marshal(site.NewTime(test.at))
		if err != nil || string(got) != test.want {
			t.Errorf("%s is written %s, error %v; want %s", test.at, got, err, test.want)
		}
		var back site.Time
		if err := json.Unmarshal(got, &back); err != nil || !back.Equal(test.at.Truncate(time.Millisecond)) ||
			back.Location() != time.UTC {
			t.Errorf("%s is read as %s, error %v", got, back, err)
		}
	}
}

func TestTimeIsReadStrictly(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`"2026-11-20T23:45:01Z"`, `"2026-11-20 23:45:01.000Z"`,
		`"2026-11-20T23:45:01.000+00:00"`, `"2026-13-01T00:00:00.000Z"`, `1732146301`, `""`, `{}`} {
		var got site.Time
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s is parsed as %s", text, got)
		}
	}
	type row struct{ At *site.Time }
	var null row
	if err := json.Unmarshal([]byte(`{"At":null}`), &null); err != nil || null.At != nil {
		t.Errorf("null is read as %v, error %v", null.At, err)
	}
	if site.TimeOrNull(time.Time{}) != nil {
		t.Error("TimeOrNull of the zero time is not nil")
	}
	if got := site.TimeOrNull(time.Unix(1, 0)); got == nil || got.String() != "1970-01-01T00:00:01.000Z" {
		t.Errorf("TimeOrNull of a second after the epoch is %v", got)
	}
}

// TestTimeFormat checks that times are written as package time writes them.
func TestTimeFormat(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(-70e12, 300e12).Draw(t, "ms")).
			Add(time.Duration(rapid.IntRange(0, 999_999).Draw(t, "ns")))
		if got, want := (site.Time{Time: at}).String(), at.UTC().Format(site.TimeLayout); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

// TestTimesSortAsText checks the reason for a layout with a fixed width.
func TestTimesSortAsText(t *testing.T) {
	t.Parallel()
	instant := rapid.Custom(func(t *rapid.T) site.Time {
		return site.NewTime(time.UnixMilli(rapid.Int64Range(0, 4_000_000_000_000).Draw(t, "ms")))
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := instant.Draw(t, "a"), instant.Draw(t, "b")
		if strings.Compare(a.String(), b.String()) != a.Compare(b.Time) {
			t.Fatalf("%s and %s do not sort by time", a, b)
		}
	})
}

func TestParseDecimal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]site.Decimal{
		"0": "0", "00": "0", "0.0": "0", "1": "1", "007": "7", "0.010": "0.01", "00.5": "0.5", "100": "100",
		"100.00": "100", "5.": "5",
		"0.000000000000000001": "0.000000000000000001",
		"123456789012345678901234567890.123456789012345678901234567890": "123456789012345678901234567890.12345678901234567890123456789",
	} {
		if got, err := site.ParseDecimal(text); err != nil || got != want {
			t.Errorf("ParseDecimal(%s) = %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", ".", ".5", "-1", "+1", "1e3", "1,5", "1.2.3", " 1", "1 ", "0x10", "NaN", "Inf",
		"١", "1_000", "\"1\""} {
		if got, err := site.ParseDecimal(text); err == nil {
			t.Errorf("ParseDecimal(%q) = %s, want an error", text, got)
		}
	}
}

// TestDecimalJSON checks that amounts survive a round trip through JSON digit by digit.
func TestDecimalJSON(t *testing.T) {
	t.Parallel()
	type row struct {
		Price *site.Decimal `json:"price"`
	}
	for _, test := range []struct{ in, out string }{
		{`{"price":null}`, `{"price":null}`},
		{`{"price":0}`, `{"price":0}`},
		{`{"price":0.0010}`, `{"price":0.001}`},
		{`{"price":0.1000000000000000055511151231257827}`, `{"price":0.1000000000000000055511151231257827}`},
	} {
		var r row
		if err := json.Unmarshal([]byte(test.in), &r); err != nil {
			t.Errorf("read %s: %v", test.in, err)
			continue
		}
		if got, err := json.Marshal(r); err != nil || string(got) != test.out {
			t.Errorf("%s is %s after a round trip, error %v", test.in, got, err)
		}
	}
	for _, wrong := range []string{`{"price":"1"}`, `{"price":-1}`, `{"price":1e3}`, `{"price":true}`} {
		if err := json.Unmarshal([]byte(wrong), new(row)); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
	if got, err := json.Marshal(site.Decimal("")); err != nil || string(got) != "0" {
		t.Errorf("the zero Decimal is written %s, error %v", got, err)
	}
}

// TestDecimalsCompareByValue compares the order with exact fractions.
func TestDecimalsCompareByValue(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`[0-9]{1,25}(\.[0-9]{0,20})?|[01](\.[01]{0,4})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		da, errA := site.ParseDecimal(a)
		db, errB := site.ParseDecimal(b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		want := rat(t, a).Cmp(rat(t, b))
		if got := da.Compare(db); got != want {
			t.Fatalf("Compare(%s, %s) = %d, want %d", da, db, got, want)
		}
		if (da == db) != (want == 0) {
			t.Fatalf("%s and %s: equal text must be equal value", da, db)
		}
		if rat(t, string(da)).Cmp(rat(t, a)) != 0 {
			t.Fatalf("%s became %s", a, da)
		}
	})
}

func rat(t *rapid.T, s string) *big.Rat {
	r, ok := new(big.Rat).SetString(strings.TrimSuffix(s, "."))
	if !ok {
		t.Fatalf("%q is not a number", s)
	}
	return r
}

func TestRound2(t *testing.T) {
	t.Parallel()
	var got []float64
	for _, f := range []float64{0, 99.994, 99.995, 100.0 / 3, 0.005, 100} {
		got = append(got, site.Round2(f))
	}
	if diff := cmp.Diff([]float64{0, 99.99, 100, 33.33, 0.01, 100}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
