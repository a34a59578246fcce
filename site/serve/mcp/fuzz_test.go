package mcp

import (
	"encoding/json"
	"testing"
)

// FuzzArguments calls every tool with arguments that no client would send. Each call returns an error with a message,
// or valid arguments.
func FuzzArguments(f *testing.F) {
	f.Add([]byte(`{"query":"acme","per_page":5,"status":null}`))
	f.Add([]byte(`{"slug":["a","b"]}`))
	f.Add([]byte(`{"slug":{"a":1},"slug":"../../etc"}`))
	f.Add([]byte(`{"url":"https://a.example/\u0000","per_page":1e400}`))
	f.Add([]byte(`[]`))
	f.Add([]byte(`null`))
	for i := range tools {
		if _, err := tools[i].describe(); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for i := range tools {
			values, wrong := tools[i].values(json.RawMessage(raw))
			if wrong != nil {
				var e struct {
					Error struct{ Message, Type string }
				}
				if err := json.Unmarshal(wrong.body.Bytes(), &e); err != nil || e.Error.Message == "" ||
					wrong.code != 400 {
					t.Errorf("%s refuses %q with %d %q", tools[i].name, raw, wrong.code, wrong.body.String())
				}
				continue
			}
			for _, a := range tools[i].arguments {
				if value, ok := values[a.name]; !ok || a.required && value == "" {
					t.Errorf("%s takes %q without %s", tools[i].name, raw, a.name)
				}
			}
		}
	})
}
