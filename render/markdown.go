package render

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"tollbook/render/chart"
	"tollbook/render/money"
	"tollbook/render/service"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/routes"
	"tollbook/templates"
)

// A Markdown page has the facts of an HTML page, without charts, for programs that read text. Its template is a file in
// templates/markdown. Text that a service wrote is in quotation marks, and each character that could begin markup is
// escaped.

// markdownPage is a Markdown page and the input of its template.
type markdownPage struct {
	kind string // the name of its template
	key  string // of the HTML page

	Title string
	Now   site.Time // the time of its facts
	JSON  string    // address of the same facts as JSON
	Body  any
}

// markdownKey returns the key of the Markdown page of an HTML page. For a service, facilitator or group the key is
// below that of the page, because "/services/acme.md" would be the address of a service.
func markdownKey(page string) string {
	stem := strings.TrimSuffix(page, ".html")
	switch folder, _, _ := strings.Cut(stem, "/"); folder {
	case "services", "facilitators", "categories", "networks":
		if stem != folder {
			return stem + "/page.md"
		}
	}
	return stem + ".md"
}

// readMarkdown parses the templates of Markdown pages.
func (p *Pages) readMarkdown() error {
	names, err := fs.Glob(templates.FS, "markdown/*.md")
	if err != nil {
		return err
	}
	p.markdown = template.New("").Funcs(p.markdownFuncs())
	for _, name := range names {
		data, err := p.read(name)
		if err == nil {
			_, err = p.markdown.New(strings.TrimPrefix(name, "markdown/")).Parse(string(data))
		}
		if err != nil {
			return fmt.Errorf("parse Markdown page: %w", err)
		}
	}
	return nil
}

// markdownFuncs returns the functions of the templates. Those that shorten a text also escape it. Those that show a
// value which may be unknown return "not known" for it.
func (p *Pages) markdownFuncs() template.FuncMap {
	text := func(limit int) func(string) string {
		return func(s string) string { return display.Markdown(s, limit) }
	}
	return template.FuncMap{
		"blurb": text(display.MaxBlurb), "code": text(display.MaxCode), "description": text(display.MaxDescription),
		"line": text(display.MaxLine), "name": text(display.MaxName),
		"asset":  func(name string) string { return display.Markdown(display.Asset(name), display.MaxCode) },
		"quote":  markdownQuote,
		"escape": syntax.Replace,
		"indent": func(code string) string { return strings.ReplaceAll(strings.TrimSpace(code), "\n", "\n    ") },
		"join":   strings.Join,
		"lower":  strings.ToLower,

		"known": orUnknown,
		"at": func(t *site.Time) string {
			if t == nil {
				return orUnknown("")
			}
			return t.String()
		},
		"dollars": func(v any) (string, error) {
			text, err := display.FormatDecimal(v, display.Dollars)
			return orUnknown(text), err
		},
		"millis":  func(ms *int) string { return orUnknown(display.Millis(ms)) },
		"percent": func(f *float64) string { return orUnknown(display.Percent(f)) },
		"number":  func(v any) string { return display.Number(integer(v)) },
		"plural":  func(v any, one, many string) string { return display.Plural(integer(v), one, many) },

		"advice": func(item *site.ServiceListItem) string {
			return display.Markdown(display.Advice(item.AdviceLevel, item.AdviceReason), display.MaxLine)
		},
		"reasons": func(a site.Advice) string {
			text := display.Reasons(&a)
			return display.Markdown(display.Advice(a.Level, &text), display.MaxLine)
		},
		"differences": func(c service.Change) string {
			return strings.ReplaceAll(syntax.Replace(changeText(c)), "\n", "; ") // text quotes what services wrote
		},
		"link":      display.Link,
		"outcome":   display.PullOutcome,
		"status":    display.Status,
		"reception": site.ReceptionText,
		"supported": display.Supported,

		"address":     func(key string) string { return p.address(strings.TrimPrefix(key, "/")) },
		"facilitator": func(id string) string { return p.address(markdownKey(facilitatorKey(id))) },
		"json":        func(route, slug string) string { return p.address(bareKey(route, slug)) },
		"markdown":    func(key string) string { return p.address(markdownKey(key)) },
		"service":     func(slug string) string { return p.address(markdownKey(serviceKey(slug))) },

		"first": func(n int, list any) any {
			all := reflect.ValueOf(list)
			return all.Slice(0, min(n, all.Len())).Interface()
		},
		"sub": func(a, b int) int { return a - b },
	}
}

// integer returns an integer of a template.
func integer(v any) int64 { return reflect.Indirect(reflect.ValueOf(v)).Int() }

// markdownQuote returns escaped text that a service wrote in quotation marks.
func markdownQuote(s string) string { return "“" + s + "”" }

// orUnknown returns s, or "not known" for "".
func orUnknown(s string) string { return cmp.Or(s, "not known") }

// syntax escapes each character that could begin markup in text of our own.
var syntax = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`,
	">", `\>`, "#", `\#`, "|", `\|`, "~", `\~`, "&", `\&`, "!", `\!`)

// writeMarkdown executes the template of a page.
func (p *Pages) writeMarkdown(m *markdownPage) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(2 << 10) // the size of most pages
	err := p.markdown.ExecuteTemplate(&b, m.kind+".md", struct {
		*markdownPage
		URL, BaseURL string
		Sample       bool
	}{m, p.address(m.key), p.site.BaseURL, p.site.Sample})
	if err != nil {
		return nil, fmt.Errorf("render Markdown page: %w", err)
	}
	return b.Bytes(), nil
}

// serviceMarkdown is what the Markdown page of a service shows.
type serviceMarkdown struct {
	Detail        *site.ServiceDetail
	Passed, Total int
	Prices        []markdownPrice
	MoreEndpoints int
	Failed        []chart.ComplianceResult
	Documents     []service.Document
	Changes       []service.Change
}

// markdownPrice is a way to pay an endpoint, or none.
type markdownPrice struct {
	*site.Endpoint
	Entry *site.PricingEntry
	Way   chart.Payment
}

// markdownEndpoints limits the endpoints of a service.
const markdownEndpoints = 200

// ServiceMarkdown returns services/<slug>/page.md.
func (e *ServiceRenderer) ServiceMarkdown(l *service.Text) (Asset, error) {
	d := &l.Detail
	body := serviceMarkdown{Detail: d, Passed: l.Grade.Passed, Total: l.Grade.Total,
		MoreEndpoints: max(0, len(d.Endpoints)-markdownEndpoints), Documents: service.Documents(l.Listing)}
	for i := range d.Endpoints[:min(markdownEndpoints, len(d.Endpoints))] {
		p := &d.Endpoints[i]
		if len(p.Pricing) == 0 {
			body.Prices = append(body.Prices, markdownPrice{Endpoint: p})
		}
		for k := range p.Pricing {
			way := service.NewPayment(p.Pricing[k], p.VariableAmount, e.shared.Networks)
			body.Prices = append(body.Prices, markdownPrice{p, &p.Pricing[k], way})
		}
	}
	for _, c := range l.Grade.Checks {
		if !c.Pass {
			body.Failed = append(body.Failed, c)
		}
	}
	for _, c := range l.Worded[:min(service.MaxChanges, len(l.Worded), len(l.Changes))] {
		body.Changes = append(body.Changes, c.Short(service.ChangeLines))
	}
	key := serviceKey(d.Slug)
	data, err := e.pages.writeMarkdown(&markdownPage{kind: "service", key: key, Now: service.NewestFact(d),
		Title: markdownQuote(display.Markdown(display.Name(d.Name), display.MaxName)),
		JSON:  e.address(bareKey("service", d.Slug)), Body: body})
	return Asset{markdownKey(key), data}, err
}

// MarkdownPages returns the Markdown pages except those of services: of each list its first page in its default order.
// The pages to compare and to submit services have none.
func (e *Renderer) MarkdownPages() ([]Asset, error) {
	var files []Asset
	for _, m := range e.markdownPages() {
		m.Now = e.snapshot.Now
		data, err := e.pages.writeMarkdown(&m)
		if err != nil {
			return nil, err
		}
		files = append(files, Asset{markdownKey(m.key), data})
	}
	for _, g := range guides {
		source, err := e.pages.guideSource(g.file)
		if err != nil {
			return nil, err
		}
		files = append(files, Asset{markdownKey(bareKey(g.route, "")), source})
	}
	for _, t := range e.pages.site.OperatorPages {
		files = append(files, Asset{markdownKey(operatorPageKey(t.Name)), t.Source})
	}
	return files, nil
}

func (e *Renderer) markdownPages() (pages []markdownPage) {
	s := e.snapshot
	add := func(kind, title, key, json string, body any) {
		pages = append(pages, markdownPage{kind: kind, key: key, Title: title, JSON: e.address(json), Body: body})
	}
	bare := func(route string) string { return bareKey(route, "") }
	add("home", display.Markdown(e.pages.site.Title, display.MaxTitle), homeKey, bare("stats"), e.homeMarkdown())
	items := s.ListedItems()
	site.Sort(items, site.OrderNewest)
	add("services", "Services", listKey(1), bare("services"), map[string]any{"Total": len(items),
		"Newest": items[:min(PageRows, len(items))]})
	var changes []service.Change
	for _, r := range s.Changes.Feed {
		c := service.NewChange(r, e.unitsOf(r.Slug), e.shared.Networks)
		changes = append(changes, c.Short(service.ChangeLines))
	}
	add("changes", "Changes", bare(changesRoute), bare("changes"), map[string]any{
		"Total": s.Changes.Meta.WindowTotal, "Changes": changes})
	add("status", "Status", bare(statusRoute), bare("status"), e.statusMarkdown())
	add("facilitators", "Facilitators", bare(facilitatorsRoute), bare("facilitators"), e.facilitatorsMarkdown())
	add("matrix", "Facilitator support by network", bare(matrixRoute), bare("facilitator-matrix"), map[string]any{
		"Facilitators": s.Matrix.Facilitators, "Kinds": money.SortKinds(s.Matrix.Kinds)})
	add("market", "Market", bare(marketRoute), bare("coverage"), e.market())
	add("flow", "Payment flow", bare(flowRoute), bare("flow"), e.flow())
	add("coverage", "Coverage and gaps", bare(coverageRoute), bare("coverage"), &s.Coverage)
	add("groups", "Categories", bare(categoriesRoute), "", bySize(e.categories))
	add("groups", "Networks", bare(networksRoute), "", bySize(e.networks))
	add("sources", "Sources", bare(sourcesRoute), bare("sources"), s.Sources)
	for i := range s.Sources {
		name := s.Sources[i].Source.Source
		add("source", name, sourceKey(name), bareKey("source", name), &s.Sources[i])
	}
	add("data", "Data", bare(dataRoute), bare("data"), e.dataset())
	for _, g := range e.Groups() {
		add("group", markdownQuote(display.Markdown(g.name, display.MaxName)), g.Key(1), g.JSON(), map[string]any{
			"Figures": g.figures, "Cheapest": g.services[:min(PageRows, len(g.services))]})
	}
	for i := range s.Facilitators {
		f := &s.Facilitators[i]
		title := cmp.Or(display.Line(f.Name, display.MaxTitle), f.FacilitatorID)
		add("facilitator", display.Markdown(title, display.MaxTitle), facilitatorKey(f.FacilitatorID),
			bareKey("facilitator", f.FacilitatorID), struct {
				*site.FacilitatorDetail
				Measured bool
				Network  func(caip2 string) string
			}{f, e.isMeasured(f), func(caip2 string) string { return e.shared.Networks.Chip(caip2).Label }})
	}
	return pages
}

// markdownLink is a page that another one names.
type markdownLink struct{ Title, Key, Description string }

// homeMarkdown returns the figures of the directory, what changed in a day, picks and links to its pages.
func (e *Renderer) homeMarkdown() any {
	return map[string]any{"Description": e.pages.site.Description, "Status": &e.snapshot.Status, "Home": e.homePage(),
		"Pages": []markdownLink{{Title: "Services", Key: listKey(1)},
			{Title: "Categories", Key: bareKey(categoriesRoute, "")}, {Title: "Networks", Key: bareKey(networksRoute, "")},
			{Title: "Changes", Key: bareKey(changesRoute, "")}, {Title: "Status", Key: bareKey(statusRoute, "")},
			{Title: "Market", Key: bareKey(marketRoute, "")},
			{Title: "Facilitators", Key: bareKey(facilitatorsRoute, "")},
			{Title: "Facilitator support by network", Key: bareKey(matrixRoute, "")},
			{Title: "Payment flow", Key: bareKey(flowRoute, "")},
			{Title: "Coverage and gaps", Key: bareKey(coverageRoute, "")},
			{Title: "API reference", Key: bareKey(referenceRoute, "")}},
		"Guides": e.pages.guides}
}

// statusMarkdown returns the services that are not online, by state, and incidents.
func (e *Renderer) statusMarkdown() any {
	type state struct {
		State    string
		Services []site.StatusService
	}
	var states []state
	for _, name := range display.StatusOrder {
		of := slices.DeleteFunc(slices.Clone(e.snapshot.Status.Services), func(row site.StatusService) bool {
			return display.Status(row.Status) != name
		})
		slices.SortFunc(of, func(a, b site.StatusService) int { return cmp.Compare(a.Slug, b.Slug) })
		if len(of) > 0 && name != site.StatusOnline {
			states = append(states, state{name, of})
		}
	}
	return map[string]any{"Online": e.snapshot.Status.Online, "Total": e.snapshot.Status.Total, "States": states,
		"Incidents": e.snapshot.Incidents}
}

// facilitatorMarkdown is a facilitator, whose volume is unknown if it is not measured.
type facilitatorMarkdown struct {
	*site.FacilitatorListItem
	Measured bool
}

// facilitatorsMarkdown returns the facilitators by the volume of 30 days.
func (e *Renderer) facilitatorsMarkdown() (rows []facilitatorMarkdown) {
	items := make([]*site.FacilitatorListItem, len(e.snapshot.Facilitators))
	for i := range items {
		items[i] = &e.snapshot.Facilitators[i].FacilitatorListItem
	}
	site.SortFacilitators(items, site.Timeframe30d)
	for _, f := range items {
		rows = append(rows, facilitatorMarkdown{f, e.isMeasured(e.facilitators[f.FacilitatorID])})
	}
	return rows
}

// isMeasured reports whether the volume of a facilitator is known.
func (e *Renderer) isMeasured(f *site.FacilitatorDetail) bool {
	return f.Verification == site.VerificationOnChain && !e.isUnread(f)
}

// Markdown returns reference.md: each route with its parameters. The OpenAPI document has the types.
func (a *API) Markdown() (Asset, error) {
	e := a.renderer
	body, err := a.PageData()
	if err != nil {
		return Asset{}, err
	}
	key := bareKey(referenceRoute, "")
	data, err := e.pages.writeMarkdown(&markdownPage{kind: "reference", key: key, Title: "API reference",
		Now: e.snapshot.Now, JSON: e.address(openAPIKey), Body: body})
	return Asset{markdownKey(key), data}, err
}

// LLMs returns llms.txt: the directory, its API, how to cite it, and services. Text that a service wrote is in
// quotation marks, on one line, without markup or invisible characters.
func (e *Renderer) LLMs() ([]byte, error) {
	s := &e.pages.site
	items := e.snapshot.ListedItems()
	site.Sort(items, site.OrderUptime)
	links := []markdownLink{
		{"Reference", bareKey(referenceRoute, ""), "every route with parameters, examples and errors"},
		{"OpenAPI 3.1", routes.OpenAPIFile, "the same in machine-readable form"},
		{"Route table", routes.TableFile, "routes, parameters and the rules that cut responses from files"}}
	for _, g := range e.pages.guides {
		links = append(links, markdownLink{g.Title, g.Key, g.Description})
	}
	links = append(links, markdownLink{"Markdown", markdownKey(homeKey), "all pages as Markdown; each page links to " +
		"its own with `<link rel=\"alternate\" type=\"text/markdown\">`"},
		markdownLink{"Changes", markdownKey(bareKey(changesRoute, "")), "the latest price, recipient and payment option " +
			"changes; a service's page as Markdown is /services/{slug}/page.md"})
	body := map[string]any{"Description": s.Description, "Links": links, "Calls": routes.Calls, "Services": items,
		"Routes": slices.DeleteFunc(slices.Clone(routes.All), func(r routes.Route) bool { return r.Ext != ".json" })}
	if s.Description == standardDescription {
		body["Description"] = ""
	}
	return e.pages.writeMarkdown(&markdownPage{kind: "llms", Title: display.Markdown(s.Title, display.MaxTitle),
		Now: e.snapshot.Now, JSON: e.address(bareKey("services", "")), Body: body})
}

// address returns the absolute URL of a file.
func (e *ServiceRenderer) address(key string) string { return e.pages.address(key) }

func (p *Pages) address(key string) string {
	return p.site.BaseURL + strings.TrimPrefix(p.href(key), p.prefix)
}
