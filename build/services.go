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
	files     []file
	endpoints []site.Endpoint
	remains   remains
	traction  site.Traction
	done      chan struct{}
}

// writeServices reads, judges, renders and packs services on all cores, a service a worker, and adds their files in the order
// of slugs. Whoever writes a file packs it at once, so that few are in memory unpacked. It counts each service's log of changes
// in totals.
func writeServices(ctx context.Context, j *judgment, details readDetails, edition *render.Edition, totals map[string]int, to tree, progress func(done, total int)) error {
	total, workers := len(j.snapshot.Services), runtime.GOMAXPROCS(0)
	g, ctx := errgroup.WithContext(ctx)
	read, todo, turns := make(chan [2]int), make(chan *turn), make(chan *turn, waiting*workers)
	g.Go(func() error {
		defer close(read)
		for from := 0; from < total; from += ahead {
			part := [2]int{from, min(from+ahead, total)}
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
				t := &turn{place: i, done: make(chan struct{})}
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
				if err := j.render(t, edition, to.Pack); err != nil {
					return err
				}
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
			if n := t.remains.Changes; n > 0 {
				totals[ofService(j.facts.Services[t.place].Slug).ListKey()] = n
			}
			j.release(t)
			if progress != nil {
				progress(t.place+1, total)
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

// render judges a service and packs its files.
func (j *judgment) render(t *turn, edition *render.Edition, pack func(string, []byte) output.Packed) error {
	defer close(t.done)
	b, c := j.basis(t.place), at(j.now)
	b.Peers = edition.Peers(&b.Item)
	l := complete(b, c)
	t.endpoints, t.remains, t.traction = b.Detail.Endpoints, remainsOf(&l), b.Traction
	put := func(name string, data []byte) error {
		t.files = append(t.files, file{name, pack(name, data)})
		return nil
	}
	if err := serviceFiles(&l, b.Peers, c.today(), edition.Surroundings, put); err != nil {
		return fmt.Errorf("render service %s: %w", l.Item.Slug, err)
	}
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
	page := func(b []byte) ([]byte, error) { return in.AppendServicePage(b, told, peers) }
	if err := writeFile(bare("service-page", slug).Key(), put, page); err != nil {
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
	rows, used, err := render.RowsOf((*sheet)[:0], l.Uptime)
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
		if err := writeFile(of.Key(), put, func(b []byte) ([]byte, error) { return render.AppendList(b, shown), nil }); err != nil {
			return err
		}
	}
	return nil
}

// bare is the request for a route without parameters.
func bare(route, slug string) site.Query {
	return site.Query{Route: site.ByName(route), Slug: slug, Bare: true}
}
