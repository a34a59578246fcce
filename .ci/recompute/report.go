package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// report collects what a recomputation found.
type report struct {
	kinds       map[string]*kind // by name
	explained   map[string]bool  // file and path of each value that was recomputed
	figures     int
	part        int // index of the recomputation that runs
	differences []difference
	unexplained map[string]int // kinds of values that are neither recomputed nor inputs, with their number

	// silent stops the collection of everything but differences: a mutation needs to know nothing else.
	silent bool
}

// kind is a kind of figure.
type kind struct {
	rule    string // section of the methodology or page of the reference
	figures int
	part    int    // the recomputation that compares them
	places  []node // where such figures are, for mutations
}

// difference is a figure whose published value is not the recomputed one.
type difference struct{ file, path, published, recomputed, rule string }

// figure compares a published value with the recomputed one. The recomputed value is nil for null, or a bool, string,
// int, *big.Rat, time.Time, []string, []any, map[string]any of these, or another node. A list or an object is compared
// element by element; an object may have no other member. rule names the section with the formula.
func (r *report) figure(rule string, published node, recomputed any) {
	switch want := recomputed.(type) {
	case node:
		r.figure(rule, published, want.value)
		return
	case []string:
		list := make([]any, len(want))
		for i, text := range want {
			list[i] = text
		}
		r.list(rule, published, list)
		return
	case []any:
		r.list(rule, published, want)
		return
	case map[string]any:
		r.object(rule, published, want)
		return
	}
	r.compare(rule, published, canonical(published.value), canonical(recomputed))
}

func (r *report) list(rule string, published node, want []any) {
	items := published.items()
	if _, isList := published.value.([]any); !isList || len(items) != len(want) {
		r.compare(rule, published, describe(published.value), fmt.Sprintf("list of %d", len(want)))
		return
	}
	if len(want) == 0 {
		r.compare(rule, published, "[]", "[]")
	}
	for i, item := range items {
		r.figure(rule, item, want[i])
	}
}

func (r *report) object(rule string, published node, want map[string]any) {
	names := slices.Sorted(maps.Keys(want))
	if !slices.Equal(published.keys(), names) {
		r.compare(rule, published, describe(published.value), "members "+strings.Join(names, " "))
		return
	}
	if len(want) == 0 {
		r.compare(rule, published, "{}", "{}")
	}
	for _, name := range names {
		r.figure(rule, published.get(name), want[name])
	}
}

// compare records one figure.
func (r *report) compare(rule string, at node, published, recomputed string) {
	r.figures++
	if published != recomputed {
		r.differences = append(r.differences, difference{at.file, at.path(), published, recomputed, rule})
	}
	if r.silent {
		return
	}
	r.explained[at.file+" "+at.path()] = true
	name := at.kind()
	k := r.kinds[name]
	if k == nil {
		k = &kind{rule: rule, part: r.part}
		r.kinds[name] = k
	}
	k.figures++
	k.places = append(k.places, at)
}

// input records that nothing in the snapshot determines this value, although values of its kind may be figures.
func (r *report) input(at node) {
	if !r.silent {
		r.explained[at.file+" "+at.path()] = true
	}
}

// canonical writes a value so that equal values have equal texts: numbers are exact, times are published times.
func canonical(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case missing:
		return "nothing"
	case bool:
		return strconv.FormatBool(v)
	case string:
		return strconv.Quote(v)
	case int:
		return strconv.Itoa(v)
	case *big.Rat:
		if v == nil {
			return "null"
		}
		return decimalText(v)
	case json.Number:
		return canonical(node{value: v}.number())
	case time.Time:
		if v.IsZero() {
			return "null"
		}
		return strconv.Quote(v.UTC().Format(timeLayout))
	case []any, map[string]any:
		return describe(v)
	}
	panic(fmt.Sprintf("canonical: a %T", value))
}

// decimalText writes an exact number as a decimal if it has one, otherwise as a fraction.
func decimalText(r *big.Rat) string {
	if places, exact := r.FloatPrec(); exact {
		return r.FloatString(places)
	}
	return r.RatString()
}

// describe says in short what a list or an object is.
func describe(value any) string {
	switch v := value.(type) {
	case []any:
		return fmt.Sprintf("list of %d", len(v))
	case map[string]any:
		return "members " + strings.Join(slices.Sorted(maps.Keys(v)), " ")
	}
	return canonical(value)
}

// print writes the report and returns whether the snapshot is completely explained.
func (r *report) print(w io.Writer, kinds bool) bool {
	if kinds {
		for _, name := range slices.Sorted(maps.Keys(r.kinds)) {
			fmt.Fprintf(w, "%8d  %s  (%s)\n", r.kinds[name].figures, name, r.kinds[name].rule)
		}
	}
	for _, d := range r.differences {
		fmt.Fprintf(w, "different: %s %s: published %s, recomputed %s (%s)\n", d.file, d.path, d.published,
			d.recomputed, d.rule)
	}
	for _, name := range slices.Sorted(maps.Keys(r.unexplained)) {
		fmt.Fprintf(w, "unexplained: %s (%d values)\n", name, r.unexplained[name])
	}
	fmt.Fprintf(w, "%d kinds of figures, %d figures, %d differences, %d kinds of values unexplained\n",
		len(r.kinds), r.figures, len(r.differences), len(r.unexplained))
	return len(r.differences) == 0 && len(r.unexplained) == 0
}
