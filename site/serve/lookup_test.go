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

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
)

// lookupFiles returns shards with a row for each address and recipient.
func lookupFiles(t testing.TB, addresses, recipients []string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{routes.IndexFile: []byte(`{"format":1,"lists":{},"slugs":[]}`)}
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

// TestLookupAssessments checks that include=assessment adds the assessment of each service to its look-up, and that
// every other byte stays.
func TestLookupAssessments(t *testing.T) {
	t.Parallel()
	services := nasty(50, nameParts)
	files := scanFiles(t, services)
	name := `odd "services":[{}],"clipped":`
	lookupOf := func(i int) site.LookupService { return site.LookupService{Slug: services[i].Slug, Name: name} }
	hash := site.Hash("https://acme.test")
	recipient := site.NormalRecipient("eip155:8453", "0xabc")
	shards := routes.LookupIndex{URL: map[string]int{hash[:2]: 1}, PayTo: map[string]int{site.Hash(recipient)[:2]: 1}}
	for route, row := range map[string]routes.LookupRow{
		"lookup-url": {Hash: hash, Data: site.AddressLookup{Service: lookupOf(41)}},
		"lookup-pay-to": {Hash: site.Hash(recipient), Data: site.RecipientLookup{PayTo: "0xabc",
			Services: []site.RecipientService{{LookupService: lookupOf(3)}, {LookupService: lookupOf(49)}}}},
	} {
		files[routes.LookupShardKey(routes.ByName(route), row.Hash[:2])] =
			encode.Framing{}.List([][]byte{rowOf(t, row)}, []byte("{}"))
	}
	data, err := json.Marshal(shards)
	if err != nil {
		t.Fatal(err)
	}
	files[routes.LookupFile] = data
	h := handlerOf(t, publish(t, files), t.Output())
	for target, places := range map[string][]int{
		"/v1/lookup/url/" + hash + ".json": {41}, "/v1/lookup/pay-to/" + recipient: {3, 49},
	} {
		plain, got := get(h, target), get(h, target+"?include=assessment")
		if plain.Code != 200 || got.Code != 200 {
			t.Fatalf("%s: %d, with assessments %d %s", target, plain.Code, got.Code, got.Body)
		}
		rest := got.Body.String()
		for _, place := range places {
			member := `,"assessment":` + string(rowOf(t, services[place].Assessment))
			if n := strings.Count(rest, member+"}"); n != 1 {
				t.Errorf("%s: %d times %s in %s", target, n, member, got.Body)
			}
			rest = strings.Replace(rest, member, "", 1)
		}
		if diff := cmp.Diff(plain.Body.String(), rest); diff != "" {
			t.Errorf("%s: without the assessments (-want +got):\n%s", target, diff)
		}
	}
	got := get(h, "/v1/lookup/pay-to/"+recipient+"/include=assessment")
	if got.Code != 404 {
		t.Errorf("a recipient that looks like a key: %d %s", got.Code, got.Body)
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
