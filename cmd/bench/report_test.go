package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAlternate checks the order of the runs: neighbouring runs are compared. All sides must do the
// same work.
func TestAlternate(t *testing.T) {
	var order []string
	count := func(name string, value float64) side {
		return side{name, func() (float64, string) {
			order = append(order, name)
			value++
			return value, "3 rows"
		}}
	}
	b := &bench{runs: 3, report: report{figures: map[string][]float64{}}}
	b.alternate(count("ours", 10), count("theirs", 0))
	if diff := cmp.Diff([]string{"ours", "theirs", "ours", "theirs", "ours", "theirs"}, order); diff != "" {
		t.Errorf("order of the runs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]float64{"ours": {11, 12, 13}, "theirs": {1, 2, 3}}, b.figures); diff != "" {
		t.Errorf("figures of the sides (-want +got):\n%s", diff)
	}
	err := attempt(func() { b.alternate(side{"short", func() (float64, string) { return 9, "2 rows" }}) })
	if err == nil || !strings.Contains(err.Error(), "short did 2 rows, want 3 rows") {
		t.Errorf("a side that does less: %v", err)
	}
	broken := errors.New("peer is not installed")
	err = attempt(func() { b.alternate(side{"broken", func() (float64, string) { check(broken); return 0, "" }}) })
	if !errors.Is(err, broken) {
		t.Errorf("a side that fails: %v", err)
	}
}

// TestReport checks the text of a report: its ratios are those of each run, not of the medians.
func TestReport(t *testing.T) {
	r := &report{Command: "go run ./cmd/bench read", Commit: "abc", When: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		Go: "go1.26", Cores: 2, figures: map[string][]float64{"serve": {90, 100, 120}, "nginx": {100, 50, 240}, "build": {6, 4, 5},
			"deflate": {2, 2, 2}}}
	r.compare("literal file", "requests/s", "serve", "nginx", atLeast(0.9))
	r.compare("whole build", "s", "build", "deflate", atMost(2))
	r.add("maximum memory", "MB", atMost(2), 3, 1, 2)
	r.add("files", "", limit{}, 7)
	var text bytes.Buffer
	if err := r.text(&text); err != nil {
		t.Fatal(err)
	}
	want := `
$ go run ./cmd/bench read
2026-11-21 09:00:00, commit abc, go1.26, 2 cores; minimum / median / maximum
literal file    90 / 100 / 120 requests/s  nginx 50 / 100 / 240  ratio 0.5 / 0.9 / 2  at least 0.9: hold
whole build     4 / 5 / 6 s                deflate 2 / 2 / 2     ratio 2 / 2.5 / 3    at most 2: miss
maximum memory  1 / 2 / 3 MB               at most 2: hold
files           7 / 7 / 7 
`
	if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(text.String())); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}
