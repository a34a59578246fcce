package change

import (
	"encoding/json"

	"tollbook/site"
	"tollbook/site/encode"
)

// Limits of change records. They are never deleted, so a service whose terms all differ at each visit must not fill a
// directory with them.
const (
	// MaxRecord is the largest size of a record's summary and snapshots together, in bytes as they are published.
	// About 80 ways to pay fit into it twice; the largest record of a sample service has 30 KB. A file of a log has at
	// most 100 records, 6.6 MB, which a reader can receive and a server can have in memory for several readers at once.
	MaxRecord = 64 << 10
	// MaxDay is how many bytes of records a service may add within 24 hours. A record that exceeds what is left of them
	// is cut to it, and a later one to ShortRecord bytes. So with 72 records a day a service adds at most 0.25 MB a day,
	// and 90 MB a year.
	MaxDay = 96 << 10
	// ShortRecord is enough for some differences, and for the number of the others.
	ShortRecord = 2 << 10
)

// Cut returns a record's summary and snapshots with at most limit bytes in all. A record that has no more stays as it
// is. Otherwise the snapshots lose the ways to pay that both of them have. If that is not enough, the lists of the
// summary and the snapshots lose their last elements. The summary says how much was left out.
func Cut(kind string, summary, before, after json.RawMessage, limit int) (s, b, a json.RawMessage) {
	if len(summary)+len(before)+len(after) <= limit {
		return summary, before, after
	}
	was, wasRead := readEntries(before)
	is, isRead := readEntries(after)
	lists := newSummary(kind)
	readable := lists != nil && json.Unmarshal(summary, lists) == nil
	if readable && wasRead && isRead && size(lists)+size(was)+size(is) <= limit {
		return summary, before, after // stored JSON has spaces that are not published
	}
	omitted := site.Omitted{Entries: len(was) + len(is)}
	was, is = subtractEntries(is, was), subtractEntries(was, is)
	sizes := [][]int{sizesOf(was), sizesOf(is)}
	const rest = 256 // names of members, and site.Omitted
	budget := limit - rest
	switch {
	case readable:
		// the snapshots have at most half of the record, unless the summary needs less
		budget -= cutSummary(lists, budget-min(budget/2, sum(sizes)), &omitted)
	case len(summary) > budget/2:
		summary = json.RawMessage(`{}`)
	default:
		budget -= len(summary)
	}
	kept := fit(budget, sizes)
	was, is = was[:kept[0]:kept[0]], is[:kept[1]:kept[1]]
	omitted.Entries -= len(was) + len(is)
	if readable {
		setOmitted(lists, omitted)
		summary = encoded(lists)
	}
	return summary, encoded(was), encoded(is)
}

// readEntries reads a snapshot. It returns no entries if the snapshot cannot be read.
func readEntries(text json.RawMessage) (list []site.SnapshotEntry, ok bool) {
	if json.Unmarshal(text, &list) != nil {
		return nil, false
	}
	return list, true
}

// newSummary returns an empty summary of a change of what a service asks for, nil for other types.
func newSummary(kind string) any {
	switch kind {
	case site.SchemaChanged:
		return &site.SchemaSummary{}
	case site.PriceChanged:
		return &site.PriceSummary{}
	case site.PayToChanged:
		return &site.PayToSummary{}
	}
	return nil
}

// cutSummary shortens the lists of a summary to about budget bytes in all. It returns how many bytes they have, and
// counts in omitted what it left out.
func cutSummary(summary any, budget int, omitted *site.Omitted) (used int) {
	count := func(sizes [][]int) []int {
		kept := fit(budget, sizes)
		for i, list := range sizes {
			used += sum([][]int{list[:kept[i]]})
			omitted.Differences += len(list) - kept[i]
		}
		return kept
	}
	switch s := summary.(type) {
	case *site.SchemaSummary:
		kept := count([][]int{sizesOf(s.EndpointsAdded), sizesOf(s.EndpointsRemoved), sizesOf(s.SchemaAdded),
			sizesOf(s.SchemaRemoved)})
		s.EndpointsAdded, s.EndpointsRemoved = s.EndpointsAdded[:kept[0]], s.EndpointsRemoved[:kept[1]]
		s.SchemaAdded, s.SchemaRemoved = s.SchemaAdded[:kept[2]], s.SchemaRemoved[:kept[3]]
	case *site.PriceSummary:
		s.PriceChanges = s.PriceChanges[:count([][]int{sizesOf(s.PriceChanges)})[0]]
	case *site.PayToSummary:
		// a recipient is in the lists of added and removed ones because of an element of PayToChanges
		before := omitted.Differences
		kept := count([][]int{sizesOf(s.PayToChanges), sizesOf(s.PayToAdded), sizesOf(s.PayToRemoved)})
		omitted.Differences = before + len(s.PayToChanges) - kept[0]
		s.PayToChanges = s.PayToChanges[:kept[0]]
		s.PayToAdded, s.PayToRemoved = s.PayToAdded[:kept[1]], s.PayToRemoved[:kept[2]]
	}
	return used
}

// setOmitted adds what was left out to what an earlier cut left out.
func setOmitted(summary any, now site.Omitted) {
	var at **site.Omitted
	switch s := summary.(type) {
	case *site.SchemaSummary:
		at = &s.Omitted
	case *site.PriceSummary:
		at = &s.Omitted
	case *site.PayToSummary:
		at = &s.Omitted
	}
	if *at != nil {
		now.Differences, now.Entries = now.Differences+(*at).Differences, now.Entries+(*at).Entries
	}
	*at = &now
}

// fit returns how many of the first elements of each list fit into budget bytes. It takes one of each list in turn, and
// no more of a list whose next element does not fit.
func fit(budget int, sizes [][]int) []int {
	kept, full := make([]int, len(sizes)), make([]bool, len(sizes))
	for progress := true; progress; {
		progress = false
		for i, list := range sizes {
			if full[i] || kept[i] == len(list) {
				continue
			}
			if full[i] = list[kept[i]] > budget; full[i] {
				continue
			}
			budget -= list[kept[i]]
			kept[i]++
			progress = true
		}
	}
	return kept
}

// subtractEntries returns the entries of b that are not in a.
func subtractEntries(a, b []site.SnapshotEntry) []site.SnapshotEntry {
	in := make(map[string]bool, len(a))
	for _, e := range a {
		in[string(encoded(e))] = true
	}
	out := []site.SnapshotEntry{}
	for _, e := range b {
		if !in[string(encoded(e))] {
			out = append(out, e)
		}
	}
	return out
}

// sizesOf returns the size of each element of a list, with a comma.
func sizesOf[T any](list []T) []int {
	sizes := make([]int, len(list))
	for i := range list {
		sizes[i] = size(&list[i]) + 1
	}
	return sizes
}

func sum(sizes [][]int) (total int) {
	for _, list := range sizes {
		for _, n := range list {
			total += n
		}
	}
	return total
}

// size returns the size of a value in bytes as it is published.
func size(v any) int { return len(encoded(v)) }

// encoded returns a value as it is published.
func encoded(v any) json.RawMessage {
	row, err := encode.Row(v)
	if err != nil {
		panic(err) // unreachable: strings, numbers and lists of them can be encoded
	}
	return row
}
