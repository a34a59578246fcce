package html

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	"tollbook/cmd/bench/harness"
	"tollbook/render"
	"tollbook/site"
)

// newRenderer prepares our pages as a build does: it needs the rows of all services first.
func newRenderer(items []site.ServiceListItem) (*render.Renderer, error) {
	pages, err := render.NewPages(render.Site{BaseURL: "https://tollbook.example"})
	if err != nil {
		return nil, err
	}
	s := &site.Snapshot{Now: site.NewTime(moment), Next: at(-15 * 60e9), Networks: networks,
		Services: make([]site.Listing, len(items))}
	for i := range items {
		s.Services[i].Item = items[i]
		s.Services[i].ListingDetail = &site.ListingDetail{Detail: site.ServiceDetail{Slug: items[i].Slug,
			Name: items[i].Name}}
		s.Status.Total++
		if items[i].Status == site.StatusOnline {
			s.Status.Online++
		} else {
			s.Status.Degraded++
		}
	}
	return pages.NewRenderer(s), nil
}

// listing returns a record in the form that a build uses.
func (r *record) listing() (*site.Listing, error) {
	l := &site.Listing{Item: item(&r.Detail), ListingDetail: &site.ListingDetail{Detail: r.Detail,
		ServiceFiles: &site.ServiceFiles{Evidence: r.Evidence, Uptime: r.Uptime, Prices: r.Prices}}}
	l.Checks.Newest, l.Checks.Index.Next = r.Checks, r.Kept
	for i := range r.Changes {
		c := r.Changes[i].ChangeRecord
		var err error
		if c.Summary, err = json.Marshal(r.Changes[i].Summary); err != nil {
			return nil, err
		}
		l.Changes = append(l.Changes, c)
	}
	l.Volume = r.Volume
	return l, nil
}

// ours is the process of our side.
func ours(ctx context.Context, o options) error {
	stop, err := harness.Profile(o.profile)
	if err != nil {
		return err
	}
	defer stop()
	return renderOurs(ctx, o.facts, o.to)
}

// renderOurs reads the facts and writes every page as a file, on all cores.
func renderOurs(ctx context.Context, facts, to string) error {
	data, err := os.ReadFile(itemsFile(facts))
	if err != nil {
		return err
	}
	var items []site.ServiceListItem
	if err := json.Unmarshal(data, &items); err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	renderer, err := newRenderer(items)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	jobs := make(chan func() error, 64)
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error {
			for job := range jobs {
				if err := job(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		defer close(jobs)
		send := func(job func() error) error {
			select {
			case jobs <- job:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := eachLine(recordsFile(facts), func(line []byte) error {
			return send(func() error { return writeService(renderer, line, to) })
		}); err != nil {
			return err
		}
		return lists(renderer, items, func(key string, page func() ([]byte, error)) error {
			return send(func() error { return write(to, key, page) })
		})
	})
	return g.Wait()
}

func writeService(renderer *render.Renderer, line []byte, to string) error {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("read a record: %w", err)
	}
	l, err := r.listing()
	if err != nil {
		return err
	}
	return write(to, "services/"+r.Detail.Slug+".html", func() ([]byte, error) {
		return renderer.ServicePage(renderer.DescribeService(l), renderer.Neighbours(&l.Item))
	})
}

// lists writes the pages of the list in its first order, and of categories and networks.
func lists(renderer *render.Renderer, items []site.ServiceListItem,
	put func(string, func() ([]byte, error)) error) error {
	ordered := make([]*site.ServiceListItem, len(items))
	for i := range items {
		ordered[i] = &items[i]
	}
	site.Sort(ordered, site.OrderNewest)
	for n := 1; (n-1)*render.PageRows < len(ordered); n++ {
		rows := ordered[(n-1)*render.PageRows : min(n*render.PageRows, len(ordered))]
		meta := site.NewPaginationMeta(len(ordered), n, render.PageRows)
		if err := put(fmt.Sprintf("list/%d.html", n), func() ([]byte, error) {
			return renderer.ServicesPage(rows, meta, site.OrderNewest)
		}); err != nil {
			return err
		}
	}
	for _, g := range renderer.Groups() {
		for n := 1; n <= g.Pages(); n++ {
			if err := put(g.Key(n), func() ([]byte, error) { return renderer.GroupPage(g, n) }); err != nil {
				return err
			}
		}
	}
	return nil
}

func write(to, key string, page func() ([]byte, error)) error {
	data, err := page()
	if err != nil {
		return err
	}
	path := filepath.Join(to, filepath.FromSlash(key))
	err = os.WriteFile(path, data, 0o644)
	if os.IsNotExist(err) {
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.WriteFile(path, data, 0o644)
		}
	}
	return err
}

// eachLine calls do for each record of a file, with a slice of its own.
func eachLine(path string, do func([]byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewReaderSize(file, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // the last line ends with "]"
		}
		if line = bytes.TrimRight(line, ",\n"); len(line) > 2 {
			if err := do(line); err != nil {
				return err
			}
		}
	}
}
