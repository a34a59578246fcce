package encode

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type csvRow struct {
	csvBase
	Text     string         `json:"text"`
	Number   *float64       `json:"number"`
	At       time.Time      `json:"at"`
	Words    []string       `json:"words"`
	Inner    *csvInner      `json:"inner"`
	Objects  []csvInner     `json:"objects"`
	Lists    [][]string     `json:"lists"`
	Values   map[string]int `json:"values"`
	Optional string         `json:"optional,omitempty"`
	Unseen   string         `json:"-"`
}

type csvBase struct {
	Base bool `json:"base"`
}

type csvInner struct {
	Slug string `json:"slug"`
	Sum  int    `json:"sum"`
}

// TestCSV checks which members are columns, and how values of each type are written.
func TestCSV(t *testing.T) {
	t.Parallel()
	number, below := 0.25, -0.5
	rows := []csvRow{
		{Text: "a", Words: []string{}},
		{csvBase{true}, "say \"hi\",\nthen\u202e <b>", &number, time.Unix(0, 0).UTC(), []string{"x", "y"},
			&csvInner{"s", 7}, []csvInner{{}}, [][]string{{"q"}}, map[string]int{"k": 1}, "o", "never"},
	}
	const head = "base,text,number,at,words,inner.slug,inner.sum,optional\n"
	for _, test := range []struct {
		name string
		rows []csvRow
		want string
	}{
		{"no rows", nil, head},
		{"empty and full", rows, head + "false,a,,0001-01-01T00:00:00Z,,,,\n" +
			"true,\"say \"\"hi\"\",\nthen\ufffd <b>\",0.25,1970-01-01T00:00:00Z,x y,s,7,o\n"},
		{"formulas", []csvRow{{Text: `=HYPERLINK("http://evil.example")`, Number: &below, Words: []string{"@a", "-b"},
			Inner: &csvInner{"+1", -7}, Optional: "\t=1"}}, head +
			"false,\"'=HYPERLINK(\"\"http://evil.example\"\")\",-0.5,0001-01-01T00:00:00Z,'@a -b,'+1,-7,'\t=1\n"},
	} {
		got, err := CSV(test.rows)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
