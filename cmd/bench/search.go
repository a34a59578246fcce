package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"tollbook/output"
	"tollbook/site"
)

// searchStage measures /v1/search over HTTP on loopback, one request at a time, with what the search page asks for: the
// first one after a start of serve, different ones, and the same ones again. It also counts the bytes that a browser
// without a cache reads for the page and the results of each search from a host of plain files.
var searchStage = stage{"search", "measure searches, and what a browser reads for one",
	func(flags *flag.FlagSet) func(context.Context, *report) error {
		services := flags.Int("services", 20_000, "generated services")
		runs := flags.Int("runs", 3, "starts of serve")
		public := flags.String("public", "", "`folder` that build published, instead of a generated one")
		return func(ctx context.Context, r *report) error { return measureSearches(ctx, r, *services, *runs, *public) }
	}}

func measureSearches(ctx context.Context, r *report, services, runs int, public string) error {
	dir, err := temporary()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tollbook, err := buildTollbook(ctx, dir)
	if err != nil {
		return err
	}
	if public == "" {
		if public, err = generateFolder(ctx, dir, tollbook, services, []string{"--expand", "none"}); err != nil {
			return err
		}
	}
	list, err := searchesOf(public)
	if err != nil {
		return err
	}
	took := series{} // milliseconds
	for range runs {
		s, _, err := startServe(ctx, nil, tollbook, public)
		if err != nil {
			return err
		}
		for _, what := range []string{"different", "again"} {
			times, err := s.time(ctx, list)
			if err != nil {
				s.end()
				return err
			}
			took.add(what+", first", times[0])
			took.add(what+", p50", percentile(times, 50))
			took.add(what+", p95", percentile(times, 95))
		}
		most, err := memoryOf(s.cmd.Process.Pid, "VmHWM")
		s.end()
		if err != nil {
			return err
		}
		took.add("memory", most)
	}
	r.add("first search after a start", "ms", limit{}, took["different, first"]...)
	r.add("different searches: p50", "ms", limit{}, took["different, p50"]...)
	r.add("different searches: p95", "ms", atMost(20), took["different, p95"]...)
	r.add("the same again: p95", "ms", atMost(20), took["again, p95"]...)
	r.add("maximum memory of serve", "MB", atMost(512), took["memory"]...)
	plain, packed, err := transfers(public, list)
	if err != nil {
		return err
	}
	r.add("first search of a browser, files as they are", "kB", limit{}, plain...)
	r.add("first search of a browser, compressed", "kB", atMost(150), packed...)
	r.add("the same, p95", "kB", limit{}, percentile(packed, 95))
	return nil
}

// time returns how long each request takes until its last byte, in milliseconds.
func (s *server) time(ctx context.Context, list []string) (took []float64, err error) {
	for _, target := range list {
		began := time.Now()
		if _, _, err := readBody(ctx, "http://"+s.address+target); err != nil {
			return nil, err
		}
		took = append(took, float64(time.Since(began).Microseconds())/1e3)
	}
	return took, nil
}

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
