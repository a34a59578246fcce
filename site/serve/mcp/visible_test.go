package mcp

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"tollbook/site/invisible"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{`{"a":1,"b":"x"}`, `{"a":1,"b":"x"}`},
		{`{"a":"\u003c\n\t\"\\"}`, `{"a":"\u003c\n\t\"\\"}`},
		{"{\"a\":\"pay\u202eecilA\"}", "{\"a\":\"pay\uFFFDecilA\"}"},
		{`{"a":"pay\u202eecilA"}`, "{\"a\":\"pay\uFFFDecilA\"}"},
		{`{"a":"\udb40\udc41x"}`, "{\"a\":\"\uFFFDx\"}"},   // a tag character, as a surrogate pair
		{"{\"a\":\"\U000E0041x\"}", "{\"a\":\"\uFFFDx\"}"}, // the same character, unescaped
		{`{"a":"\ud83d\ude00"}`, `{"a":"\ud83d\ude00"}`},   // an emoji is visible
		{`{"a":"\b\f\u0000\u007f"}`, "{\"a\":\"\uFFFD\uFFFD\uFFFD\uFFFD\"}"},
		{"{\"a\":\"e\u0301\"}", "{\"a\":\"e\u0301\"}"},
		{"{\"a\":\"😀" + strings.Repeat("\U000E0101", 5) + "\"}",
			"{\"a\":\"😀" + strings.Repeat("\U000E0101", 3) + "\uFFFD\uFFFD\"}"},
		{"{\"\u200bkey\":[\"\u200d\"]}", "{\"\uFFFDkey\":[\"\u200d\"]}"}, // joiners are part of words
		{`{"a":"\\u202e"}`, `{"a":"\\u202e"}`},                           // an escaped backslash stays
		{"{\"a\":\"\x7f\"}", "{\"a\":\"\uFFFD\"}"},
	} {
		got, n := replaceInvisible([]byte(tt.in))
		if string(got) != tt.want || (n > 0) != (tt.in != tt.want) {
			t.Errorf("Visible(%+q) = %+q, %d, want %+q", tt.in, got, n, tt.want)
		}
	}
}

// FuzzVisible checks that valid JSON keeps its shape and contains no invisible characters afterwards. A second run must
// change nothing.
func FuzzVisible(f *testing.F) {
	f.Add("{\"a\":\"\u202e\\u202e\\ud800\\\"\"}")
	f.Add("[\"\\\\\",1e5,null,\"\\u00ad\"]")
	f.Fuzz(func(t *testing.T, in string) {
		if !json.Valid([]byte(in)) {
			return
		}
		out, _ := replaceInvisible([]byte(in))
		var v any
		d := json.NewDecoder(bytes.NewReader(out))
		d.UseNumber() // JSON has no largest number
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%+q became %+q: %v", in, out, err)
		}
		walk(v, func(s string) {
			for _, r := range s {
				if invisible.Is(r) && !unicode.IsSpace(r) {
					t.Fatalf("%+q keeps %U", out, r)
				}
			}
		})
		if again, n := replaceInvisible(out); string(again) != string(out) || n > 0 {
			t.Fatalf("%+q changes again, to %+q", out, again)
		}
	})
}

// walk calls f for each text of decoded JSON.
func walk(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []any:
		for _, e := range v {
			walk(e, f)
		}
	case map[string]any:
		for name, e := range v {
			f(name)
			walk(e, f)
		}
	}
}
