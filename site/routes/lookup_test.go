package routes_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/routes"
)

// vectors are examples that clients in other languages must satisfy as well.
type vectors struct {
	Addresses []struct{ About, Address, Normal, SHA256 string }
	Refused   []string
	// Recipients are requested in plain text; the hash only selects the shard.
	Recipients []struct{ About, CAIP2, Address, Normal, SHA256 string }
}

func readVectors(t *testing.T) (v vectors) {
	t.Helper()
	data, err := os.ReadFile("testdata/lookup-vectors.json")
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil || len(v.Addresses) < 30 || len(v.Refused) < 10 || len(v.Recipients) < 4 {
		t.Fatalf("read the vectors: %v, %d addresses", err, len(v.Addresses))
	}
	return v
}

func TestLookupVectors(t *testing.T) {
	t.Parallel()
	v := readVectors(t)
	for _, a := range v.Addresses {
		got, err := listing.NormalURL(a.Address)
		if err != nil || got != a.Normal || site.Hash(got) != a.SHA256 {
			t.Errorf("%s: NormalURL(%s) = %s, %v, of hash %s; want %s, %s", a.About, a.Address, got, err,
				site.Hash(got), a.Normal, a.SHA256)
		}
	}
	for _, address := range v.Refused {
		if got, err := listing.NormalURL(address); err == nil {
			t.Errorf("NormalURL(%q) = %s, want an error", address, got)
		}
	}
	for _, r := range v.Recipients {
		got := site.NormalRecipient(r.CAIP2, r.Address)
		if got != r.Normal || site.Hash(got) != r.SHA256 {
			t.Errorf("%s: NormalRecipient = %s of hash %s, want %s, %s", r.About, got, site.Hash(got), r.Normal,
				r.SHA256)
		}
		q := parse(t, "/v1/lookup/pay-to/"+url.PathEscape(r.CAIP2)+"/"+r.Address+".json", "")
		if key, digits, hash := q.LookupShard(); hash != r.SHA256 || digits != hash[:2] ||
			key != "v1/lookup/pay-to/"+digits+".json" {
			t.Errorf("%s: %s has hash %s in %s", r.About, q.Key(), hash, key)
		}
	}
}

// TestLookupRow checks that the response is the row without its hash.
func TestLookupRow(t *testing.T) {
	t.Parallel()
	hash := site.Hash("x")
	row, err := json.Marshal(routes.LookupRow{Hash: hash, Data: map[string]int{"n": 1}})
	if err != nil {
		t.Fatal(err)
	}
	if got := routes.LookupHash(row); got != hash {
		t.Errorf("hash %s, want %s", got, hash)
	}
	if diff := cmp.Diff("{\"data\":{\"n\":1}}\n", string(routes.LookupResponse(row))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, row := range []string{"", "{}", `{"hash":"3f"}`, `{"data":1,"hash":"` + hash + `"}`} {
		if got := routes.LookupHash([]byte(row)); got != "" {
			t.Errorf("%s has the hash %s", row, got)
		}
	}
	index := routes.LookupIndex{URL: map[string]int{"3f": 2}, PayTo: map[string]int{"40": 1}}
	for key, want := range map[string]bool{
		"v1/lookup/url/3f.json": true, "v1/lookup/pay-to/40.json": true, "v1/lookup/url/40.json": false,
		"v1/lookup/url/3f": false, "v1/lookup.json": false,
	} {
		if index.HasShardKey(key) != want {
			t.Errorf("HasShard(%s) = %t", key, !want)
		}
	}
}

// Facts about a payment are looked up by the hash of the URL, or by the recipient.
func ExampleNormalRecipient() {
	normal, err := listing.NormalURL("HTTPS://api.acme.test:443/v1/../quote?symbol=ACME")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(normal)
	fmt.Println("/v1/lookup/url/" + site.Hash(normal) + ".json")
	fmt.Println("/v1/lookup/pay-to/" + site.NormalRecipient("eip155:8453",
		"0x209693Bc6afc0C5328bA36FaF03C514EF312287C") + ".json")
	// Output:
	// https://api.acme.test/quote
	// /v1/lookup/url/ceac4abec3eefa1f1194b30569fc3fe1de218690ff8de9de4474819611176359.json
	// /v1/lookup/pay-to/eip155:8453/0x209693bc6afc0c5328ba36faf03c514ef312287c.json
}
