package x402

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value string
		want  string // schemes and parameters
	}{
		{`Payment id="a", method="tempo"`, "Payment id=a method=tempo"},
		{`Payment id="a", Payment id="b"`, "Payment id=a|Payment id=b"},
		{`Basic realm="x, Payment id=y", L402 macaroon=abc, invoice="ln\"bc"`,
			`Basic realm=x, Payment id=y|L402 invoice=ln"bc macaroon=abc`},
		{`Negotiate`, "Negotiate"}, {``, ""}, {`,,, ;`, ""}, {`="`, ""},
		{`Payment id="unterminated`, "Payment id=unterminated"},
	} {
		var got []string
		for _, c := range ReadChallenges(test.value) {
			parts := []string{}
			for key, value := range c.Params {
				parts = append(parts, key+"="+value)
			}
			slices.Sort(parts)
			got = append(got, strings.Join(append([]string{c.Scheme}, parts...), " "))
		}
		if strings.Join(got, "|") != test.want {
			t.Errorf("Read(%q) = %q, want %q", test.value, strings.Join(got, "|"), test.want)
		}
	}
}

// TestLimits checks that the last challenge and the last parameter within the limits are complete.
func TestLimits(t *testing.T) {
	t.Parallel()
	var many, wide []string
	for i := range 100 {
		many = append(many, fmt.Sprintf(`Payment id="%d"`, i))
		wide = append(wide, fmt.Sprintf(`p%d=%d`, i, i))
	}
	list := ReadChallenges(strings.Join(many, ", "))
	if len(list) != maxChallenges || list[maxChallenges-1].Params["id"] != fmt.Sprint(maxChallenges-1) {
		t.Errorf("%d challenges, the last of them %v", len(list), list[len(list)-1])
	}
	if list = ReadChallenges("Payment " + strings.Join(wide, ", ")); len(list) != 1 || len(list[0].Params) != maxParams {
		t.Errorf("%d challenges with %d parameters", len(list), len(list[0].Params))
	}
}

func FuzzReadChallenges(f *testing.F) {
	f.Add(`Payment id="a", method="tempo", L402 macaroon=abc`)
	f.Fuzz(func(t *testing.T, value string) {
		for _, c := range ReadChallenges(value) {
			if c.Scheme == "" || len(c.Params) > maxParams {
				t.Errorf("Read(%q) has %+v", value, c)
			}
		}
	})
}
