package build

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"tollbook/render"
	"tollbook/site"
)

// Write renders every file of a snapshot, in an order that depends on the snapshot alone. Each service's row is encoded
// once and its bytes reused in every list.
func Write(ctx context.Context, s *site.Snapshot, pages *render.Pages, add func(name string, data []byte) error, progress func(done, total int)) error {
	edition := pages.Edition(s)
	examples := edition.Examples()
	add = watch(examples, add)
	index := site.Index{Lists: map[string]int{}, Pages: pageCounts(len(s.Services)), Slugs: make([]string, len(s.Services))}
	for i := range s.Services {
		index.Slugs[i] = s.Services[i].Item.Slug
	}
	index.Facilitators = make([]string, len(s.Facilitators))
	for i := range s.Facilitators {
		index.Facilitators[i] = s.Facilitators[i].FacilitatorID
	}
	if err := writeServices(ctx, s, edition, add, progress); err != nil {
		return err
	}
	if err := writeLists(s, index.Lists, add); err != nil {
		return fmt.Errorf("write lists: %w", err)
	}
	if err := writeChanges(s, edition, index.Lists, add); err != nil {
		return fmt.Errorf("write changes: %w", err)
	}
	if err := writeLookups(s, add); err != nil {
		return fmt.Errorf("write look-ups: %w", err)
	}
	if err := writeCatalogue(s, index.Lists, add); err != nil {
		return fmt.Errorf("write catalogue: %w", err)
	}
	if err := writeFacilitators(s, index.Lists, add); err != nil {
		return fmt.Errorf("write facilitators: %w", err)
	}
	if err := writeFacilitatorDetails(s, edition, add); err != nil {
		return fmt.Errorf("write facilitators: %w", err)
	}
	if err := writeCoverage(s, edition, add); err != nil {
		return fmt.Errorf("write coverage: %w", err)
	}
	if err := writeAggregates(s, index, add); err != nil {
		return fmt.Errorf("write aggregates: %w", err)
	}
	if err := writePages(s, pages, edition, add); err != nil {
		return fmt.Errorf("write pages: %w", err)
	}
	if err := writeDocuments(edition, examples, add); err != nil {
		return fmt.Errorf("write documents: %w", err)
	}
	return nil
}

type file struct {
	name string
	data []byte
}

// batch is how many services are rendered before their files are added: enough to keep every core busy, few enough to
// keep memory small.
const batch = 256

// writeServices renders the files of each service, on all cores, and adds them in the order of slugs.
func writeServices(ctx context.Context, s *site.Snapshot, edition *render.Edition, add func(string, []byte) error, progress func(done, total int)) error {
	total := len(s.Services)
	for from := 0; from < total; from += batch {
		part := s.Services[from:min(from+batch, total)]
		files := make([][]file, len(part))
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(runtime.GOMAXPROCS(0))
		for i := range part {
			g.Go(func() (err error) {
				if err := ctx.Err(); err != nil {
					return err
				}
				if files[i], err = serviceFiles(s, &part[i], edition); err != nil {
					return fmt.Errorf("render service %s: %w", part[i].Item.Slug, err)
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		for _, of := range files {
			for _, f := range of {
				if err := add(f.name, f.data); err != nil {
					return err
				}
			}
		}
		if progress != nil {
			progress(from+len(part), total)
		}
	}
	return nil
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

func uptimeFiles(s *site.Snapshot, l *site.Listing, put func(string, []byte) error) error {
	q := bare("uptime", l.Item.Slug)
	for _, period := range append([]string{""}, q.Route.Param("period").Values...) {
		of := q
		if period != "" {
			of = q.With("period", period)
		}
		points := lastDays(l.Uptime, of.Text("period"), s.Now.Time)
		if points == nil {
			points = []site.UptimeDataPoint{}
		}
		data, err := render.JSON(points)
		if err != nil {
			return err
		}
		put(of.Key(), data)
	}
	return nil
}

// bare is the request for a route without parameters.
func bare(route, slug string) site.Query {
	return site.Query{Route: site.ByName(route), Slug: slug, Bare: true}
}

// selection is a set of filter values, "" for absent, and the services that pass it.
type selection struct {
	network, status, category string
	services                  []*site.ServiceListItem
}

// selections are every combination of network, status and category that some service has, in a total order, the one
// without filters first.
func selections(items []*site.ServiceListItem) []selection {
	type key struct{ network, status, category string }
	by := map[key][]*site.ServiceListItem{{}: nil}
	for _, item := range items {
		statuses := []string{""}
		if item.Status != site.StatusUnknown {
			statuses = append(statuses, item.Status)
		}
		for _, n := range append([]string{""}, item.Networks...) {
			for _, st := range statuses {
				for _, c := range []string{"", item.Category} {
					k := key{n, st, c}
					by[k] = append(by[k], item)
				}
			}
		}
	}
	out := make([]selection, 0, len(by))
	for k, services := range by {
		out = append(out, selection{k.network, k.status, k.category, services})
	}
	slices.SortFunc(out, func(a, b selection) int {
		return slices.Compare([]string{a.network, a.status, a.category}, []string{b.network, b.status, b.category})
	})
	return out
}

// query is the request for the selection's list.
func (s selection) query() site.Query {
	q := bare("services", "")
	for _, f := range [][2]string{{"network", s.network}, {"status", s.status}, {"category", s.category}} {
		if f[1] != "" {
			q = q.With(f[0], f[1])
		}
	}
	return q
}

// writeLists writes, for every selection, each order with every page of 25 and of 100.
func writeLists(s *site.Snapshot, totals map[string]int, add func(string, []byte) error) error {
	items := make([]*site.ServiceListItem, len(s.Services))
	rows := make(map[string][]byte, len(items))
	for i := range s.Services {
		items[i] = &s.Services[i].Item
		row, err := render.Row(items[i])
		if err != nil {
			return fmt.Errorf("render row of %s: %w", items[i].Slug, err)
		}
		rows[items[i].Slug] = row
	}
	for _, sel := range selections(items) {
		q := sel.query()
		totals[q.ListKey()] = len(sel.services)
		for _, order := range q.Route.Param("sort").Values {
			ordered := slices.Clone(sel.services)
			site.Sort(ordered, order)
			lines := make([][]byte, len(ordered))
			for i, item := range ordered {
				lines[i] = rows[item.Slug]
			}
			for _, size := range []int{site.PageSize, site.MaxPageSize} {
				if err := writeList(q.With("sort", order).With("per_page", strconv.Itoa(size)), lines, size, add); err != nil {
					return err
				}
			}
			if q.Bare && order == site.OrderNewest {
				data, err := pageFile(lines, 1, site.PageSize)
				if err == nil {
					err = add(q.Key(), data)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return writeSearch(items, rows, add)
}

// writeList writes every page of a list; one without rows has its first page all the same.
func writeList(q site.Query, lines [][]byte, size int, add func(string, []byte) error) error {
	for page := 1; page == 1 || (page-1)*size < len(lines); page++ {
		data, err := pageFile(lines, page, size)
		if err != nil {
			return err
		}
		if err := add(q.With("page", strconv.Itoa(page)).Key(), data); err != nil {
			return err
		}
	}
	return nil
}

func pageFile(lines [][]byte, page, size int) ([]byte, error) {
	meta, err := render.Row(site.NewPaginationMeta(len(lines), page, size))
	if err != nil {
		return nil, err
	}
	from := (page - 1) * size
	return render.Frame(lines[from:min(from+size, len(lines))], meta), nil
}

// writeAggregates writes what is said of all services together, and the index.
func writeAggregates(s *site.Snapshot, index site.Index, add func(string, []byte) error) error {
	for _, a := range []struct {
		route string
		data  any
	}{
		{"status", s.Status}, {"networks", s.Networks}, {"tags", s.Tags}, {"stats", s.Stats}, {"categories", s.Categories}, {"snapshots", append([]site.PublishedSnapshot{}, s.Earlier...)},
	} {
		data, err := render.JSON(a.data)
		if err == nil {
			err = add(bare(a.route, "").Key(), data)
		}
		if err != nil {
			return err
		}
	}
	if err := logFiles(bare("checks", ""), s.Checks, add); err != nil {
		return err
	}
	data, err := render.Row(index) // maps of it encode in the order of their keys
	if err != nil {
		return err
	}
	return add(site.IndexFile, append(slices.Clip(data), '\n'))
}

// pageCounts are the pages that writePages writes of each list.
func pageCounts(services int) map[string]int {
	return map[string]int{bare("services-page", "").ListKey(): max(1, (services+render.PageRows-1)/render.PageRows)}
}

// writeListPages writes the pages of the list in one order; the first page of the first order answers without parameters.
func writeListPages(items []*site.ServiceListItem, order string, edition *render.Edition, put func(string, []byte, error) error) error {
	ordered := slices.Clone(items)
	site.Sort(ordered, order)
	for page := 1; page == 1 || (page-1)*render.PageRows < len(ordered); page++ {
		meta := site.NewPaginationMeta(len(ordered), page, render.PageRows)
		from := (page - 1) * render.PageRows
		data, err := edition.ServicesPage(ordered[from:min(from+render.PageRows, len(ordered))], meta, order)
		q := bare("services-page", "")
		if page == 1 && order == site.OrderNewest {
			if err := put(q.Key(), data, err); err != nil {
				return err
			}
		}
		if err := put(q.With("sort", order).With("page", strconv.Itoa(page)).Key(), data, err); err != nil {
			return err
		}
	}
	return nil
}

// writeGroups writes the pages of categories and networks.
func writeGroups(edition *render.Edition, put func(string, []byte, error) error) error {
	categories, err := edition.CategoriesPage()
	if err := put(bare("categories-page", "").Key(), categories, err); err != nil {
		return err
	}
	networks, err := edition.NetworksPage()
	if err := put(bare("networks-page", "").Key(), networks, err); err != nil {
		return err
	}
	for _, g := range edition.Groups() {
		for n := 1; n <= g.Pages(); n++ {
			data, err := edition.GroupPage(g, n)
			if err := put(g.Key(n), data, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// writePages writes the pages that are not a service's own.
func writePages(s *site.Snapshot, pages *render.Pages, edition *render.Edition, add func(string, []byte) error) error {
	put := func(key string, data []byte, err error) error {
		if err != nil {
			return fmt.Errorf("render %s: %w", key, err)
		}
		return add(key, data)
	}
	home, err := edition.Home()
	if err := put(bare("home-page", "").Key(), home, err); err != nil {
		return err
	}
	items := make([]*site.ServiceListItem, len(s.Services))
	for i := range s.Services {
		items[i] = &s.Services[i].Item
	}
	for _, order := range site.Orders {
		if err := writeListPages(items, order, edition, put); err != nil {
			return err
		}
	}
	if err := writeGroups(edition, put); err != nil {
		return err
	}
	status, err := edition.StatusPage()
	if err := put(bare("status-page", "").Key(), status, err); err != nil {
		return err
	}
	guides, err := edition.GuidePages()
	if err != nil {
		return err
	}
	for _, g := range guides {
		if err := add(g.Key, g.Bytes); err != nil {
			return err
		}
	}
	changes, err := edition.ChangesPage()
	if err := put(bare("changes-page", "").Key(), changes, err); err != nil {
		return err
	}
	twins, err := edition.Twins()
	if err != nil {
		return err
	}
	for _, f := range twins {
		if err := add(f.Key, f.Bytes); err != nil {
			return err
		}
	}
	missing, err := edition.NotFound()
	if err := put("404.html", missing, err); err != nil {
		return err
	}
	for _, a := range pages.Assets() {
		if err := add(a.Key, a.Bytes); err != nil {
			return err
		}
	}
	return nil
}
