package render

import (
	"fmt"
	"strings"

	"tollbook/site/display"
	"tollbook/site/routes"
)

// Keys of files for programs that have no route.
const (
	RobotsFile  = "robots.txt"
	SitemapFile = "sitemap.xml"
)

// LLMs returns llms.txt: the directory, its API, how to cite it, and services. Text that a service wrote is in
// quotation marks, on one line, without markup or invisible characters.
func (e *Renderer) LLMs() []byte {
	s := &e.pages.site
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", display.Markdown(s.Title, display.MaxTitle))
	b.WriteString(
		"> A directory of network services that charge per request over HTTP 402, using the x402 protocol: prices, " +
			"uptime, changes and conformance, measured by asking each service for its price without paying.\n\n")
	if s.Description != standardDescription {
		fmt.Fprintf(&b, "%s\n\n", display.Markdown(s.Description, display.MaxDescription))
	}
	fmt.Fprintf(&b, "Data as of %s. ", e.snapshot.Now)
	if s.Sample {
		b.WriteString("This is sample data: every service, price and check is made up. ")
	}
	b.WriteString("No API key is needed to read. Unknown is null, never zero.\n\n## API\n\n")
	e.llmsLink(&b, "Reference", bareKey(referenceRoute, ""), "every route with parameters, examples and errors")
	e.llmsLink(&b, "OpenAPI 3.1", routes.OpenAPIFile, "the same in machine-readable form")
	e.llmsLink(&b, "Route table", routes.TableFile,
		"routes, parameters and the rules that cut responses from files")
	for _, g := range e.pages.guides {
		e.llmsLink(&b, g.Title, g.Key, g.Description)
	}
	e.llmsLink(&b, "Markdown", markdownKey(homeKey),
		"all pages as Markdown; each page links to its own with `<link rel=\"alternate\" type=\"text/markdown\">`")
	e.llmsLink(&b, "Changes", markdownKey(bareKey(changesRoute, "")),
		"the latest price, recipient and payment option changes; a service's page as Markdown is "+
			"/services/{slug}/page.md")
	b.WriteString("\n## Endpoints\n\n")
	for i := range routes.All {
		if r := &routes.All[i]; r.Ext == ".json" {
			fmt.Fprintf(&b, "- `GET %s%s`: %s%s\n", s.BaseURL, r.Pattern, r.About, markdownParameters(r.Params))
		}
	}
	for _, c := range routes.Calls {
		fmt.Fprintf(&b, "- `%s %s%s`, if this server accepts submissions: "+
			"%s\n", c.Method, s.BaseURL, c.Pattern, c.About)
	}
	fmt.Fprintf(&b,
		"\n## Everything at once\n\n`%s/checkpoint.json` names the current snapshot; `/snapshots/<id>.zip` contains "+
			"every response and page in one file.\n", s.BaseURL)
	b.WriteString("\n## How to cite\n\n")
	fmt.Fprintf(&b,
		"The data is under CC BY 4.0: name %s, %s, and the time of the data. The URL to cite for a service is in "+
			"`provenance.cite_as`. "+
			"The header X-Snapshot names the snapshot of a response; SHA256SUMS has the SHA-256 of each of its "+
			"files.\n",
		display.Markdown(s.Title, display.MaxTitle), s.BaseURL+"/")
	writeServices(&b, e.snapshot.Services, e.address(bareKey("services", "")), func(slug string) string {
		return e.address(bareKey("service", slug))
	})
	return []byte(b.String())
}

func (e *Renderer) llmsLink(b *strings.Builder, text, key, about string) {
	fmt.Fprintf(b, "- [%s](%s): %s\n", text, e.address(key), about)
}

// address returns the absolute URL of a file.
func (e *ServiceRenderer) address(key string) string { return e.pages.address(key) }

func (p *Pages) address(key string) string {
	return p.site.BaseURL + strings.TrimPrefix(p.href(key), p.prefix)
}
