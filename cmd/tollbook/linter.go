package main

import (
	"context"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"tollbook/cmd/tollbook/lint"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/crawl/facts"
	"tollbook/crawl/probe"
	"tollbook/site/rail"
)

// lintWorkers is how many URLs are asked at a time.
const lintWorkers = 4

// linter asks URLs and reads the documents of sites, without a pause between requests.
type linter struct {
	o       *lintOptions
	prober  *probe.Prober
	fetcher *facts.Fetcher
}

func newLinter(o *lintOptions) *linter {
	guard := &o.guard
	guard.AllowPrivate = o.AllowPrivate
	return &linter{
		o:      o,
		prober: probe.New(probe.Options{Guard: guard, Routes: o.routes, UserAgent: o.userAgent()}),
		fetcher: facts.New(facts.Options{Guard: guard, Routes: o.routes, UserAgent: o.userAgent(),
			LookupTXT: o.lookupTXT}),
	}
}

func (l *linter) close() {
	l.prober.Close()
	l.fetcher.Close()
}

// target is a URL to ask.
type target struct {
	url, method string
	candidate   bool // a document names it without saying that it asks for payment
}

// isSite reports whether an address names a site: it has no path.
func isSite(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.Path == "" &&
		u.RawQuery == "" && u.Fragment == ""
}

// plan returns the URLs to ask for addresses, and the sites among these whose documents were read.
func (l *linter) plan(ctx context.Context, addresses []string) (sites []lint.Site, targets []target) {
	for _, address := range addresses {
		own := []target{{url: address, method: l.o.Method}}
		if isSite(address) && ctx.Err() == nil {
			site, declared := l.survey(ctx, address)
			if sites = append(sites, site); len(declared) > 0 {
				own = declared
			}
		}
		targets = append(targets, own...)
	}
	return sites, targets
}

// ask returns the reports on URLs, in order. It calls print with each as soon as those before it are known. If ctx
// ends, it returns what is known by then, and complete is false.
func (l *linter) ask(ctx context.Context, targets []target, print func(*lint.Report)) (reports []lint.Report,
	complete bool) {
	bar := terminal.NewCounter("checked")
	defer bar.Finish()
	var (
		g    errgroup.Group
		mu   sync.Mutex
		done = make([]*lint.Report, len(targets))
		next int // the first target whose report is not printed yet
		n    int
	)
	reports = []lint.Report{}
	add := func(i int) {
		if targets[i].candidate && done[i].Passed == nil {
			return // most candidates are pages
		}
		reports = append(reports, *done[i])
		print(done[i])
	}
	g.SetLimit(lintWorkers)
	for i, t := range targets {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error {
			report := l.lintURL(ctx, t)
			if ctx.Err() != nil {
				return nil // the answer may be that of an interrupted request
			}
			mu.Lock()
			defer mu.Unlock()
			done[i] = &report
			if n++; len(targets) > 1 {
				bar.Set(n, len(targets))
			}
			for ; next < len(done) && done[next] != nil; next++ {
				add(next)
			}
			return nil
		})
	}
	_ = g.Wait() // no function returns an error
	complete = next == len(targets)
	for ; next < len(done); next++ {
		if done[next] != nil {
			add(next)
		}
	}
	return reports, complete
}

// survey reads the documents of a site and returns the endpoints that they declare.
func (l *linter) survey(ctx context.Context, address string) (lint.Site, []target) {
	seen := l.fetcher.Survey(ctx, address, "")
	site := lint.NewSite(address, seen)
	var list []target
	add := func(endpoints []facts.Endpoint, candidate bool) {
		for _, e := range endpoints {
			t := target{url: strings.TrimRight(address, "/") + e.Path, method: e.Method, candidate: candidate}
			if l.o.Method != "" {
				t.method = l.o.Method
			}
			list = append(list, t)
		}
	}
	add(seen.Endpoints, false)
	site.Declared = len(list)
	if n := len(list); n > l.o.Limit {
		site.LeftOut = n - l.o.Limit
		list = list[:l.o.Limit]
	}
	if len(list) < l.o.Limit {
		add(seen.Candidates[:min(len(seen.Candidates), l.o.Limit-len(list))], true)
	}
	return site, list
}

// lintURL returns the report on one URL.
func (l *linter) lintURL(ctx context.Context, t target) lint.Report {
	session := &probe.Session{} // if the URL names a tool
	result := l.prober.Probe(ctx, probe.Target{URL: t.url, Method: t.method, Session: session,
		OnlyMethod: t.candidate})
	l.prober.EndSession(ctx, session)
	var tools []probe.ToolResult
	if result.SuggestsMCP() {
		tools, _ = l.prober.ProbeTools(ctx, t.url, lint.MaxTools) // an error means that it is no MCP server
	}
	if readers := l.prober.Look(ctx, result, t.method == ""); len(readers) > 0 {
		result.Conflicts = rail.CompareReaders(readers)
	}
	report := lint.New(t.url, result, l.headFree(ctx, result))
	report.AddTools(tools)
	if len(tools) == 0 {
		report.AddHints(result, l.prober.AskAsBrowser(ctx, result, t.url))
	}
	return report
}
