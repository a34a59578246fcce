package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
)

// lookupFiles returns shards with a row for each address and recipient.
func lookupFiles(t testing.TB, addresses, recipients []string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{routes.IndexFile: []byte(`{"lists":{},"slugs":[]}`)}
	shards := func(route string, normals []string) map[string]int {
		rows := map[string][][]byte{}
		slices.SortFunc(normals, func(a, b string) int { return strings.Compare(site.Hash(a), site.Hash(b)) })
		for _, n := range normals {
			digits := site.Hash(n)[:2]
			rows[digits] = append(rows[digits], rowOf(t, routes.LookupRow{Hash: site.Hash(n), Data: n}))
		}
		sizes := map[string]int{}
		for digits, of := range rows {
			sizes[digits] = len(of)
			files[routes.LookupShardKey(routes.ByName(route), digits)] = encode.Framing{}.List(of, []byte("{}"))
		}
		return sizes
	}
	index := routes.LookupIndex{URL: shards("lookup-url", addresses), PayTo: shards("lookup-pay-to", recipients)}
	data, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	files[routes.LookupFile] = data
	return files
}

// TestLookup checks that every row of a shard is returned for its own address, and for no other.
func TestLookup(t *testing.T) {
	t.Parallel()
	var addresses, recipients []string
	for i := range 700 {
		addresses = append(addresses, fmt.Sprintf("https://api.acme.test/tool-%d", i))
		recipients = append(recipients, site.NormalRecipient("eip155:8453", fmt.Sprintf("0x%040x", i)))
	}
	recipients = append(recipients, site.NormalRecipient("near:mainnet", "acme.near"),
		site.NormalRecipient("algorand:a/b=", "XYZ"))
	files := lookupFiles(t, addresses, recipients)
	h := handlerOf(t, publish(t, files), t.Output())
	for _, normal := range addresses {
		for _, target := range []string{"/v1/lookup/url/" + site.Hash(normal) + ".json",
			"/api/v1/lookup/url/" + strings.ToUpper(site.Hash(normal))} {
			if got := get(h, target); got.Code != 200 || got.Body.String() != fmt.Sprintf("{\"data\":%q}\n", normal) {
				t.Fatalf("%s: %d %s", target, got.Code, got.Body)
			}
		}
		if got := get(h, "/v1/lookup/pay-to/x:1/"+site.Hash(normal)+".json"); got.Code != 404 {
			t.Fatalf("%s is a recipient too: %d", normal, got.Code)
		}
	}
	for _, normal := range recipients {
		for _, target := range []string{"/v1/lookup/pay-to/" + normal + ".json",
			"/v1/lookup/pay-to/" + strings.ReplaceAll(strings.ToUpper(normal), ":", "%3a")} {
			if got := get(h, target); got.Code != 200 || got.Body.String() != fmt.Sprintf("{\"data\":%q}\n", normal) {
				t.Fatalf("%s: %d %s", target, got.Code, got.Body)
			}
		}
	}
	for _, target := range []string{"/v1/lookup/url/" + site.Hash("nothing") + ".json",
		"/v1/lookup/pay-to/eip155:8453/0xdead.json", "/v1/lookup/url/zz.json", "/v1/lookup"} {
		got := get(h, target)
		if got.Code != 404 || got.Header().Get("Content-Type") != typeJSON {
			t.Errorf("%s: %d %s", target, got.Code, got.Body)
		}
	}
	hash := site.Hash(addresses[0])
	delete(files, "v1/lookup/url/"+hash[:2]+".json")
	log := &syncBuffer{}
	h = handlerOf(t, publish(t, files), log)
	for _, target := range []string{"/v1/lookup/url/" + hash + ".json", "/v1/lookup/url/" + hash[:2] + ".json"} {
		if got := get(h, target); got.Code != 500 || !strings.Contains(log.String(), hash[:2]+".json") {
			t.Errorf("%s without its shard: %d; logged: %s", target, got.Code, log)
		}
	}
}

// BenchmarkLookup looks up one of 70,000 addresses, the number that 20,000 services have. Rows have their usual size.
func BenchmarkLookup(b *testing.B) {
	addresses := make([]string, 70_000)
	for i := range addresses {
		addresses[i] = fmt.Sprintf("https://api-%d.acme.test/%s", i, strings.Repeat("path", 180))
	}
	h := handlerOf(b, publish(b, lookupFiles(b, addresses, nil)), io.Discard).(*handler)
	for _, name := range []string{"shard seen", "nothing in memory"} {
		b.Run(name, func(b *testing.B) {
			request := httptest.NewRequest(http.MethodGet, "/", nil)
			request.Header.Set("Accept-Encoding", "gzip")
			out := discard{header: http.Header{}}
			if name == "nothing in memory" {
				defer func(c *cache) { h.cache = c }(h.cache)
				h.cache = newCache(0)
			}
			shard := slices.Clone(addresses[:0])
			for _, a := range addresses {
				if site.Hash(a)[:2] == "3f" {
					shard = append(shard, a)
				}
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				request.URL.Path = "/v1/lookup/url/" + site.Hash(shard[i%len(shard)]) + ".json"
				clear(out.header)
				h.ServeHTTP(&out, request)
				if out.code != 200 {
					b.Fatal(out.code)
				}
			}
		})
	}
}
