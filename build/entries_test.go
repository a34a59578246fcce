package build

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// entryText is an entry as Postgres writes it.
const entryText = `{"asset": "0x83", "extra": "{\"name\":\"USD Coin\",\"at\":\"a\\\\b\"}", "payTo": "0xf0e9…4aef", "price": "1000", "scheme": "exact", "network": "eip155:8453", "endpoint": "GET /v1/<a>&b", "mimeType": "application/json", "resource": null, "assetName": "USDC", "x402Version": 2, "maxTimeoutSeconds": 60}`

// leastEntryText is one without all that an entry may lack.
const leastEntryText = `{"asset": "", "extra": null, "payTo": "", "price": "", "scheme": "", "network": "", "endpoint": "", "mimeType": null, "resource": "r", "assetName": "", "x402Version": -1, "maxTimeoutSeconds": null}`

// TestEntries holds what is read quickly to what encoding/json reads, and all that isn't as Postgres writes it to
// encoding/json.
func TestEntries(t *testing.T) {
	for _, c := range []struct {
		name, text string
		quick      bool
	}{
		{"none", `[]`, true},
		{"one", `[` + entryText + `]`, true},
		{"nulls", `[` + leastEntryText + `]`, true},
		{"several", `[` + entryText + `, ` + leastEntryText + `, ` + entryText + `]`, true},
		{"a line break in a text", `[{"asset": "a\nb", "extra": null, "payTo": "", "price": "", "scheme": "", "network": "", "endpoint": "", "mimeType": null, "resource": null, "assetName": "", "x402Version": 1, "maxTimeoutSeconds": null}]`, false},
		{"a member that is missing", `[{"asset": "a", "price": "1"}]`, false},
		{"another member", `[{"asset": "a", "extra": null, "payTo": "", "price": "", "scheme": "", "later": 1}]`, false},
		{"without spaces", `[{"asset":"a","extra":null}]`, false},
		{"another order", `[{"price": "1", "asset": "a"}]`, false},
		{"another type", `[{"asset": 1}]`, false},
		{"a fraction", `[{"asset": "", "extra": null, "payTo": "", "price": "", "scheme": "", "network": "", "endpoint": "", "mimeType": null, "resource": null, "assetName": "", "x402Version": 1.5, "maxTimeoutSeconds": null}]`, false},
		{"null", `null`, false},
		{"an object", `{}`, false},
		{"nothing", ``, false},
		{"cut off", `[` + entryText[:40], false},
		{"cut off in an escape", `[{"asset": "a\`, false},
		{"without an end", `[` + entryText, false},
		{"two without a comma", `[` + entryText + entryText + `]`, false},
		{"a comma too many", `[` + entryText + `, ]`, false},
		{"something behind", `[` + entryText + `] []`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := []site.SnapshotEntry{}
			if json.Unmarshal([]byte(c.text), &want) != nil || want == nil {
				want = []site.SnapshotEntry{}
			}
			if diff := cmp.Diff(want, entries(json.RawMessage(c.text))); diff != "" {
				t.Errorf("entries (-want +got)\n%s", diff)
			}
			if _, quick := readEntries(c.text); quick != c.quick {
				t.Errorf("read quickly: %v, want %v", quick, c.quick)
			}
		})
	}
}

// FuzzEntries holds what is read quickly to encoding/json, where it is what jsonb may hold.
func FuzzEntries(f *testing.F) {
	f.Add(`[` + entryText + `, ` + leastEntryText + `]`)
	f.Fuzz(func(t *testing.T, text string) {
		got, quick := readEntries(text)
		if !quick || !json.Valid([]byte(text)) || !utf8.ValidString(text) {
			t.Skip()
		}
		var want []site.SnapshotEntry
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("read of what is none: %v", err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("entries (-want +got)\n%s", diff)
		}
	})
}
