package build

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/listing"
	"tollbook/site/routes"
	"tollbook/site/x402"
)

// drawListing returns a generator of listings with texts and lists of any size.
func drawListing(slug string) *rapid.Generator[site.Listing] {
	return rapid.Custom(func(t *rapid.T) site.Listing {
		long := rapid.Map(rapid.IntRange(0, 9), func(n int) string {
			return strings.Repeat("long \"text\"\x01 and 東京 ", n*n)
		})
		l := site.Listing{Item: site.ServiceListItem{Slug: slug, BaseURL: "https://api.acme.test"}}
		l.ListingDetail = &site.ListingDetail{Detail: site.ServiceDetail{Slug: slug, Name: long.Draw(t, "name"),
			BaseURL: "https://api.acme.test", Status: site.StatusOnline}}
		for range rapid.IntRange(0, 6).Draw(t, "endpoints") {
			e := site.Endpoint{Method: "GET", Path: "/" + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "path") +
				strings.Repeat("/deep", rapid.IntRange(0, 300).Draw(t, "depth"))}
			terms := site.Terms{Reason: long.Draw(t, "reason")}
			terms.Payable = terms.Reason == ""
			for range rapid.IntRange(0, 5).Draw(t, "prices") {
				network := rapid.SampledFrom([]string{"eip155:8453", "x:" + strings.Repeat("1", 30)}).Draw(t, "network")
				e.Pricing = append(e.Pricing, site.PricingEntry{
					Scheme: "exact", NetworkCAIP2: &network, Price: "10000", PriceUSD: new("0.01"),
					AssetAddress: long.Draw(t, "asset"), PayTo: "0xA" + long.Draw(t, "payTo"),
				})
				terms.Prices = append(terms.Prices, site.PricingTerms{})
			}
			l.Detail.Endpoints, l.Terms = append(l.Detail.Endpoints, e), append(l.Terms, terms)
		}
		return l
	})
}

// TestLookupsAreSmall checks that each URL and each recipient has one row in its shard, for texts of any size. Its
// response must be complete JSON of less than 2 KiB and must say if something was left out.
func TestLookupsAreSmall(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lookups")
	rapid.Check(t, func(t *rapid.T) {
		s := &site.Snapshot{}
		for _, slug := range []string{"acme", "bolt", "cove", "dale", "echo",
			"fern"}[:rapid.IntRange(0, 6).Draw(t, "services")] {
			s.Services = append(s.Services, drawListing(slug).Draw(t, slug))
		}
		addresses, recipients := map[string]bool{}, map[string]bool{}
		for _, l := range s.Services {
			for _, e := range l.Detail.Endpoints {
				normal, err := listing.NormalURL(l.Detail.BaseURL + e.Path)
				if err != nil {
					t.Fatal(err)
				}
				addresses[site.Hash(normal)] = true
				for _, p := range e.Pricing {
					recipients[site.Hash(site.NormalRecipient(*p.NetworkCAIP2, p.PayTo))] = true
				}
			}
		}
		tree, rows := map[string][]byte{}, newLookups(s, path)
		defer rows.close()
		for i := range s.Services {
			rows.count(i, s.Services[i].Detail.Endpoints)
		}
		for i := range s.Services {
			if err := rows.add(i, &s.Services[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.write(func(name string, data []byte) error {
			tree[name] = bytes.Clone(data)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		var index routes.LookupIndex
		if err := json.Unmarshal(tree[routes.LookupFile], &index); err != nil {
			t.Fatal(err)
		}
		for _, of := range []struct {
			route string
			want  map[string]bool
		}{{"lookup-url", addresses}, {"lookup-pay-to", recipients}} {
			r := routes.ByName(of.route)
			got := map[string]bool{}
			for digits, n := range index.Shards(r) {
				rows, _, err := encode.Framing{}.Split(tree[routes.LookupShardKey(r, digits)])
				if err != nil || len(rows) != n || !slices.IsSortedFunc(rows, func(a, b []byte) int {
					return strings.Compare(routes.LookupHash(a), routes.LookupHash(b))
				}) {
					t.Fatalf("shard %s: %d rows, %v, in another order than their hashes", digits, len(rows), err)
				}
				for _, row := range rows {
					answer := routes.LookupResponse(row)
					if len(answer) >= site.MaxLookup || !json.Valid(answer) || routes.LookupHash(row)[:2] != digits {
						t.Fatalf("%s has %d bytes: %s", routes.LookupHash(row), len(answer), answer)
					}
					got[routes.LookupHash(row)] = true
				}
			}
			if diff := cmp.Diff(slices.Sorted(maps.Keys(of.want)), slices.Sorted(maps.Keys(got))); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", of.route, diff)
			}
		}
	})
}

func TestClip(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in      string
		n       int
		want    string
		clipped bool
	}{
		{"", 2, "", false},
		{"abc", 5, "abc", false},
		{"abcd", 5, "abc", true},
		{`""""`, 6, `""`, true},
		{"東京都", 8, "東京", true},
		{"\x01\x01", 8, "\x01", true},
	} {
		clipped := false
		if got := clip(test.in, test.n, &clipped); got != test.want || clipped != test.clipped {
			t.Errorf("clip(%q, %d) = %q, %t; want %q", test.in, test.n, got, clipped, test.want)
		}
	}
}

// TestCatalogueIsReadable reads a row of the catalogue with site/x402. It must contain each price of the directory that
// strict readers of the protocol accept.
func TestCatalogueIsReadable(t *testing.T) {
	t.Parallel()
	base, solana := "eip155:8453", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	l := site.Listing{ListingDetail: &site.ListingDetail{
		Detail: site.ServiceDetail{Name: "A name of more than thirty-two letters", Category: "気象",
			BaseURL: "https://api.acme.test", Endpoints: []site.Endpoint{{
				Method: "POST", Path: "/quote", Description: new("One <quote>"), LastSeenAt: site.NewTime(now),
				Pricing: []site.PricingEntry{
					{Scheme: "exact", NetworkCAIP2: &base, AssetAddress: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
						Price: "10000", PayTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
						MaxTimeoutSeconds: new(30)},
					{Scheme: "upto", NetworkCAIP2: &solana,
						AssetAddress: "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", Price: "7",
						PayTo: "CKPKJWNdJEqa81x7CkZ14BVPiY6y16Sxs7owznqtWYp5"},
					{Scheme: "exact", Network: "my-chain", AssetAddress: "0xabc", Price: "7", PayTo: "someone"},
				},
			}}},
		Terms: []site.Terms{{Prices: []site.PricingTerms{{Extra: `{"name":"USD Coin","version":"2"}`}, {}, {}}}},
	}}
	row, err := encode.Row(newCatalogueItem(&l, &l.Detail.Endpoints[0], &l.Terms[0]))
	if err != nil {
		t.Fatal(err)
	}
	e, ok := x402.Reread(row, x402.ChannelBody, "json")
	if !ok {
		t.Fatalf("not readable: %s", row)
	}
	type way struct {
		Scheme, Network, Asset, Amount, PayTo, Extra string
		Seconds                                      int
	}
	var got []way
	for _, r := range e.Accepts {
		if !r.Usable() || r.MaxTimeoutSeconds == nil {
			t.Fatalf("a client cannot pay with %s", r.Raw)
		}
		got = append(got, way{r.Scheme, r.NetworkCAIP2, r.Asset, r.Amount, r.PayTo, string(r.Extra),
			*r.MaxTimeoutSeconds})
	}
	want := []way{
		{"exact", base, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "10000",
			"0x209693Bc6afc0C5328bA36FaF03C514EF312287C", `{"name":"USD Coin","version":"2"}`, 30},
		{"upto", solana, "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "7",
			"CKPKJWNdJEqa81x7CkZ14BVPiY6y16Sxs7owznqtWYp5", "", catalogueTimeout},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ways to pay (-want +got):\n%s", diff)
	}
	if e.Version != 2 || e.Resource.URL != "https://api.acme.test/quote" || e.Discovery == nil ||
		e.Discovery.Method != "POST" || e.Discovery.MCP {
		t.Errorf("version %d, resource %q, discovery %+v", e.Version, e.Resource.URL, e.Discovery)
	}
	captured := x402.Capture(x402.Answer{Status: 402, Body: row})
	if captured.Envelope == nil || len(captured.Envelope.Accepts) != 2 {
		t.Errorf("Capture reads %+v", captured)
	}
	var item map[string]any
	if err := json.Unmarshal(row, &item); err != nil {
		t.Fatal(err)
	}
	if item["serviceName"] != "A name of more than thirty-two l" || len(item["tags"].([]any)) != 0 ||
		item["lastUpdated"] != "2026-11-20T12:30:00.000Z" {
		t.Errorf("words of the service: %s", row)
	}
}
