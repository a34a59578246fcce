package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"tollbook/output"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/search"
)

// searchStage measures /v1/search over HTTP on loopback, one request at a time, with what the search page asks for:
// different searches, and the same ones again. It also counts the bytes that a browser without a cache reads for the
// page and the results of each search from a host of plain files. A run is a start of serve.
var searchStage = stage{name: "search", short: "measure searches, and what a browser reads for one", services: 20_000,
	runs: 3, flags: plain((*bench).measureSearches)}

func (b *bench) measureSearches() {
	d := b.crowd(b.path("postgres"), b.services, time.Now().Truncate(time.Minute))
	b.build(d, "--expand", "none")
	check(d.Stop(b.ctx))
	openSnapshot(b.path("data", "public"), func(snap *output.Snapshot, index *routes.Index) {
		list := searchesOf(snap)
		for range b.runs {
			s := b.serve(nil, b.path("data", "public"))
			for _, what := range []string{"different", "again"} {
				var took []float64 // milliseconds
				for _, target := range list {
					began := time.Now()
					b.read("http://" + s.address + target)
					took = append(took, float64(time.Since(began).Microseconds())/1e3)
				}
				b.note(what+", first", took[0])
				b.note(what+", p95", percentile(took, 95))
			}
			b.note("memory", maxMemory(s.cmd.Process.Pid))
			s.end()
		}
		b.add("first search after a start", "ms", limit{}, b.figures["different, first"]...)
		b.add("different searches: p95", "ms", atMost(20), b.figures["different, p95"]...)
		b.add("the same again: p95", "ms", atMost(20), b.figures["again, p95"]...)
		b.add("maximum memory of serve", "MB", atMost(512), b.figures["memory"]...)
		packed := transfers(snap, len(index.Slugs), list)
		b.add("first search of a browser, compressed", "kB", atMost(150), packed...)
		b.add("the same, p95", "kB", limit{}, percentile(packed, 95))
	})
}

// searchesOf returns 400 searches as readers type them: one to three words that services have, every third with
// filters. Each asks for what the search page shows.
func searchesOf(snap *output.Snapshot) []string {
	var vocabulary site.One[site.Vocabulary]
	check(json.Unmarshal(must(snap.ReadFile(site.VocabularyFile)), &vocabulary))
	var frequent []string // words that some services share, as those of a need are
	for word, n := range vocabulary.Data.Terms {
		if n > 1 {
			frequent = append(frequent, word)
		}
	}
	slices.Sort(frequent)
	r := rand.New(rand.NewPCG(4020, 402))
	filters := []string{"&network=BSE&max_price_usd=0.01", "&status=online&min_uptime_30d=99", "&sort=price"}
	list := make([]string, 400)
	for i := range list {
		words := make([]string, 1+r.IntN(3))
		for k := range words {
			words[k] = frequent[r.IntN(len(frequent))]
		}
		list[i] = "/v1/search?q=" + url.QueryEscape(strings.Join(words, " ")) + "&include=assessment,facets&per_page=10"
		if i%3 == 0 {
			list[i] += filters[r.IntN(len(filters))]
		}
	}
	return list
}

// searchAssets are the files of the search page that the browser reads before it shows anything.
var searchAssets = regexp.MustCompile(`assets/(?:site|search|local-search)\.[0-9a-f]+\.(?:css|js)`)

// transfers returns the compressed kB that a browser without a cache reads for the page and the results of each search,
// from a host of plain files. The script of the page reads the same files as package search.
func transfers(snap *output.Snapshot, slugs int, list []string) (packed []float64) {
	sizes := map[string]float64{}
	for _, target := range list {
		path, query, _ := strings.Cut(target, "?")
		q := must(routes.ParseRequest(path, query))
		from := &browser{snap, slugs, sizes, map[string]bool{}}
		for _, asset := range searchAssets.FindAll(from.read("search.html"), -1) {
			from.read(string(asset))
		}
		if _, _, err := search.ResultsPage(q, slugs, from); err != nil {
			failf("%s: %w", target, err)
		}
		sum := 0.0
		for key := range from.keys {
			sum += sizes[key] / 1e3
		}
		packed = append(packed, sum)
	}
	return packed
}

// browser reads the files of a snapshot for one search, and records which.
type browser struct {
	snap  *output.Snapshot
	slugs int
	sizes map[string]float64 // bytes when compressed, by key; shared by all searches
	keys  map[string]bool
}

func (r *browser) read(key string) []byte {
	data := must(r.snap.ReadFile(key))
	if r.keys[key] = true; r.sizes[key] == 0 {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		must(z.Write(data))
		check(z.Close())
		r.sizes[key] = float64(b.Len())
	}
	return data
}

// lines returns the lines of a list.
func (r *browser) lines(key string) [][]byte {
	lines, _, err := encode.Framing{}.Split(r.read(key))
	check(err)
	return lines
}

// Index implements search.resultsSource.
func (r *browser) Index() (*site.TermIndex, error) {
	var one site.One[site.TermIndex]
	return &one.Data, json.Unmarshal(r.read(site.TermsFile), &one)
}

// Vocabulary implements search.Source.
func (r *browser) Vocabulary() (*site.Vocabulary, error) {
	var one site.One[site.Vocabulary]
	return &one.Data, json.Unmarshal(r.read(site.VocabularyFile), &one)
}

// Shard implements search.Source.
func (r *browser) Shard(name string) (*search.Shard, error) {
	return search.ParseShard(r.lines(routes.TermShardKey(name)), r.slugs)
}

// Column implements search.resultsSource.
func (r *browser) Column(name string) (*search.Column, error) {
	return search.ParseColumn(name, r.read(routes.ColumnKey(name)), r.slugs)
}

// Built implements search.resultsSource.
func (r *browser) Built() time.Time { return r.snap.Checkpoint.Built() }

// Rows implements search.resultsSource.
func (r *browser) Rows(places []int32) (parts []site.RowParts, err error) {
	for _, place := range places {
		lines := r.lines(routes.RowsKey(int(place) / site.RowsPerBlock))
		row, ok := site.SplitRow(slices.Concat(lines[int(place)%site.RowsPerBlock]))
		if !ok {
			return nil, fmt.Errorf("no row at place %d", place)
		}
		parts = append(parts, row)
	}
	return parts, nil
}
