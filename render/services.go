package render

import (
	"cmp"
	"fmt"
	"html/template"

	"tollbook/render/lists"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/routes"
)

// PageRows is the number of services on a page of a list.
const PageRows = 50

// pagesOf returns the number of pages of a list. An empty list has one page.
func pagesOf(services int) int { return max(1, (services+PageRows-1)/PageRows) }

// serviceList is a page of a list of services.
type serviceList struct {
	Rows    []template.HTML
	Caption string
	Heads   []lists.Head
	Meta    site.PaginationMeta
	First   int // number of the first row, from 1
	Last    int
	Pages   []pageLink
	Prev    string // keys, "" without
	Next    string
}

// pageLink is a link to a page. A gap between links has no key.
type pageLink struct {
	Number  int
	Key     string
	Current bool
}

// serviceList returns a page of a list. items are those of this page, key returns the key of a page.
func (e *Renderer) serviceList(items []*site.ServiceListItem, meta site.PaginationMeta, key func(n int) string) (
	serviceList, error) {
	first := (meta.Page-1)*meta.PerPage + 1
	l := serviceList{Meta: meta, First: first, Last: first + len(items) - 1}
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
	serviceList
	Filters template.HTML
	Order   string // as text
}

// orderLabels maps an order to its label as a choice and in a sentence.
var orderLabels = map[string][2]string{
	site.OrderNewest:    {"Newest", "newest first"},
	site.OrderUptime:    {"Uptime, 30 days", "highest uptime of 30 days first"},
	site.OrderCheapest:  {"Price", "lowest price first"},
	site.OrderEndpoints: {"Endpoints", "most endpoints first"},
	site.OrderResponse:  {"Speed", "fastest first"},
}

// ServicesPage returns a page of the list in an order: services.html, or services/sort=<order>/page=<n>.html. rows are
// those of this page. An empty directory has one page without rows.
func (e *Renderer) ServicesPage(rows []*site.ServiceListItem, meta site.PaginationMeta, order string) ([]byte, error) {
	l, err := e.serviceList(rows, meta, func(n int) string { return orderedKey(order, n) })
	if err != nil {
		return nil, err
	}
	label := orderLabels[order]
	l.Caption, l.Heads = "Services, "+label[1], lists.NewHeads(headSorts[order], e.listHref)
	b := services{serviceList: l, Order: label[1] + "; what not to pay comes last"}
	if b.Filters, err = e.filters[order](); err != nil {
		return nil, err
	}
	title := "Services"
	if order != site.OrderNewest {
		title += ", " + label[1]
	}
	if meta.Page > 1 {
		title = fmt.Sprintf("%s, page %d of %d", title, meta.Page, meta.TotalPages)
	}
	data := routes.Query{Route: routes.ByName("services"), Bare: true}
	if order == site.OrderCheapest || order == site.OrderEndpoints { // files have no other order of pages
		data = data.With("sort", order)
	}
	return e.render(page{
		Key: orderedKey(order, meta.Page), Kind: kindServices, JSON: data.Key(), Title: title,
		HasMarkdown: order == site.OrderNewest && meta.Page == 1,
		Description: fmt.Sprintf(
			"%s that charge per request over HTTP 402, %s, with status, price, networks, uptime and response time.",
			display.Plural(int64(meta.Total), "service", "services"), label[1]),
		About: linkedList(l.First, meta.Total, e.entries(rows)),
		Body:  b,
	})
}

// orderedKey returns the key of the nth page of the list in an order, from 1.
func orderedKey(order string, n int) string {
	q := routes.Query{Route: routes.ByName("services-page"), Bare: true}
	if n > 1 || order != site.OrderNewest {
		q = q.With("sort", order).With("page", fmt.Sprint(n))
	}
	return q.Key()
}

// pageNumbers returns the first page, the last page and those around the current page. 0 is a gap.
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

// StatusPage returns status.html: the overall state, incidents, and services by category.
func (e *Renderer) StatusPage() ([]byte, error) {
	body := newStatusPage(e.snapshot)
	body.Href = func(category string) string { return e.shared.Categories[category] }
	return e.render(page{
		Key: bareKey(statusRoute, ""), Kind: kindStatus, JSON: bareKey("status", ""), Title: "Status",
		HasMarkdown: true, Atom: IncidentsFeed, Feed: site.IncidentsFile, Body: body,
		Description: cmp.Or(body.Sentence, "No services are listed.") + " Uptime of 90 days, incidents and outages.",
	})
}
