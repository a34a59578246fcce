package judge

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

func TestReadEntries(t *testing.T) {
	extra, seconds := `{"name":"USD Coin"}`, 60
	for _, c := range []struct {
		name, text string
		want       []site.SnapshotEntry
	}{
		{"one",
			`[{"asset": "0x83", "extra": "{\"name\":\"USD Coin\"}", "payTo": "0xf0e9", "price": "1000",` +
				` "maxTimeoutSeconds": 60}]`,
			[]site.SnapshotEntry{{
				Asset: "0x83", Extra: &extra, PayTo: "0xf0e9", Price: "1000", MaxTimeoutSeconds: &seconds,
			}}},
		{"none", `[]`, []site.SnapshotEntry{}},
		{"null", `null`, []site.SnapshotEntry{}},
		{"nothing", ``, []site.SnapshotEntry{}},
		{"another type", `[{"asset": 1}]`, []site.SnapshotEntry{}},
		{"cut off", `[{"asset": "a`, []site.SnapshotEntry{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, readEntries(json.RawMessage(c.text))); diff != "" {
				t.Errorf("entries (-want +got)\n%s", diff)
			}
		})
	}
}
