package snapshot

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

// Report collects what a recomputation found.
type Report struct {
	Kinds       map[string]*Kind // by name
	Explained   map[string]bool  // file and path of each value that was recomputed
	figures     int
	Part        int // index of the recomputation that runs
	Differences []difference
	Unexplained map[string]int // kinds of values that are neither recomputed nor inputs, with their number

	// Silent stops the collection of everything but differences: a mutation needs to know nothing else.
	Silent bool
}

// Kind is a kind of figure.
type Kind struct {
	rule    string // section of the methodology or page of the reference
	figures int
	Part    int    // the recomputation that compares them
	Places  []Node // where such figures are, for mutations
}

// difference is a figure whose published value is not the recomputed one.
type difference struct{ file, path, published, recomputed, rule string }

// Figure compares a published value with the recomputed one. The recomputed value is nil for null, or a bool, string,
// int, *big.Rat, time.Time, []string, []any, map[string]any of these, or another node. A list or an object is compared
// element by element; an object may have no other member. rule names the section with the formula.
func (r *Report) Figure(rule string, published Node, recomputed any) {
	switch want := recomputed.(type) {
	case Node:
		r.Figure(rule, published, want.Value)
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
	r.Compare(rule, published, Canonical(published.Value), Canonical(recomputed))
}

func (r *Report) list(rule string, published Node, want []any) {
	items := published.Items()
	if _, isList := published.Value.([]any); !isList || len(items) != len(want) {
		r.Compare(rule, published, Describe(published.Value), fmt.Sprintf("list of %d", len(want)))
		return
	}
	if len(want) == 0 {
		r.Compare(rule, published, "[]", "[]")
	}
	for i, item := range items {
		r.Figure(rule, item, want[i])
	}
}

func (r *Report) object(rule string, published Node, want map[string]any) {
	names := slices.Sorted(maps.Keys(want))
	if !slices.Equal(published.Keys(), names) {
		r.Compare(rule, published, Describe(published.Value), "members "+strings.Join(names, " "))
		return
	}
	if len(want) == 0 {
		r.Compare(rule, published, "{}", "{}")
	}
	for _, name := range names {
		r.Figure(rule, published.Get(name), want[name])
	}
}

// Compare records one figure.
func (r *Report) Compare(rule string, at Node, published, recomputed string) {
	r.figures++
	if published != recomputed {
		r.Differences = append(r.Differences, difference{at.File, at.Path(), published, recomputed, rule})
	}
	if r.Silent {
		return
	}
	r.Explained[at.File+" "+at.Path()] = true
	name := at.Kind()
	k := r.Kinds[name]
	if k == nil {
		k = &Kind{rule: rule, Part: r.Part}
		r.Kinds[name] = k
	}
	k.figures++
	k.Places = append(k.Places, at)
}

// Input records that nothing in the snapshot determines this value, although values of its kind may be figures.
func (r *Report) Input(at Node) {
	if !r.Silent {
		r.Explained[at.File+" "+at.Path()] = true
	}
}

// Canonical writes a value so that equal values have equal texts: numbers are exact, times are published times.
func Canonical(value any) string {
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
		return DecimalText(v)
	case json.Number:
		return Canonical(Node{Value: v}.Number())
	case time.Time:
		if v.IsZero() {
			return "null"
		}
		return strconv.Quote(v.UTC().Format(TimeLayout))
	case []any, map[string]any:
		return Describe(v)
	}
	panic(fmt.Sprintf("canonical: a %T", value))
}

// DecimalText writes an exact number as a decimal if it has one, otherwise as a fraction.
func DecimalText(r *big.Rat) string {
	if places, exact := r.FloatPrec(); exact {
		return r.FloatString(places)
	}
	return r.RatString()
}

// Describe says in short what a list or an object is.
func Describe(value any) string {
	switch v := value.(type) {
	case []any:
		return fmt.Sprintf("list of %d", len(v))
	case map[string]any:
		return "members " + strings.Join(slices.Sorted(maps.Keys(v)), " ")
	}
	return Canonical(value)
}

// Print writes the report and returns whether the snapshot is completely explained.
func (r *Report) Print(w io.Writer, kinds bool) bool {
	if kinds {
		for _, name := range slices.Sorted(maps.Keys(r.Kinds)) {
			fmt.Fprintf(w, "%8d  %s  (%s)\n", r.Kinds[name].figures, name, r.Kinds[name].rule)
		}
	}
	for _, d := range r.Differences {
		fmt.Fprintf(w, "different: %s %s: published %s, recomputed %s (%s)\n", d.file, d.path, d.published,
			d.recomputed, d.rule)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Unexplained)) {
		fmt.Fprintf(w, "unexplained: %s (%d values)\n", name, r.Unexplained[name])
	}
	fmt.Fprintf(w, "%d kinds of figures, %d figures, %d differences, %d kinds of values unexplained\n",
		len(r.Kinds), r.figures, len(r.Differences), len(r.Unexplained))
	return len(r.Differences) == 0 && len(r.Unexplained) == 0
}
