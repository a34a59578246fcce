package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

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

	figures map[string][]float64 // of each run, by what was measured
}

func newReport() report {
	commit, _ := exec.Command("git", "describe", "--always", "--dirty").Output() // none outside a clone
	return report{Command: strings.Join(append([]string{"go run ./cmd/bench"}, os.Args[1:]...), " "),
		Commit: strings.TrimSpace(string(commit)), When: time.Now().UTC().Truncate(time.Second),
		Go: runtime.Version(), Cores: runtime.GOMAXPROCS(0), figures: map[string][]float64{}}
}

// note records a figure of a run.
func (r *report) note(what string, value float64) { r.figures[what] = append(r.figures[what], value) }

// compare adds a line about two figures, each with a value for each run.
func (r *report) compare(what, unit, ours, peer string, l limit) {
	ratios := slices.Clone(r.figures[ours])
	for i := range ratios {
		ratios[i] /= r.figures[peer][i]
	}
	ratio, other := newSpread(ratios), newSpread(r.figures[peer])
	r.Results = append(r.Results, result{what, unit, newSpread(r.figures[ours]), peer, &other, &ratio, l,
		l.verdict(ratio.Median)})
}

// add adds a line without a peer.
func (r *report) add(what, unit string, l limit, values ...float64) {
	s := newSpread(values)
	r.Results = append(r.Results, result{What: what, Unit: unit, Ours: s, Limit: l, Verdict: l.verdict(s.Median)})
}

// percentile returns the value that this many of a hundred values do not exceed.
func percentile(values []float64, n int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)*n+99)/100-1]
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
