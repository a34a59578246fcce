package build

import (
	"context"
	"fmt"
	"io"
	"time"

	"tollbook/build/data/figure"
	"tollbook/build/judge"
	"tollbook/build/judge/directory"
	"tollbook/output/archive"
	"tollbook/render"
	"tollbook/render/openapi"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/routes"
)

// snapshotWriter writes the files of a snapshot. Their order depends on nothing but the snapshot.
type snapshotWriter struct {
	facts     *postgres.Facts
	baseURL   string
	judged    *judge.Directory
	now       time.Time
	renderer  *render.Renderer
	endpoints readFacts
	details   readPart
	previous  *previousInputs
	aside     *setAside
	last      *lastGood
	lookups   *lookups   // after count of all services
	catalogue *catalogue // likewise
	to        tree
	temp      func(name string) string // the path of a temporary file
	store     storeFile
	data      addService // may be nil, as dataset
	dataset   func(record recordFunc) (*site.Dataset, error)
	progress  func(done, total int) // may be nil

	picks     directory.Picks
	published []checks.Published // of the services that were judged, once write has ended
}

// write writes every file. It begins with the services, a few at a time, because nothing else needs their details. The
// row of a service is encoded once and used in every list.
func (w *snapshotWriter) write(ctx context.Context) error {
	s, renderer := w.judged.Snapshot, w.renderer
	examples, err := w.examples()
	if err != nil {
		return fmt.Errorf("choose examples: %w", err)
	}
	provenance := newProvenance(w.facts, w.baseURL)
	cite, err := encode.Row(provenance)
	if err != nil {
		return err
	}
	recorder := recordExamples(examples, w.to)
	to := citedTree{recorder, cite}
	add := to.Add
	index := newIndex(s, renderer)
	index.Provenance = &provenance
	index.Database, index.SetAside = w.facts.Identity, w.last.setAside
	rows := newRowWriter(len(w.facts.Services), w.temp("rows"), to.Add)
	defer rows.close()
	if err := w.writeServices(ctx, rows, index.Lists, to); err != nil {
		return err
	}
	if index.Values, err = rows.listedValues(); err != nil {
		return err
	}
	if err := rows.addAnswers(examples, index.Slugs, w.now, cite); err != nil {
		return fmt.Errorf("answer requests of examples: %w", err)
	}
	w.judged.Finish()
	w.picks.Set(s.Tags)
	if err := w.writeDataset(recorder.record, add); err != nil {
		return fmt.Errorf("write data: %w", err)
	}
	if err := writeLists(s, index.Lists, add); err != nil {
		return fmt.Errorf("write lists: %w", err)
	}
	if err := writeChanges(s, renderer, index.Lists, add); err != nil {
		return fmt.Errorf("write changes: %w", err)
	}
	if err := w.lookups.write(add); err != nil {
		return fmt.Errorf("write look-ups: %w", err)
	}
	if err := w.writeGate(); err != nil {
		return fmt.Errorf("write gate: %w", err)
	}
	if err := writeFacilitators(s, index.Lists, add); err != nil {
		return fmt.Errorf("write facilitators: %w", err)
	}
	if err := writeFacilitatorDetails(s, renderer, add); err != nil {
		return fmt.Errorf("write facilitators: %w", err)
	}
	if err := writeTopic("facilitator-matrix", s.Matrix, renderer.MatrixPage, add); err != nil {
		return fmt.Errorf("write matrix of facilitators: %w", err)
	}
	if err := writeTopic("flow", s.Flow, renderer.FlowPage, add); err != nil {
		return fmt.Errorf("write flow: %w", err)
	}
	if err := writeTopic("coverage", s.Coverage, renderer.CoveragePage, add); err != nil {
		return fmt.Errorf("write coverage: %w", err)
	}
	if err := writeSources(s, renderer, add); err != nil {
		return fmt.Errorf("write sources: %w", err)
	}
	if err := writeIncidents(s, renderer, index.Lists, add); err != nil {
		return fmt.Errorf("write incidents: %w", err)
	}
	if err := writeAggregates(s, index, add); err != nil {
		return fmt.Errorf("write aggregates: %w", err)
	}
	if err := writeTables(s, add); err != nil {
		return fmt.Errorf("write tables: %w", err)
	}
	if err := writeHTML(s, renderer, add); err != nil {
		return fmt.Errorf("write pages: %w", err)
	}
	if err := w.last.writeAssets(renderer, w.to); err != nil {
		return fmt.Errorf("write assets: %w", err)
	}
	if err := writeDocuments(renderer, examples, add); err != nil {
		return fmt.Errorf("write documents: %w", err)
	}
	return nil
}

// storeFile adds a file that the zip stores as it is, so that readers can ask for a part of it.
type storeFile func(name string, write func(io.Writer) error) (archive.DataFile, error)

// writeGate writes the file that payers ask before they sign.
func (w *snapshotWriter) writeGate() error {
	body, err := w.lookups.gate.Encode(w.now)
	if err != nil {
		return err
	}
	_, err = w.store(archive.GateFile, func(to io.Writer) error {
		_, err := to.Write(body)
		return err
	})
	return err
}

// newIndex returns the index without the totals of lists, which are counted when the lists are written.
func newIndex(s *site.Snapshot, renderer *render.Renderer) routes.Index {
	n := len(s.Services)
	index := routes.Index{Format: archive.Format, Needs: archive.Needs, Lists: map[string]int{}, Pages: countPages(len(s.Listed()), renderer.Groups()),
		Slugs: make([]string, n)}
	for i := range s.Services {
		index.Slugs[i] = s.Services[i].Item.Slug
	}
	index.Facilitators = make([]string, len(s.Facilitators))
	for i := range s.Facilitators {
		index.Facilitators[i] = s.Facilitators[i].FacilitatorID
	}
	for i := range s.Sources {
		index.Sources = append(index.Sources, s.Sources[i].Source.Source)
	}
	return index
}

// examples chooses the examples of the documents and reads the endpoints of the service that they are about.
func (w *snapshotWriter) examples() (openapi.Examples, error) {
	var err error
	x := w.renderer.Examples(func(place int) (endpoints []site.Endpoint) {
		f := []postgres.ServiceFacts{w.facts.Services[place]}
		if err = w.endpoints(f); err != nil {
			return nil
		}
		return judge.Endpoints(&f[0], w.now)
	})
	return x, err
}

// writeServices writes the files of services, their rows and the catalogue, and collects the rows of look-ups. It
// counts each service's log of changes in totals.
func (w *snapshotWriter) writeServices(ctx context.Context, rows *rowWriter, totals map[string]int, to tree) error {
	w.catalogue.setTotals(totals)
	s := services{
		facts: w.facts, judged: w.judged, now: w.now, renderer: w.renderer, previous: w.previous, aside: w.aside,
		last: w.last, lookups: w.lookups, catalogue: w.catalogue, rows: rows,
		allow: &allowWriter{total: len(w.facts.Services), add: to.Add},
		picks: directory.Picks{}, totals: totals, to: to, data: w.data, progress: w.progress,
	}
	if err := s.write(ctx, w.endpoints, w.details); err != nil {
		return err
	}
	w.published, w.picks = s.published, s.picks
	if err := s.rows.end(); err != nil {
		return fmt.Errorf("write columns: %w", err)
	}
	if err := s.allow.end(); err != nil {
		return fmt.Errorf("write allow-list: %w", err)
	}
	if err := w.catalogue.end(to.Add); err != nil {
		return fmt.Errorf("write catalogue: %w", err)
	}
	return nil
}

// writeAggregates writes the aggregates of all services, the log of checks and the index.
func writeAggregates(s *site.Snapshot, index routes.Index, add addFunc) error {
	for _, a := range []struct {
		route string
		data  any
	}{
		{"status", s.Status}, {"networks", s.Networks}, {"tags", s.Tags}, {"stats", s.Stats},
		{"categories", s.Categories}, {"assets", s.Assets},
		{"snapshots", append([]site.PublishedSnapshot{}, s.Previous...)},
	} {
		if err := addJSON(bare(a.route, "").Key(), a.data, add); err != nil {
			return err
		}
	}
	if err := writeLog(bare("checks", ""), s.Checks, add); err != nil {
		return err
	}
	return addLine(routes.IndexFile, index, add) // encoding/json sorts the keys of its maps
}

// writeSources writes the public sources, each with its page, and the page that lists them.
func writeSources(s *site.Snapshot, renderer *render.Renderer, add addFunc) error {
	list := make([]site.Source, len(s.Sources))
	for i := range s.Sources {
		of := &s.Sources[i]
		list[i] = of.Source
		if err := addJSON(bare("source", of.Source.Source).Key(), of, add); err != nil {
			return err
		}
		page, err := renderer.SourcePage(of)
		if err != nil {
			return err
		}
		if err := add(bare("source-page", of.Source.Source).Key(), page); err != nil {
			return err
		}
	}
	return writeTopic("sources", list, renderer.SourcesPage, add)
}

// writeDataset writes the tables as files, what is published about them, and its page.
func (w *snapshotWriter) writeDataset(record recordFunc, add addFunc) (err error) {
	s := w.judged.Snapshot
	s.Dataset = &site.Dataset{AsOf: s.Now, Tables: []site.DatasetTable{}, Questions: []site.DatasetAnswer{}}
	if w.dataset != nil {
		if s.Dataset, err = w.dataset(record); err != nil {
			return err
		}
	}
	s.Dataset.Proofs = figure.Proofs()
	return writeTopic("data", s.Dataset, w.renderer.DataPage, add)
}

// writeTopic writes the response of a route without parameters, and the page that shows it.
func writeTopic(route string, data any, page func() ([]byte, error), add addFunc) error {
	if err := addJSON(bare(route, "").Key(), data, add); err != nil {
		return err
	}
	b, err := page()
	if err != nil {
		return err
	}
	return add(bare(route+"-page", "").Key(), b)
}
