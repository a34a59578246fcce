// Package build is the builder: one consistent read of Postgres, judgments, every file of a tree.
//
// Judgments are pure functions of facts and now, so that a better formula costs a rebuild, not a crawl. The package
// owns no rows and no files: facts come from site/postgres, bytes from render, and output carries them. It must never
// ask the network, and nothing in it may depend on the order of a map.
package build

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"time"

	"tollbook/build/judge"
	"tollbook/output"
	"tollbook/render"
	"tollbook/site"
	"tollbook/site/postgres"
)

// GCPercent suits a process while it builds: pages and JSON leave much garbage, and at Go's own 100 a build of 20,000
// services takes 532 MB, at 50 it takes 413 MB.
const GCPercent = 50

// Options of a build.
type Options struct {
	Now       time.Time     // every judgment is as of then
	Every     time.Duration // until the next build
	LogDelay  time.Duration // after their time rows enter a log: longer than a visit takes to be told
	Expand    output.Expand
	Packed    bool // single files have a gzip body beside them
	Site      render.Site
	Program   string                // identifies the program: what another one rendered is rendered anew; "" copies nothing
	FreeHosts site.FreeHosts        // beside the shipped ones
	Progress  func(done, total int) // services written so far; nil for none

	Key ed25519.PrivateKey // signs the checkpoint; nil for none
}

// Report is what a build made.
type Report struct {
	Snapshot string        `json:"snapshot"`
	Services int           `json:"services"`
	Carried  int           `json:"carried"` // of these, whose rendered files were copied from the previous snapshot
	Files    int           `json:"files"`
	Bytes    int64         `json:"bytes"`
	Zip      int64         `json:"zip_bytes"`
	Packs    int           `json:"packs"` // new ones
	Needed   []string      `json:"-"`     // hours of the packs that the snapshot's logs name
	Took     time.Duration `json:"-"`
}

// Run reads the facts, judges them, writes every file and publishes the snapshot to folder. When it fails, or is
// killed, the last snapshot stays current.
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
	published, err := earlier(folder, b)
	if err != nil {
		return Report{}, err
	}
	var made made
	err = db.Read(ctx, func(r *postgres.Reader) (err error) {
		made, err = writeTree(ctx, r, folder, b, pages, published, o)
		return err
	})
	if err != nil {
		return Report{}, err
	}
	done, err := b.Commit(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("publish snapshot: %w", err)
	}
	return Report{
		Snapshot: done.Checkpoint.Snapshot, Services: made.services, Carried: made.copied, Packs: made.packs, Needed: made.needed,
		Files: done.Summary.Files, Bytes: done.Summary.Bytes, Zip: done.Summary.CompressedBytes, Took: time.Since(began),
	}, nil
}

// made is what writeTree made.
type made struct {
	services, copied, packs int
	needed                  []string // hours of packs
}

// writeTree reads the facts, judges them and writes every file, some services after the others: a large directory does
// not fit into memory. Endpoints are read twice in the same transaction, for what is judged across services and for
// their own files.
func writeTree(ctx context.Context, r *postgres.Reader, folder *output.Folder, b *output.Build, pages *render.Pages,
	published []site.PublishedSnapshot, o Options) (made, error) {
	facts, err := r.Directory(ctx, o.Now, o.LogDelay)
	if err != nil {
		return made{}, err
	}
	m := made{services: len(facts.Services)}
	names := judge.NewNames(facts)
	judged := judge.New(facts, judge.Options{
		Now: o.Now, Next: o.Now.Add(o.Every), BaseURL: o.Site.BaseURL, FreeHosts: o.FreeHosts,
	})
	lookups, catalogue := newLookups(judged.Snapshot), &catalogue{}
	endpoints := func(of []postgres.ServiceFacts) error { return r.Endpoints(ctx, o.Now, of) }
	err = survey(judged, facts, endpoints, func(i int, endpoints []site.Endpoint) {
		lookups.survey(i, endpoints)
		catalogue.survey(endpoints)
	})
	if err != nil {
		return made{}, err
	}
	recipients, flows := judged.RevenueQuery()
	if facts.Takings, err = r.Takings(ctx, o.Now, recipients, flows); err != nil {
		return made{}, err
	}
	removed, err := r.Removed(ctx)
	if err == nil {
		err = erasePacks(folder, b, removed)
	}
	if err != nil {
		return made{}, err
	}
	if m.packs, m.needed, err = writePacks(ctx, r, names, folder, b); err != nil {
		return made{}, err
	}
	judged.Prepare()
	judged.Snapshot.Previous = published
	edition := pages.Edition(judged.Snapshot)
	previous, err := newPreviousInputs(b, o.Program, edition.Surroundings)
	if err != nil {
		return made{}, err
	}
	w := &snapshotWriter{
		facts: facts, judged: judged, now: o.Now, edition: edition, previous: previous, lookups: lookups,
		catalogue: catalogue, to: b, progress: o.Progress, endpoints: endpoints,
		details: func(of []postgres.ServiceFacts) error { return r.Details(ctx, o.Now, o.LogDelay, of) },
	}
	if err := w.write(ctx); err != nil {
		return made{}, err
	}
	b.SetNotes(previous.notes())
	m.copied = previous.copies()
	return m, nil
}

// surveyedServices is how many services are surveyed at once, whose endpoints are then in memory.
const surveyedServices = 500

// survey surveys all services, some after the others. It drops their endpoints, which are read again for their files.
func survey(judged *judge.Directory, facts *postgres.Facts, read readFacts,
	each func(i int, endpoints []site.Endpoint)) error {
	for from := 0; from < len(facts.Services); from += surveyedServices {
		part := facts.Services[from:min(from+surveyedServices, len(facts.Services))]
		if err := read(part); err != nil {
			return err
		}
		judged.Survey(from, from+len(part), each)
		for i := range part {
			part[i].Endpoints = nil
		}
	}
	return nil
}
