package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A side runs once and returns its result, in the unit of its comparison.
type side func(ctx context.Context) (float64, error)

// alternate runs the sides one after the other, count times. It returns a list for each side, with a value for each
// run.
func alternate(ctx context.Context, count int, sides ...side) ([][]float64, error) {
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

// series are values of several runs, by what was measured.
type series map[string][]float64

func (s series) add(what string, value float64) { s[what] = append(s[what], value) }

// spread is the minimum, median and maximum of several runs.
type spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// newSpread returns the spread of values, which must not be empty.
func newSpread(values []float64) spread {
	sorted := slices.Sorted(slices.Values(values))
	return spread{sorted[0], sorted[len(sorted)/2], sorted[len(sorted)-1]}
}

func (s spread) String() string { return fmt.Sprintf("%.4g / %.4g / %.4g", s.Min, s.Median, s.Max) }

// limit is what a ratio or a figure must hold: a minimum, or a maximum if Most is set. A zero Value limits nothing.
type limit struct {
	Value float64 `json:"value,omitempty"`
	Most  bool    `json:"at_most,omitempty"`
}

func atLeast(value float64) limit { return limit{Value: value} }
func atMost(value float64) limit  { return limit{value, true} }

// verdict returns "hold" or "miss" for a median, "" without a limit.
func (l limit) verdict(median float64) string {
	switch {
	case l.Value == 0:
		return ""
	case l.Most && median <= l.Value || !l.Most && median >= l.Value:
		return "hold"
	}
	return "miss"
}

func (l limit) String() string {
	switch {
	case l.Value == 0:
		return ""
	case l.Most:
		return fmt.Sprintf("at most %g", l.Value)
	}
	return fmt.Sprintf("at least %g", l.Value)
}

// result is a line of a report. With a peer the limit is about the ratio: our value divided by the peer's of the same
// run.
type result struct {
	What    string  `json:"what"`
	Unit    string  `json:"unit,omitempty"`
	Ours    spread  `json:"ours"`
	Peer    string  `json:"peer,omitempty"`
	Theirs  *spread `json:"theirs,omitempty"`
	Ratio   *spread `json:"ratio,omitempty"`
	Limit   limit   `json:"limit"`
	Verdict string  `json:"verdict,omitempty"`
}

// measured returns what the limit is about.
func (r *result) measured() string {
	if r.Ratio != nil {
		return r.Ratio.String() + " × " + r.Peer
	}
	return strings.TrimSpace(r.Ours.String() + " " + r.Unit)
}

// report is the output of a bench.
type report struct {
	Command string    `json:"command"`
	Commit  string    `json:"commit"`
	When    time.Time `json:"when"`
	Go      string    `json:"go"`
	Cores   int       `json:"cores"`
	Results []result  `json:"results"`
}

func newReport() *report {
	commit, _ := exec.Command("git", "describe", "--always", "--dirty").Output() // none outside a clone
	return &report{Command: strings.Join(append([]string{"go run ./cmd/bench"}, os.Args[1:]...), " "),
		Commit: strings.TrimSpace(string(commit)), When: time.Now().UTC().Truncate(time.Second),
		Go: runtime.Version(), Cores: runtime.GOMAXPROCS(0)}
}

// compare adds a line. Both ours and theirs have a value for each run.
func (r *report) compare(what, peer, unit string, ours, theirs []float64, l limit) {
	ratios := make([]float64, min(len(ours), len(theirs)))
	for i := range ratios {
		ratios[i] = ours[i] / theirs[i]
	}
	ratio, other := newSpread(ratios), newSpread(theirs)
	r.Results = append(r.Results, result{what, unit, newSpread(ours), peer, &other, &ratio, l, l.verdict(ratio.Median)})
}

// add adds a line without a peer.
func (r *report) add(what, unit string, l limit, values ...float64) {
	s := newSpread(values)
	r.Results = append(r.Results, result{What: what, Unit: unit, Ours: s, Limit: l, Verdict: l.verdict(s.Median)})
}

// print writes the report as text to stderr and as JSON to stdout.
func (r *report) print() error {
	if err := r.text(os.Stderr); err != nil {
		return err
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

func (r *report) text(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n$ %s\n%s, commit %s, %s, %d cores; minimum / median / maximum\n", r.Command,
		r.When.Format(time.DateTime), r.Commit, r.Go, r.Cores)
	for _, l := range r.Results {
		fmt.Fprintf(w, "%s\t%v %s", l.What, l.Ours, l.Unit)
		if l.Ratio != nil {
			fmt.Fprintf(w, "\t%s %v\tratio %v", l.Peer, l.Theirs, l.Ratio)
		}
		if l.Verdict != "" {
			fmt.Fprintf(w, "\t%v: %s", l.Limit, l.Verdict)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
