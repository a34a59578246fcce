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
)

// mutate changes figures one at a time, in turns over all kinds, and recomputes the snapshot after each change. It
// prints the kinds whose change makes no difference and returns whether there are none.
func mutate(w io.Writer, snap *snapshot, r *report, mutations int, seed uint64) bool {
	random := rand.New(rand.NewPCG(seed, seed))
	names := slices.Sorted(maps.Keys(r.kinds))
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	if mutations < 0 {
		mutations = len(names)
	}
	unnoticed := map[string]string{}
	for i := range mutations {
		k := r.kinds[names[i%len(names)]]
		place := k.places[random.IntN(len(k.places))]
		change := changed(place.value)
		place.set(change)
		if !isNoticed(snap, k.part, len(r.differences)) {
			unnoticed[names[i%len(names)]] = fmt.Sprintf("%s %s: %s changed to %s", place.file, place.path(),
				canonical(place.value), canonical(change))
		}
		place.set(place.value)
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
func isNoticed(snap *snapshot, first, before int) bool {
	d, r := newDirectory(snap), &report{silent: true}
	recomputations[first](d, r)
	if before == 0 && len(r.differences) > 0 {
		return true
	}
	for i, part := range recomputations {
		if i != first {
			part(d, r)
		}
	}
	return len(r.differences) != before
}

// changed returns another value of the same type: the next number, the next millisecond, a longer text; 0 for null.
func changed(value any) any {
	switch v := value.(type) {
	case nil:
		return json.Number("0")
	case bool:
		return !v
	case string:
		if t, err := time.Parse(timeLayout, v); err == nil {
			return t.Add(time.Millisecond).Format(timeLayout)
		}
		return v + "0"
	case json.Number:
		n := node{value: v}.number()
		return json.Number(decimalText(n.Add(n, big.NewRat(1, 1))))
	case []any:
		return append(slices.Clone(v), nil)
	case map[string]any:
		copied := maps.Clone(v)
		copied["changed"] = nil
		return copied
	}
	return nil
}
