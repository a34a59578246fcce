package render

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"

	"tollbook/site"
	"tollbook/site/display"
)

// PageRows is how many services a page of a list has.
const PageRows = 50

// pagesOf is how many pages a list has; one without rows has a page all the same.
func pagesOf(services int) int { return max(1, (services+PageRows-1)/PageRows) }

// listing is a page of a list of services.
type listing struct {
	Rows    []template.HTML
	Caption string
	Meta    site.PaginationMeta
	First   int // number of the first row, from 1
	Last    int
	Pages   []pageLink
	Prev    string // keys, "" without
	Next    string
}

// pageLink is a page to link to; one without a key is a gap.
type pageLink struct {
	Number  int
	Key     string
	Current bool
}

// listing prepares a page of a list; rows are those of the page alone, key names the file of a page.
func (e *Renderer) listing(items []*site.ServiceListItem, meta site.PaginationMeta, key func(n int) string) (listing,
	error) {
	first := (meta.Page-1)*meta.PerPage + 1
	l := listing{Meta: meta, First: first, Last: first + len(items) - 1}
	var err error
	if l.Rows, err = e.rows(items); err != nil {
		return l, err
	}
	for _, n := range pageNumbers(meta.Page, meta.TotalPages) {
		link := pageLink{Number: n, Current: n == meta.Page}
		if n > 0 {
			link.Key = key(n)
		}
		l.Pages = append(l.Pages, link)
	}
	if meta.Page > 1 {
		l.Prev = key(meta.Page - 1)
	}
	if meta.Page < meta.TotalPages {
		l.Next = key(meta.Page + 1)
	}
	return l, nil
}

type services struct {
	listing
	Orders     []choice
	Order      string // in words
	Categories []groupRow
	Networks   []groupRow
	Status     site.StatusSummary
	Search     string // address that the script asks
	Codes      []site.Network
}

// choice is one of several forms of a page.
type choice struct {
	Value, Label, Key string
	Current           bool
}

// orderLabels are the orders, as a choice and in a sentence.
var orderLabels = map[string][2]string{
	site.OrderNewest:    {"Newest", "newest first"},
	site.OrderUptime:    {"Uptime", "highest uptime first"},
	site.OrderCheapest:  {"Price", "lowest price first"},
	site.OrderEndpoints: {"Endpoints", "most endpoints first"},
}

// ServicesPage is a page of the list in one of the orders: services.html, or services/sort=<order>/page=<n>.html. Rows
// are those of this page alone; an empty directory has one page without rows.
func (e *Renderer) ServicesPage(rows []*site.ServiceListItem, meta site.PaginationMeta, order string) ([]byte, error) {
	l, err := e.listing(rows, meta, func(n int) string { return orderedKey(order, n) })
	if err != nil {
		return nil, err
	}
	label := orderLabels[order]
	l.Caption = "Services, " + label[1]
	b := services{listing: l, Order: label[1], Categories: bySize(e.categories), Networks: bySize(e.networks),
		Status: e.snapshot.Status,
		Search: e.pages.prefix + site.ByName("services").Pattern, Codes: e.snapshot.Networks}
	title := "Services"
	for _, o := range site.Orders {
		b.Orders = append(b.Orders, choice{o, orderLabels[o][0], orderedKey(o, 1), o == order})
	}
	if order != site.OrderNewest {
		title += ", " + label[1]
	}
	if meta.Page > 1 {
		title = fmt.Sprintf("%s, page %d of %d", title, meta.Page, meta.TotalPages)
	}
	data := site.Query{Route: site.ByName("services"), Bare: true}
	if order != site.OrderNewest {
		data = data.With("sort", order)
	}
	return e.render(page{
		Key: orderedKey(order, meta.Page), Kind: kindServices, JSON: data.Key(), Title: title, Policy: scriptPolicy,
		Script: e.pages.finder, HasMarkdown: order == site.OrderNewest && meta.Page == 1,
		Description: fmt.Sprintf(
			"%s that charge per request over HTTP 402, %s, with status, price, networks, uptime and response time.",
			display.Plural(int64(meta.Total), "service", "services"), label[1]),
		About: aboutList(l.First, meta.Total, e.entries(rows)),
		Body:  b,
	})
}

// orderedKey is the file of the nth page of the list in an order, from 1.
func orderedKey(order string, n int) string {
	q := site.Query{Route: site.ByName("services-page"), Bare: true}
	if n > 1 || order != site.OrderNewest {
		q = q.With("sort", order).With("page", fmt.Sprint(n))
	}
	return q.Key()
}

// pageNumbers are the first, the last and those around the current page; 0 stands for what is left out.
func pageNumbers(current, total int) []int {
	var pages []int
	for n := 1; n <= total; n++ {
		if n == 1 || n == total || n >= current-1 && n <= current+1 {
			pages = append(pages, n)
		} else if pages[len(pages)-1] != 0 {
			pages = append(pages, 0)
		}
	}
	return pages
}

const statusRoute = "status-page"

type status struct {
	site.StatusSummary
	Groups []statusGroup
}

type statusGroup struct {
	Status   string
	Services []site.StatusService
}

// StatusPage is status.html: counts, and a line for every service, those that fail first.
func (e *Renderer) StatusPage() ([]byte, error) {
	body := status{StatusSummary: e.snapshot.Status}
	for _, state := range display.StatusOrder {
		g := statusGroup{Status: state}
		for _, s := range body.Services {
			if display.Status(s.Status) == state {
				g.Services = append(g.Services, s)
			}
		}
		if len(g.Services) > 0 {
			slices.SortFunc(g.Services, func(a, b site.StatusService) int { return cmp.Compare(a.Slug, b.Slug) })
			body.Groups = append(body.Groups, g)
		}
	}
	return e.render(page{
		Key: bareKey(statusRoute, ""), Kind: kindStatus, JSON: bareKey("status", ""), Title: "Status", HasMarkdown: true,
		Description: fmt.Sprintf("%d of %s online. The status, uptime and response time of every service after its "+
			"latest check.",
			body.Online, display.Plural(int64(body.Total), "service", "services")),
		Body: body,
	})
}
