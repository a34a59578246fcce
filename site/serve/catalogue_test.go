package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/output/archive"
	"tollbook/site"
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
	files[routes.IndexFile] = rowOf(t, routes.Index{Lists: map[string]int{q.ListKey(): total}, Slugs: []string{}, Format: archive.Format})
	h := handlerOf(t, publish(t, files), t.Output())
	rapid.Check(t, func(t *rapid.T) {
		limit, offset, size := rapid.IntRange(1, 100).Draw(t, "limit"), rapid.IntRange(0, total+120).Draw(t, "offset"),
			total
		query := fmt.Sprintf("limit=%d&offset=%d", limit, offset)
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

// TestUnappliedFilters checks the rule of the bazaar extension (x402 specs/extensions/bazaar_discovery_conformance.md):
// each answer of a catalogue names the parameters that it does not apply, or has only rows that satisfy them.
func TestUnappliedFilters(t *testing.T) {
	t.Parallel()
	q := parse(t, "/discovery/resources", "")
	const row = `{"resource":"https://api.acme.test/a"}`
	list := func(end string) string {
		return "{\"x402Version\":2,\"items\":[\n" + row + "\n],\"pagination\":{\"limit\":100,\"offset\":0,\"total\":1}" + end + "}\n"
	}
	h := handlerOf(t, publish(t, map[string][]byte{
		q.WindowFile(0).Key(): []byte(list("")), q.Key(): []byte(list("")),
		routes.IndexFile: rowOf(t, routes.Index{Lists: map[string]int{q.ListKey(): 1}, Slugs: []string{},
			Format: archive.Format}),
		routes.CatalogueColumnKey("pay_to"):     []byte(`{"data":[["0xa"]]}`),
		routes.CatalogueColumnKey("scheme"):     []byte(`{"data":[["exact"]]}`),
		routes.CatalogueColumnKey("network"):    []byte(`{"data":[["eip155:8453"]]}`),
		routes.CatalogueColumnKey("extensions"): []byte(`{"data":[["bazaar"]]}`),
	}), t.Output())
	none := "{\"x402Version\":2,\"items\":[\n],\"pagination\":{\"limit\":100,\"offset\":0,\"total\":0}}\n"
	for query, want := range map[string]string{
		"limit=100": list(""),
		"type=mcp":  none,
		"payTo=0x0000000000000000000000000000000000000001": none,
		"scheme=batch-settlement":                          none,
		"network=eip155:999999999":                         none,
		"extensions=payment-identifier":                    none,
		"network=!!!":                                      none,
		"network=eip155:8453":                              list(""),
		"asset=USDC":                                       list(`,"unappliedFilters":["asset"]`),
		"asset=USDC&asset=x&network=eip155:8453&payto=0xb": list(`,"unappliedFilters":["asset","payto"]`),
		"max%5B%22%5D=1":                                   list(`,"unappliedFilters":["max%5B%22%5D"]`),
		"asset=":                                           list(""),
	} {
		got := get(h, "/discovery/resources?"+query)
		if diff := cmp.Diff(want, got.Body.String()); got.Code != 200 || diff != "" {
			t.Errorf("%s: %d (-want +got):\n%s", query, got.Code, diff)
		}
	}
	plain, named := get(h, "/discovery/resources"), get(h, "/discovery/resources?asset=USDC")
	if plain.Header().Get("ETag") == named.Header().Get("ETag") {
		t.Error("two answers have one ETag")
	}
	for _, query := range []string{"a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1&i=1", "limit=x"} {
		got := get(h, "/discovery/resources?"+query)
		var body site.CatalogueErrorBody
		if err := json.Unmarshal(got.Body.Bytes(), &body); err != nil || got.Code != 400 || body.Code != 400 ||
			body.Error == "" || body.Type != site.ErrorInvalidParameter || len(body.Fields) == 0 {
			t.Errorf("%s: %d %s", query, got.Code, got.Body)
		}
	}
	for path, isString := range map[string]bool{"/discovery": true, "/discovery/x": true, "/discoveryx": false,
		"/v1/services?page=x": false} {
		var body struct{ Error any }
		got := get(h, path)
		if err := json.Unmarshal(got.Body.Bytes(), &body); err != nil {
			t.Errorf("%s: %v in %s", path, err, got.Body)
		}
		if _, is := body.Error.(string); is != isString {
			t.Errorf("%s: %s, want a text as error: %t", path, got.Body, isString)
		}
	}
	if got := get(h, "/v1/status?asset=USDC"); strings.Contains(got.Body.String(), "unappliedFilters") {
		t.Errorf("another route: %s", got.Body)
	}
}
