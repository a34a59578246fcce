package read

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"tollbook/cmd/bench/harness"
	"tollbook/output"
	"tollbook/site"
)

// differentSearches is the number of searches in a run. Each is sent twice.
const differentSearches = 400

// searchesOf returns searches as readers type them: one to three words that services have, every third with filters.
// Each asks for what the search page shows.
func searchesOf(public string) ([]string, error) {
	source, err := output.OpenSource(public, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	defer source.Close()
	snap, err := source.Current()
	if err != nil {
		return nil, err
	}
	defer snap.Release()
	data, err := snap.ReadFile(site.VocabularyFile)
	if err != nil {
		return nil, err
	}
	var vocabulary site.One[site.Vocabulary]
	if err := json.Unmarshal(data, &vocabulary); err != nil {
		return nil, fmt.Errorf("parse %s: %w", site.VocabularyFile, err)
	}
	var frequent []string // words that some services share, as those of a need are
	for word, n := range vocabulary.Data.Terms {
		if n > 1 {
			frequent = append(frequent, word)
		}
	}
	slices.Sort(frequent)
	if len(frequent) == 0 {
		return nil, fmt.Errorf("%s: no two services have a word in common", public)
	}
	r := rand.New(rand.NewPCG(4020, 402))
	filters := []string{"&network=BSE&max_price_usd=0.01", "&status=online&min_uptime_30d=99", "&sort=price"}
	list := make([]string, differentSearches)
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
	return list, nil
}

// measureSearches measures /v1/search over HTTP on loopback, one request at a time: the first one after a start of
// serve, different ones, and the same ones again.
func (b *bench) measureSearches(ctx context.Context, report *harness.Report) error {
	list, err := searchesOf(b.public)
	if err != nil {
		return err
	}
	var first, fresh, again []float64 // milliseconds; of the last two the 95th percentile of a run
	var freshMedian, againMedian, memory []float64
	for range b.runs {
		ours, err := b.startServe(ctx)
		if err != nil {
			return err
		}
		took, err := timeRequests(ctx, ours, list)
		if err == nil {
			first = append(first, took[0])
			freshMedian, fresh = append(freshMedian, percentile(took, 50)), append(fresh, percentile(took, 95))
			took, err = timeRequests(ctx, ours, list)
		}
		if err == nil {
			againMedian, again = append(againMedian, percentile(took, 50)), append(again, percentile(took, 95))
			var most float64
			most, err = ours.maxMemory()
			memory = append(memory, most)
		}
		ours.end()
		if err != nil {
			return err
		}
	}
	report.Add("first search after a start", "ms", first...)
	report.Add("different searches: p50", "ms", freshMedian...)
	report.AddBounded("different searches: p95", "ms", searchBound, fresh...)
	report.Add("the same again: p50", "ms", againMedian...)
	report.AddBounded("the same again: p95", "ms", searchBound, again...)
	report.AddBounded("maximum memory of serve", "MB", memoryBound, memory...)
	plain, packed, err := transfers(b.public, list)
	if err != nil {
		return err
	}
	report.Add("first search of a browser, files as they are", "kB", plain...)
	report.AddBounded("first search of a browser, compressed", "kB", transferBound, packed...)
	return nil
}

// timeRequests returns how long each request takes until its last byte, in milliseconds.
func timeRequests(ctx context.Context, s *server, list []string) (took []float64, err error) {
	for _, target := range list {
		began := time.Now()
		response, err := request(ctx, "http://"+s.address+target)
		if err != nil {
			return nil, err
		}
		n, err := io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || n == 0 {
			return nil, fmt.Errorf("GET %s: status %d, %d bytes: %w", target, response.StatusCode, n, err)
		}
		took = append(took, float64(time.Since(began).Microseconds())/1e3)
	}
	return took, nil
}

// percentile returns the value that this many of a hundred values do not exceed.
func percentile(values []float64, n int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)*n+99)/100-1]
}
