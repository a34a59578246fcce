package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
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
var relevanceStage = stage{name: "relevance", short: "measure what a search finds, beside pagefind and Postgres",
	flags: plain((*bench).measureRelevance)}

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
func readDocuments() (list []document) {
	check(json.Unmarshal(must(queryFiles.ReadFile("testdata/services.json")), &list))
	for _, l := range sample.Listings(time.Unix(0, 0), time.Hour) {
		d := document{Slug: l.Slug, Name: l.Name, Category: l.Category, Description: l.Description,
			Endpoints: []endpoint{}}
		for _, e := range l.Endpoints[:min(len(l.Endpoints), 25)] {
			d.Endpoints = append(d.Endpoints, endpoint{e.Path, *e.Description})
		}
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b document) int { return strings.Compare(a.Slug, b.Slug) })
	return list
}

// maxResults is the number of results that count.
const maxResults = 10

func (b *bench) measureRelevance() {
	documents := readDocuments()
	d := b.postgres(b.path("postgres"), true)
	conn := must(pgx.Connect(b.ctx, d.DSN()))
	b.atEnd(func() { _ = conn.Close(context.Background()) })
	b.insertDocuments(conn, documents)
	for _, set := range []querySet{readSet("tune"), readSet("heldout")} {
		ours := set.measure(searchOurs(documents, set.queries))
		for _, p := range []struct {
			name    string
			results [][]string
		}{
			{"pagefind 1.6", b.searchPagefind(documents, set)},
			{"Postgres, all words", b.searchPostgres(conn, set.queries, "websearch_to_tsquery('english', $1)")},
			{"Postgres, any word", b.searchPostgres(conn, set.queries,
				"replace(plainto_tsquery('english', $1)::text, ' & ', ' | ')::tsquery")},
		} {
			theirs := set.measure(p.results)
			about := fmt.Sprintf("%s, %d queries: ", set.name, len(set.queries))
			b.figures = map[string][]float64{"nDCG": {ours.ndcg}, "success": {ours.success}}
			b.figures[p.name] = []float64{theirs.ndcg}
			b.compare(about+"nDCG@10", "", "nDCG", p.name, atLeast(1))
			b.figures[p.name] = []float64{theirs.success}
			b.compare(about+"success@1", "", "success", p.name, atLeast(1))
		}
	}
}

// querySet is a set of queries with the services that answer them.
type querySet struct {
	name    string
	queries []string
	grades  []map[string]int // of each query, by slug
}

// readSet reads lines of a query, a bar, and slugs with their grades.
func readSet(name string) querySet {
	s := querySet{name: name}
	for line := range strings.Lines(string(must(queryFiles.ReadFile("testdata/" + name + ".txt")))) {
		query, answers, _ := strings.Cut(strings.TrimSpace(line), "|")
		if query == "" || query[0] == '#' {
			continue
		}
		grades := map[string]int{}
		for _, answer := range strings.Fields(answers) {
			slug, grade, _ := strings.Cut(answer, "=")
			grades[slug] = must(strconv.Atoi(grade))
			if grades[slug] < 1 || grades[slug] > 3 {
				failf("read queries of %s: %s has no grade from 1 to 3", name, slug)
			}
		}
		if len(grades) == 0 {
			failf("read queries of %s: %q has no answers", name, query)
		}
		s.queries, s.grades = append(s.queries, strings.TrimSpace(query)), append(s.grades, grades)
	}
	return s
}

// quality is the mean over a set's queries.
type quality struct{ ndcg, success float64 }

// measure returns the quality of the results of each query: slugs, the best first.
func (s *querySet) measure(results [][]string) (q quality) {
	for i, slugs := range results {
		var grades []int
		for _, slug := range slugs {
			grades = append(grades, s.grades[i][slug])
		}
		best := slices.Collect(maps.Values(s.grades[i]))
		slices.SortFunc(best, func(a, b int) int { return b - a })
		q.ndcg += gain(grades) / gain(best) / float64(len(results))
		if len(grades) > 0 && grades[0] == 3 {
			q.success += 1 / float64(len(results))
		}
	}
	return q
}

// gain returns the discounted cumulative gain of grades.
func gain(grades []int) (sum float64) {
	for i, grade := range grades[:min(len(grades), maxResults)] {
		sum += (math.Pow(2, float64(grade)) - 1) / math.Log2(float64(i+2))
	}
	return sum
}

// searchOurs searches as /v1/search does.
func searchOurs(documents []document, queries []string) (results [][]string) {
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
		matches := must(search.Find(&index, q, from))
		slugs := []string{}
		for _, hit := range matches.Hits[:min(len(matches.Hits), maxResults)] {
			slugs = append(slugs, documents[hit.Place].Slug)
		}
		results = append(results, slugs)
	}
	return results
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
		lines = append(lines, must(json.Marshal(m.weigher.Term(term))))
	}
	return search.ParseShard(lines, m.services)
}

func (m termsInMemory) Vocabulary() (*site.Vocabulary, error) {
	return new(m.weigher.Vocabulary()), nil
}

// searchPagefind makes an HTML page of each service, indexes the pages and searches them with pagefind's own script.
func (b *bench) searchPagefind(documents []document, set querySet) (results [][]string) {
	dir := b.path("pagefind-" + set.name)
	check(os.MkdirAll(dir, 0o755))
	cmd := b.peer(nil, "pagefind.sh", dir)
	cmd.Stdin = bytes.NewReader(must(json.Marshal(map[string]any{"documents": documents, "queries": set.queries,
		"folder": dir})))
	out, _ := b.run(cmd)
	check(json.Unmarshal(out, &results))
	return results
}

// searchPostgres ranks by ts_rank_cd over weighted fields. query is the expression of a tsquery.
func (b *bench) searchPostgres(conn *pgx.Conn, queries []string, query string) (results [][]string) {
	for _, text := range queries {
		rows := must(conn.Query(b.ctx, `SELECT slug FROM document, (SELECT `+query+` AS q) AS query WHERE words @@ q
			ORDER BY ts_rank_cd(words, q) DESC, slug LIMIT $2`, text, maxResults))
		results = append(results, must(pgx.CollectRows(rows, pgx.RowTo[string])))
	}
	return results
}

// insertDocuments creates the table of documents. Words of names weigh most, then categories and descriptions, then
// endpoints.
func (b *bench) insertDocuments(conn *pgx.Conn, documents []document) {
	must(conn.Exec(b.ctx, `CREATE TABLE document (slug text, words tsvector)`))
	for _, d := range documents {
		var endpoints strings.Builder
		for _, e := range d.Endpoints { // the parser takes a path for one word
			fmt.Fprintf(&endpoints, "%s %s. ", strings.ReplaceAll(e.Path, "/", " "), e.Description)
		}
		must(conn.Exec(b.ctx, `INSERT INTO document VALUES ($1, setweight(to_tsvector('english', $2), 'A') ||
			setweight(to_tsvector('english', $3), 'B') || setweight(to_tsvector('english', $4), 'B') ||
			setweight(to_tsvector('english', $5), 'C'))`,
			d.Slug, d.Name, d.Category, d.Description, endpoints.String()))
	}
}
