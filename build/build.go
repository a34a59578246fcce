// Package build is the builder: one consistent read of Postgres, judgments, every file of a tree.
//
// Judgments are pure functions of facts and now, so that a better formula costs a rebuild, not a crawl. The package owns
// no rows and no files: facts come from site/postgres, bytes from render, and output carries them. It must never ask the
// network, and nothing in it may depend on the order of a map.
package build

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"time"

	"tollbook/output"
	"tollbook/render"
	"tollbook/site"
	"tollbook/site/postgres"
)

// Options of a build.
type Options struct {
	Now       time.Time     // every judgment is as of then
	Every     time.Duration // until the next build
	LogDelay  time.Duration // after their time rows enter a log: longer than a visit takes to be told
	Expand    output.Expand
	Packed    bool // single files have a gzip body beside them
	Site      render.Site
	Program   string                // which program this is: what another has made is made anew; "" takes nothing over
	FreeHosts site.FreeHosts        // beside the shipped ones
	Progress  func(done, total int) // services written so far; nil for none

	Key ed25519.PrivateKey // signs the checkpoint; nil for none
}

// Report is what a build made.
type Report struct {
	Snapshot string        `json:"snapshot"`
	Services int           `json:"services"`
	Carried  int           `json:"carried"` // of these, whose files were taken over from the snapshot before
	Files    int           `json:"files"`
	Bytes    int64         `json:"bytes"`
	Zip      int64         `json:"zip_bytes"`
	Packs    int           `json:"packs"` // new ones
	Needed   []string      `json:"-"`     // hours of the packs that the snapshot's logs name
	Took     time.Duration `json:"-"`
}

// Run reads the facts, judges them, writes every file and publishes the snapshot to folder. When it fails, or is killed,
// the last snapshot stays current.
func Run(ctx context.Context, db *postgres.DB, folder *output.Folder, o Options) (Report, error) {
	began := time.Now()
	o.Now = o.Now.UTC().Truncate(time.Millisecond)
	if err := db.SealLogs(ctx, o.Now, o.LogDelay); err != nil {
		return Report{}, err
	}
	b, err := folder.Begin(ctx, output.BuildOptions{Now: o.Now, Next: o.Now.Add(o.Every), Expand: o.Expand, Packed: o.Packed, Key: o.Key})
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
	services, carried, packs, needed := 0, 0, 0, []string(nil)
	err = db.Read(ctx, func(r *postgres.Reader) error {
		facts, err := r.Directory(ctx, o.Now, o.LogDelay)
		if err != nil {
			return err
		}
		sums := sumHours(facts, o.Now)
		for i := range facts.Services {
			facts.Services[i].Hours = nil
		}
		j := beginJudgment(facts, sums, o.Now, o.Now.Add(o.Every), o.Site.BaseURL, o.FreeHosts)
		if err := j.readEndpoints(ctx, r); err != nil {
			return err
		}
		if facts.Takings, err = takings(ctx, r, facts, j.claims, o.Now); err != nil {
			return err
		}
		services = len(facts.Services)
		removed, err := r.Removed(ctx)
		if err == nil {
			err = erasePacks(folder, b, removed)
		}
		if err != nil {
			return err
		}
		if packs, needed, err = writePacks(ctx, r, facts, folder, b); err != nil {
			return err
		}
		j.conclude()
		j.snapshot.Earlier = published
		for i := range facts.Services {
			facts.Services[i].NextCheckAt = time.Time{} // the crawler's alone: no file may tell
		}
		facts.Takings.Payees, facts.Log, facts.Changes, facts.ChangeLogs = nil, postgres.LogFacts{}, nil, nil // judged by now
		facts.Facilitators, facts.Chains = nil, nil
		details := func(of []postgres.ServiceFacts) error { return r.Details(ctx, o.Now, o.LogDelay, of) }
		edition := pages.Edition(j.snapshot)
		c, err := newCarry(b, o.Program, edition.Surroundings)
		if err != nil {
			return err
		}
		defer c.close()
		if err := writeSnapshot(ctx, j, details, edition, c, b, o.Progress); err != nil {
			return err
		}
		carried = c.carried()
		return nil
	})
	if err != nil {
		return Report{}, err
	}
	done, err := b.Commit(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("publish snapshot: %w", err)
	}
	return Report{
		Snapshot: done.Checkpoint.Snapshot, Services: services, Carried: carried, Packs: packs, Needed: needed,
		Files: done.Summary.Files, Bytes: done.Summary.Bytes, Zip: done.Summary.CompressedBytes, Took: time.Since(began),
	}, nil
}
