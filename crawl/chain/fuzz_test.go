package chain

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzAnswers reads arbitrary bodies. Reading must end within the body, and encoding/json must read the results the
// same.
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{
		`[{"jsonrpc":"2.0","id":1,"result":"0x1"},{"jsonrpc":"2.0","id":2,"result":[{"address":"0x00","topics":[]}]}]`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch \"too\" large"}}`,
		`[{"id":2,"result":null},{"result":{"a":[1,2.5e3,true,"\u00e9\\"]},"id":1}]`,
		`<html>`, ``, `[`, `{"id":1,"result":"`, "\xff", `[[[[`, `{"id":1,"id":2,"result":{}}`,
	} {
		f.Add([]byte(s), byte(2))
	}
	f.Fuzz(func(t *testing.T, body []byte, n byte) {
		results := make([]*[]byte, int(n)%5+1)
		for i := range results {
			results[i] = new([]byte)
		}
		refused, err := readAnswers(body, results, false)
		if refused != nil {
			_ = refused.kindOf()
		}
		if err != nil || refused != nil {
			return
		}
		if !json.Valid(body) {
			return // skipped values are only checked for balance
		}
		var list []struct {
			ID     json.RawMessage
			Result json.RawMessage
		}
		if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
			err = json.Unmarshal(body, &list)
		} else {
			list = append(list, struct{ ID, Result json.RawMessage }{})
			err = json.Unmarshal(body, &list[0])
		}
		if err != nil {
			t.Fatalf("%q: read as answers, but %v", body, err)
		}
		for i, r := range results {
			if !json.Valid(*r) {
				t.Fatalf("%q: result %d is %q, no JSON", body, i+1, *r)
			}
		}
	})
}
