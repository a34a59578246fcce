package build

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"tollbook/render"
	"tollbook/site"
)

// countPages returns how many pages writeHTML writes of each list.
func countPages(services int, groups []*render.Group) map[string]int {
	counts := map[string]int{bare("services-page", "").ListKey(): max(1, (services+render.PageRows-1)/render.PageRows)}
	for _, g := range groups {
		counts[g.List()] = g.Pages()
	}
	return counts
}

// pageOrder returns the services in the order of a list's pages. Those that must not be paid come last, whatever the order:
// a page recommends its first rows. The JSON has the order alone.
func pageOrder(listed []*site.Listing, order string) []*site.ServiceListItem {
	ordered := slices.Clone(listed)
	site.SortForPage(ordered, order)
	slices.SortStableFunc(ordered, func(a, b *site.Listing) int {
		return cmp.Compare(rankOfVerdict(&a.Item), rankOfVerdict(&b.Item))
	})
	items := make([]*site.ServiceListItem, len(ordered))
	for i, l := range ordered {
		items[i] = &l.Item
	}
	return items
}

func rankOfVerdict(item *site.ServiceListItem) int {
	if item.AdviceLevel == site.AdviceDoNotPay {
		return 1
	}
	return 0
}

// writeListPages writes the pages of the list of services in one order. The first page of the default order is also
// the page without parameters.
func writeListPages(listed []*site.Listing, order string, renderer *render.Renderer,
	put func(string, []byte, error) error) error {
	ordered := pageOrder(listed, order)
	for page := 1; page == 1 || (page-1)*render.PageRows < len(ordered); page++ {
		meta := site.NewPaginationMeta(len(ordered), page, render.PageRows)
		from := (page - 1) * render.PageRows
		data, err := renderer.ServicesPage(ordered[from:min(from+render.PageRows, len(ordered))], meta, order)
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
func writeGroups(renderer *render.Renderer, put func(string, []byte, error) error) error {
	categories, err := renderer.CategoriesPage()
	if err := put(bare("categories-page", "").Key(), categories, err); err != nil {
		return err
	}
	networks, err := renderer.NetworksPage()
	if err := put(bare("networks-page", "").Key(), networks, err); err != nil {
		return err
	}
	for _, g := range renderer.Groups() {
		for n := 1; n <= g.Pages(); n++ {
			data, err := renderer.GroupPage(g, n)
			if n == 1 { // also the page without parameters
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

// writeHTML writes the home page, lists, groups, the status, compare, market and changes pages, guides, Markdown pages,
// error pages, pictures and assets.
func writeHTML(s *site.Snapshot, renderer *render.Renderer, add addFunc) error {
	put := func(key string, data []byte, err error) error {
		if err != nil {
			return fmt.Errorf("render %s: %w", key, err)
		}
		return add(key, data)
	}
	home, err := renderer.Home()
	if err := put(bare("home-page", "").Key(), home, err); err != nil {
		return err
	}
	listed := s.Listed()
	for _, order := range site.PageOrders {
		if err := writeListPages(listed, order, renderer, put); err != nil {
			return err
		}
	}
	if err := writeGroups(renderer, put); err != nil {
		return err
	}
	status, err := renderer.StatusPage()
	if err := put(bare("status-page", "").Key(), status, err); err != nil {
		return err
	}
	guides, err := renderer.GuidePages()
	if err != nil {
		return err
	}
	for _, g := range guides {
		if err := add(g.Key, g.Bytes); err != nil {
			return err
		}
	}
	compare, err := renderer.ComparePage()
	if err := put(bare("compare-page", "").Key(), compare, err); err != nil {
		return err
	}
	market, err := renderer.MarketPage()
	if err := put(bare("market-page", "").Key(), market, err); err != nil {
		return err
	}
	changes, err := renderer.ChangesPage()
	if err := put(bare("changes-page", "").Key(), changes, err); err != nil {
		return err
	}
	markdown, err := renderer.MarkdownPages()
	if err != nil {
		return err
	}
	for _, f := range markdown {
		if err := add(f.Key, f.Bytes); err != nil {
			return err
		}
	}
	missing, err := renderer.NotFound()
	if err := put("404.html", missing, err); err != nil {
		return err
	}
	failure, err := renderer.Failure()
	if err := put("500.html", failure, err); err != nil {
		return err
	}
	pictures, err := renderer.Pictures()
	if err != nil {
		return err
	}
	for _, a := range append(pictures, renderer.Assets()...) {
		if err := add(a.Key, a.Bytes); err != nil {
			return err
		}
	}
	return nil
}
