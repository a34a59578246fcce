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

// readTogether is how many services are read at once, whose facts are small beside their files: a statement costs
// Postgres as much as some hundred rows.
const readTogether = 96

// jobsPerWorker is how many jobs may wait behind a slow one for each worker.
const jobsPerWorker = 8

// readFacts reads some of what is known of services into them.
type readFacts func([]postgres.ServiceFacts) error

// tree is where the files of a snapshot go, in the order of calls. Pack keeps nothing of data, and several goroutines
// may call it at once.
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

// job makes the files of one service: the service's place in the snapshot and, once done is closed, its files and
// listing.
type job struct {
	place   int
	files   []file
	listing site.Listing
	digest  string // of the inputs of the rendered files; "" where the build keeps none
	copied  bool   // the rendered files are those of the previous snapshot
	done    chan struct{}
}

// services writes the files of all services and passes each listing to whatever needs it later.
type services struct {
	facts    *postgres.Facts
	judged   *judge.Directory
	now      time.Time
	edition  *render.Edition
	previous *previousInputs
	to       tree
	written  func(i int, l *site.Listing) error // called for each service by slug, with everything that is known of it
	progress func(done, total int)              // nil for none
}

// write reads, judges, renders and packs services on all cores, a service per worker, and adds their files in the order
// of slugs. Each file is packed as soon as it is written, so that few are in memory unpacked.
func (s *services) write(ctx context.Context, endpoints, details readFacts) error {
	total, workers := len(s.facts.Services), runtime.GOMAXPROCS(0)
	g, ctx := errgroup.WithContext(ctx)
	parts, todo, order := make(chan [2]int), make(chan *job), make(chan *job, jobsPerWorker*workers)
	g.Go(func() error {
		defer close(parts)
		for from := 0; from < total; from += readTogether {
			part := [2]int{from, min(from+readTogether, total)}
			of := s.facts.Services[part[0]:part[1]]
			if err := endpoints(of); err != nil {
				return err
			}
			if err := details(of); err != nil {
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
				t := &job{place: i, done: make(chan struct{})}
				if err := send(ctx, order, t); err != nil {
					return err
				}
				if err := send(ctx, todo, t); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for range workers {
		g.Go(func() error {
			for t := range todo {
				if err := s.make(t); err != nil {
					return err // never add an incomplete service
				}
				close(t.done)
			}
			return nil
		})
	}
	g.Go(func() error {
		for t := range order {
			select {
			case <-t.done:
			case <-ctx.Done():
				return ctx.Err()
			}
			if err := s.add(t); err != nil {
				return err
			}
			if s.progress != nil {
				s.progress(t.place+1, total)
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

// add adds the files of a finished job and drops what only they show.
func (s *services) add(t *job) error {
	for _, f := range t.files {
		if err := s.to.AddPacked(f.name, f.Packed); err != nil {
			return err
		}
	}
	s.previous.keep(t)
	if err := s.written(t.place, &t.listing); err != nil {
		return err
	}
	s.judged.Add(t.place, &t.listing)
	return nil
}

// make judges a service and packs its files. JSON files are always made anew. The files that are rendered from them
// are copied from the previous snapshot if their inputs are the same.
func (s *services) make(t *job) error {
	t.listing = s.judged.Service(t.place)
	l, slug := &t.listing, t.listing.Item.Slug
	put := func(name string, data []byte) error {
		t.files = append(t.files, file{name, s.to.Pack(name, data)})
		return nil
	}
	if err := writeJSONFiles(l, s.now.UTC().Truncate(24*time.Hour), put); err != nil {
		return fmt.Errorf("write service %s: %w", slug, err)
	}
	neighbours := s.edition.Peers(&l.Item)
	var err error
	if t.digest, err = s.previous.digest(t.files, l, neighbours); err != nil {
		return fmt.Errorf("write service %s: %w", slug, err)
	}
	if s.previous.same(slug, t.digest) {
		var files []file
		if files, t.copied = copyFiles(render.ServiceKeys(slug), s.to); t.copied {
			t.files = append(t.files, files...)
			return nil
		}
	}
	if err := writeRenderedFiles(l, neighbours, s.edition.Surroundings, put); err != nil {
		return fmt.Errorf("render service %s: %w", slug, err)
	}
	return nil
}

// jsonFiles writes the JSON files of one service: detail, evidence, uptime by period, its logs and its series.
func writeJSONFiles(l *site.Listing, today time.Time, put func(string, []byte) error) error {
	slug := l.Item.Slug
	if err := addJSON(bare("service", slug).Key(), &l.Detail, put); err != nil {
		return err
	}
	if err := addJSON(bare("evidence", slug).Key(), &l.Evidence, put); err != nil {
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

// renderedFiles writes the files of one service that are rendered from its JSON files: render.ServiceKeys.
func writeRenderedFiles(l *site.Listing, neighbours []render.Peer, in *render.Surroundings,
	put func(string, []byte) error) error {
	told := in.Tell(l)
	page, err := in.ServicePage(told, neighbours)
	if err != nil {
		return err
	}
	if err := put(bare("service-page", l.Item.Slug).Key(), page); err != nil {
		return err
	}
	beside, err := in.ServiceFiles(told)
	if err != nil {
		return err
	}
	for _, f := range beside {
		if err := put(f.Key, f.Bytes); err != nil {
			return err
		}
	}
	return nil
}
