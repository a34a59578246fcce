package main

import (
	"cmp"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tollbook/.ci/recompute/conformance"
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

// parameters returns the parameters in the name of a file: v1/services/status=online/page=2.json has two. A byte that
// is no letter, digit, dot, underscore or hyphen is written as ~ and two hexadecimal digits.
func parameters(name string) map[string]string {
	parameters := map[string]string{}
	for _, part := range strings.Split(strings.TrimSuffix(strings.TrimSuffix(name, ".html"), ".json"), "/") {
		if key, value, ok := strings.Cut(part, "="); ok {
			value, _ = url.PathUnescape(strings.ReplaceAll(value, "~", "%"))
			parameters[key] = value
		}
	}
	return parameters
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
	p := parameters(name)
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
	status := d.snap.JSON("v1/status.json").Get("data")
	counts := map[string]int{}
	for _, s := range d.services {
		counts[s.detail.Get("status").Text()]++
	}
	r.Figure(listRule, status.Get("total"), len(d.services))
	for _, name := range []string{"online", "degraded", "offline", "unknown"} {
		r.Figure(listRule, status.Get(name), counts[name])
	}
	d.figureRows(r, status.Get("services"), d.services)
	groupBy(d, r)
	recomputeStats(d, r)
}

// group is a set of services with their mean uptime.
type group struct {
	name   string
	count  int
	uptime average
}

// average is the mean of values that may be null.
type average struct {
	sum   big.Rat
	count int64
}

func (a *average) add(value *big.Rat) {
	if value != nil {
		a.sum.Add(&a.sum, value)
		a.count++
	}
}

// value returns the mean with some decimals, nil without values.
func (a *average) value(decimals int) *big.Rat {
	if a.count == 0 {
		return nil
	}
	return snapshot.Round(new(big.Rat).Quo(&a.sum, big.NewRat(a.count, 1)), decimals)
}

// groups returns the groups of services that a member of their record names, the largest first.
func (d *directory) groups(names func(*service) []string) []*group {
	groups := map[string]*group{}
	for _, s := range d.services {
		for _, name := range names(s) {
			if groups[name] == nil {
				groups[name] = &group{name: name}
			}
			groups[name].count++
			groups[name].uptime.add(s.detail.Get("uptime_24h").Number())
		}
	}
	return slices.SortedFunc(maps.Values(groups), func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name))
	})
}

// groupBy compares categories, tags and networks.
func groupBy(d *directory, r *snapshot.Report) {
	var tags []any
	categories := []string{}
	for _, g := range d.groups(func(s *service) []string { return []string{s.detail.Get("category").Text()} }) {
		tags = append(tags, map[string]any{"tag": g.name, "service_count": g.count})
		categories = append(categories, g.name)
	}
	slices.Sort(categories)
	r.Figure(listRule, d.snap.JSON("v1/tags.json").Get("data"), tags)
	r.Figure(listRule, d.snap.JSON("v1/categories.json").Get("data"), categories)

	groups := map[string]*group{}
	byNetwork := d.groups(func(s *service) []string { return s.detail.Get("networks").Texts() })
	for _, g := range byNetwork {
		groups[g.name] = g
	}
	networks := d.snap.JSON("v1/networks.json").Get("data")
	byNetwork = slices.DeleteFunc(byNetwork, func(g *group) bool { return strings.Contains(g.name, ":") }) // CAIP-2
	if n := len(networks.Items()); n != len(byNetwork) {
		r.Compare(listRule, networks, "list of "+strconv.Itoa(n), "list of "+strconv.Itoa(len(byNetwork)))
	}
	before := group{count: len(d.services)}
	for _, row := range networks.Items() {
		g := groups[row.Get("abbreviation").Text()]
		if g == nil {
			r.Compare(listRule, row.Get("abbreviation"), row.Get("abbreviation").Text(), "no service")
			continue
		}
		r.Figure(listRule, row.Get("service_count"), g.count)
		r.Figure(listRule, row.Get("avg_uptime"), g.uptime.value(2))
		id := row.Get("id").Text()
		r.Figure(listRule, row.Get("testnet"), !row.Get("is_mainnet").Bool())
		r.Figure(listRule, row.Get("caip2"), id)
		r.Figure(listRule, row.Get("caip2_id"), id)
		if g.count > before.count || g.count == before.count && id < before.name {
			r.Compare(listRule, row.Get("id"), id, "another order")
		}
		before = group{name: id, count: g.count}
	}
}

// recomputeStats computes the statistics of the directory.
func recomputeStats(d *directory, r *snapshot.Report) {
	stats := d.snap.JSON("v1/stats.json").Get("data")
	var uptime24, uptime7, response, price average
	var prices []*big.Rat
	endpoints, checks := 0, 0
	hour := hoursBefore(d.now, 0)
	for _, s := range d.services {
		endpoints += s.detail.Get("endpoint_count").Int()
		uptime24.add(s.detail.At("uptime", "24h").Number())
		uptime7.add(s.detail.At("uptime", "7d").Number())
		response.add(s.detail.Get("avg_response_time_ms").Number())
		checks += s.visits(d).count(hour.Add(-snapshot.Day), hour).total
		for _, e := range s.detail.Get("endpoints").Items() {
			if usd := e.Get("min_price_usd").Number(); usd != nil {
				prices = append(prices, usd)
				price.add(usd)
			}
		}
	}
	r.Figure(economicsRule, stats.Get("total_services"), len(d.services))
	r.Figure(economicsRule, stats.Get("total_endpoints"), endpoints)
	r.Figure(economicsRule, stats.Get("avg_uptime_24h"), uptime24.value(2))
	r.Figure(economicsRule, stats.Get("avg_uptime_7d"), uptime7.value(2))
	r.Figure(economicsRule, stats.Get("avg_response_time_ms"), response.value(2))
	r.Figure(economicsRule, stats.Get("checks_per_hour"), snapshot.Round(big.NewRat(int64(checks), 24), 2))

	slices.SortFunc(prices, (*big.Rat).Cmp)
	var least, greatest, median *big.Rat
	if n := len(prices); n > 0 {
		least, greatest = prices[0], prices[n-1]
		median = new(big.Rat).Add(prices[(n-1)/2], prices[n/2])
		median = snapshot.Round(median.Quo(median, big.NewRat(2, 1)), 9)
	}
	pricing := stats.Get("pricing")
	r.Figure(economicsRule, pricing.Get("avg_price_usd"), price.value(9))
	r.Figure(economicsRule, pricing.Get("min_price_usd"), least)
	r.Figure(economicsRule, pricing.Get("max_price_usd"), greatest)
	r.Figure(economicsRule, pricing.Get("median_price_usd"), median)

	networks := d.snap.JSON("v1/networks.json").Get("data").Items()
	mainnets := 0
	for _, n := range networks {
		if network, ok := conformance.LookupNetwork(n.Get("id").Text()); ok && network.Mainnet {
			mainnets++
		}
	}
	r.Figure(listRule, stats.Get("total_networks"), mainnets)
	r.Figure(listRule, stats.Get("total_testnets"), len(networks)-mainnets)
	slices.SortFunc(networks, func(a, b snapshot.Node) int {
		return cmp.Compare(a.Get("abbreviation").Text(), b.Get("abbreviation").Text())
	})
	rows := stats.Get("networks").Items()
	if len(rows) != len(networks) {
		r.Compare(listRule, stats.Get("networks"), snapshot.Describe(stats.Get("networks").Value), "another number")
		return
	}
	for i, row := range rows {
		for _, name := range row.Keys() {
			r.Figure(listRule, row.Get(name), networks[i].Get(name))
		}
	}
}
