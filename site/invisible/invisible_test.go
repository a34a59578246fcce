package invisible

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTexts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, dropped, replaced string }{
		{"plain\ttext\r\n", "plain\ttext\r\n", "plain\ttext\r\n"},
		{"a\u202eb\u2066c\u200fd\u061ce", "abcde", "a\ufffdb\ufffdc\ufffdd\ufffde"},
		{"a\x00b\x1b[2Jc\x7fd\u0085e", "ab[2Jcde", "a\ufffdb\ufffd[2Jc\ufffdd\ufffde"},
		{"zero\u200b\u2060\ufeffwidth", "zerowidth", "zero\ufffd\ufffd\ufffdwidth"},
		{"tags\U000e0041\U000e007f", "tags", "tags\ufffd\ufffd"},
		{"fillers\u3164\u115f, private\ue000, lines\u2028\u2029", "fillers, private, lines",
			"fillers\ufffd\ufffd, private\ufffd, lines\ufffd\ufffd"},
		{"👩🏽\u200d💻 می\u200cخواهم שלום", "👩🏽\u200d💻 می\u200cخواهم שלום", "👩🏽\u200d💻 می\u200cخواهم שלום"},
	} {
		if diff := cmp.Diff([]string{test.dropped, test.replaced},
			[]string{Drop(test.text), Replace(test.text)}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.text, diff)
		}
	}
}

func TestEscapeJSON(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ json, want string }{
		{"{\"a\":\"é…\"}\n", "{\"a\":\"é…\"}\n"},
		{"{\"a\":\"pay\u202eecilA\"}\n", `{"a":"pay\u202eecilA"}` + "\n"},
		{"[\"\U000e0041é\x7f\u0085\"]", `["\udb40\udc41é\u007f\u0085"]`},
		{`["\\u202e"]`, `["\\u202e"]`},
	} {
		if got := string(EscapeJSON([]byte(test.json))); got != test.want {
			t.Errorf("EscapeJSON(%q) = %q, want %q", test.json, got, test.want)
		}
	}
}

// FuzzEscapeJSON escapes the JSON of any text: the value stays the same, and no invisible character is left.
func FuzzEscapeJSON(f *testing.F) {
	f.Add("a\u202e\U000e0041\xff\u2028b")
	f.Fuzz(func(t *testing.T, s string) {
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var want, got string
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		escaped := EscapeJSON(data)
		if err := json.Unmarshal(escaped, &got); err != nil || got != want {
			t.Errorf("%q: %s is %q, %v", s, escaped, got, err)
		}
		if strings.ContainsFunc(string(escaped), Is) || !utf8.Valid(escaped) {
			t.Errorf("%q: %q has an invisible character", s, escaped)
		}
	})
}
