package render

import (
	"cmp"
	"fmt"
	"slices"

	"tollbook/site"
)

// PageRows is how many services a page of the list has.
const PageRows = 50

type services struct {
	Rows  []row
	Meta  site.PaginationMeta
	First int // number of the first row, from 1
	Last  int
	Pages []int // to link to, ascending; 0 is a gap
}

// ServicesPage is services.html, or services/page=<n>.html from the second page on. Rows are those of this page alone; an
// empty directory has one page without rows.
func (e *Edition) ServicesPage(rows []*site.ServiceListItem, meta site.PaginationMeta) ([]byte, error) {
	first := (meta.Page-1)*meta.PerPage + 1
	title := "Services"
	if meta.Page > 1 {
		title = fmt.Sprintf("Services, page %d of %d", meta.Page, meta.TotalPages)
	}
	return e.render(page{
		Key: listKey(meta.Page), Kind: kindServices, JSON: bareKey("services", ""), Title: title,
		Description: fmt.Sprintf("%s that charge per request over HTTP 402, with status, price, networks, uptime and response time.",
			plural(int64(meta.Total), "service", "services")),
		Body: services{
			Rows: e.rows(rows), Meta: meta, First: first, Last: first + len(rows) - 1,
			Pages: pageNumbers(meta.Page, meta.TotalPages),
		},
	})
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

type status struct {
	site.StatusSummary
	Groups []statusGroup
}

type statusGroup struct {
	Status   string
	Services []site.StatusService
}

// severity orders states, what needs attention first.
var severity = []string{site.StatusOffline, site.StatusDegraded, site.StatusUnknown, site.StatusOnline}

// StatusPage is status.html: counts, and a line for every service, those that fail first.
func (e *Edition) StatusPage() ([]byte, error) {
	body := status{StatusSummary: e.snapshot.Status}
	for _, state := range severity {
		g := statusGroup{Status: state}
		for _, s := range body.Services {
			if stateOf(s.Status) == state {
				g.Services = append(g.Services, s)
			}
		}
		if len(g.Services) > 0 {
			slices.SortFunc(g.Services, func(a, b site.StatusService) int { return cmp.Compare(a.Slug, b.Slug) })
			body.Groups = append(body.Groups, g)
		}
	}
	return e.render(page{
		Key: bareKey("status-page", ""), Kind: kindStatus, JSON: bareKey("status", ""), Title: "Status",
		Description: fmt.Sprintf("%d of %s online, as of the last check of each.",
			body.Online, plural(int64(body.Total), "service", "services")),
		Body: body,
	})
}

// stateOf is a status of the contract; any other text is unknown.
func stateOf(s string) string {
	if slices.Contains(severity, s) {
		return s
	}
	return site.StatusUnknown
}
