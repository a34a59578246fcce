package site

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Abbreviate shortens an address as change records show it: the first six characters, an ellipsis, the last four.
func Abbreviate(address string) string {
	r := []rune(address)
	if len(r) <= 12 {
		return address
	}
	return string(r[:6]) + "…" + string(r[len(r)-4:])
}

// SchemaLine is an entry without its price and recipient, as one line of ten fields: method, path, scheme, network,
// asset, asset name, version, an empty one, timeout, extra. A space inside a field is %20, an absent timeout is empty.
func SchemaLine(e SnapshotEntry) string {
	method, path, _ := strings.Cut(e.Endpoint, " ")
	timeout, extra := "", "{}"
	if e.MaxTimeoutSeconds != nil {
		timeout = strconv.Itoa(*e.MaxTimeoutSeconds)
	}
	if e.Extra != nil {
		extra = *e.Extra
	}
	fields := []string{method, path, e.Scheme, e.Network, e.Asset, e.AssetName, strconv.Itoa(e.X402Version), "",
		timeout, extra}
	for i, f := range fields {
		fields[i] = strings.ReplaceAll(f, " ", "%20")
	}
	return strings.Join(fields, " ")
}

// ChangeSet is one kind of change between two snapshots, without the service it is of.
type ChangeSet struct {
	Type    string
	Summary any // SchemaSummary, PriceSummary or PayToSummary
}

// Recipient is who an entry pays, in full: snapshots show it abbreviated.
type Recipient struct{ Endpoint, Network, PayTo string }

// Compare finds what changed between two snapshots of a service: its schema, its prices, its recipients, in this order
// and each at most once. Entries may come in any order; the answer does not depend on it.
func Compare(before, after []SnapshotEntry, paidBefore, paidAfter []Recipient) []ChangeSet {
	var sets []ChangeSet
	if s := compareSchemas(before, after); len(s.SchemaAdded)+len(s.SchemaRemoved) > 0 {
		sets = append(sets, ChangeSet{SchemaChanged, s})
	}
	if p := comparePrices(before, after); len(p.PriceChanges) > 0 {
		sets = append(sets, ChangeSet{PriceChanged, p})
	}
	if p := compareRecipients(paidBefore, paidAfter); len(p.PayToAdded)+len(p.PayToRemoved) > 0 {
		sets = append(sets, ChangeSet{PayToChanged, p})
	}
	return sets
}

func compareSchemas(before, after []SnapshotEntry) SchemaSummary {
	return SchemaSummary{
		SchemaAdded:      subtract(collect(before, SchemaLine), collect(after, SchemaLine)),
		SchemaRemoved:    subtract(collect(after, SchemaLine), collect(before, SchemaLine)),
		EndpointsAdded:   subtract(collect(before, endpointOf), collect(after, endpointOf)),
		EndpointsRemoved: subtract(collect(after, endpointOf), collect(before, endpointOf)),
	}
}

func endpointOf(e SnapshotEntry) string { return e.Endpoint }

// collect is the sorted set of what f says of each entry.
func collect[T any](entries []T, f func(T) string) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = f(e)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// subtract are the texts of b that a has not; both are sorted sets.
func subtract(a, b []string) []string {
	out := []string{}
	for _, s := range b {
		if _, found := slices.BinarySearch(a, s); !found {
			out = append(out, s)
		}
	}
	return out
}

// comparePrices names the amounts that moved. Entries belong together that have endpoint, scheme, network and asset in
// common; a service may ask several amounts for these, and then the lowest that went is paired with the lowest that
// came.
func comparePrices(before, after []SnapshotEntry) PriceSummary {
	type key struct{ endpoint, scheme, network, asset, name string }
	amounts := func(entries []SnapshotEntry) map[key][]string {
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
	moved := []PriceChange{}
	for k, now := range is {
		gone, came := subtract(now, was[k]), subtract(was[k], now)
		slices.SortFunc(gone, compareAmounts)
		slices.SortFunc(came, compareAmounts)
		for i := range min(len(gone), len(came)) {
			moved = append(moved, PriceChange{Network: k.network, Endpoint: k.endpoint, NewPrice: came[i],
				OldPrice: gone[i], AssetName: k.name})
		}
	}
	slices.SortFunc(moved, func(a, b PriceChange) int {
		return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Network, b.Network),
			cmp.Compare(a.AssetName, b.AssetName),
			compareAmounts(a.OldPrice, b.OldPrice), compareAmounts(a.NewPrice, b.NewPrice))
	})
	return PriceSummary{PriceChanges: slices.Compact(moved)}
}

// compareAmounts orders amounts in atomic units by value: digits without leading zeros.
func compareAmounts(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// compareRecipients looks only at networks and endpoints that both snapshots pay on: a new network brings a recipient
// without moving one.
func compareRecipients(before, after []Recipient) PayToSummary {
	place := func(r Recipient) string { return r.Endpoint + "\x00" + r.Network }
	whole := func(r Recipient) string { return place(r) + "\x00" + r.PayTo }
	was, is := collect(before, place), collect(after, place)
	abbreviated := func(lines []string, both []string) []string {
		out := []string{}
		for _, l := range lines {
			i := strings.LastIndexByte(l, 0)
			if _, found := slices.BinarySearch(both, l[:i]); found {
				out = append(out, Abbreviate(l[i+1:]))
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	old, new := collect(before, whole), collect(after, whole)
	return PayToSummary{PayToAdded: abbreviated(subtract(old, new), was),
		PayToRemoved: abbreviated(subtract(new, old), is)}
}

// Text is the summary as JSON.
func (c ChangeSet) Text() (json.RawMessage, error) { return json.Marshal(c.Summary) }
