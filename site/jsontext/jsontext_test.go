package jsontext

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzValues compares the values of valid JSON with those of encoding/json, and checks that other text does no harm.
func FuzzValues(f *testing.F) {
	for _, text := range []string{
		` {"a" : 1 , "b\"\\" : [ "]" , {} , null ] , "" : "\\\\" } `, `[1,-2.5e9,"\ud800","é",[[]],{"x":{}}]`, `""`,
		`{"a":`, `[1 2]`, `{"a":}`, `[,`, `{"a" 1}`, "[\"\\\"", `[}`, strings.Repeat("[", 300),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		values, keys := []string{}, []string{}
		for value := range Elements(text) {
			values = append(values, string(value))
		}
		last := map[string]string{}
		for key, value := range Members(text) {
			keys = append(keys, Unquote(key))
			last[Unquote(key)] = string(value)
		}
		if !json.Valid(text) {
			return
		}
		if got := Depth(text); got != depthOf(text) {
			t.Errorf("depth %d, want %d", got, depthOf(text))
		}
		if first := string(First(text)); first != strings.Trim(string(text), " \t\r\n") {
			t.Errorf("first value %q", first)
		}
		var list []json.RawMessage
		var object map[string]json.RawMessage
		switch Kind(text) {
		case '[':
			if err := json.Unmarshal(text, &list); err != nil {
				t.Fatal(err)
			}
		case '{':
			if err := json.Unmarshal(text, &object); err != nil {
				t.Fatal(err)
			}
		case '"':
			var want string
			if err := json.Unmarshal(text, &want); err != nil || Unquote(First(text)) != want {
				t.Errorf("string %q, want %q: %v", Unquote(First(text)), want, err)
			}
		}
		want := make([]string, len(list))
		for i := range list {
			want[i] = string(list[i])
		}
		if diff := cmp.Diff(want, values); diff != "" {
			t.Errorf("elements (-want +got):\n%s", diff)
		}
		if len(last) != len(object) || len(keys) < len(object) {
			t.Errorf("keys %q, want those of %v", keys, object)
		}
		for key, value := range object {
			if last[key] != string(value) {
				t.Errorf("member %q is %q, want %q", key, last[key], value)
			}
		}
	})
}

// depthOf returns the levels of valid JSON, counted by encoding/json.
func depthOf(text []byte) int {
	now, deepest := 0, 0
	for d := json.NewDecoder(strings.NewReader(string(text))); ; {
		token, err := d.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			now++
			deepest = max(deepest, now)
		case json.Delim('}'), json.Delim(']'):
			now--
		}
	}
}
