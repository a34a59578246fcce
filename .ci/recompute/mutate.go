package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"time"

	"tollbook/.ci/recompute/snapshot"
)

// mutate changes figures one at a time, in turns over all kinds, and recomputes the snapshot after each change. It
// prints the kinds whose change makes no difference and returns whether there are none.
func mutate(w io.Writer, snap *snapshot.Snapshot, r *snapshot.Report, mutations int, seed uint64) bool {
	random := rand.New(rand.NewPCG(seed, seed))
	names := slices.Sorted(maps.Keys(r.Kinds))
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	if mutations < 0 {
		mutations = len(names)
	}
	unnoticed := map[string]string{}
	for i := range mutations {
		k := r.Kinds[names[i%len(names)]]
		place := k.Places[random.IntN(len(k.Places))]
		change := changed(place.Value)
		place.Set(change)
		if !isNoticed(snap, k.Part, len(r.Differences)) {
			unnoticed[names[i%len(names)]] = fmt.Sprintf("%s %s: %s changed to %s", place.File, place.Path(),
				snapshot.Canonical(place.Value), snapshot.Canonical(change))
		}
		place.Set(place.Value)
	}
	for _, name := range slices.Sorted(maps.Keys(unnoticed)) {
		fmt.Fprintf(w, "not noticed: %s, for example %s\n", name, unnoticed[name])
	}
	fmt.Fprintf(w, "%d changes of %d kinds of figures, %d kinds not noticed\n", mutations, min(mutations, len(names)),
		len(unnoticed))
	return len(unnoticed) == 0
}

// isNoticed recomputes the snapshot and reports whether there are other differences than before. The part that compares
// the changed figure comes first: mostly it is enough.
func isNoticed(snap *snapshot.Snapshot, first, before int) bool {
	d, r := newDirectory(snap), &snapshot.Report{Silent: true}
	recomputations[first](d, r)
	if before == 0 && len(r.Differences) > 0 {
		return true
	}
	for i, part := range recomputations {
		if i != first {
			part(d, r)
		}
	}
	return len(r.Differences) != before
}

// changed returns another value of the same type: the next number, the next millisecond, a longer text; 0 for null.
func changed(value any) any {
	switch v := value.(type) {
	case nil:
		return json.Number("0")
	case bool:
		return !v
	case string:
		if t, err := time.Parse(snapshot.TimeLayout, v); err == nil {
			return t.Add(time.Millisecond).Format(snapshot.TimeLayout)
		}
		return v + "0"
	case json.Number:
		n := snapshot.Node{Value: v}.Number()
		return json.Number(snapshot.DecimalText(n.Add(n, big.NewRat(1, 1))))
	case []any:
		return append(slices.Clone(v), nil)
	case map[string]any:
		copied := maps.Clone(v)
		copied["changed"] = nil
		return copied
	}
	return nil
}
