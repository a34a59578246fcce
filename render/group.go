package render

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"tollbook/render/chart"
	"tollbook/render/lists"
	"tollbook/render/money"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/listing"
	"tollbook/site/routes"
)

const (
	kindGroups = "groups"
	kindGroup  = "group"

	categoriesRoute = "categories-page"
	networksRoute   = "networks-page"

	categoryRoute = "category-page"
	networkRoute  = "network-page"
)

// Group contains the services of a category or of a network. It has pages of its own.
type Group struct {
	Slug string

	route    string // route of its pages
	name     string
	network  *site.Network           // nil for a category
	services []*site.ServiceListItem // cheapest first
	figures  groupFigures
	tag      *site.Tag // nil for a network
	filters  func() (template.HTML, error)
}

// Pages returns the number of pages of the group.
func (g *Group) Pages() int { return pagesOf(len(g.services)) }

// List returns the key of the group in the index.
func (g *Group) List() string { return g.query().ListKey() }

func (g *Group) query() routes.Query {
	return routes.Query{Route: routes.ByName(g.route), Slug: g.Slug, Bare: true}
}

// Key returns the key of the nth page, from 1.
func (g *Group) Key(n int) string {
	if n == 1 {
		return g.query().Key()
	}
	return g.NumberedKey(n)
}

// NumberedKey returns the key of the nth page if a request gives its number.
func (g *Group) NumberedKey(n int) string { return g.query().With("page", fmt.Sprint(n)).Key() }

// filter returns the parameter that selects the group's services, and its value.
func (g *Group) filter() (name, value string) {
	if g.network != nil {
		return "network", g.network.Abbreviation
	}
	return "category", g.name
}

// JSON returns the key of the group's first services as JSON.
func (g *Group) JSON() string {
	filter, value := g.filter()
	return routes.Query{Route: routes.ByName("services")}.With(filter, value).With("sort", site.OrderCheapest).Key()
}

// groupFigures contains the aggregates of a group.
type groupFigures struct {
	Services, Online int
	// the lowest and the highest of the services' lowest prices; nil without a price
	From, To *site.Decimal
	Uptime   *float64 // mean over services of the last 24 hours, in percent; nil without checks
}

// Range returns the range of prices as text, "" without one.
func (f groupFigures) Range() string {
	switch {
	case f.From == nil:
		return ""
	case f.From.Compare(*f.To) == 0:
		return display.Dollars(*f.From)
	}
	return display.Dollars(*f.From) + " – " + display.Dollars(*f.To)
}

// groupsOf groups services by category, in the order of names, and by network, in the order of abbreviations.
func groupsOf(s *site.Snapshot) (categories, networks []*Group) {
	byCategory, byNetwork := map[string][]*site.ServiceListItem{}, map[string][]*site.ServiceListItem{}
	for _, item := range s.ListedItems() {
		if item.Category != "" {
			byCategory[item.Category] = append(byCategory[item.Category], item)
		}
		for _, code := range item.Networks {
			byNetwork[code] = append(byNetwork[code], item)
		}
	}
	byCode := map[string]*site.Network{}
	for i := range s.Networks {
		byCode[s.Networks[i].Abbreviation] = &s.Networks[i]
	}
	for code := range byNetwork {
		if byCode[code] == nil {
			delete(byNetwork, code)
		}
	}
	tags := map[string]*site.Tag{}
	for i := range s.Tags {
		tags[s.Tags[i].Tag] = &s.Tags[i]
	}
	groups := func(route string, by map[string][]*site.ServiceListItem) []*Group {
		var names []string
		for name := range by {
			names = append(names, name)
		}
		slices.Sort(names)
		slugs := listing.GroupSlugs(names)
		out := make([]*Group, len(names))
		for i, name := range names {
			g := &Group{route: route, Slug: slugs[name], name: name, services: by[name], figures: figuresOf(by[name])}
			if route == networkRoute {
				g.network = byCode[name]
				g.name = g.network.Name
				if !g.network.IsMainnet { // prices there are of other networks
					g.figures.From, g.figures.To = nil, nil
				}
			} else {
				g.tag = tags[name]
			}
			site.Sort(g.services, site.OrderCheapest)
			out[i] = g
		}
		return out
	}
	return groups(categoryRoute, byCategory), groups(networkRoute, byNetwork)
}

func figuresOf(services []*site.ServiceListItem) groupFigures {
	f := groupFigures{Services: len(services)}
	sum, counted := 0.0, 0
	for _, item := range services {
		if item.Status == site.StatusOnline {
			f.Online++
		}
		if item.Uptime24h != nil {
			sum, counted = sum+*item.Uptime24h, counted+1
		}
		if p := item.MinPriceUSD; p != nil && item.PriceCondition == nil {
			if f.From == nil || p.Compare(*f.From) < 0 {
				f.From = p
			}
			if f.To == nil || p.Compare(*f.To) > 0 {
				f.To = p
			}
		}
	}
	if counted > 0 {
		f.Uptime = new(sum / float64(counted))
	}
	return f
}

// Groups returns all groups: categories, then networks.
func (e *Renderer) Groups() []*Group { return append(slices.Clone(e.categories), e.networks...) }

// groupRow is a group in a list of groups.
type groupRow struct {
	groupFigures
	Name, Slug, Title, Key string
	Test                   bool // a test network, whose tokens are worth nothing
	Width                  int  // 0..100, share of the largest group
}

func (g *Group) row(largest int) groupRow {
	r := groupRow{groupFigures: g.figures, Name: g.name, Slug: g.Slug, Key: g.Key(1)}
	r.Width = max(1, 100*r.Services/max(1, largest))
	if g.network != nil {
		r.Title, r.Test = g.network.Abbreviation+", "+g.network.ID, !g.network.IsMainnet
	}
	return r
}

// bySize returns groups as rows, the largest first.
func bySize(groups []*Group) []groupRow {
	largest := 0
	for _, g := range groups {
		largest = max(largest, g.figures.Services)
	}
	rows := make([]groupRow, len(groups))
	for i, g := range groups {
		rows[i] = g.row(largest)
	}
	slices.SortStableFunc(rows, func(a, b groupRow) int { return cmp.Compare(b.Services, a.Services) })
	return rows
}

type groupsBody struct {
	Rows        []groupRow
	Title, Noun string
	Intro       string
	CSV         string // key of the table as a file
}

// CategoriesPage returns categories.html.
func (e *Renderer) CategoriesPage() ([]byte, error) {
	return e.groupsPage(categoriesRoute, "tags", e.categories, groupsBody{Title: "Categories", Noun: "Category",
		CSV:   "v1/tags.csv",
		Intro: "The categories of listed services, with starting prices and the uptime of the last 24 hours."})
}

// NetworksPage returns networks.html.
func (e *Renderer) NetworksPage() ([]byte, error) {
	st := &e.snapshot.Stats
	return e.groupsPage(networksRoute, "networks", e.networks, groupsBody{Title: "Networks", Noun: "Network",
		CSV: "v1/networks.csv",
		Intro: "Listed services accept payment on " +
			display.Plural(int64(st.TotalNetworks), "main network", "main networks") + " and " +
			display.Plural(int64(st.TotalTestnets), "test network", "test networks") +
			". A service on several networks is counted on each, with its lowest price on any of them."})
}

func (e *Renderer) groupsPage(route, data string, groups []*Group, body groupsBody) ([]byte, error) {
	body.Rows = bySize(groups)
	return e.render(page{Key: bareKey(route, ""), Kind: kindGroups, JSON: bareKey(data, ""), Title: body.Title,
		HasMarkdown: true, About: linkedList(1, len(body.Rows), e.groupEntries(body.Rows)),
		Description: body.Intro,
		Body:        body})
}

type groupBody struct {
	groupRow
	serviceList
	Up       string // key of the list of groups
	UpTitle  string
	Network  *site.Network
	Money    *money.Network       // on the first page of a main network
	Spread   *chart.Histogram     // on the first page of a category with several prices
	Weeks    *chart.Weeks         // on the first page of a category with recorded prices of several weeks
	Demand   *site.CategoryDemand // on the first page of a category of which a service is measured
	MostUsed *site.Pick           // beside Demand; nil if not known
	Filters  template.HTML
}

// GroupPage returns the nth page of a group, from 1.
func (e *Renderer) GroupPage(g *Group, n int) ([]byte, error) {
	meta := site.NewPaginationMeta(len(g.services), n, PageRows)
	l, err := e.serviceList(g.services[(n-1)*PageRows:min(n*PageRows, len(g.services))], meta, g.Key)
	if err != nil {
		return nil, err
	}
	l.Caption, l.Heads = "Services, lowest price first", lists.NewHeads("price", e.groupHref(g))
	filters, err := g.filters()
	if err != nil {
		return nil, err
	}
	b := groupBody{groupRow: g.row(0), serviceList: l, Network: g.network, Filters: filters,
		Up: bareKey(categoriesRoute, ""), UpTitle: "Categories"}
	category := g.name
	title := display.Name(g.name) + " services"
	if g.network != nil {
		b.Up, b.UpTitle, category = bareKey(networksRoute, ""), "Networks", ""
		title = "Services paid on " + display.Name(g.name)
		if n == 1 && g.network.IsMainnet {
			b.Money = money.NewNetwork(e.snapshot, g.network, e.calendar)
		}
	}
	if n == 1 && g.tag != nil {
		b.Demand, b.MostUsed = g.tag.Demand, g.tag.MostUsed
		if g.tag.Prices != nil && g.tag.Prices.ServiceCount > 1 {
			b.Spread = new(chart.NewHistogram(g.tag.Prices, nil))
		}
		if len(g.tag.PriceWeeks) > 1 {
			b.Weeks = new(chart.NewWeeks(g.tag.PriceWeeks))
		}
	}
	if n > 1 {
		title = fmt.Sprintf("%s, page %d of %d", title, n, meta.TotalPages)
	}
	about := display.Plural(int64(g.figures.Services), "service", "services") + " that charge per request over HTTP 402"
	if r := g.figures.Range(); r != "" {
		about += ", from " + strings.Replace(r, " – ", " to ", 1)
	}
	return e.render(page{
		Key: g.Key(n), Kind: kindGroup, JSON: g.JSON(), Category: category, Up: breadcrumb{b.UpTitle, b.Up},
		HasMarkdown: n == 1,
		About:       linkedList(l.First, meta.Total, e.entries(g.services[l.First-1:l.Last])),
		Title:       display.Line(title, display.MaxTitle),
		Description: about + ": " + display.Line(title, display.MaxName) +
			", with status, price, uptime and response time.", Body: b,
	})
}
