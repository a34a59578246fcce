// Package turns owns how two sides of a comparison are measured: in turn, on one machine, in one process' life, and how
// the outcome is told. A time alone says nothing on a shared machine, so what counts is the ratio of two neighbours in
// time. It must never know what is measured.
package turns

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A Side runs once and says what it gave, in the unit of its comparison.
type Side func(ctx context.Context) (float64, error)

// Take lets the sides run one after the other, count times, and returns what each gave: a list a side, a value a run.
func Take(ctx context.Context, count int, sides ...Side) ([][]float64, error) {
	given := make([][]float64, len(sides))
	for run := range count {
		for i, side := range sides {
			value, err := side(ctx)
			if err != nil {
				return nil, fmt.Errorf("run %d of side %d: %w", run+1, i+1, err)
			}
			given[i] = append(given[i], value)
			log.Printf("run %d of %d, side %d: %.4g", run+1, count, i+1, value)
		}
	}
	return given, nil
}

// Spread is what several runs gave.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// Of is the spread of values, of which there is at least one.
func Of(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	return Spread{sorted[0], sorted[len(sorted)/2], sorted[len(sorted)-1]}
}

func (s Spread) String() string { return fmt.Sprintf("%.4g / %.4g / %.4g", s.Min, s.Median, s.Max) }

// Bound is what a ratio, or a figure, is held to: at least so much, or at most where less is better; nothing where it
// is zero.
type Bound struct {
	Target float64 `json:"target,omitempty"`
	Hoped  float64 `json:"hoped,omitempty"`
	Most   bool    `json:"at_most,omitempty"`
}

// verdict judges a median.
func (b Bound) verdict(median float64) string {
	reached := func(bound float64) bool { return b.Most && median <= bound || !b.Most && median >= bound }
	switch {
	case b.Target == 0:
		return ""
	case reached(b.Hoped):
		return "as hoped"
	case reached(b.Target):
		return "met"
	}
	return "missed"
}

// Comparison is a line of a report. A ratio is ours divided by the peer's of the same run, whatever the unit.
type Comparison struct {
	What    string `json:"what"`
	Peer    string `json:"peer"`
	Unit    string `json:"unit"`
	Ours    Spread `json:"ours"`
	Theirs  Spread `json:"theirs"`
	Ratio   Spread `json:"ratio"`
	Bound   Bound  `json:"bound"`
	Verdict string `json:"verdict,omitempty"`
}

// Figure is a number that is told without a peer.
type Figure struct {
	What    string `json:"what"`
	Unit    string `json:"unit"`
	Spread  Spread `json:"values"`
	Bound   Bound  `json:"bound"`
	Verdict string `json:"verdict,omitempty"`
}

// Report is what a bench prints.
type Report struct {
	Command     string       `json:"command"`
	Commit      string       `json:"commit"`
	When        time.Time    `json:"when"`
	Go          string       `json:"go"`
	Cores       int          `json:"cores"`
	Runs        int          `json:"runs"`
	Comparisons []Comparison `json:"comparisons"`
	Figures     []Figure     `json:"figures"`
}

// New begins a report of so many runs.
func New(runs int) *Report {
	return &Report{Command: commandLine(), Commit: commit(), When: time.Now().UTC().Truncate(time.Second),
		Go: runtime.Version(), Cores: runtime.GOMAXPROCS(0), Runs: runs}
}

// commit is what git says of the folder that the bench runs in, nothing where it is no clone.
func commit() string {
	if out, err := exec.Command("git", "describe", "--always", "--dirty").Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

// Compare adds a line: ours and theirs hold a value a run.
func (r *Report) Compare(what, peer, unit string, ours, theirs []float64, bound Bound) {
	ratios := make([]float64, min(len(ours), len(theirs)))
	for i := range ratios {
		ratios[i] = ours[i] / theirs[i]
	}
	ratio := Of(ratios)
	r.Comparisons = append(r.Comparisons, Comparison{what, peer, unit, Of(ours), Of(theirs), ratio, bound,
		bound.verdict(ratio.Median)})
}

// Tell adds numbers that have no peer.
func (r *Report) Tell(what, unit string, values ...float64) { r.Hold(what, unit, Bound{}, values...) }

// Hold is Tell of numbers that are held to something by themselves.
func (r *Report) Hold(what, unit string, bound Bound, values ...float64) {
	spread := Of(values)
	r.Figures = append(r.Figures, Figure{what, unit, spread, bound, bound.verdict(spread.Median)})
}

// Print writes the report as text to stderr and as JSON to stdout.
func (r *Report) Print() error {
	if err := r.text(os.Stderr); err != nil {
		return err
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

func (r *Report) text(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n$ %s\n%s, commit %s, %s, %d cores, %d runs; minimum / median / maximum\n", r.Command,
		r.When.Format(time.DateTime), r.Commit, r.Go, r.Cores, r.Runs)
	for _, c := range r.Comparisons {
		fmt.Fprintf(w, "%s\tours %v %s\t%s %v\tratio %v\t%s\n", c.What, c.Ours, c.Unit, c.Peer, c.Theirs, c.Ratio,
			c.Bound.held(c.Verdict))
	}
	for _, f := range r.Figures {
		fmt.Fprintf(w, "%s\t%v %s", f.What, f.Spread, f.Unit)
		if f.Verdict != "" {
			fmt.Fprintf(w, "\t%s", f.Bound.held(f.Verdict))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// held says what is held to a bound, and what came of it.
func (b Bound) held(verdict string) string {
	if verdict == "" {
		return ""
	}
	word := "at least"
	if b.Most {
		word = "at most"
	}
	return fmt.Sprintf("%s %g, hoped %g: %s", word, b.Target, b.Hoped, verdict)
}
