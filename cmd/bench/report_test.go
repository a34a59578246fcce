package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAlternate checks the order of the runs: neighbouring runs are compared.
func TestAlternate(t *testing.T) {
	var order []string
	count := func(name string, value float64) side {
		return func(context.Context) (float64, error) {
			order = append(order, name)
			value++
			return value, nil
		}
	}
	results, err := alternate(t.Context(), 3, count("ours", 10), count("theirs", 0))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ours", "theirs", "ours", "theirs", "ours", "theirs"}, order); diff != "" {
		t.Errorf("order of the runs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]float64{{11, 12, 13}, {1, 2, 3}}, results); diff != "" {
		t.Errorf("results of the sides (-want +got):\n%s", diff)
	}
	broken := errors.New("peer is not installed")
	if _, err := alternate(t.Context(), 1, func(context.Context) (float64, error) { return 0, broken }); !errors.Is(err,
		broken) {
		t.Errorf("a side that fails: %v", err)
	}
}

// TestReport checks the text of a report: its ratios are those of each run, not of the medians.
func TestReport(t *testing.T) {
	r := &report{Command: "go run ./cmd/bench read", Commit: "abc", When: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		Go: "go1.26", Cores: 2}
	r.compare("literal file", "nginx", "requests/s", []float64{90, 100, 120}, []float64{100, 50, 240}, atLeast(0.9))
	r.compare("whole build", "deflate", "s", []float64{6, 4, 5}, []float64{2, 2, 2}, atMost(2))
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
