package lint

import (
	"bytes"
	_ "embed"
	"html/template"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/invisible"
)

//go:embed report.html
var reportHTML string

var reportTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"add":      func(a, b int) int { return a + b },
	"document": func(a site.EvidenceSiteAnswer) string { return display.Document(&a) },
}).Parse(reportHTML))

// page is what the template shows.
type page struct {
	Title   string
	Summary string
	Sites   []Site
	URLs    []urlRow
}

// urlRow is a URL of the page, or a tool of an MCP server.
type urlRow struct {
	*Report
	Outcome Outcome
	First   string // its first price, "" for none
}

// HTML returns the report as one page that needs no other file.
func HTML(b *Batch, level string) ([]byte, error) {
	p := page{Title: "Lint report", Summary: b.Summary(level), Sites: b.Sites}
	for i := range b.Reports {
		for _, r := range b.Reports[i].parts() {
			out := urlRow{Report: r, Outcome: r.Outcome(level)}
			if len(r.Asks) > 0 {
				out.First = r.Asks[0].Price()
			}
			p.URLs = append(p.URLs, out)
		}
	}
	if len(b.Reports) == 1 {
		p.Title += ": " + b.Reports[0].URL
	}
	var out bytes.Buffer
	if err := reportTemplate.Execute(&out, p); err != nil {
		return nil, err
	}
	return []byte(invisible.Replace(out.String())), nil
}

// parts returns the reports on the tools of an MCP server that were called, else r.
func (r *Report) parts() (list []*Report) {
	for _, t := range r.Tools {
		if t.Report != nil {
			list = append(list, t.Report)
		}
	}
	if len(list) == 0 {
		return []*Report{r}
	}
	return list
}
