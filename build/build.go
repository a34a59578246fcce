// Package build makes a snapshot: it reads all facts in one transaction of Postgres, judges them and writes every file.
//
// Facts come from site/postgres, judgments from build/judge, pages from render, and output stores the files. The
// package must never use the network, and nothing in it may depend on the order of a map.
package build

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"tollbook/build/data"
	"tollbook/build/judge"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/render"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/ledger"
	"tollbook/site/routes"
)

// GCPercent suits a process that builds, because pages and JSON leave much garbage. A full build of 20,000 services
// with all tables takes 506 MB with it, and 546 MB and a tenth less time with 30 (f82f4855).
const GCPercent = 20

// Options of a build.
type Options struct {
	Now       time.Time     // every judgment is as of then, or of a newer fact if the clock was set back since
	Every     time.Duration // until the next build
	LogDelay  time.Duration // until a row enters a log; longer than a visit takes to be stored
	Expand    output.Expand
	Packed    bool  // store a gzip body beside each single file
	DataRows  int64 // as data.SetOptions.DayRows
	NoData    bool  // leave out the tables, so that a bench can measure what they cost
	Site      render.Site
	FreeHosts listing.FreeHosts     // in addition to the shipped ones
	Progress  func(done, total int) // called with the number of written services; may be nil
	Force     bool                  // replace a snapshot of another database, or of services that vanish

	// Program identifies the program. Files that another program rendered are rendered again. A build with an empty
	// Program copies no files from the previous snapshot.
	Program string

	Key       ed25519.PrivateKey // signs the checkpoint; nil for none
	ChangeKey bool               // as output.BuildOptions.ChangeKey
	Logger    *slog.Logger       // logs each step; nil logs none
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

	Erased int `json:"erased_snapshots,omitempty"` // earlier snapshots that were deleted for services removed since

	SetAside []routes.SetAside `json:"set_aside,omitempty"` // services whose last good files stay, by slug

	removed   int64              // ID of the last removal of a service that the snapshot handles
	restored  bool               // the database was restored since the last snapshot
	erased    int64              // then the number of the last erasure that readers know
	published []checks.Published // what the snapshot says of each service that was judged
}

// Run builds a snapshot, makes it current in folder, and records in the database what it says of each service. Without
// Force it returns an error that wraps output.ErrSuccessor if the snapshot may not follow the current one. If Run
// fails or is killed before the snapshot is current, the last snapshot stays current. A crash after that records
// nothing; the next build records its own snapshot.
func Run(ctx context.Context, db *postgres.DB, folder *output.Folder, o Options) (Report, error) {
	began, steps := time.Now(), output.NewSteps(o.Logger)
	now, err := asOf(ctx, db, folder, o.Now.UTC().Truncate(time.Millisecond))
	if err != nil {
		return Report{}, withDamagedRows(ctx, db, err)
	}
	if behind := now.Sub(o.Now); behind > time.Minute && o.Logger != nil {
		o.Logger.WarnContext(ctx, "the clock is behind what is stored; the snapshot is as of the newest fact",
			"behind", behind.Round(time.Second), "as_of", now.Format(time.RFC3339))
	}
	o.Now = now
	if err := db.SealLogs(ctx, o.Now, o.LogDelay); err != nil {
		return Report{}, withDamagedRows(ctx, db, err)
	}
	steps.Done(ctx, "logs sealed")
	pages, err := render.NewPages(o.Site)
	if err != nil {
		return Report{}, fmt.Errorf("prepare pages: %w", err)
	}
	var report Report
	for aside := new(setAside); ; {
		report, err = attempt(ctx, db, folder, pages, aside, steps, o)
		if !errors.Is(err, errSetAside) {
			break
		}
	}
	if err == nil {
		err = markClean(ctx, db, folder, report)
	}
	if err == nil && report.erased > 0 {
		if err = db.SkipErasures(ctx, report.erased); err != nil {
			err = fmt.Errorf("snapshot %s is current, but the next build must do what failed: %w", report.Snapshot, err)
		}
	}
	if err == nil {
		var changed int
		if changed, err = db.Assessments.Record(ctx, o.Now, report.published); err != nil {
			err = fmt.Errorf("snapshot %s is current, but the next build must do what failed: %w", report.Snapshot, err)
		} else {
			steps.Done(ctx, "assessments recorded", "services", len(report.published), "changed", changed)
		}
	}
	report.published, report.Took = nil, time.Since(began)
	return report, withDamagedRows(ctx, db, err)
}

// maxClockBack is how far a clock may have been set back for a build to follow the facts instead.
const maxClockBack = 24 * time.Hour

// asOf returns the time as of which a build judges: now, but not before its facts and the snapshot in folder if these
// are at most maxClockBack later, because the clock was set back. Otherwise a service would have been created, and
// visited, after its snapshot was built. A time further ahead is that of a clock that was wrong then, and is not
// followed.
func asOf(ctx context.Context, db *postgres.DB, folder *output.Folder, now time.Time) (time.Time, error) {
	fact, err := db.NewestFact(ctx, now, maxClockBack)
	if err != nil {
		return now, err
	}
	// The snapshot's time has milliseconds, so that of a fact is rounded up.
	if fact = fact.UTC().Add(time.Millisecond - 1).Truncate(time.Millisecond); fact.After(now) {
		now = fact
	}
	last, err := folder.Checkpoint()
	if err != nil { // that a folder is empty or damaged is for the build to say
		return now, nil
	}
	if built := last.Built(); built.After(now) && built.Sub(now) <= maxClockBack {
		now = built
	}
	return now, nil
}

// markClean stores that a snapshot is the first one without the services removed before, and gives the folder the
// erasures that it prunes. A crash before it leaves a snapshot that counts as one with these services. The next build
// stores its own snapshot and deletes this one with the others.
func markClean(ctx context.Context, db *postgres.DB, folder *output.Folder, report Report) error {
	if report.removed == 0 {
		return nil
	}
	err := db.StoreCleanSnapshot(ctx, report.Snapshot, report.removed)
	if err != nil {
		return fmt.Errorf("snapshot %s is current, but the next build must delete those before it: %w", report.Snapshot,
			err)
	}
	removed, err := db.Removals(ctx)
	if err != nil {
		return err
	}
	folder.SetErasures(NewErasures(removed, ""))
	return nil
}

// withDamagedRows adds the rows to an error that no program can have written, such as one with an infinite time.
func withDamagedRows(ctx context.Context, db *postgres.DB, err error) error {
	if err == nil || ctx.Err() != nil || errors.Is(err, output.ErrBusy) || errors.Is(err, output.ErrSuccessor) ||
		errors.Is(err, archive.ErrSigned) || !postgres.MayBeDamage(err) {
		return err
	}
	damaged := db.FindDamage(ctx)
	if len(damaged) == 0 {
		return err
	}
	texts := make([]string, len(damaged))
	for i, d := range damaged {
		texts[i] = d.String()
	}
	return fmt.Errorf("%w; damaged rows: %s", err, strings.Join(texts, "; "))
}

// attempt builds a snapshot once, without the facts of the services that are set aside. If it finds further ones, it
// publishes nothing and returns errSetAside.
func attempt(ctx context.Context, db *postgres.DB, folder *output.Folder, pages *render.Pages, aside *setAside,
	steps *output.Steps, o Options) (report Report, err error) {
	b, err := folder.Begin(ctx, output.BuildOptions{
		Now: o.Now, Next: o.Now.Add(o.Every), Expand: o.Expand, Packed: o.Packed, Key: o.Key,
		ChangeKey: o.ChangeKey, Steps: steps,
	})
	if err != nil {
		return Report{}, fmt.Errorf("begin snapshot: %w", err)
	}
	defer b.Abort()
	err = db.Read(ctx, func(r *postgres.Reader) error {
		return guard(func() error {
			report, err = writeTree(ctx, r, folder, b, pages, aside, steps, o)
			return err
		})
	})
	if err != nil {
		return Report{}, err
	}
	done, err := b.Commit(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("publish snapshot: %w", err)
	}
	report.Snapshot = done.Checkpoint.Snapshot
	if report.restored {
		report.erased = done.Checkpoint.Erased
	}
	report.Files, report.Bytes, report.Zip = done.Summary.Files, done.Summary.Bytes, done.Summary.CompressedBytes
	return report, nil
}

// writeTree reads the facts, judges them and writes every file. It handles some services at a time, because a large
// directory does not fit into memory. Endpoints are read twice in the same transaction: for judgments that compare
// services, and for each service's own files.
func writeTree(ctx context.Context, r *postgres.Reader, folder *output.Folder, b *output.Build, pages *render.Pages,
	aside *setAside, steps *output.Steps, o Options) (Report, error) {
	facts, err := r.Directory(ctx, o.Now, o.LogDelay)
	if err != nil {
		return Report{}, err
	}
	removed, err := r.RemovedServices(ctx)
	if err != nil {
		return Report{}, err
	}
	steps.Done(ctx, "directory read", "services", len(facts.Services), "removed", len(removed))
	if err := checkFacts(b, facts, removed); err != nil && !o.Force {
		return Report{}, err
	}
	rewrite, handled := new(packRewrite), b.Previous().Erased
	var lost *lostError
	switch err := findLost(ctx, r, b.ReadPrevious, handled); {
	case errors.As(err, &lost) && o.Force:
		rewrite.all, handled = true, 0 // other removals and voids may have had these numbers
	case lost != nil:
		lost.back = findBack(b, facts)
		return Report{}, fmt.Errorf("%w of %s: %w", output.ErrSuccessor, b.Previous().Snapshot, err)
	case err != nil:
		return Report{}, err
	}
	last, err := aside.begin(facts, b, site.NewTime(o.Now))
	if err != nil {
		return Report{}, err
	}
	report := Report{Services: len(facts.Services), SetAside: last.setAside, restored: lost != nil}
	names := judge.NewPackNames(facts)
	judged := judge.New(facts, judge.Options{
		Now: o.Now, Next: o.Now.Add(o.Every), BaseURL: o.Site.BaseURL, FreeHosts: o.FreeHosts, LastGood: last.listings,
		Explorers: o.Site.Explorers,
	})
	lookups := newLookups(judged.Snapshot, folder.TempPath("lookups"))
	defer lookups.close()
	cite, err := encode.Row(newProvenance(facts, o.Site.BaseURL))
	if err != nil {
		return Report{}, err
	}
	lookups.provenance = len(encode.AppendProvenance([]byte(`{"data":1}`+"\n"), cite)) - len(`{"data":1}`+"\n")
	catalogue := newCatalogue()
	endpoints := func(of []postgres.ServiceFacts) error { return r.Endpoints(ctx, o.Now, o.LogDelay, of) }
	err = survey(judged, facts, aside, endpoints, func(i int, endpoints []site.Endpoint, isStable bool) {
		lookups.count(i, endpoints)
		if isStable {
			catalogue.count(i, endpoints)
		}
	})
	if err != nil {
		return Report{}, err
	}
	steps.Done(ctx, "services surveyed", "services", len(facts.Services))
	recipients, tokens := judged.RevenueQuery()
	if err := readRevenue(ctx, r, facts, aside, o.Now, recipients, tokens); err != nil {
		return Report{}, err
	}
	steps.Done(ctx, "revenue read", "recipients", len(recipients), "tokens", len(tokens))
	if err := erasePacks(folder, b, removed, handled); err != nil {
		return Report{}, err
	}
	if len(removed) > 0 {
		report.removed = removed[len(removed)-1].ID
	}
	if last := rewrite.addVoids(facts.Voids, handled); last > 0 {
		b.SetErased(last)
	}
	b.SetErasures(NewErasures(removed, archive.SnapshotID(o.Now, "000000")))
	previous, err := listPrevious(folder, b)
	if err != nil {
		return Report{}, err
	}
	if report.Packs, report.Needed, err = writePacks(ctx, r, names, rewrite, folder, b); err != nil {
		return Report{}, err
	}
	steps.Done(ctx, "packs written", "packs", report.Packs)
	judged.Prepare()
	judged.Snapshot.Previous = previous
	judged.Snapshot.Assets = data.NewAssetTables(facts.Tokens, o.FreeHosts)
	renderer := pages.NewRenderer(judged.Snapshot)
	renderer.Previous = b.ReadPrevious
	inputs, err := newPreviousInputs(b, o.Program, renderer.ServiceRenderer)
	if err != nil {
		return Report{}, err
	}
	statements, err := r.Statements(ctx, o.Now, tokens)
	if err != nil {
		return Report{}, err
	}
	w := &snapshotWriter{
		facts: facts, baseURL: o.Site.BaseURL, judged: judged, now: o.Now, renderer: renderer, previous: inputs,
		aside: aside, last: last,
		lookups: lookups, catalogue: catalogue, to: b, store: b.AddDataFile, temp: folder.TempPath,
		progress: o.Progress, endpoints: endpoints,
		details: func(from, to int) error {
			part := facts.Services[from:to]
			if err := aside.addAll(r.Details(ctx, o.Now, o.LogDelay, part)); err != nil {
				return err
			}
			return r.Isolate(ctx, part, func(i, k int) error {
				return readStatements(ctx, judged, facts, statements, from+i, from+k)
			})
		},
	}
	if !o.NoData {
		files, err := newDataSet(ctx, folder, o, rewrite.all)
		if err != nil {
			return Report{}, err
		}
		defer files.Discard()
		w.data = func(l *site.Listing, of []postgres.EndpointFacts) error { return files.AddService(ctx, l, of) }
		w.dataset = func(record recordFunc) (*site.Dataset, error) {
			err := files.Write(ctx, r.Bulk(), judged.Snapshot, tokens, recordedStore{b, record})
			return files.Published(), err
		}
	}
	if err := w.write(ctx); err != nil {
		return Report{}, err
	}
	b.SetNotes(inputs.notes())
	report.Copied, report.published = inputs.copiedServices(), w.published
	steps.Done(ctx, "services judged and files written", "services", len(w.published), "copied", report.Copied)
	return report, nil
}

// surveyedServices is how many services are surveyed at once. Their endpoints are in memory meanwhile.
const surveyedServices = 500

// maxName is the maximum length in bytes of a category or network. Names of files contain both, with up to three bytes
// for one.
const maxName = 150

// checkNames checks the parts of a row that names of files contain.
func checkNames(item *site.ServiceListItem) error {
	if n := len(item.Category); n > maxName {
		return fmt.Errorf("read services: the category has %d bytes, up to %d may be part of a file's name", n, maxName)
	}
	for _, network := range item.Networks {
		if n := len(network); n > maxName {
			return fmt.Errorf("read prices: a network has %d bytes, up to %d may be part of a file's name", n, maxName)
		}
	}
	return nil
}

// survey surveys all services, some at a time. It drops their endpoints, which are read again for their files.
func survey(judged *judge.Directory, facts *postgres.Facts, aside *setAside, read readFacts,
	each func(i int, endpoints []site.Endpoint, isStable bool)) error {
	for from := 0; from < len(facts.Services); from += surveyedServices {
		part := facts.Services[from:min(from+surveyedServices, len(facts.Services))]
		if err := aside.addAll(read(part)); err != nil {
			return err
		}
		for i := range part {
			s := &part[i]
			err := guard(func() error {
				judged.Survey(from+i, from+i+1, each)
				return checkNames(&judged.Snapshot.Services[from+i].Item)
			})
			if err != nil {
				err = aside.add(postgres.DamagedService{ID: s.ID, Slug: s.Slug, Name: s.Name, Err: err})
			}
			if err != nil {
				return err
			}
			s.Endpoints, s.Moves, s.Claims = nil, nil, nil
		}
	}
	return aside.check()
}

// readRevenue reads the revenue of recipients. If a row of one cannot be read, it sets the services aside that name the
// recipient.
func readRevenue(ctx context.Context, r *postgres.Reader, facts *postgres.Facts, aside *setAside, now time.Time,
	recipients []ledger.Recipient, tokens []ledger.CountedToken) error {
	err := r.Isolate(ctx, facts.Services, func(from, to int) error {
		of := recipients
		if to-from < len(facts.Services) {
			ids := map[int64]bool{}
			for _, s := range facts.Services[from:to] {
				ids[s.ID] = true
			}
			of = slices.DeleteFunc(slices.Clone(of), func(p ledger.Recipient) bool { return !ids[p.ServiceID] })
		}
		revenue, err := r.ReadRevenue(ctx, now, of, tokens)
		facts.Revenue = revenue
		return err
	})
	if err = aside.addAll(err); err != nil {
		return err
	}
	return aside.check()
}

// readStatements reads the statements of the services from one place up to another.
func readStatements(ctx context.Context, judged *judge.Directory, facts *postgres.Facts, reader *ledger.StatementReader,
	from, to int) error {
	var query []ledger.StatementRecipient
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
