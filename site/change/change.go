// Package change compares what a service asked for at two times: its payment schema, prices and recipients. It writes
// the summaries of change records. It must never know when a service was asked, or where records are stored.
package change

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"tollbook/site"
)

// SchemaLine returns an entry without its price and recipient as one line of ten fields: method, path, scheme, network,
// asset, asset name, version, an empty field, timeout, extra. No field contains a space: inside the first nine it
// becomes %20, inside the tenth, which is JSON text, \u0020. An absent timeout is empty.
func SchemaLine(e site.SnapshotEntry) string {
	method, path, _ := strings.Cut(e.Endpoint, " ")
	timeout, extra := "", "{}"
	if e.MaxTimeoutSeconds != nil {
		timeout = strconv.Itoa(*e.MaxTimeoutSeconds)
	}
	if e.Extra != nil {
		extra = withoutSpaces(*e.Extra)
	}
	fields := []string{method, path, e.Scheme, e.Network, e.Asset, e.AssetName, strconv.Itoa(e.X402Version), "",
		timeout}
	for i, f := range fields {
		fields[i] = strings.ReplaceAll(f, " ", "%20")
	}
	return strings.Join(append(fields, extra), " ")
}

// withoutSpaces returns JSON text of the same value without a space. It returns text that is no JSON as it is.
func withoutSpaces(text string) string {
	if !strings.Contains(text, " ") {
		return text
	}
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		return text
	}
	return strings.ReplaceAll(b.String(), " ", `\u0020`) // what is left is inside strings
}

// Set is one type of change between two snapshots of a service.
type Set struct {
	Type    string
	Summary any // SchemaSummary, PriceSummary or PayToSummary
}

// Recipient is the full address that an entry pays. Snapshots contain it abbreviated.
type Recipient struct {
	Endpoint, Network, PayTo string
	Protocol                 string // "" for x402
}

// Compare returns what changed between two snapshots of a service: schema, prices and recipients, in this order and
// each at most once. The order of entries does not matter.
func Compare(before, after []site.SnapshotEntry, paidBefore, paidAfter []Recipient) []Set {
	var sets []Set
	if s := compareSchemas(before, after); len(s.SchemaAdded)+len(s.SchemaRemoved) > 0 {
		sets = append(sets, Set{site.SchemaChanged, s})
	}
	if p := comparePrices(before, after); len(p.PriceChanges) > 0 {
		sets = append(sets, Set{site.PriceChanged, p})
	}
	if p := compareRecipients(paidBefore, paidAfter); len(p.PayToChanges) > 0 {
		sets = append(sets, Set{site.PayToChanged, p})
	}
	return sets
}

func compareSchemas(before, after []site.SnapshotEntry) site.SchemaSummary {
	return site.SchemaSummary{
		SchemaAdded:      subtract(collect(before, SchemaLine), collect(after, SchemaLine)),
		SchemaRemoved:    subtract(collect(after, SchemaLine), collect(before, SchemaLine)),
		EndpointsAdded:   subtract(collect(before, entryEndpoint), collect(after, entryEndpoint)),
		EndpointsRemoved: subtract(collect(after, entryEndpoint), collect(before, entryEndpoint)),
	}
}

func entryEndpoint(e site.SnapshotEntry) string { return e.Endpoint }

// collect returns the sorted set of f(e) for all entries e.
func collect[T any](entries []T, f func(T) string) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = f(e)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// subtract returns the strings of b that are not in a. Both are sorted sets.
func subtract(a, b []string) []string {
	out := []string{}
	for _, s := range b {
		if _, ok := slices.BinarySearch(a, s); !ok {
			out = append(out, s)
		}
	}
	return out
}

// comparePrices returns the amounts that changed. It compares entries with the same endpoint, scheme, network and
// asset. A service may have several amounts for these; then the lowest removed amount is paired with the lowest added
// one.
func comparePrices(before, after []site.SnapshotEntry) site.PriceSummary {
	type key struct{ endpoint, scheme, network, asset, name string }
	amounts := func(entries []site.SnapshotEntry) map[key][]string {
		m := map[key][]string{}
		for _, e := range entries {
			k := key{e.Endpoint, e.Scheme, e.Network, e.Asset, e.AssetName}
			m[k] = append(m[k], e.Price)
		}
		for k, list := range m {
			m[k] = collect(list, func(s string) string { return s })
		}
		return m
	}
	was, is := amounts(before), amounts(after)
	changes := []site.PriceChange{}
	for k, now := range is {
		removed, added := subtract(now, was[k]), subtract(was[k], now)
		slices.SortFunc(removed, CompareAmounts)
		slices.SortFunc(added, CompareAmounts)
		for i := range min(len(removed), len(added)) {
			changes = append(changes, site.PriceChange{Network: k.network, Endpoint: k.endpoint, NewPrice: added[i],
				OldPrice: removed[i], AssetName: k.name})
		}
	}
	slices.SortFunc(changes, func(a, b site.PriceChange) int {
		return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Network, b.Network),
			cmp.Compare(a.AssetName, b.AssetName),
			CompareAmounts(a.OldPrice, b.OldPrice), CompareAmounts(a.NewPrice, b.NewPrice))
	})
	return site.PriceSummary{PriceChanges: slices.Compact(changes)}
}

// CompareAmounts compares amounts as prices have them: decimals without leading zeros.
func CompareAmounts(a, b string) int {
	wholeA, fractionA, _ := strings.Cut(a, ".")
	wholeB, fractionB, _ := strings.Cut(b, ".")
	return cmp.Or(cmp.Compare(len(wholeA), len(wholeB)), cmp.Compare(wholeA, wholeB),
		cmp.Compare(fractionA, fractionB))
}

// compareRecipients compares only networks and endpoints that both snapshots contain: the recipient of a new network is
// not a change of recipient. If several recipients of one changed, the first removed one is paired with the first added
// one.
func compareRecipients(before, after []Recipient) site.PayToSummary {
	type option struct{ endpoint, network, protocol string }
	recipients := func(list []Recipient) map[option][]string {
		m := map[option][]string{}
		for _, r := range list {
			o := option{r.Endpoint, r.Network, r.Protocol}
			m[o] = append(m[o], r.PayTo)
		}
		for o, list := range m {
			m[o] = collect(list, func(s string) string { return s })
		}
		return m
	}
	was, is := recipients(before), recipients(after)
	s := site.PayToSummary{PayToChanges: []site.RecipientChange{}}
	for o, now := range is {
		if len(was[o]) == 0 {
			continue
		}
		removed, added := subtract(now, was[o]), subtract(was[o], now)
		for i := range max(len(removed), len(added)) {
			c := site.RecipientChange{Network: o.network, Endpoint: o.endpoint}
			if i < len(added) {
				c.NewPayTo = &added[i]
			}
			if i < len(removed) {
				c.OldPayTo = &removed[i]
			}
			s.PayToChanges = append(s.PayToChanges, c)
		}
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	slices.SortFunc(s.PayToChanges, func(a, b site.RecipientChange) int {
		return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Network, b.Network),
			cmp.Compare(text(a.OldPayTo), text(b.OldPayTo)), cmp.Compare(text(a.NewPayTo), text(b.NewPayTo)))
	})
	abbreviated := func(of func(site.RecipientChange) *string) []string {
		out := []string{}
		for _, c := range s.PayToChanges {
			if p := of(c); p != nil {
				out = append(out, site.Abbreviate(*p))
			}
		}
		return collect(out, func(s string) string { return s })
	}
	s.PayToAdded = abbreviated(func(c site.RecipientChange) *string { return c.NewPayTo })
	s.PayToRemoved = abbreviated(func(c site.RecipientChange) *string { return c.OldPayTo })
	return s
}

// Text returns the summary as JSON.
func (c Set) Text() (json.RawMessage, error) { return json.Marshal(c.Summary) }
