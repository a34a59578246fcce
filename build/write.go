package build

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tollbook/build/judge"
	"tollbook/render"
	"tollbook/render/openapi"
	"tollbook/site"
	"tollbook/site/postgres"
)

// snapshotWriter renders the files of a snapshot, in an order that depends on the snapshot alone.
type snapshotWriter struct {
	facts     *postgres.Facts
	judged    *judge.Directory
	now       time.Time
	edition   *render.Edition
	endpoints readFacts
	details   readFacts // of services that have their endpoints
	previous  *previousInputs
	lookups   *lookups   // that were told of the endpoints of all services
	catalogue *catalogue // likewise
	to        tree
	progress  func(done, total int) // nil for none
}

// write renders every file. Services come first, a few at a time, since nothing else needs their details. Each
// service's row is encoded once and its bytes reused in every list.
func (w *snapshotWriter) write(ctx context.Context) error {
	s, edition := w.judged.Snapshot, w.edition
	examples, err := w.examples()
	if err != nil {
		return fmt.Errorf("choose examples: %w", err)
	}
	to := watch(examples, w.to)
	add := to.Add
	index := newIndex(s, edition)
	if err := w.writeServices(ctx, index.Lists, to); err != nil {
		return err
	}
	w.judged.Finish()
	if err := writeLists(s, index.Lists, add); err != nil {
		return fmt.Errorf("write lists: %w", err)
	}
	if err := writeChanges(s, edition, index.Lists, add); err != nil {
		return fmt.Errorf("write changes: %w", err)
	}
	if err := w.lookups.write(add); err != nil {
		return fmt.Errorf("write look-ups: %w", err)
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
	if err := writePages(s, edition, add); err != nil {
		return fmt.Errorf("write pages: %w", err)
	}
	if err := writeDocuments(edition, examples, add); err != nil {
		return fmt.Errorf("write documents: %w", err)
	}
	return nil
}

// newIndex is the index without the lists that are yet to be written.
func newIndex(s *site.Snapshot, edition *render.Edition) site.Index {
	n := len(s.Services)
	index := site.Index{Lists: map[string]int{}, Pages: pageCounts(n, edition.Groups()), Slugs: make([]string, n)}
	for i := range s.Services {
		index.Slugs[i] = s.Services[i].Item.Slug
	}
	index.Facilitators = make([]string, len(s.Facilitators))
	for i := range s.Facilitators {
		index.Facilitators[i] = s.Facilitators[i].FacilitatorID
	}
	return index
}

// examples chooses the examples of documents. Of the service that they are about it reads the endpoints.
func (w *snapshotWriter) examples() (openapi.Examples, error) {
	var err error
	x := w.edition.Examples(func(place int) (endpoints []site.Endpoint) {
		f := []postgres.ServiceFacts{w.facts.Services[place]}
		if err = w.endpoints(f); err != nil {
			return nil
		}
		return judge.Endpoints(&f[0], w.now)
	})
	return x, err
}

// writeServices writes the files of services and everything that is made of their details: the catalogue now, look-ups
// and aggregates later. It counts each service's log of changes in totals.
func (w *snapshotWriter) writeServices(ctx context.Context, totals map[string]int, to tree) error {
	w.catalogue.add = to.Add
	totals[bare("discovery", "").ListKey()] = w.catalogue.total
	written := func(i int, l *site.Listing) error {
		if len(l.ChangeLogs.Logs) > 0 {
			if n := int(l.ChangeLogs.Index.Total()); n > 0 {
				totals[ofService(l.Item.Slug).ListKey()] = n
			}
		}
		if err := w.lookups.add(i, l); err != nil {
			return fmt.Errorf("look up addresses: %w", err)
		}
		if err := w.catalogue.addService(l); err != nil {
			return fmt.Errorf("write catalogue: %w", err)
		}
		return nil
	}
	s := services{
		facts: w.facts, judged: w.judged, now: w.now, edition: w.edition, previous: w.previous, to: to, written: written,
		progress: w.progress,
	}
	if err := s.write(ctx, w.endpoints, w.details); err != nil {
		return err
	}
	if err := w.catalogue.end(); err != nil {
		return fmt.Errorf("write catalogue: %w", err)
	}
	return nil
}

// selection is a set of filter values, "" for absent, and the services that pass it, by their places.
type selection struct {
	network, status, category string
	services                  []int32
}

// selections are every combination of network, status and category that some service has, in a total order, the one
// without filters first.
func selections(items []*site.ServiceListItem) []selection {
	type key struct{ network, status, category string }
	by := map[key][]int32{{}: nil}
	for i, item := range items {
		statuses := []string{""}
		if item.Status != site.StatusUnknown {
			statuses = append(statuses, item.Status)
		}
		for _, n := range append([]string{""}, item.Networks...) {
			for _, st := range statuses {
				for _, c := range []string{"", item.Category} {
					k := key{n, st, c}
					by[k] = append(by[k], int32(i))
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

// ranks are the place of each item in each order: all are sorted once, then any of them by numbers.
func ranks(items []*site.ServiceListItem) map[string][]int32 {
	by := map[string][]int32{}
	order := make([]int32, len(items))
	for _, name := range site.Orders {
		for i := range order {
			order[i] = int32(i)
		}
		compare := site.CompareBy(name)
		slices.SortFunc(order, func(a, b int32) int { return compare(items[a], items[b]) })
		rank := make([]int32, len(items))
		for i, place := range order {
			rank[place] = int32(i)
		}
		by[name] = rank
	}
	return by
}

// writeLists writes, for every selection, each order with every page of 25 and of 100.
func writeLists(s *site.Snapshot, totals map[string]int, add func(string, []byte) error) error {
	items := make([]*site.ServiceListItem, len(s.Services))
	rows := make([][]byte, len(items))
	for i := range s.Services {
		items[i] = &s.Services[i].Item
		var err error
		if rows[i], err = site.Row(items[i]); err != nil {
			return fmt.Errorf("render row of %s: %w", items[i].Slug, err)
		}
	}
	rank := ranks(items)
	for _, sel := range selections(items) {
		q := sel.query()
		totals[q.ListKey()] = len(sel.services)
		for _, order := range q.Route.Param("sort").Values {
			by := rank[order]
			slices.SortFunc(sel.services, func(a, b int32) int { return cmp.Compare(by[a], by[b]) })
			lines := make([][]byte, len(sel.services))
			for i, place := range sel.services {
				lines[i] = rows[place]
			}
			for _, size := range []int{site.PageSize, site.MaxPageSize} {
				if err := writePagesOf(q.With("sort", order).With("per_page", strconv.Itoa(size)), lines, add); err != nil {
					return err
				}
			}
			if q.Bare && order == site.OrderNewest {
				if err := writePageOf(q, lines, add); err != nil {
					return err
				}
			}
		}
	}
	return writeSearch(items, rows, add)
}

// writePagesOf writes every page of a list; a list without rows has its first page all the same.
func writePagesOf(q site.Query, lines [][]byte, add func(string, []byte) error) error {
	for page := 1; page == 1 || (page-1)*q.Int("per_page") < len(lines); page++ {
		if err := writePageOf(q.With("page", strconv.Itoa(page)), lines, add); err != nil {
			return err
		}
	}
	return nil
}

// writePageOf writes the page of a list that q asks for.
func writePageOf(q site.Query, lines [][]byte, add func(string, []byte) error) error {
	offset, limit := q.Window()
	from, to := min(offset, len(lines)), min(offset+limit, len(lines))
	return addList(q.Key(), q.Route.Framing, lines[from:to], site.WindowMeta(q, len(lines)), add)
}

// writeAggregates writes what is said of all services together, and the index.
func writeAggregates(s *site.Snapshot, index site.Index, add func(string, []byte) error) error {
	for _, a := range []struct {
		route string
		data  any
	}{
		{"status", s.Status}, {"networks", s.Networks}, {"tags", s.Tags}, {"stats", s.Stats}, {"categories", s.Categories},
		{"snapshots", append([]site.PublishedSnapshot{}, s.Previous...)},
	} {
		if err := addJSON(bare(a.route, "").Key(), a.data, add); err != nil {
			return err
		}
	}
	if err := writeLog(bare("checks", ""), s.Checks, add); err != nil {
		return err
	}
	return addLine(site.IndexFile, index, add) // maps of it encode in the order of their keys
}

// pageCounts are the pages that writePages writes of each list.
func pageCounts(services int, groups []*render.Group) map[string]int {
	counts := map[string]int{bare("services-page", "").ListKey(): max(1, (services+render.PageRows-1)/render.PageRows)}
	for _, g := range groups {
		counts[g.List()] = g.Pages()
	}
	return counts
}

// writeListPages writes the pages of the list in one order; the first page of the first order answers without
// parameters.
func writeListPages(items []*site.ServiceListItem, order string, edition *render.Edition,
	put func(string, []byte, error) error) error {
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
			if n == 1 { // answers without parameters too
				if err := put(g.Key(n), data, err); err != nil {
					return err
				}
			}
			if err := put(g.NumberedKey(n), data, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// writePages writes the pages that are not a service's own.
func writePages(s *site.Snapshot, edition *render.Edition, add func(string, []byte) error) error {
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
	compare, err := edition.ComparePage()
	if err := put(bare("compare-page", "").Key(), compare, err); err != nil {
		return err
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
	failure, err := edition.Failure()
	if err := put("500.html", failure, err); err != nil {
		return err
	}
	pictures, err := edition.Pictures()
	if err != nil {
		return err
	}
	for _, a := range append(pictures, edition.Assets()...) {
		if err := add(a.Key, a.Bytes); err != nil {
			return err
		}
	}
	return nil
}
