package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// querySet is a set of queries with the services that answer them.
type querySet struct {
	name    string
	queries []string
	grades  []map[string]int // of each query, by slug
}

// parseSet reads lines of a query, a bar, and slugs with their grades.
func parseSet(name, text string) (querySet, error) {
	s := querySet{name: name}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		query, answers, ok := strings.Cut(line, "|")
		grades := map[string]int{}
		for _, answer := range strings.Fields(answers) {
			slug, grade, _ := strings.Cut(answer, "=")
			n, err := strconv.Atoi(grade)
			if err != nil || n < 1 || n > 3 {
				return querySet{}, fmt.Errorf("read queries of %s: %s has no grade from 1 to 3", name, slug)
			}
			grades[slug] = n
		}
		if !ok || len(grades) == 0 {
			return querySet{}, fmt.Errorf("read queries of %s: a query has no answers", name)
		}
		s.queries, s.grades = append(s.queries, strings.TrimSpace(query)), append(s.grades, grades)
	}
	return s, nil
}

// quality is the mean over a set's queries.
type quality struct{ ndcg, success float64 }

// measure returns the quality of an engine's results.
func (s *querySet) measure(ctx context.Context, documents []document, search searchEngine) (quality, error) {
	results, err := search(ctx, documents, s.queries)
	if err != nil {
		return quality{}, err
	}
	if len(results) != len(s.queries) {
		return quality{}, fmt.Errorf("%d results for %d queries", len(results), len(s.queries))
	}
	var q quality
	for i, slugs := range results {
		var grades, best []int
		for _, slug := range slugs {
			grades = append(grades, s.grades[i][slug])
		}
		for _, grade := range s.grades[i] {
			best = append(best, grade)
		}
		slices.Sort(best)
		slices.Reverse(best)
		q.ndcg += gain(grades) / gain(best)
		if len(grades) > 0 && grades[0] == 3 {
			q.success++
		}
	}
	n := float64(len(s.queries))
	return quality{q.ndcg / n, q.success / n}, nil
}

// maxResults is the number of results that count.
const maxResults = 10

// gain returns the discounted cumulative gain of grades.
func gain(grades []int) (sum float64) {
	for i, grade := range grades[:min(len(grades), maxResults)] {
		sum += (math.Pow(2, float64(grade)) - 1) / math.Log2(float64(i+2))
	}
	return sum
}
