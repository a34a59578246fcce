package x402

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestToolSchema(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxToolSchema)
	for _, tt := range []struct{ name, raw, want string }{
		{"a schema", ` {"type":"object", "properties":{"city":{"type":"string"}}}`,
			`{"properties":{"city":{"type":"string"}},"type":"object"}`},
		{"none", ``, ``}, {"a text", `"object"`, ``}, {"a list", `[{}]`, ``}, {"null", `null`, ``},
		{"cut off", `{"type":`, ``}, {"with more after it", `{} {}`, ``},
		{"nested too deeply", strings.Repeat(`{"a":`, 65) + `1` + strings.Repeat(`}`, 65), ``},
		{"too long", `{"description":"` + long + `"}`, ``},
		{"megabytes of spaces", `{` + strings.Repeat(" ", 1<<20) + `}`, ``},
		{"a key twice", `{"type":"array","type":"object"}`, `{"type":"object"}`},
		{"a NUL and half a character", "{\"title\":\"a\\u0000b\\ud800\xff\"}", "{\"title\":\"a\ufffdb\ufffd\ufffd\"}"},
		{"a number that no database takes", `{"maximum":1e999999}`, `{"maximum":"1e999999"}`},
	} {
		if got := ToolSchema(json.RawMessage(tt.raw)); got != tt.want {
			t.Errorf("%s: %.80s, want %.80s", tt.name, got, tt.want)
		}
	}
}

// TestMessagesWithMark checks that a byte order mark hides no message.
func TestMessagesWithMark(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"id":1}`, "\ufeff{\"id\":1}", " {\"id\":1}\n"} {
		got := Messages(Answer{Status: 200, Body: []byte(body)})
		if len(got) != 1 || string(got[0]) != `{"id":1}` {
			t.Errorf("%q has the messages %s", body, got)
		}
	}
}
