package build

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
)

// selection is a set of filter values, "" for none, and the places of the services that match.
type selection struct {
	network, status, category string
	services                  []int32
}

// listSelections returns every combination of network, status and category that some service has. They are sorted, and
// the one without filters is the first.
func listSelections(items []*site.ServiceListItem) []selection {
	type key struct{ network, status, category string }
	by := map[key][]int32{{}: nil}
	for i, item := range items {
		statuses := []string{""}
		if item.Status != site.StatusUnknown {
			statuses = append(statuses, item.Status)
		}
		networks := []string{""}
		for _, n := range item.Networks {
			if !strings.Contains(n, ":") { // an ID: anybody can invent one, so lists of them would have no limit
				networks = append(networks, n)
			}
		}
		for _, n := range networks {
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

// query returns the request for the selection's list.
func (s selection) query() routes.Query {
	q := bare("services", "")
	for _, f := range [][2]string{{"network", s.network}, {"status", s.status}, {"category", s.category}} {
		if f[1] != "" {
			q = q.With(f[0], f[1])
		}
	}
	return q
}

// rankItems returns the rank of each item in each order. Selections are then sorted by comparing numbers.
func rankItems(items []*site.ServiceListItem) map[string][]int32 {
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
func writeLists(s *site.Snapshot, totals map[string]int, add addFunc) error {
	items := s.ListedItems()
	rows := make([][]byte, len(items))
	for i := range items {
		var err error
		if rows[i], err = encode.Row(items[i]); err != nil {
			return fmt.Errorf("encode row of %s: %w", items[i].Slug, err)
		}
	}
	rank := rankItems(items)
	for _, sel := range listSelections(items) {
		q := sel.query()
		totals[q.ListKey()] = len(sel.services)
		for _, order := range site.Orders {
			by := rank[order]
			slices.SortFunc(sel.services, func(a, b int32) int { return cmp.Compare(by[a], by[b]) })
			lines := make([][]byte, len(sel.services))
			for i, place := range sel.services {
				lines[i] = rows[place]
			}
			for _, size := range []int{site.PageSize, site.MaxPageSize} {
				if err := writeListFiles(q.With("sort", order).With("per_page", strconv.Itoa(size)), lines,
					add); err != nil {
					return err
				}
			}
			if q.Bare && order == site.OrderNewest {
				if err := writeListFile(q, lines, add); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// writeListFiles writes every page of a list. A list without rows has an empty first page.
func writeListFiles(q routes.Query, lines [][]byte, add addFunc) error {
	for page := 1; page == 1 || (page-1)*q.Int("per_page") < len(lines); page++ {
		if err := writeListFile(q.With("page", strconv.Itoa(page)), lines, add); err != nil {
			return err
		}
	}
	return nil
}

// writeListFile writes the page of a list that q requests.
func writeListFile(q routes.Query, lines [][]byte, add addFunc) error {
	offset, limit := q.Window()
	from, to := min(offset, len(lines)), min(offset+limit, len(lines))
	return addList(q.Key(), q.Route.Framing, lines[from:to], routes.WindowMeta(q, len(lines)), add)
}
