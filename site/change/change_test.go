package change_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
	"tollbook/site/change"
)

// way returns the payment option for GET /quote in USDC on Base, with a price and edits.
func way(price string, edit ...func(*site.SnapshotEntry)) site.SnapshotEntry {
	e := site.SnapshotEntry{
		Endpoint: "GET /quote", Scheme: "exact", Network: "eip155:8453",
		Asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", AssetName: "USDC",
		Price: price, PayTo: "0x2096…287C", X402Version: 2, MaxTimeoutSeconds: new(300),
		Extra: new(`{"name":"USD Coin","version":"2"}`),
	}
	for _, f := range edit {
		f(&e)
	}
	return e
}

func at(endpoint string) func(*site.SnapshotEntry) {
	return func(e *site.SnapshotEntry) { e.Endpoint = endpoint }
}

func extra(text string) func(*site.SnapshotEntry) {
	return func(e *site.SnapshotEntry) { e.Extra = &text }
}

const quoteLine = "GET /quote exact eip155:8453 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913 USDC 2  300 "

// TestSchemaLine checks that a line has ten fields with single spaces between them, and that the eighth is empty.
func TestSchemaLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		entry site.SnapshotEntry
		want  string
	}{
		{"as usual", way("1"), quoteLine + `{"name":"USD\u0020Coin","version":"2"}`},
		{"neither price nor recipient enters", way("2", func(e *site.SnapshotEntry) { e.PayTo = "x" }),
			quoteLine + `{"name":"USD\u0020Coin","version":"2"}`},
		{"without extra", way("1", func(e *site.SnapshotEntry) { e.Extra = nil }), quoteLine + "{}"},
		{"without timeout", way("1", extra("{}"), func(e *site.SnapshotEntry) {
			e.MaxTimeoutSeconds = nil
		}), strings.Replace(quoteLine, " 300 ", "  ", 1) + "{}"},
		{"blanks in a path", way("1", extra("{}"), at("GET /a b")),
			strings.Replace(quoteLine, "/quote", "/a%20b", 1) + "{}"},
		{"endpoint without a path", way("1", extra("{}"), at("GET")),
			strings.Replace(quoteLine, "/quote", "", 1) + "{}"},
		{"spaces in extra", way("1", extra(`{ "name" : "a b" }`)), quoteLine + `{"name":"a\u0020b"}`},
		{"nothing at all", site.SnapshotEntry{}, "      0   {}"},
	} {
		got := change.SchemaLine(test.entry)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if n := len(strings.Split(got, " ")); n != 10 {
			t.Errorf("%s: %d fields, want 10", test.name, n)
		}
	}
}

func TestAbbreviate(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"0x209693Bc6afc0C5328bA36FaF03C514EF312287C": "0x2096…287C",
		"1234567890123": "123456…0123", "123456789012": "123456789012", "": "", "ümläüts-überall": "ümläüt…rall",
	} {
		if got := site.Abbreviate(address); got != want {
			t.Errorf("Abbreviate(%s) = %s, want %s", address, got, want)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	none := []string{}
	moved := func(old, new string) site.PriceSummary {
		return site.PriceSummary{PriceChanges: []site.PriceChange{{Network: "eip155:8453", Endpoint: "GET /quote",
			NewPrice: new, OldPrice: old, AssetName: "USDC"}}}
	}
	const plain, fees = quoteLine + `{"name":"USD\u0020Coin","version":"2"}`, quoteLine + `{"feePayer":"x"}`
	post := way("1", at("POST /search"))
	postLine := strings.Replace(plain, "GET /quote", "POST /search", 1)
	for _, test := range []struct {
		name          string
		before, after []site.SnapshotEntry
		want          []change.Set
	}{
		{"nothing changed", []site.SnapshotEntry{way("1"), post}, []site.SnapshotEntry{post, way("1")}, nil},
		{"nothing at all", nil, nil, nil},
		{"price", []site.SnapshotEntry{way("9")}, []site.SnapshotEntry{way("10")},
			[]change.Set{{Type: site.PriceChanged, Summary: moved("9", "10")}}},
		{"endpoint added", []site.SnapshotEntry{way("1")}, []site.SnapshotEntry{way("1"), post}, []change.Set{
			{Type: site.SchemaChanged, Summary: site.SchemaSummary{SchemaAdded: []string{postLine}, SchemaRemoved: none,
				EndpointsAdded: []string{"POST /search"}, EndpointsRemoved: none}}}},
		{"everything removed", []site.SnapshotEntry{way("1")}, nil, []change.Set{
			{Type: site.SchemaChanged, Summary: site.SchemaSummary{SchemaAdded: none, SchemaRemoved: []string{plain},
				EndpointsAdded: none, EndpointsRemoved: []string{"GET /quote"}}}}},
		{"only extra: the same line in both lists", []site.SnapshotEntry{way("1")},
			[]site.SnapshotEntry{way("1", extra(`{"feePayer":"x"}`))}, []change.Set{
				{Type: site.SchemaChanged, Summary: site.SchemaSummary{SchemaAdded: []string{fees},
					SchemaRemoved: []string{plain}, EndpointsAdded: none, EndpointsRemoved: none}}}},
		{"extra and price", []site.SnapshotEntry{way("1")}, []site.SnapshotEntry{way("2", extra(`{"feePayer":"x"}`))},
			[]change.Set{
				{Type: site.SchemaChanged, Summary: site.SchemaSummary{SchemaAdded: []string{fees},
					SchemaRemoved: []string{plain}, EndpointsAdded: none, EndpointsRemoved: none}},
				{Type: site.PriceChanged, Summary: moved("1", "2")}}},

		// A service may offer the same asset twice.
		{"two prices, nothing changed", []site.SnapshotEntry{way("1"), way("2")},
			[]site.SnapshotEntry{way("2"), way("1")}, nil},
		{"one of two prices", []site.SnapshotEntry{way("1"), way("2")}, []site.SnapshotEntry{way("3"), way("2")},
			[]change.Set{{Type: site.PriceChanged, Summary: moved("1", "3")}}},
		{"the same price twice, then once", []site.SnapshotEntry{way("1"), way("1")}, []site.SnapshotEntry{way("1")},
			nil},
	} {
		if diff := cmp.Diff(test.want, change.Compare(test.before, test.after, nil, nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestCompareRecipients(t *testing.T) {
	t.Parallel()
	const base, solana = "eip155:8453", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	to := func(endpoint, network, payTo string) change.Recipient {
		return change.Recipient{Endpoint: endpoint, Network: network, PayTo: payTo}
	}
	const old, next, other = "0x1111111111111111111111111111111111111111", "0x2222222222222222222222222222222222222222",
		"0x3333333333333333333333333333333333333333"
	moved := func(endpoint string, old, new *string) site.RecipientChange {
		return site.RecipientChange{Network: base, Endpoint: endpoint, OldPayTo: old, NewPayTo: new}
	}
	for _, test := range []struct {
		name           string
		before, after  []change.Recipient
		added, removed []string // nil for no change
		changes        []site.RecipientChange
	}{
		{"the same", []change.Recipient{to("GET /a", base, old)}, []change.Recipient{to("GET /a", base, old)}, nil, nil,
			nil},
		{"moved", []change.Recipient{to("GET /a", base, old)}, []change.Recipient{to("GET /a", base, next)},
			[]string{"0x2222…2222"}, []string{"0x1111…1111"},
			[]site.RecipientChange{moved("GET /a", new(old), new(next))}},
		{"moved on both endpoints", []change.Recipient{to("GET /a", base, old), to("GET /b", base, old)},
			[]change.Recipient{to("GET /b", base, next), to("GET /a", base, next)},
			[]string{"0x2222…2222"}, []string{"0x1111…1111"},
			[]site.RecipientChange{moved("GET /a", new(old), new(next)), moved("GET /b", new(old), new(next))}},
		{"two for two", []change.Recipient{to("GET /a", base, other), to("GET /a", base, old)},
			[]change.Recipient{to("GET /a", base, next), to("GET /a", base,
				"0x4444444444444444444444444444444444444444")},
			[]string{"0x2222…2222", "0x4444…4444"}, []string{"0x1111…1111", "0x3333…3333"},
			[]site.RecipientChange{moved("GET /a", new(old), new(next)),
				moved("GET /a", new(other), new("0x4444444444444444444444444444444444444444"))}},
		{"a second one", []change.Recipient{to("GET /a", base, old)},
			[]change.Recipient{to("GET /a", base, next), to("GET /a", base, old)}, []string{"0x2222…2222"}, []string{},
			[]site.RecipientChange{moved("GET /a", nil, new(next))}},
		{"one of two removed", []change.Recipient{to("GET /a", base, next), to("GET /a", base, old)},
			[]change.Recipient{to("GET /a", base, old)}, []string{}, []string{"0x2222…2222"},
			[]site.RecipientChange{moved("GET /a", new(next), nil)}},
		{"endpoints exchange theirs", []change.Recipient{to("GET /a", base, old), to("GET /b", base, other)},
			[]change.Recipient{to("GET /a", base, other), to("GET /b", base, old)},
			[]string{"0x1111…1111", "0x3333…3333"}, []string{"0x1111…1111", "0x3333…3333"},
			[]site.RecipientChange{moved("GET /a", new(old), new(other)), moved("GET /b", new(other), new(old))}},
		{"a new network brings one", []change.Recipient{to("GET /a", base, old)},
			[]change.Recipient{to("GET /a", base, old), to("GET /a", solana, next)}, nil, nil, nil},
		{"a new endpoint brings one", []change.Recipient{to("GET /a", base, old)},
			[]change.Recipient{to("GET /a", base, old), to("GET /b", base, next)}, nil, nil, nil},
		{"a removed endpoint takes one along", []change.Recipient{to("GET /a", base, old), to("GET /b", base, next)},
			[]change.Recipient{to("GET /a", base, old)}, nil, nil, nil},
	} {
		var want []change.Set
		if test.added != nil {
			want = []change.Set{{Type: site.PayToChanged,
				Summary: site.PayToSummary{PayToAdded: test.added, PayToRemoved: test.removed,
					PayToChanges: test.changes}}}
		}
		if diff := cmp.Diff(want, change.Compare(nil, nil, test.before, test.after)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestCompareDoesNotDependOnOrder checks random permutations: services list their payment options in any order, and
// some change the order with every response.
func TestCompareDoesNotDependOnOrder(t *testing.T) {
	t.Parallel()
	few := func(t *rapid.T, name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	entry := rapid.Custom(func(t *rapid.T) site.SnapshotEntry {
		return way(few(t, "price", "1", "2", "10"), func(e *site.SnapshotEntry) {
			e.Endpoint = few(t, "endpoint", "GET /a", "POST /a", "GET /b")
			e.Scheme = few(t, "scheme", "exact", "upto")
			e.Network = few(t, "network", "eip155:8453", "eip155:137")
			e.Asset = few(t, "asset", "0xa", "0xb")
			e.Extra = rapid.Ptr(rapid.SampledFrom([]string{"{}", `{"x":1}`}), true).Draw(t, "extra")
		})
	})
	recipient := rapid.Custom(func(t *rapid.T) change.Recipient {
		return change.Recipient{Endpoint: few(t, "endpoint", "GET /a", "GET /b"), Network: few(t, "network", "a", "b"),
			PayTo: few(t, "to", "x", "y", "z")}
	})
	rapid.Check(t, func(t *rapid.T) {
		before, after := rapid.SliceOfN(entry, 0, 12).Draw(t, "before"), rapid.SliceOfN(entry, 0, 12).Draw(t, "after")
		paid, pays := rapid.SliceOfN(recipient, 0, 6).Draw(t, "paid"), rapid.SliceOfN(recipient, 0, 6).Draw(t, "pays")
		one := change.Compare(before, after, paid, pays)
		if again := change.Compare(slices.Clone(before), before, paid, slices.Clone(paid)); again != nil {
			t.Fatalf("a snapshot differs from itself: %+v", again)
		}
		other := change.Compare(rapid.Permutation(before).Draw(t, "b"), rapid.Permutation(after).Draw(t, "a"),
			rapid.Permutation(paid).Draw(t, "p"), rapid.Permutation(pays).Draw(t, "q"))
		if diff := cmp.Diff(one, other); diff != "" {
			t.Fatalf("the order of entries matters (-one +other):\n%s", diff)
		}
	})
}

// TestSummariesAreNeverNull checks that an empty list of a summary is [] in JSON.
func TestSummariesAreNeverNull(t *testing.T) {
	t.Parallel()
	sets := change.Compare([]site.SnapshotEntry{way("1")}, []site.SnapshotEntry{way("2", extra("{}"))},
		[]change.Recipient{{Endpoint: "GET /quote", Network: "n", PayTo: "a"}},
		[]change.Recipient{{Endpoint: "GET /quote", Network: "n", PayTo: "b"}})
	var types []string
	for _, s := range sets {
		types = append(types, s.Type)
		text, err := s.Text()
		if err != nil || !json.Valid(text) || strings.Contains(string(text), "null") {
			t.Errorf("%s: %s, error %v", s.Type, text, err)
		}
	}
	if diff := cmp.Diff([]string{"schema_changed", "price_changed", "payto_changed"}, types); diff != "" {
		t.Errorf("types in order (-want +got):\n%s", diff)
	}
}
