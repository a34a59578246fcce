package encode_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"tollbook/site"
	"tollbook/site/encode"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		in   any
		want string
	}{
		{"null", nil, `{"data":null}`},
		{"empty list", []string{}, `{"data":[]}`},
		{"markup as it is", "<b>&\u2028", `{"data":"<b>&\u2028"}`},
		{"exact money", new(site.Decimal("0.0000001")), `{"data":0.0000001}`},
		{"raw text is compacted", json.RawMessage("{ \"a\" :\n1 }"), `{"data":{"a":1}}`},
	} {
		got, err := encode.JSON(c.in)
		if err != nil || string(got) != c.want+"\n" {
			t.Errorf("%s: got %s, %v, want %s", c.name, got, err, c.want)
		}
		row, err := encode.Row(c.in)
		if err != nil || `{"data":`+string(row)+"}\n" != string(got) {
			t.Errorf("%s: the row is %s, %v, but the body %s", c.name, row, err, got)
		}
		if strings.ContainsAny(string(row), "\n\r") {
			t.Errorf("%s: the row %q has more than one line", c.name, row)
		}
	}
	for _, bad := range []any{math.NaN(), json.RawMessage(`{`)} {
		if _, err := encode.Row(bad); err == nil {
			t.Errorf("%v became a row", bad)
		}
		if _, err := encode.JSON(bad); err == nil {
			t.Errorf("%v became a body", bad)
		}
	}
}
