package serve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site/routes"
)

// TestCatalogueIsSlice checks that limit and offset cut a catalogue like a slice.
func TestCatalogueIsSlice(t *testing.T) {
	t.Parallel()
	const total = 237
	q := parse(t, "/discovery/resources", "")
	files := map[string][]byte{}
	var lines [][]byte
	for i := range total {
		lines = append(lines, []byte(fmt.Sprintf(`{"resource":"https://api.acme.test/%d"}`, i)))
	}
	naive := func(limit, offset, total int) string {
		text := "{\"x402Version\":2,\"items\":[\n"
		if from := min(offset, total); from < total {
			var rows []string
			for _, l := range lines[from:min(from+limit, total)] {
				rows = append(rows, string(l))
			}
			text += strings.Join(rows, ",\n") + "\n"
		}
		return text + fmt.Sprintf("],\"pagination\":{\"limit\":%d,\"offset\":%d,\"total\":%d}}\n", limit, offset, total)
	}
	for file := range 3 {
		files[q.WindowFile(file).Key()] = []byte(naive(100, 100*file, total))
	}
	files[q.Key()] = []byte(naive(100, 0, total))
	files[routes.IndexFile] = rowOf(t, routes.Index{Lists: map[string]int{q.ListKey(): total}, Slugs: []string{}})
	h := handlerOf(t, publish(t, files), t.Output())
	rapid.Check(t, func(t *rapid.T) {
		limit, offset, size := rapid.IntRange(1, 100).Draw(t, "limit"), rapid.IntRange(0, total+120).Draw(t, "offset"),
			total
		query := fmt.Sprintf("limit=%d&offset=%d&facilitator=ignored", limit, offset)
		switch rapid.SampledFrom([]string{"", "http", "mcp"}).Draw(t, "type") {
		case "http":
			query += "&type=http"
		case "mcp":
			filter := rapid.SampledFrom([]string{"", "&scheme=exact", "&payTo=0xA&extensions=bazaar"}).Draw(t, "filter")
			query, size = query+"&type=mcp"+filter, 0
		}
		got := get(h, "/discovery/resources?"+query)
		if diff := cmp.Diff(naive(limit, offset, size), got.Body.String()); got.Code != 200 || diff != "" {
			t.Fatalf("%s: %d (-want +got):\n%s", query, got.Code, diff)
		}
	})
	if got := get(h, "/discovery/search?type=mcp&query=weather&scheme=exact"); got.Code != 200 {
		t.Errorf("a search in a type without rows: %d %s", got.Code, got.Body)
	}
	for _, target := range []string{"/discovery/resources?limit=101", "/discovery/resources?type=grpc",
		"/discovery/resources?offset=-1", "/discovery/nothing"} {
		if got := get(h, target); got.Code/100 != 4 || got.Header().Get("Content-Type") != typeJSON {
			t.Errorf("%s: %d %s", target, got.Code, got.Body)
		}
	}
}
