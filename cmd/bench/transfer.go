package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"tollbook/output"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/search"
)

// searchAssets are the files of the search page that the browser reads before it shows anything.
var searchAssets = regexp.MustCompile(`assets/(?:site|search|local-search)\.[0-9a-f]+\.(?:css|js)`)

// transfers returns the kB that a browser without a cache reads for the page and the results of each search, from a
// host of plain files, as they are and compressed. The script of the page reads the same files as package results.
func transfers(public string, list []string) (plain, packed []float64, err error) {
	source, err := output.OpenSource(public, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, err
	}
	defer source.Close()
	snap, err := source.Current()
	if err != nil {
		return nil, nil, err
	}
	defer snap.Release()
	index, err := readIndex(snap)
	if err != nil {
		return nil, nil, err
	}
	sizes := map[string][2]int{}
	for _, target := range list {
		path, query, _ := strings.Cut(target, "?")
		q, err := routes.ParseRequest(path, query)
		if err != nil {
			return nil, nil, err
		}
		from := &browsing{snap: snap, slugs: len(index.Slugs), sizes: sizes, keys: map[string]bool{}}
		page, err := from.read("search.html")
		if err != nil {
			return nil, nil, err
		}
		for _, asset := range searchAssets.FindAll(page, -1) {
			if _, err := from.read(string(asset)); err != nil {
				return nil, nil, err
			}
		}
		if _, _, err := search.ResultsPage(q, len(index.Slugs), from); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", target, err)
		}
		sum := [2]int{}
		for key := range from.keys {
			sum[0], sum[1] = sum[0]+sizes[key][0], sum[1]+sizes[key][1]
		}
		plain, packed = append(plain, float64(sum[0])/1e3), append(packed, float64(sum[1])/1e3)
	}
	return plain, packed, nil
}

// browsing reads the files of a snapshot for one search, and records which. It implements search.resultsSource.
type browsing struct {
	snap  *output.Snapshot
	slugs int
	sizes map[string][2]int // by key, as they are and compressed; shared by all searches
	keys  map[string]bool
}

func (r *browsing) read(key string) ([]byte, error) {
	data, err := r.snap.ReadFile(key)
	if err != nil {
		return nil, err
	}
	r.keys[key] = true
	if _, ok := r.sizes[key]; !ok {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(data); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		r.sizes[key] = [2]int{len(data), b.Len()}
	}
	return data, nil
}

func decodeOne[T any](r *browsing, key string) (*T, error) {
	data, err := r.read(key)
	if err != nil {
		return nil, err
	}
	var one site.One[T]
	return &one.Data, json.Unmarshal(data, &one)
}

// Index implements search.resultsSource.
func (r *browsing) Index() (*site.TermIndex, error) {
	return decodeOne[site.TermIndex](r, site.TermsFile)
}

// Vocabulary implements search.Source.
func (r *browsing) Vocabulary() (*site.Vocabulary, error) {
	return decodeOne[site.Vocabulary](r, site.VocabularyFile)
}

// Shard implements search.Source.
func (r *browsing) Shard(name string) (*search.Shard, error) {
	data, err := r.read(routes.TermShardKey(name))
	if err != nil {
		return nil, err
	}
	lines, _, err := encode.Framing{}.Split(data)
	if err != nil {
		return nil, err
	}
	return search.ParseShard(lines, r.slugs)
}

// Column implements search.resultsSource.
func (r *browsing) Column(name string) (*search.Column, error) {
	data, err := r.read(routes.ColumnKey(name))
	if err != nil {
		return nil, err
	}
	return search.ParseColumn(name, data, r.slugs)
}

// Rows implements search.resultsSource.
func (r *browsing) Rows(places []int32) (parts []site.RowParts, err error) {
	for _, place := range places {
		data, err := r.read(routes.RowsKey(int(place) / site.RowsPerBlock))
		if err != nil {
			return nil, err
		}
		lines, _, err := encode.Framing{}.Split(data)
		if err != nil {
			return nil, err
		}
		row, ok := site.SplitRow(slices.Concat(lines[int(place)%site.RowsPerBlock]))
		if !ok {
			return nil, fmt.Errorf("no row at place %d", place)
		}
		parts = append(parts, row)
	}
	return parts, nil
}
