package build

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"tollbook/build/judge"
	"tollbook/build/judge/directory"
	"tollbook/output/archive"
	"tollbook/render"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// servicesPerRead is how many services are read by one statement. A statement costs Postgres as much as some hundred
// rows, and the facts of a service are small beside its files.
const servicesPerRead = 96

// jobsPerWorker is how many jobs per worker may wait for a slow job before them.
const jobsPerWorker = 8

// readFacts reads some of the facts of services into them.
type readFacts func([]postgres.ServiceFacts) error

// readPart reads the other facts of the services from one place up to another, whose endpoints were read.
type readPart func(from, to int) error

// tree receives the files of a snapshot in the order of calls. Pack does not keep data, and several goroutines may call
// it at once. Reuse returns a file of the previous snapshot.
type tree interface {
	Add(name string, data []byte) error
	Pack(name string, data []byte) archive.Packed
	AddPacked(name string, p archive.Packed) error
	Reuse(name string) (archive.Packed, bool)
}

// file is a name with its packed contents.
type file struct {
	name string
	archive.Packed
}

// job writes the files of one service. Its files and listing are ready once done is closed.
type job struct {
	place   int // of the service in the snapshot
	files   []file
	listing site.Listing
	rows    []catalogueRow
	row     encodedService
	pick    *site.Pick // nil if the service is not safe to pay
	digest  string     // of the inputs of the rendered files; "" if the build has no Program
	copied  bool       // the rendered files were copied from the previous snapshot
	done    chan struct{}
}

// services writes the files of all services.
type services struct {
	facts     *postgres.Facts
	judged    *judge.Directory
	now       time.Time
	renderer  *render.Renderer
	previous  *previousInputs
	aside     *setAside
	last      *lastGood
	lookups   *lookups
	catalogue *catalogue
	rows      *rowWriter
	allow     *allowWriter
	picks     directory.Picks
	totals    map[string]int     // of lists; receives the number of changes of each service
	published []checks.Published // of the services that were judged, by slug
	to        tree
	data      addService            // may be nil
	progress  func(done, total int) // may be nil
}

// write reads, judges, renders and packs services on all cores, one service per worker. It adds their files in the
// order of slugs. Each file is packed as soon as it is written, so that few unpacked files are in memory. Once a
// service is set aside, it adds nothing more, but goes on to find others.
func (s *services) write(ctx context.Context, endpoints readFacts, details readPart) error {
	total, workers := len(s.facts.Services), runtime.GOMAXPROCS(0)
	g, ctx := errgroup.WithContext(ctx)
	parts, todo, order := make(chan [2]int), make(chan *job), make(chan *job, jobsPerWorker*workers)
	goGuarded(g, func() error {
		defer close(parts)
		for from := 0; from < total; from += servicesPerRead {
			part := [2]int{from, min(from+servicesPerRead, total)}
			of := s.facts.Services[part[0]:part[1]]
			if err := s.aside.addAll(endpoints(of)); err != nil {
				return err
			}
			if err := s.aside.addAll(details(part[0], part[1])); err != nil {
				return err
			}
			if err := send(ctx, parts, part); err != nil {
				return err
			}
		}
		return nil
	})
	goGuarded(g, func() error {
		defer close(todo)
		defer close(order)
		for part := range parts {
			for i := part[0]; i < part[1]; i++ {
				j := &job{place: i, done: make(chan struct{})}
				if err := send(ctx, order, j); err != nil {
					return err
				}
				if err := send(ctx, todo, j); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for range workers {
		goGuarded(g, func() error {
			for j := range todo {
				if err := s.run(j); err != nil {
					return err // never add an incomplete service
				}
				close(j.done)
			}
			return nil
		})
	}
	goGuarded(g, func() error {
		for j := range order {
			select {
			case <-j.done:
			case <-ctx.Done():
				return ctx.Err()
			}
			if err := s.add(j); err != nil {
				return err
			}
			if s.progress != nil {
				s.progress(j.place+1, total)
			}
		}
		return ctx.Err()
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return s.aside.check()
}

// send sends v unless ctx ends first.
func send[T any](ctx context.Context, to chan<- T, v T) error {
	select {
	case to <- v:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// add adds the files of a finished job and drops the facts of its service.
func (s *services) add(j *job) error {
	if s.aside.check() != nil {
		s.judged.Drop(j.place)
		return nil
	}
	for _, f := range j.files {
		if err := s.to.AddPacked(f.name, f.Packed); err != nil {
			return err
		}
	}
	s.previous.record(j)
	if err := s.catalogue.addRows(j.rows, s.to.Add); err != nil {
		return fmt.Errorf("write catalogue: %w", err)
	}
	if err := s.rows.addRow(j.row); err != nil {
		return fmt.Errorf("write rows: %w", err)
	}
	allowed := &site.Allowance{Slug: j.listing.Item.Slug, Hosts: []string{}, Options: []site.AllowedOption{}}
	if !s.last.has(allowed.Slug) { // what was good may not be any more
		allowed = newAllowance(&j.listing)
	}
	if err := s.allow.addRow(allowed, j.listing.Item.GoneSince != nil); err != nil {
		return fmt.Errorf("write allow-list: %w", err)
	}
	if s.data != nil {
		if err := s.data(&j.listing, s.facts.Services[j.place].Endpoints); err != nil {
			return fmt.Errorf("write data: %w", err)
		}
	}
	err := guard(func() error {
		s.count(j)
		if s.last.has(j.listing.Item.Slug) {
			return nil
		}
		return s.lookups.add(j.place, &j.listing)
	})
	if err != nil {
		return s.setAside(j, fmt.Errorf("add look-ups: %w", err))
	}
	return nil
}

// count counts a service in the aggregates, and its log of changes in totals.
func (s *services) count(j *job) {
	key := ofService(j.listing.Item.Slug).ListKey()
	if s.last.has(j.listing.Item.Slug) {
		if n, ok := s.last.index.Lists[key]; ok {
			s.totals[key] = n
		}
	} else if len(j.listing.ChangeLogs.Logs) > 0 {
		if n := int(j.listing.ChangeLogs.Index.Total()); n > 0 {
			s.totals[key] = n
		}
	}
	if !s.last.has(j.listing.Item.Slug) {
		s.published = append(s.published, judge.Published(s.facts.Services[j.place].ID, &j.listing))
	}
	s.picks.Add(j.listing.Item.Category, j.pick)
	s.judged.Add(j.place, &j.listing)
}

// setAside sets the service of a job aside.
func (s *services) setAside(j *job, err error) error {
	of := &s.facts.Services[j.place].Service
	j.files, j.rows = nil, nil
	return s.aside.add(postgres.DamagedService{ID: of.ID, Slug: of.Slug, Name: of.Name, Err: err})
}

// run writes the files of a service. It sets the service aside if that fails, and copies the files of the previous
// snapshot if the service is set aside already.
func (s *services) run(j *job) error {
	slug := s.facts.Services[j.place].Slug
	if s.last.has(slug) {
		j.listing = s.judged.Service(j.place)
		files, ok := s.last.copy(slug, s.to)
		if !ok {
			return s.aside.lose(slug)
		}
		j.files = files
		return s.setRow(j, s.last.readRow(slug))
	}
	if s.aside.has(slug) {
		return nil // its facts could not be read
	}
	if err := guard(func() error { return s.runService(j) }); err != nil {
		return s.setAside(j, err)
	}
	return nil
}

// setRow sets the row of a job's service and what follows from it. For a service that is set aside, last is its row in
// the previous snapshot.
func (s *services) setRow(j *job, last *site.ServiceRow) (err error) {
	row := newServiceRow(&j.listing, last)
	j.pick = directory.PicksOf(row, s.now)
	j.row, err = encodeRow(row)
	return err
}

// runService judges a service, writes its JSON files and packs them. It copies the rendered files from the previous
// snapshot if their inputs are the same. Otherwise it renders them.
func (s *services) runService(j *job) error {
	j.listing = s.judged.Service(j.place)
	l, slug := &j.listing, j.listing.Item.Slug
	var err error
	if j.rows, err = s.catalogue.rowsOf(j.place, l); err != nil {
		return fmt.Errorf("write catalogue: %w", err)
	}
	if err = s.setRow(j, nil); err != nil {
		return fmt.Errorf("write row: %w", err)
	}
	put := func(name string, data []byte) error {
		j.files = append(j.files, file{name, s.to.Pack(name, data)})
		return nil
	}
	if err := writeJSONFiles(l, s.now.UTC().Truncate(24*time.Hour), put); err != nil {
		return fmt.Errorf("write files: %w", err)
	}
	neighbours := s.renderer.Neighbours(&l.Item)
	if j.digest, err = s.previous.digest(j.files, l, neighbours); err != nil {
		return fmt.Errorf("write files: %w", err)
	}
	if s.previous.isSame(slug, j.digest) {
		var files []file
		names := append(render.ServiceKeys(slug), render.IncidentKeys(l.Incidents)...)
		if files, j.copied = copyFiles(names, s.to); j.copied {
			j.files = append(j.files, files...)
			return nil
		}
	}
	if err := writeRenderedFiles(l, neighbours, s.renderer.ServiceRenderer, put); err != nil {
		return fmt.Errorf("render: %w", err)
	}
	return nil
}

// writeJSONFiles writes the JSON files of one service: detail, evidence, settlements, incidents, uptime by period,
// logs and series.
func writeJSONFiles(l *site.Listing, today time.Time, put addFunc) error {
	slug := l.Item.Slug
	if err := addJSON(bare("service", slug).Key(), &l.Detail, put); err != nil {
		return err
	}
	if err := addJSON(bare("evidence", slug).Key(), &l.Evidence, put); err != nil {
		return err
	}
	if err := addJSON(bare("settlements", slug).Key(), &l.Settlements, put); err != nil {
		return err
	}
	for i := range l.Incidents {
		if err := addJSON(bare("incident", *l.Incidents[i].Incident.ID).Key(), &l.Incidents[i], put); err != nil {
			return err
		}
	}
	if err := writeUptime(l, today, put); err != nil {
		return err
	}
	if err := writeLog(bare("service-checks", slug), l.Checks, put); err != nil {
		return err
	}
	if len(l.ChangeLogs.Logs) > 0 {
		if err := writeChangeLogs(ofService(slug), l.ChangeLogs, put); err != nil {
			return err
		}
	}
	return writeSeries(l, put)
}

// writeRenderedFiles writes the files of one service that are rendered from its JSON files. render.ServiceKeys and
// render.IncidentKeys name them.
func writeRenderedFiles(l *site.Listing, neighbours render.Neighbours, in *render.ServiceRenderer, put addFunc) error {
	summary := in.DescribeService(l)
	page, err := in.ServicePage(summary, neighbours)
	if err != nil {
		return err
	}
	if err := put(bare("service-page", l.Item.Slug).Key(), page); err != nil {
		return err
	}
	others, err := in.ServiceFiles(summary)
	if err != nil {
		return err
	}
	incidents, err := in.IncidentPages(summary)
	if err != nil {
		return err
	}
	for _, f := range append(others, incidents...) {
		if err := put(f.Key, f.Bytes); err != nil {
			return err
		}
	}
	return nil
}
