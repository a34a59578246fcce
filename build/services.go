package build

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"tollbook/render"
	"tollbook/site"
	"tollbook/site/postgres"
)

// batch is how many services are read, rendered and added together: enough to keep every core busy, few enough to keep
// memory small.
const batch = 24

// ahead is how many services are read at once, whose facts are small beside their files: a statement costs Postgres as much
// as some hundred rows.
const ahead = 4 * batch

// readDetails reads the details of services.
type readDetails func([]postgres.ServiceFacts) error

// file is a name with its content.
type file struct {
	name string
	data []byte
}

// rendered is the files of consecutive services, the first of them the from-th.
type rendered struct {
	from  int
	files [][]file
}

// writeServices reads, judges and renders services on all cores and adds their files in the order of slugs. While a batch
// is rendered the next ones are read and the one before is added: files of two are in memory. It counts each service's log of
// changes in totals.
func writeServices(ctx context.Context, j *judgment, details readDetails, edition *render.Edition, totals map[string]int, add func(string, []byte) error, progress func(done, total int)) error {
	total := len(j.snapshot.Services)
	g, ctx := errgroup.WithContext(ctx)
	read, done := make(chan int), make(chan rendered)
	g.Go(func() error {
		defer close(read)
		for from := 0; from < total; from += batch {
			if from%ahead == 0 {
				if err := details(j.facts.Services[from:min(from+ahead, total)]); err != nil {
					return err
				}
			}
			select {
			case read <- from:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	g.Go(func() error {
		defer close(done)
		for from := range read {
			files, err := renderServices(ctx, j, from, min(from+batch, total), edition)
			if err != nil {
				return err
			}
			select {
			case done <- rendered{from, files}:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	g.Go(func() error {
		for part := range done {
			for i, files := range part.files {
				for _, f := range files {
					if err := add(f.name, f.data); err != nil {
						return err
					}
				}
				if l := &j.snapshot.Services[part.from+i]; len(l.ChangeLogs.Logs) > 0 {
					totals[ofService(l.Item.Slug).ListKey()] = int(l.ChangeLogs.Index.Total())
				}
				j.release(part.from + i)
			}
			if progress != nil {
				progress(part.from+len(part.files), total)
			}
		}
		return ctx.Err()
	})
	return g.Wait()
}

// renderServices judges and renders the services from one to before another.
func renderServices(ctx context.Context, j *judgment, from, to int, edition *render.Edition) ([][]file, error) {
	files := make([][]file, to-from)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range files {
		g.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			j.complete(from + i)
			l := &j.snapshot.Services[from+i]
			if files[i], err = serviceFiles(j.snapshot, l, edition); err != nil {
				return fmt.Errorf("render service %s: %w", l.Item.Slug, err)
			}
			return nil
		})
	}
	return files, g.Wait()
}

// serviceFiles are the files of one service: detail, uptime by period, its logs, its series, its page and what goes with
// that. Beside the logs of checks and changes, and feeds of these, they are at most 16.
func serviceFiles(s *site.Snapshot, l *site.Listing, edition *render.Edition) (files []file, err error) {
	slug := l.Item.Slug
	put := func(name string, data []byte) error {
		files = append(files, file{name, data})
		return nil
	}
	detail, err := render.JSON(l.Detail)
	if err != nil {
		return nil, err
	}
	put(bare("service", slug).Key(), detail)
	shown, err := render.JSON(l.Evidence)
	if err != nil {
		return nil, err
	}
	put(bare("evidence", slug).Key(), shown)
	if err := uptimeFiles(s, l, put); err != nil {
		return nil, err
	}
	if err := logFiles(bare("service-checks", slug), l.Checks, put); err != nil {
		return nil, err
	}
	if len(l.ChangeLogs.Logs) > 0 {
		if err := changeFiles(ofService(slug), l.ChangeLogs, put); err != nil {
			return nil, err
		}
	}
	if err := seriesFiles(l, put); err != nil {
		return nil, err
	}
	page, err := edition.ServicePage(l)
	if err != nil {
		return nil, err
	}
	put(bare("service-page", slug).Key(), page)
	beside, err := edition.ServiceFiles(l)
	if err != nil {
		return nil, err
	}
	for _, f := range beside {
		put(f.Key, f.Bytes)
	}
	return files, nil
}

// uptimeFiles are a service's days of each period; those of a shorter one are the newest of a longer.
func uptimeFiles(s *site.Snapshot, l *site.Listing, put func(string, []byte) error) error {
	rows, err := render.RowsOf(l.Uptime)
	if err != nil {
		return err
	}
	q := bare("uptime", l.Item.Slug)
	for _, period := range append([]string{""}, q.Route.Param("period").Values...) {
		of := q
		if period != "" {
			of = q.With("period", period)
		}
		days := lastDays(l.Uptime, of.Text("period"), s.Now.Time)
		put(of.Key(), render.List(rows[len(rows)-len(days):]))
	}
	return nil
}

// bare is the request for a route without parameters.
func bare(route, slug string) site.Query {
	return site.Query{Route: site.ByName(route), Slug: slug, Bare: true}
}
