// Package relevance measures whether /v1/search finds the services that a query means, beside Pagefind 1.6 and the full
// text search of Postgres:
//
//	go run ./cmd/bench relevance
//
// All search the same texts: the services of testdata/services.json, which are real, and those of the sample world. The
// queries and the services that answer them were written down before any ranking of descriptions existed. Grades are 3
// for a service that does exactly that, 2 if it does it among other things, and 1 if it is near. The ranking was tuned
// with the queries of tune.txt; those of heldout.txt were not looked at.
//
// A result at a place is worth (2^grade - 1) / log2(place + 1). The gain of a query is the sum over its first ten
// results. nDCG@10 is the gain divided by that of the best possible order. So it lies between 0 and 1. success@1 is the
// share of queries whose first result has grade 3.
package relevance

import (
	"context"
	"embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"tollbook/cmd/bench/harness"
	"tollbook/crawl/sample"
)

// Command is the bench.
var Command = harness.Command{Name: "relevance", Short: "measure what a search finds, beside pagefind and Postgres",
	Flags: func(*flag.FlagSet) func(context.Context) error { return run }}

//go:embed testdata
var data embed.FS

// document is the text of a service.
type document struct {
	Slug        string     `json:"slug"`
	Name        string     `json:"name"`
	Category    string     `json:"category"`
	Description string     `json:"description"`
	Endpoints   []endpoint `json:"endpoints"`
}

type endpoint struct {
	Path        string `json:"path"`
	Description string `json:"description"`
}

// readDocuments returns the services by slug.
func readDocuments() ([]document, error) {
	file, err := data.ReadFile("testdata/services.json")
	if err != nil {
		return nil, err
	}
	var list []document
	if err := json.Unmarshal(file, &list); err != nil {
		return nil, err
	}
	for _, l := range sample.Listings(time.Unix(0, 0), time.Hour) {
		d := document{Slug: l.Slug, Name: l.Name, Category: l.Category, Description: l.Description,
			Endpoints: []endpoint{}}
		for _, e := range l.Endpoints[:min(len(l.Endpoints), 25)] {
			d.Endpoints = append(d.Endpoints, endpoint{e.Path, *e.Description})
		}
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b document) int { return strings.Compare(a.Slug, b.Slug) })
	return list, nil
}

// engine returns the slugs that it finds for each query, at most ten, the best first.
type engine func(ctx context.Context, documents []document, queries []string) ([][]string, error)

// peers are the engines that ours is compared with.
var peers = []struct {
	name   string
	search engine
}{
	{"pagefind 1.6", searchPagefind},
	{"Postgres, all words", postgresEngine("websearch_to_tsquery('english', $1)")},
	{"Postgres, any word", postgresEngine(
		"replace(plainto_tsquery('english', $1)::text, ' & ', ' | ')::tsquery")},
}

func run(ctx context.Context) error {
	documents, err := readDocuments()
	if err != nil {
		return err
	}
	sets, err := readSets()
	if err != nil {
		return err
	}
	report := harness.NewReport(1)
	for _, set := range sets {
		ours, err := set.measure(ctx, documents, searchOurs)
		if err != nil {
			return err
		}
		for _, p := range peers {
			theirs, err := set.measure(ctx, documents, p.search)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			about := fmt.Sprintf("%s, %d queries: ", set.name, len(set.queries))
			bound := harness.Bound{Target: 1, Hoped: 1.2}
			report.Compare(about+"nDCG@10", p.name, "", []float64{ours.ndcg}, []float64{theirs.ndcg}, bound)
			report.Compare(about+"success@1", p.name, "", []float64{ours.success}, []float64{theirs.success}, bound)
		}
	}
	return report.Print()
}

// readSets returns the sets of queries that there are.
func readSets() (sets []set, err error) {
	for _, name := range []string{"tune", "heldout"} {
		file, err := data.ReadFile("testdata/" + name + ".txt")
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s, err := parseSet(name, string(file))
		if err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	return sets, nil
}
