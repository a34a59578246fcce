package crawl

import (
	"bytes"
	"errors"
	"testing"
	"unicode/utf8"

	"tollbook/crawl/list"
)

// FuzzDirectory reads arbitrary bytes as a directory's file. An accepted directory must be written and read
// again to the same bytes, and contain nothing that Postgres can't store.
func FuzzDirectory(f *testing.F) {
	const (
		head        = `{"kind":"tollbook-directory","version":1,"contacts":true}` + "\n"
		facilitator = `{"kind":"facilitator","id":"acme","name":"Acme","website_url":"https://acme.example",` +
			`"docs_url":null,"facilitator_url":null,"upstream_status":"listed","trusted":true,` +
			`"addresses":[{"network":"eip155:8453","address":"0x209693bc6afc0c5328ba36faf03c514ef312287c",` +
			`"tokens":["0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"],"since":"2026-01-02","deprecated":false}]}` + "\n"
		measured = `{"kind":"token","network":"eip155:8453",` +
			`"address":"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913","symbol":"USDC","decimals":6,"usd":true}` + "\n"
		service = `{"kind":"service","slug":"acme","name":"Acme","description":"d","base_url":"https://` +
			`api.acme.example","website_url":"https://acme.example","category":"AI","source":"imported:list.json",` +
			`"check_interval_seconds":900,"created_at":"2026-11-01T00:00:00Z","ownership_token":null,` +
			`"endpoints":[{"method":"GET","path":"/a"}],"audit":[]}` + "\n"
		oneSubmitted = `{"kind":"submission","url":"https://b.example","email":"a@b.example","endpoints":["/a"],` +
			`"state":"pending","audit":[]}` + "\n"
		erased = `{"kind":"erased","slug":"gone"}` + "\n"
	)
	f.Add([]byte(head + `{"kind":"end","lines":1}`))
	f.Add([]byte(head + facilitator + measured + `{"kind":"end","lines":3}`))
	f.Add([]byte(head + service + oneSubmitted + erased + `{"kind":"end","lines":4}`))
	f.Add([]byte(head + service + service + `{"kind":"end","lines":3}`))
	f.Add([]byte(head + `{"kind":"end","lines":1}` + "\n" + erased))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := ReadDirectory("directory.jsonl", bytes.NewReader(data))
		if err != nil {
			if fault := new(list.Fault); errors.As(err, &fault) &&
				(fault.Line < 0 || fault.Line > bytes.Count(data, []byte("\n"))+1) {
				t.Errorf("%v: the file has %d lines", err, bytes.Count(data, []byte("\n"))+1)
			}
			return
		}
		var once, twice bytes.Buffer
		if err := WriteDirectory(&once, d, true); err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(once.Bytes()) {
			t.Errorf("Postgres can't store %q", once.Bytes())
		}
		again, err := ReadDirectory("again.jsonl", bytes.NewReader(once.Bytes()))
		if err != nil {
			t.Fatalf("a written directory is refused: %v\n%s", err, once.Bytes())
		}
		if err := WriteDirectory(&twice, again, true); err != nil || !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Errorf("%v: written again, %s is %s", err, once.Bytes(), twice.Bytes())
		}
	})
}
