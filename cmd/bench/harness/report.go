// Package harness measures two sides of a comparison and reports the result. On a shared machine, a time alone means
// little. The sides run alternately in one process, and the result is the ratio of neighbouring runs. The package must
// never know what is measured.
package harness

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

// A Side runs once and returns its result, in the unit of its comparison.
type Side func(ctx context.Context) (float64, error)

// Alternate runs the sides one after the other, count times. It returns a list for each side, with a value for each
// run.
func Alternate(ctx context.Context, count int, sides ...Side) ([][]float64, error) {
	results := make([][]float64, len(sides))
	for run := range count {
		for i, side := range sides {
			value, err := side(ctx)
			if err != nil {
				return nil, fmt.Errorf("run %d of side %d: %w", run+1, i+1, err)
			}
			results[i] = append(results[i], value)
			log.Printf("run %d of %d, side %d: %.4g", run+1, count, i+1, value)
		}
	}
	return results, nil
}

// Spread is the minimum, median and maximum of several runs.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// NewSpread returns the spread of values, which must not be empty.
func NewSpread(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	return Spread{sorted[0], sorted[len(sorted)/2], sorted[len(sorted)-1]}
}

func (s Spread) String() string { return fmt.Sprintf("%.4g / %.4g / %.4g", s.Min, s.Median, s.Max) }

// Bound is the limit of a ratio or a figure: a minimum, or a maximum if Most is set. A zero Target means no limit.
type Bound struct {
	Target float64 `json:"target,omitempty"`
	Hoped  float64 `json:"hoped,omitempty"`
	Most   bool    `json:"at_most,omitempty"`
}

// verdict compares a median with the bound.
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

// Comparison is a line of a report. Its ratio is our value divided by the peer's of the same run, in any unit.
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

// Figure is a number without a peer.
type Figure struct {
	What    string `json:"what"`
	Unit    string `json:"unit"`
	Spread  Spread `json:"values"`
	Bound   Bound  `json:"bound"`
	Verdict string `json:"verdict,omitempty"`
}

// Report is the output of a bench.
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

// NewReport returns an empty report of that number of runs.
func NewReport(runs int) *Report {
	return &Report{Command: commandLine(), Commit: commit(), When: time.Now().UTC().Truncate(time.Second),
		Go: runtime.Version(), Cores: runtime.GOMAXPROCS(0), Runs: runs}
}

// commit returns the description that git gives to the current folder, or the revision of the build outside a clone.
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

// Compare adds a line. Both ours and theirs have a value for each run.
func (r *Report) Compare(what, peer, unit string, ours, theirs []float64, bound Bound) {
	ratios := make([]float64, min(len(ours), len(theirs)))
	for i := range ratios {
		ratios[i] = ours[i] / theirs[i]
	}
	ratio := NewSpread(ratios)
	r.Comparisons = append(r.Comparisons, Comparison{what, peer, unit, NewSpread(ours), NewSpread(theirs), ratio, bound,
		bound.verdict(ratio.Median)})
}

// Add adds a figure.
func (r *Report) Add(what, unit string, values ...float64) {
	r.AddBounded(what, unit, Bound{}, values...)
}

// AddBounded adds a figure with a bound of its own.
func (r *Report) AddBounded(what, unit string, bound Bound, values ...float64) {
	spread := NewSpread(values)
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
			c.Bound.describe(c.Verdict))
	}
	for _, f := range r.Figures {
		fmt.Fprintf(w, "%s\t%v %s", f.What, f.Spread, f.Unit)
		if f.Verdict != "" {
			fmt.Fprintf(w, "\t%s", f.Bound.describe(f.Verdict))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// describe returns the bound and its verdict as text.
func (b Bound) describe(verdict string) string {
	if verdict == "" {
		return ""
	}
	word := "at least"
	if b.Most {
		word = "at most"
	}
	return fmt.Sprintf("%s %g, hoped %g: %s", word, b.Target, b.Hoped, verdict)
}
