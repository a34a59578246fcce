package main

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tollbook/.ci/recompute/advice"
	"tollbook/.ci/recompute/aggregate"
	"tollbook/.ci/recompute/snapshot"
)

const listRule = "Orders of the list"

// row returns the row of a service in lists: members of its record, as far as rows have them. names are the members of
// a published row.
func (s *service) row(names []string) map[string]any {
	row := map[string]any{}
	for _, name := range names {
		row[name] = s.detail.Get(name).Value
	}
	if slices.Contains(names, "listed") {
		row["listed"] = !s.detail.Get("delisted_at").HasValue()
	}
	if slices.Contains(names, "advice_level") {
		row["advice_level"], row["advice_reason"] = advice.Row(s.detail)
	}
	if slices.Contains(names, "risk_level") {
		row["risk_level"], row["risk_reason"] = s.riskLevel, s.riskReason
	}
	return row
}

// figureRow compares a published row with the record of its service.
func (s *service) figureRow(r *snapshot.Report, rule string, published snapshot.Node) {
	r.Figure(rule, published, s.row(published.Keys()))
}

// orders are the four orders of the list. Services without a value come last; ties are ordered by slug.
var orders = map[string]func(a, b *service) int{
	"newest": func(a, b *service) int {
		return b.detail.Get("created_at").Time().Compare(a.detail.Get("created_at").Time())
	},
	"uptime":   func(a, b *service) int { return byNumber(a, b, "uptime_24h", -1) },
	"cheapest": func(a, b *service) int { return byNumber(a, b, "min_price_usd", 1) },
	"endpoints": func(a, b *service) int {
		return cmp.Compare(b.detail.Get("endpoint_count").Int(), a.detail.Get("endpoint_count").Int())
	},
}

func byNumber(a, b *service, name string, sign int) int {
	x, y := a.detail.Get(name).Number(), b.detail.Get(name).Number()
	switch {
	case x == nil && y == nil:
		return 0
	case x == nil:
		return 1
	case y == nil:
		return -1
	}
	return sign * x.Cmp(y)
}

// sortServices returns services in one of the four orders.
func sortServices(services []*service, order string) []*service {
	return slices.SortedFunc(slices.Values(services), func(a, b *service) int {
		return cmp.Or(orders[order](a, b), cmp.Compare(a.slug, b.slug))
	})
}

// escape writes a value as it is in the name of a file.
func escape(value string) string {
	var b strings.Builder
	for i := range len(value) {
		c := value[i]
		if strings.IndexByte("._-", c) >= 0 || c >= '0' && c <= '9' || c|32 >= 'a' && c|32 <= 'z' {
			b.WriteByte(c)
		} else {
			b.WriteString("~" + strconv.FormatUint(uint64(c)+0x100, 16)[1:])
		}
	}
	return b.String()
}

// selectServices returns the services that the filters in the name of a list select.
func (d *directory) selectServices(parameters map[string]string) []*service {
	var services []*service
	for _, s := range d.services {
		category, status, network := parameters["category"], parameters["status"], parameters["network"]
		if (category == "" || category == s.detail.Get("category").Text()) &&
			(status == "" || status == s.detail.Get("status").Text()) &&
			(network == "" || slices.Contains(s.detail.Get("networks").Texts(), network)) {
			services = append(services, s)
		}
	}
	return services
}

// recomputeLists computes every list of services: which rows it has, in which order, on which page, and their totals.
func recomputeLists(d *directory, r *snapshot.Report) {
	totals := d.snap.JSON("v1/index.json").Get("lists")
	lists := map[string]int{} // expected totals by name
	for _, s := range d.services {
		for _, network := range append(s.detail.Get("networks").Texts(), "") {
			for _, status := range []string{s.detail.Get("status").Text(), ""} {
				for _, category := range []string{s.detail.Get("category").Text(), ""} {
					if status != "unknown" {
						lists[listName(network, status, category)]++
					}
				}
			}
		}
	}
	lists["v1/services"] = len(d.services)
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		r.Figure(listRule, totals.Get(name), lists[name])
		for order := range orders {
			for _, size := range []int{25, 100} {
				for page := 1; page == 1 || (page-1)*size < lists[name]; page++ {
					d.figureList(r, name+"/sort="+order+"/per_page="+strconv.Itoa(size)+"/page="+
						strconv.Itoa(page)+".json")
				}
			}
		}
	}
	for _, name := range totals.Keys() {
		if _, expected := lists[name]; !expected && (strings.HasPrefix(name, "v1/services")) {
			r.Compare(listRule, totals.Get(name), "a list", "no service")
		}
	}
	d.figureList(r, "v1/services.json")
}

// listName returns the name of a list of services: filters in the order of the reference.
func listName(network, status, category string) string {
	name := "v1/services"
	for _, filter := range [][2]string{{"network", network}, {"status", status}, {"category", category}} {
		if filter[1] != "" {
			name += "/" + filter[0] + "=" + escape(filter[1])
		}
	}
	return name
}

// figureList compares one page of a list of services.
func (d *directory) figureList(r *snapshot.Report, name string) {
	p := snapshot.Parameters(name)
	size, _ := strconv.Atoi(cmp.Or(p["per_page"], "25"))
	page, _ := strconv.Atoi(cmp.Or(p["page"], "1"))
	services := sortServices(d.selectServices(p), cmp.Or(p["sort"], "newest"))
	file := d.snap.JSON(name)
	figurePage(r, file.Get("meta"), len(services), page, size)
	d.figureRows(r, file.Get("data"), window(services, page, size))
}

// figureRows compares a list of rows with the records of services.
func (d *directory) figureRows(r *snapshot.Report, data snapshot.Node, services []*service) {
	rows := data.Items()
	if len(rows) != len(services) {
		r.Compare(listRule, data, snapshot.Describe(data.Value), "list of "+strconv.Itoa(len(services)))
		return
	}
	for i, s := range services {
		s.figureRow(r, listRule, rows[i])
	}
}

// window returns a page of a list.
func window[T any](list []T, page, size int) []T {
	from := min(len(list), (page-1)*size)
	return list[from:min(len(list), from+size)]
}

// figurePage compares the members of meta that every list with pages has.
func figurePage(r *snapshot.Report, meta snapshot.Node, total, page, size int) {
	r.Figure(listRule, meta.Get("total"), total)
	r.Figure(listRule, meta.Get("page"), page)
	r.Figure(listRule, meta.Get("per_page"), size)
	r.Figure(listRule, meta.Get("total_pages"), (total+size-1)/size)
}

// recomputeGroups computes what lists all services without pages: status, networks, tags, categories and statistics.
func recomputeGroups(d *directory, r *snapshot.Report) {
	details, checks := make([]snapshot.Node, len(d.services)), 0
	hour := hoursBefore(d.now, 0)
	for i, s := range d.services {
		details[i] = s.detail
		checks += s.visits(d).count(hour.Add(-snapshot.Day), hour).total
	}
	d.figureRows(r, d.snap.JSON("v1/status.json").At("data", "services"), d.services)
	aggregate.Recompute(d.snap, r, details, checks)
}

// groups returns the groups of services that a member of their record names, the largest first.
func (d *directory) groups(names func(snapshot.Node) []string) []*aggregate.Group {
	details := make([]snapshot.Node, len(d.services))
	for i, s := range d.services {
		details[i] = s.detail
	}
	return aggregate.Groups(details, names)
}
