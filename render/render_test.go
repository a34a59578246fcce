package render_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"tollbook/render"
	"tollbook/site"
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
		{"exact money", ptr(site.Decimal("0.0000001")), `{"data":0.0000001}`},
		{"raw text is compacted", json.RawMessage("{ \"a\" :\n1 }"), `{"data":{"a":1}}`},
	} {
		got, err := render.JSON(c.in)
		if err != nil || string(got) != c.want+"\n" {
			t.Errorf("%s: got %s, %v, want %s", c.name, got, err, c.want)
		}
		row, err := render.Row(c.in)
		if err != nil || `{"data":`+string(row)+"}\n" != string(got) {
			t.Errorf("%s: the row is %s, %v, but the body %s", c.name, row, err, got)
		}
		if strings.ContainsAny(string(row), "\n\r") {
			t.Errorf("%s: the row %q has more than one line", c.name, row)
		}
	}
	for _, bad := range []any{math.NaN(), json.RawMessage(`{`)} {
		if _, err := render.Row(bad); err == nil {
			t.Errorf("%v became a row", bad)
		}
		if _, err := render.JSON(bad); err == nil {
			t.Errorf("%v became a body", bad)
		}
	}
}

// A body is what a client reads back, and the same value gives the same bytes.
func TestJSONReadsBack(t *testing.T) {
	t.Parallel()
	detail := acme().Detail
	first, err := render.JSON(detail)
	if err != nil {
		t.Fatal(err)
	}
	var body struct{ Data site.ServiceDetail }
	if err := json.Unmarshal(first, &body); err != nil {
		t.Fatal(err)
	}
	second, err := render.JSON(body.Data)
	if err != nil || string(first) != string(second) {
		t.Errorf("%v: it was\n%s\nand became\n%s", err, first, second)
	}
}
