package build

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"tollbook/build/judge"
	"tollbook/output/archive"
	"tollbook/render"
	"tollbook/site"
	"tollbook/site/postgres"
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
	digest  string // of the inputs of the rendered files; "" if the build has no Program
	copied  bool   // the rendered files were copied from the previous snapshot
	done    chan struct{}
}

// services writes the files of all services.
type services struct {
	facts    *postgres.Facts
	judged   *judge.Directory
	now      time.Time
	renderer *render.Renderer
	previous *previousInputs
	to       tree
	written  func(i int, l *site.Listing) error // called with the listing of each service, by slug
	progress func(done, total int)              // may be nil
}

// write reads, judges, renders and packs services on all cores, one service per worker. It adds their files in the
// order of slugs. Each file is packed as soon as it is written, so that few unpacked files are in memory.
func (s *services) write(ctx context.Context, endpoints readFacts, details readPart) error {
	total, workers := len(s.facts.Services), runtime.GOMAXPROCS(0)
	g, ctx := errgroup.WithContext(ctx)
	parts, todo, order := make(chan [2]int), make(chan *job), make(chan *job, jobsPerWorker*workers)
	g.Go(func() error {
		defer close(parts)
		for from := 0; from < total; from += servicesPerRead {
			part := [2]int{from, min(from+servicesPerRead, total)}
			of := s.facts.Services[part[0]:part[1]]
			if err := endpoints(of); err != nil {
				return err
			}
			if err := details(part[0], part[1]); err != nil {
				return err
			}
			if err := send(ctx, parts, part); err != nil {
				return err
			}
		}
		return nil
	})
	g.Go(func() error {
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
		g.Go(func() error {
			for j := range todo {
				if err := s.run(j); err != nil {
					return err // never add an incomplete service
				}
				close(j.done)
			}
			return nil
		})
	}
	g.Go(func() error {
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
	return g.Wait()
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
	for _, f := range j.files {
		if err := s.to.AddPacked(f.name, f.Packed); err != nil {
			return err
		}
	}
	s.previous.record(j)
	if err := s.written(j.place, &j.listing); err != nil {
		return err
	}
	s.judged.Add(j.place, &j.listing)
	return nil
}

// run judges a service, writes its JSON files and packs them. It copies the rendered files from the previous snapshot
// if their inputs are the same. Otherwise it renders them.
func (s *services) run(j *job) error {
	j.listing = s.judged.Service(j.place)
	l, slug := &j.listing, j.listing.Item.Slug
	put := func(name string, data []byte) error {
		j.files = append(j.files, file{name, s.to.Pack(name, data)})
		return nil
	}
	if err := writeJSONFiles(l, s.now.UTC().Truncate(24*time.Hour), put); err != nil {
		return fmt.Errorf("write service %s: %w", slug, err)
	}
	neighbours := s.renderer.Peers(&l.Item)
	var err error
	if j.digest, err = s.previous.digest(j.files, l, neighbours); err != nil {
		return fmt.Errorf("write service %s: %w", slug, err)
	}
	if s.previous.isSame(slug, j.digest) {
		var files []file
		if files, j.copied = copyFiles(render.ServiceKeys(slug), s.to); j.copied {
			j.files = append(j.files, files...)
			return nil
		}
	}
	if err := writeRenderedFiles(l, neighbours, s.renderer.ServiceRenderer, put); err != nil {
		return fmt.Errorf("render service %s: %w", slug, err)
	}
	return nil
}

// writeJSONFiles writes the JSON files of one service: detail, evidence, settlements, uptime by period, logs and
// series.
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

// writeRenderedFiles writes the files of one service that are rendered from its JSON files. render.ServiceKeys names
// them.
func writeRenderedFiles(l *site.Listing, neighbours []render.Peer, in *render.ServiceRenderer, put addFunc) error {
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
	for _, f := range others {
		if err := put(f.Key, f.Bytes); err != nil {
			return err
		}
	}
	return nil
}
