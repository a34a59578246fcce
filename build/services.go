package build

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"tollbook/output"
	"tollbook/render"
	"tollbook/site"
	"tollbook/site/postgres"
)

// ahead is how many services are read at once, whose facts are small beside their files: a statement costs Postgres as much
// as some hundred rows.
const ahead = 96

// waiting is how many services a worker may have behind it that wait for the one before them.
const waiting = 8

// readDetails reads the details of services.
type readDetails func([]postgres.ServiceFacts) error

// tree is where the files of a snapshot go, in the order of calls. Pack keeps nothing of data, and several goroutines may
// call it at once.
type tree interface {
	Add(name string, data []byte) error
	Pack(name string, data []byte) output.Packed
	AddPacked(name string, p output.Packed) error
	TakeOver(name string) (output.Packed, bool)
}

// file is a name with its packed contents.
type file struct {
	name string
	output.Packed
}

// turn is a service on its way into the tree: its place in the snapshot and, once done is closed, its files and what is kept
// beside them.
type turn struct {
	place     int
	before    *note // of the build before, nil without
	files     []file
	note      note
	taken     bool // its files were taken over
	endpoints []site.Endpoint
	terms     []site.Terms
	traction  site.Traction
	done      chan struct{}
}

// writeServices reads, judges, renders and packs services on all cores, a service a worker, and adds their files in the order
// of slugs. Whoever writes a file packs it at once, so that few are in memory unpacked. A service whose files would be those
// that the snapshot before has is not judged and rendered again. It counts each service's log of changes in totals.
func writeServices(ctx context.Context, j *judgment, details readDetails, edition *render.Edition, c *carry, totals map[string]int, to tree, progress func(done, total int)) error {
	total, workers := len(j.snapshot.Services), runtime.GOMAXPROCS(0)
	g, ctx := errgroup.WithContext(ctx)
	read, todo, turns := make(chan [2]int), make(chan *turn), make(chan *turn, waiting*workers)
	g.Go(func() error {
		defer close(read)
		for from := 0; from < total; from += ahead {
			part := [2]int{from, min(from+ahead, total)}
			j.fetch(part[0], part[1])
			if err := details(j.facts.Services[part[0]:part[1]]); err != nil {
				return err
			}
			if err := send(ctx, read, part); err != nil {
				return err
			}
		}
		return nil
	})
	g.Go(func() error {
		defer close(todo)
		defer close(turns)
		for part := range read {
			for i := part[0]; i < part[1]; i++ {
				t := &turn{place: i, before: c.of(j.facts.Services[i].Slug), done: make(chan struct{})}
				if err := send(ctx, turns, t); err != nil {
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
				if err := j.make(t, edition, c, to); err != nil {
					return err // nobody adds what is not whole
				}
				close(t.done)
			}
			return nil
		})
	}
	g.Go(func() error {
		for t := range turns {
			select {
			case <-t.done:
			case <-ctx.Done():
				return ctx.Err()
			}
			for _, f := range t.files {
				if err := to.AddPacked(f.name, f.Packed); err != nil {
					return err
				}
			}
			if n := t.note.Remains.Changes; n > 0 {
				totals[ofService(j.facts.Services[t.place].Slug).ListKey()] = n
			}
			if err := c.keep(t); err != nil {
				return err
			}
			j.release(t)
			if progress != nil {
				progress(t.place+1, total)
			}
		}
		return ctx.Err()
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return c.end()
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

// make packs the files of a service: those of the snapshot before, where they would be the same.
func (j *judgment) make(t *turn, edition *render.Edition, c *carry, to tree) error {
	b := j.basis(t.place)
	b.Peers = edition.Peers(&b.Item)
	t.endpoints, t.traction, t.note.Slug = b.Detail.Endpoints, b.Traction, b.Item.Slug
	if c != nil {
		t.note.Digest = digest(c.seed, b)
	}
	if c != nil && t.before.holds(t.note.Digest, j.now) {
		if t.files, t.taken = t.before.take(to); t.taken {
			t.note = *t.before
			t.terms = termsOf(b.Facts, t.note.Remains.Reasons, at(j.now))
			return nil
		}
	}
	return t.render(b, at(j.now), edition.Surroundings, to.Pack)
}

// render judges a service and packs its files.
func (t *turn) render(b *basis, now *clock, in *render.Surroundings, pack func(string, []byte) output.Packed) error {
	l := complete(b, now)
	put := func(name string, data []byte) error {
		t.files = append(t.files, file{name, pack(name, data)})
		t.note.Files = append(t.note.Files, name)
		return nil
	}
	if err := serviceFiles(&l, b.Peers, now.today(), in, put); err != nil {
		return fmt.Errorf("render service %s: %w", b.Item.Slug, err)
	}
	t.terms = l.Terms
	t.note.From, t.note.Until, t.note.Remains = now.now, now.until, remainsOf(&l)
	return nil
}

// serviceFiles are the files of one service: detail, uptime by period, its logs, its series, its page and what goes with
// that. Beside the logs of checks and changes, and feeds of these, they are at most 16.
func serviceFiles(l *site.Listing, peers []render.Peer, today time.Time, in *render.Surroundings, put func(string, []byte) error) error {
	slug := l.Item.Slug
	if err := writeJSON(bare("service", slug).Key(), &l.Detail, put); err != nil {
		return err
	}
	if err := writeJSON(bare("evidence", slug).Key(), &l.Evidence, put); err != nil {
		return err
	}
	if err := uptimeFiles(l, today, put); err != nil {
		return err
	}
	if err := logFiles(bare("service-checks", slug), l.Checks, put); err != nil {
		return err
	}
	if len(l.ChangeLogs.Logs) > 0 {
		if err := changeFiles(ofService(slug), l.ChangeLogs, put); err != nil {
			return err
		}
	}
	if err := seriesFiles(l, put); err != nil {
		return err
	}
	told := in.Tell(l)
	page, err := in.ServicePage(told, peers)
	if err != nil {
		return err
	}
	if err := put(bare("service-page", slug).Key(), page); err != nil {
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

// uptimeFiles are a service's days of each period; those of a shorter one are the newest of a longer.
func uptimeFiles(l *site.Listing, today time.Time, put func(string, []byte) error) error {
	sheet := sheets.Get().(*[]byte)
	defer sheets.Put(sheet)
	rows, used, err := site.RowsOf((*sheet)[:0], l.Uptime)
	if err != nil {
		return err
	}
	*sheet = used
	q := bare("uptime", l.Item.Slug)
	for _, period := range append([]string{""}, q.Route.Param("period").Values...) {
		of := q
		if period != "" {
			of = q.With("period", period)
		}
		days := lastDays(l.Uptime, of.Text("period"), today)
		shown := rows[len(rows)-len(days):]
		if err := writeFile(of.Key(), put, func(b []byte) ([]byte, error) { return site.AppendList(b, shown), nil }); err != nil {
			return err
		}
	}
	return nil
}

// bare is the request for a route without parameters.
func bare(route, slug string) site.Query {
	return site.Query{Route: site.ByName(route), Slug: slug, Bare: true}
}
