package sample

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// entry is one way to pay at a time, as change records show it, with what they abbreviate.
type entry struct {
	site.SnapshotEntry
	payTo string // in full
	line  string // of a schema_changed summary
}

func entryOf(e endpoint, r x402.Requirement, env *x402.Envelope) entry {
	s := site.SnapshotEntry{
		Asset: r.Asset, PayTo: abbreviate(r.PayTo), Price: r.Amount, Scheme: r.Scheme, Network: r.NetworkCAIP2,
		Endpoint: e.key(), AssetName: r.AssetName, X402Version: env.Version, MaxTimeoutSeconds: r.MaxTimeoutSeconds,
		MimeType: textOrNull(env.Resource.MimeType), Resource: textOrNull(env.Resource.URL),
	}
	if r.Extra != nil {
		s.Extra = textOrNull(string(r.Extra))
	}
	return entry{SnapshotEntry: s, payTo: r.PayTo, line: schemaLine(s, string(r.StableExtra()))}
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// schemaLine is the ten fields of the contract: method, path, scheme, network, asset, its name, version, nothing,
// timeout, extra.
func schemaLine(s site.SnapshotEntry, extra string) string {
	method, path, _ := strings.Cut(s.Endpoint, " ")
	timeout := ""
	if s.MaxTimeoutSeconds != nil {
		timeout = strconv.Itoa(*s.MaxTimeoutSeconds)
	}
	fields := []string{method, path, s.Scheme, s.Network, s.Asset, s.AssetName, strconv.Itoa(s.X402Version), "", timeout, extra}
	for i := range fields {
		fields[i] = strings.ReplaceAll(fields[i], " ", "%20")
	}
	return strings.Join(fields, " ")
}

// changeOf is the record of a type that leads from one set of ways to pay to another; false when they differ in nothing
// that the type is about.
func changeOf(kind string, before, after []entry) (postgres.Change, bool) {
	var summary any
	switch kind {
	case site.SchemaChanged:
		s := site.SchemaSummary{
			SchemaAdded:      missing(lines(after), lines(before)),
			SchemaRemoved:    missing(lines(before), lines(after)),
			EndpointsAdded:   missing(endpointsOf(after), endpointsOf(before)),
			EndpointsRemoved: missing(endpointsOf(before), endpointsOf(after)),
		}
		if len(s.SchemaAdded)+len(s.SchemaRemoved) == 0 {
			return postgres.Change{}, false
		}
		summary = s
	case site.PriceChanged:
		s := site.PriceSummary{PriceChanges: priceChanges(before, after)}
		if len(s.PriceChanges) == 0 {
			return postgres.Change{}, false
		}
		summary = s
	case site.PayToChanged:
		added, removed := missing(payees(after), payees(before)), missing(payees(before), payees(after))
		if len(added) == 0 || len(removed) == 0 { // a new network brings a new address: that is its schema's record
			return postgres.Change{}, false
		}
		summary = site.PayToSummary{PayToAdded: abbreviated(added), PayToRemoved: abbreviated(removed)}
	}
	return postgres.Change{Type: kind, Summary: encode(summary), OldSnapshot: encode(snapshotOf(before)), NewSnapshot: encode(snapshotOf(after))}, true
}

// priceChanges pairs the ways to pay that differ in nothing but the price, in the order of the later set.
func priceChanges(before, after []entry) []site.PriceChange {
	var list []site.PriceChange
	for _, b := range after {
		for _, a := range before {
			if a.Endpoint == b.Endpoint && a.Scheme == b.Scheme && a.Network == b.Network && a.Asset == b.Asset && a.Price != b.Price {
				list = append(list, site.PriceChange{
					Network: b.Network, Endpoint: b.Endpoint, NewPrice: b.Price, OldPrice: a.Price, AssetName: b.AssetName,
				})
			}
		}
	}
	return list
}

func lines(list []entry) []string { return each(list, func(e entry) string { return e.line }) }

func endpointsOf(list []entry) []string {
	return each(list, func(e entry) string { return e.Endpoint })
}

func payees(list []entry) []string { return each(list, func(e entry) string { return e.payTo }) }

// each gives one text of every entry, sorted, without repetitions.
func each(list []entry, of func(entry) string) []string {
	out := make([]string, 0, len(list))
	for _, e := range list {
		out = append(out, of(e))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// missing are those of list that others lack; never nil, since JSON must say [].
func missing(list, others []string) []string {
	out := []string{}
	for _, s := range list {
		if !slices.Contains(others, s) {
			out = append(out, s)
		}
	}
	return out
}

func abbreviated(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = abbreviate(s)
	}
	return out
}

func snapshotOf(list []entry) []site.SnapshotEntry {
	out := make([]site.SnapshotEntry, len(list))
	for i, e := range list {
		out[i] = e.SnapshotEntry
	}
	return out
}

// encode writes what was made here, which is texts, numbers and maps of them: it always can be written.
func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Errorf("write JSON: %w", err))
	}
	return b
}
