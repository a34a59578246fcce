package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/crawl/sample"
	"tollbook/site"
	"tollbook/site/search"
)

// relevanceStage measures whether /v1/search finds the services that a query means, beside Pagefind 1.6 and the full
// text search of Postgres.
// All search the same texts: the services of testdata/services.json, which are real, and those of the sample world. The
// queries and the services that answer them were written down before any ranking of descriptions existed. Grades are 3
// for a service that does exactly that, 2 if it does it among other things, and 1 if it is near. The ranking was tuned
// with the queries of tune.txt; those of heldout.txt were not looked at.
//
// A result at a place is worth (2^grade - 1) / log2(place + 1). The gain of a query is the sum over its first ten
// results. nDCG@10 is the gain divided by that of the best possible order. So it lies between 0 and 1. success@1 is the
// share of queries whose first result has grade 3.
var relevanceStage = stage{"relevance", "measure what a search finds, beside pagefind and Postgres",
	func(*flag.FlagSet) func(context.Context, *report) error { return measureRelevance }}

//go:embed testdata
var queryFiles embed.FS

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
	file, err := queryFiles.ReadFile("testdata/services.json")
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

// searchEngine returns the slugs that it finds for each query, at most ten, the best first.
type searchEngine func(ctx context.Context, documents []document, queries []string) ([][]string, error)

// searchPeers are the engines that ours is compared with.
var searchPeers = []struct {
	name   string
	search searchEngine
}{
	{"pagefind 1.6", searchPagefind},
	{"Postgres, all words", postgresEngine("websearch_to_tsquery('english', $1)")},
	{"Postgres, any word", postgresEngine(
		"replace(plainto_tsquery('english', $1)::text, ' & ', ' | ')::tsquery")},
}

func measureRelevance(ctx context.Context, r *report) error {
	documents, err := readDocuments()
	if err != nil {
		return err
	}
	sets, err := readSets()
	if err != nil {
		return err
	}
	for _, set := range sets {
		ours, err := set.measure(ctx, documents, searchOurs)
		if err != nil {
			return err
		}
		for _, p := range searchPeers {
			theirs, err := set.measure(ctx, documents, p.search)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			about := fmt.Sprintf("%s, %d queries: ", set.name, len(set.queries))
			r.compare(about+"nDCG@10", p.name, "", []float64{ours.ndcg}, []float64{theirs.ndcg}, atLeast(1))
			r.compare(about+"success@1", p.name, "", []float64{ours.success}, []float64{theirs.success}, atLeast(1))
		}
	}
	return nil
}

// readSets returns the sets of queries that there are.
func readSets() (sets []querySet, err error) {
	for _, name := range []string{"tune", "heldout"} {
		file, err := queryFiles.ReadFile("testdata/" + name + ".txt")
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

// searchOurs searches as /v1/search does.
func searchOurs(_ context.Context, documents []document, queries []string) (results [][]string, err error) {
	w := search.NewWeigher()
	for i := range documents {
		d := &documents[i]
		of := search.Document{Name: d.Name, Category: d.Category, Description: d.Description}
		for _, e := range d.Endpoints {
			of.Paths, of.Descriptions = append(of.Paths, e.Path), append(of.Descriptions, e.Description)
		}
		w.Add(search.Weigh(&of))
	}
	index := w.Index()
	from := termsInMemory{w, w.Shards(), len(documents)}
	for _, q := range queries {
		matches, err := search.Find(&index, q, from)
		if err != nil {
			return nil, err
		}
		slugs := []string{}
		for _, hit := range matches.Hits[:min(len(matches.Hits), maxResults)] {
			slugs = append(slugs, documents[hit.Place].Slug)
		}
		results = append(results, slugs)
	}
	return results, nil
}

// termsInMemory contains the files of terms.
type termsInMemory struct {
	weigher  *search.Weigher
	shards   map[string][]string
	services int
}

func (m termsInMemory) Shard(name string) (*search.Shard, error) {
	var lines [][]byte
	for _, term := range m.shards[name] {
		line, err := json.Marshal(m.weigher.Term(term))
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return search.ParseShard(lines, m.services)
}

func (m termsInMemory) Vocabulary() (*site.Vocabulary, error) {
	v := m.weigher.Vocabulary()
	return &v, nil
}

// searchPagefind makes an HTML page of each service, indexes the pages and searches them with pagefind's own script.
func searchPagefind(ctx context.Context, documents []document, queries []string) (results [][]string, err error) {
	dir, err := temporary()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	input, err := json.Marshal(map[string]any{"documents": documents, "queries": queries, "folder": dir})
	if err != nil {
		return nil, err
	}
	cmd := peer(ctx, nil, "pagefind.sh", dir)
	cmd.Stdin = bytes.NewReader(input)
	out, _, err := run(cmd)
	if err != nil {
		return nil, err
	}
	return results, json.Unmarshal(out, &results)
}

// postgresEngine returns an engine that ranks by ts_rank_cd over weighted fields. query is the expression of a tsquery.
func postgresEngine(query string) searchEngine {
	return func(ctx context.Context, documents []document, queries []string) (results [][]string, err error) {
		dir, err := temporary()
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		server, err := startPostgres(ctx, filepath.Join(dir, "postgres"), true)
		if err != nil {
			return nil, err
		}
		defer server.end()
		conn, err := pgx.Connect(ctx, server.DSN())
		if err != nil {
			return nil, err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		if err := insertDocuments(ctx, conn, documents); err != nil {
			return nil, err
		}
		for _, text := range queries {
			rows, err := conn.Query(ctx, `SELECT slug FROM document, (SELECT `+query+` AS q) AS query WHERE words @@ q
				ORDER BY ts_rank_cd(words, q) DESC, slug LIMIT $2`, text, maxResults)
			if err != nil {
				return nil, err
			}
			slugs, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				return nil, err
			}
			results = append(results, slugs)
		}
		return results, nil
	}
}

// insertDocuments creates the table of documents. Words of names weigh most, then categories and descriptions, then
// endpoints.
func insertDocuments(ctx context.Context, conn *pgx.Conn, documents []document) error {
	if _, err := conn.Exec(ctx, `CREATE TABLE document (slug text, words tsvector)`); err != nil {
		return err
	}
	for _, d := range documents {
		var endpoints strings.Builder
		for _, e := range d.Endpoints { // the parser takes a path for one word
			fmt.Fprintf(&endpoints, "%s %s. ", strings.ReplaceAll(e.Path, "/", " "), e.Description)
		}
		if _, err := conn.Exec(ctx, `INSERT INTO document VALUES ($1, setweight(to_tsvector('english', $2), 'A') ||
			setweight(to_tsvector('english', $3), 'B') || setweight(to_tsvector('english', $4), 'B') ||
			setweight(to_tsvector('english', $5), 'C'))`,
			d.Slug, d.Name, d.Category, d.Description, endpoints.String()); err != nil {
			return err
		}
	}
	return nil
}
