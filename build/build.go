// Package build makes a snapshot: it reads all facts in one transaction of Postgres, judges them and writes every file.
//
// Facts come from site/postgres, judgments from build/judge, pages from render, and output stores the files. The
// package must never use the network, and nothing in it may depend on the order of a map.
package build

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"time"

	"tollbook/build/judge"
	"tollbook/build/tables"
	"tollbook/output"
	"tollbook/render"
	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/postgres/statement"
)

// GCPercent suits a process that builds, because pages and JSON leave much garbage. A build of 20,000 services takes
// 532 MB at Go's default of 100, and 413 MB at 50.
const GCPercent = 50

// Options of a build.
type Options struct {
	Now       time.Time     // every judgment is as of then
	Every     time.Duration // until the next build
	LogDelay  time.Duration // until a row enters a log; longer than a visit takes to be stored
	Expand    output.Expand
	Packed    bool // store a gzip body beside each single file
	Site      render.Site
	FreeHosts listing.FreeHosts     // in addition to the shipped ones
	Progress  func(done, total int) // called with the number of written services; may be nil

	// Program identifies the program. Files that another program rendered are rendered again. A build with an empty
	// Program copies no files from the previous snapshot.
	Program string

	Key ed25519.PrivateKey // signs the checkpoint; nil for none
}

// Report says what a build wrote.
type Report struct {
	Snapshot string        `json:"snapshot"`
	Services int           `json:"services"`
	Copied   int           `json:"carried"` // services whose rendered files were copied from the previous snapshot
	Files    int           `json:"files"`
	Bytes    int64         `json:"bytes"`
	Zip      int64         `json:"zip_bytes"`
	Packs    int           `json:"packs"` // new packs
	Needed   []string      `json:"-"`     // hours of the packs that the snapshot's logs name
	Took     time.Duration `json:"-"`
}

// Run builds a snapshot and makes it current in folder. If Run fails or is killed, the last snapshot stays current.
func Run(ctx context.Context, db *postgres.DB, folder *output.Folder, o Options) (Report, error) {
	began := time.Now()
	o.Now = o.Now.UTC().Truncate(time.Millisecond)
	if err := db.SealLogs(ctx, o.Now, o.LogDelay); err != nil {
		return Report{}, err
	}
	b, err := folder.Begin(ctx, output.BuildOptions{
		Now: o.Now, Next: o.Now.Add(o.Every), Expand: o.Expand, Packed: o.Packed, Key: o.Key,
	})
	if err != nil {
		return Report{}, fmt.Errorf("begin snapshot: %w", err)
	}
	defer b.Abort()
	pages, err := render.NewPages(o.Site)
	if err != nil {
		return Report{}, fmt.Errorf("prepare pages: %w", err)
	}
	previous, err := listPrevious(folder, b)
	if err != nil {
		return Report{}, err
	}
	var report Report
	err = db.Read(ctx, func(r *postgres.Reader) (err error) {
		report, err = writeTree(ctx, r, folder, b, pages, previous, o)
		return err
	})
	if err != nil {
		return Report{}, err
	}
	done, err := b.Commit(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("publish snapshot: %w", err)
	}
	report.Snapshot, report.Took = done.Checkpoint.Snapshot, time.Since(began)
	report.Files, report.Bytes, report.Zip = done.Summary.Files, done.Summary.Bytes, done.Summary.CompressedBytes
	return report, nil
}

// writeTree reads the facts, judges them and writes every file. It handles some services at a time, because a large
// directory does not fit into memory. Endpoints are read twice in the same transaction: for judgments that compare
// services, and for each service's own files.
func writeTree(ctx context.Context, r *postgres.Reader, folder *output.Folder, b *output.Build, pages *render.Pages,
	previous []site.PublishedSnapshot, o Options) (Report, error) {
	facts, err := r.Directory(ctx, o.Now, o.LogDelay)
	if err != nil {
		return Report{}, err
	}
	report := Report{Services: len(facts.Services)}
	names := judge.NewNames(facts)
	judged := judge.New(facts, judge.Options{
		Now: o.Now, Next: o.Now.Add(o.Every), BaseURL: o.Site.BaseURL, FreeHosts: o.FreeHosts,
	})
	lookups, catalogue := newLookups(judged.Snapshot), newCatalogue()
	endpoints := func(of []postgres.ServiceFacts) error { return r.Endpoints(ctx, o.Now, o.LogDelay, of) }
	err = survey(judged, facts, endpoints, func(i int, endpoints []site.Endpoint, isStable bool) {
		lookups.count(i, endpoints)
		if isStable {
			catalogue.count(i, endpoints)
		}
	})
	if err != nil {
		return Report{}, err
	}
	recipients, tokens := judged.RevenueQuery()
	if facts.Revenue, err = r.ReadRevenue(ctx, o.Now, recipients, tokens); err != nil {
		return Report{}, err
	}
	removed, err := r.RemovedServices(ctx)
	if err != nil {
		return Report{}, err
	}
	if err := erasePacks(folder, b, removed); err != nil {
		return Report{}, err
	}
	if report.Packs, report.Needed, err = writePacks(ctx, r, names, folder, b); err != nil {
		return Report{}, err
	}
	judged.Prepare()
	judged.Snapshot.Previous = previous
	judged.Snapshot.Assets = tables.New(facts.Tokens, o.FreeHosts)
	renderer := pages.NewRenderer(judged.Snapshot)
	inputs, err := newPreviousInputs(b, o.Program, renderer.ServiceRenderer)
	if err != nil {
		return Report{}, err
	}
	statements, err := r.Statements(ctx, o.Now, tokens)
	if err != nil {
		return Report{}, err
	}
	w := &snapshotWriter{
		facts: facts, judged: judged, now: o.Now, renderer: renderer, previous: inputs, lookups: lookups,
		catalogue: catalogue, to: b, progress: o.Progress, endpoints: endpoints,
		details: func(from, to int) error {
			if err := r.Details(ctx, o.Now, o.LogDelay, facts.Services[from:to]); err != nil {
				return err
			}
			return readStatements(ctx, judged, facts, statements, from, to)
		},
	}
	if err := w.write(ctx); err != nil {
		return Report{}, err
	}
	b.SetNotes(inputs.notes())
	report.Copied = inputs.copiedServices()
	return report, nil
}

// surveyedServices is how many services are surveyed at once. Their endpoints are in memory meanwhile.
const surveyedServices = 500

// survey surveys all services, some at a time. It drops their endpoints, which are read again for their files.
func survey(judged *judge.Directory, facts *postgres.Facts, read readFacts,
	each func(i int, endpoints []site.Endpoint, isStable bool)) error {
	for from := 0; from < len(facts.Services); from += surveyedServices {
		part := facts.Services[from:min(from+surveyedServices, len(facts.Services))]
		if err := read(part); err != nil {
			return err
		}
		judged.Survey(from, from+len(part), each)
		for i := range part {
			part[i].Endpoints, part[i].Moves = nil, nil
		}
	}
	return nil
}

// readStatements reads the statements of the services from one place up to another.
func readStatements(ctx context.Context, judged *judge.Directory, facts *postgres.Facts, reader *statement.Reader,
	from, to int) error {
	var query []statement.Recipient
	ends := make([]int, 0, to-from) // of each service's part of the query
	for i := from; i < to; i++ {
		query = append(query, judged.StatementQuery(i)...)
		ends = append(ends, len(query))
	}
	list, err := reader.Read(ctx, query)
	if err != nil {
		return err
	}
	start := 0
	for i, end := range ends {
		facts.Services[from+i].Statements = list[start:end]
		start = end
	}
	return nil
}
