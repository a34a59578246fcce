package main

import (
	"cmp"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const listRule = "Orders of the list"

// row returns the row of a service in lists: members of its record, as far as rows have them. names are the members of
// a published row.
func (s *service) row(names []string) map[string]any {
	row := map[string]any{}
	for _, name := range names {
		row[name] = s.detail.get(name).value
	}
	if slices.Contains(names, "risk_level") {
		row["risk_level"], row["risk_reason"] = s.riskLevel, s.riskReason
	}
	return row
}

// figureRow compares a published row with the record of its service.
func (s *service) figureRow(r *report, rule string, published node) {
	r.figure(rule, published, s.row(published.keys()))
}

// orders are the four orders of the list. Services without a value come last; ties are ordered by slug.
var orders = map[string]func(a, b *service) int{
	"newest": func(a, b *service) int {
		return b.detail.get("created_at").time().Compare(a.detail.get("created_at").time())
	},
	"uptime":   func(a, b *service) int { return byNumber(a, b, "uptime_24h", -1) },
	"cheapest": func(a, b *service) int { return byNumber(a, b, "min_price_usd", 1) },
	"endpoints": func(a, b *service) int {
		return cmp.Compare(b.detail.get("endpoint_count").int(), a.detail.get("endpoint_count").int())
	},
}

func byNumber(a, b *service, name string, sign int) int {
	x, y := a.detail.get(name).number(), b.detail.get(name).number()
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
		if (category == "" || category == s.detail.get("category").text()) &&
			(status == "" || status == s.detail.get("status").text()) &&
			(network == "" || slices.Contains(s.detail.get("networks").texts(), network)) {
			services = append(services, s)
		}
	}
	return services
}

// recomputeLists computes every list of services: which rows it has, in which order, on which page, and their totals.
func recomputeLists(d *directory, r *report) {
	totals := d.snap.json("v1/index.json").get("lists")
	lists := map[string]int{} // expected totals by name
	for _, s := range d.services {
		for _, network := range append(s.detail.get("networks").texts(), "") {
			for _, status := range []string{s.detail.get("status").text(), ""} {
				for _, category := range []string{s.detail.get("category").text(), ""} {
					if status != "unknown" {
						lists[listName(network, status, category)]++
					}
				}
			}
		}
	}
	lists["v1/services"] = len(d.services)
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		r.figure(listRule, totals.get(name), lists[name])
		for order := range orders {
			for _, size := range []int{25, 100} {
				for page := 1; page == 1 || (page-1)*size < lists[name]; page++ {
					d.figureList(r, name+"/sort="+order+"/per_page="+strconv.Itoa(size)+"/page="+
						strconv.Itoa(page)+".json")
				}
			}
		}
	}
	for _, name := range totals.keys() {
		if _, expected := lists[name]; !expected && (strings.HasPrefix(name, "v1/services")) {
			r.compare(listRule, totals.get(name), "a list", "no service")
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
func (d *directory) figureList(r *report, name string) {
	p := parameters(name)
	size, _ := strconv.Atoi(cmp.Or(p["per_page"], "25"))
	page, _ := strconv.Atoi(cmp.Or(p["page"], "1"))
	services := sortServices(d.selectServices(p), cmp.Or(p["sort"], "newest"))
	file := d.snap.json(name)
	figurePage(r, file.get("meta"), len(services), page, size)
	d.figureRows(r, file.get("data"), window(services, page, size))
}

// figureRows compares a list of rows with the records of services.
func (d *directory) figureRows(r *report, data node, services []*service) {
	rows := data.items()
	if len(rows) != len(services) {
		r.compare(listRule, data, describe(data.value), "list of "+strconv.Itoa(len(services)))
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
func figurePage(r *report, meta node, total, page, size int) {
	r.figure(listRule, meta.get("total"), total)
	r.figure(listRule, meta.get("page"), page)
	r.figure(listRule, meta.get("per_page"), size)
	r.figure(listRule, meta.get("total_pages"), (total+size-1)/size)
}

// recomputeGroups computes what lists all services without pages: status, networks, tags, categories and statistics.
func recomputeGroups(d *directory, r *report) {
	status := d.snap.json("v1/status.json").get("data")
	counts := map[string]int{}
	for _, s := range d.services {
		counts[s.detail.get("status").text()]++
	}
	r.figure(listRule, status.get("total"), len(d.services))
	for _, name := range []string{"online", "degraded", "offline", "unknown"} {
		r.figure(listRule, status.get(name), counts[name])
	}
	d.figureRows(r, status.get("services"), d.services)
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
	return round(new(big.Rat).Quo(&a.sum, big.NewRat(a.count, 1)), decimals)
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
			groups[name].uptime.add(s.detail.get("uptime_24h").number())
		}
	}
	return slices.SortedFunc(maps.Values(groups), func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name))
	})
}

// groupBy compares categories, tags and networks.
func groupBy(d *directory, r *report) {
	var tags []any
	categories := []string{}
	for _, g := range d.groups(func(s *service) []string { return []string{s.detail.get("category").text()} }) {
		tags = append(tags, map[string]any{"tag": g.name, "service_count": g.count})
		categories = append(categories, g.name)
	}
	slices.Sort(categories)
	r.figure(listRule, d.snap.json("v1/tags.json").get("data"), tags)
	r.figure(listRule, d.snap.json("v1/categories.json").get("data"), categories)

	groups := map[string]*group{}
	byNetwork := d.groups(func(s *service) []string { return s.detail.get("networks").texts() })
	for _, g := range byNetwork {
		groups[g.name] = g
	}
	networks := d.snap.json("v1/networks.json").get("data")
	byNetwork = slices.DeleteFunc(byNetwork, func(g *group) bool { return strings.Contains(g.name, ":") }) // CAIP-2
	if n := len(networks.items()); n != len(byNetwork) {
		r.compare(listRule, networks, "list of "+strconv.Itoa(n), "list of "+strconv.Itoa(len(byNetwork)))
	}
	before := group{count: len(d.services)}
	for _, row := range networks.items() {
		g := groups[row.get("abbreviation").text()]
		if g == nil {
			r.compare(listRule, row.get("abbreviation"), row.get("abbreviation").text(), "no service")
			continue
		}
		r.figure(listRule, row.get("service_count"), g.count)
		r.figure(listRule, row.get("avg_uptime"), g.uptime.value(2))
		id := row.get("id").text()
		r.figure(listRule, row.get("testnet"), !row.get("is_mainnet").bool())
		r.figure(listRule, row.get("caip2"), id)
		r.figure(listRule, row.get("caip2_id"), id)
		if g.count > before.count || g.count == before.count && id < before.name {
			r.compare(listRule, row.get("id"), id, "another order")
		}
		before = group{name: id, count: g.count}
	}
}

// recomputeStats computes the statistics of the directory.
func recomputeStats(d *directory, r *report) {
	stats := d.snap.json("v1/stats.json").get("data")
	var uptime24, uptime7, response, price average
	var prices []*big.Rat
	endpoints, checks := 0, 0
	hour := hoursBefore(d.now, 0)
	for _, s := range d.services {
		endpoints += s.detail.get("endpoint_count").int()
		uptime24.add(s.detail.at("uptime", "24h").number())
		uptime7.add(s.detail.at("uptime", "7d").number())
		response.add(s.detail.get("avg_response_time_ms").number())
		checks += s.visits(d).count(hour.Add(-day), hour).total
		for _, e := range s.detail.get("endpoints").items() {
			if usd := e.get("min_price_usd").number(); usd != nil {
				prices = append(prices, usd)
				price.add(usd)
			}
		}
	}
	r.figure(economicsRule, stats.get("total_services"), len(d.services))
	r.figure(economicsRule, stats.get("total_endpoints"), endpoints)
	r.figure(economicsRule, stats.get("avg_uptime_24h"), uptime24.value(2))
	r.figure(economicsRule, stats.get("avg_uptime_7d"), uptime7.value(2))
	r.figure(economicsRule, stats.get("avg_response_time_ms"), response.value(2))
	r.figure(economicsRule, stats.get("checks_per_hour"), round(big.NewRat(int64(checks), 24), 2))

	slices.SortFunc(prices, (*big.Rat).Cmp)
	var least, greatest, median *big.Rat
	if n := len(prices); n > 0 {
		least, greatest = prices[0], prices[n-1]
		median = new(big.Rat).Add(prices[(n-1)/2], prices[n/2])
		median = round(median.Quo(median, big.NewRat(2, 1)), 9)
	}
	pricing := stats.get("pricing")
	r.figure(economicsRule, pricing.get("avg_price_usd"), price.value(9))
	r.figure(economicsRule, pricing.get("min_price_usd"), least)
	r.figure(economicsRule, pricing.get("max_price_usd"), greatest)
	r.figure(economicsRule, pricing.get("median_price_usd"), median)

	networks := d.snap.json("v1/networks.json").get("data").items()
	mainnets := 0
	for _, n := range networks {
		if network, ok := lookupNetwork(n.get("id").text()); ok && network.Mainnet {
			mainnets++
		}
	}
	r.figure(listRule, stats.get("total_networks"), mainnets)
	r.figure(listRule, stats.get("total_testnets"), len(networks)-mainnets)
	slices.SortFunc(networks, func(a, b node) int {
		return cmp.Compare(a.get("abbreviation").text(), b.get("abbreviation").text())
	})
	rows := stats.get("networks").items()
	if len(rows) != len(networks) {
		r.compare(listRule, stats.get("networks"), describe(stats.get("networks").value), "another number")
		return
	}
	for i, row := range rows {
		for _, name := range row.keys() {
			r.figure(listRule, row.get(name), networks[i].get(name))
		}
	}
}
