// This part of the package renders the filters of a list of services and the results of a search. Pages of a build
// contain the filters; serve fills the search page of a build with results, for readers without script.
// templates/search.js renders the same part where no server fills it.
//
// It must never know a database or a snapshot.

package lists

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"tollbook/render/chart"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/invisible"
	"tollbook/site/routes"
	"tollbook/templates"
)

// Link is a link with its text.
type Link struct {
	Label, Href string
	Current     bool // the choice that applies; its link takes it back
}

// Choice is one value of a facet and the number of services that have it.
type Choice struct {
	Link
	Count int
}

// Facet is one filter of which a reader chooses a value.
type Facet struct {
	Name    string // of the parameter
	Label   string
	Choices []Choice
	All     Link // the list of all values; without a label if Choices has all
}

// maxChoices is the number of values that a facet shows. The others are on the page that All names.
const maxChoices = 12

// Field is a value of the form that no visible field has.
type Field struct{ Name, Value string }

// Attribute returns the value as an attribute. Invisible characters are written as references, so that nobody who reads
// the page's source overlooks them.
func (f Field) Attribute() template.HTMLAttr {
	var b strings.Builder
	for _, r := range html.EscapeString(f.Value) {
		if invisible.Is(r) {
			fmt.Fprintf(&b, "&#x%x;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return template.HTMLAttr(`value="` + b.String() + `"`)
}

// Filters is what a reader can choose on a page with a list of services.
type Filters struct {
	Search string // URL of the search page
	Values url.Values
	Facets []Facet
	Orders []Link
	Chosen []Link // each filter that applies; the link takes it back
	Clear  string // URL without filters; "" if none applies
	Fields []input
	Hidden []Field
}

// input is a field of the form that a reader sees: a checkbox, a list or a text.
type input struct {
	routes.Field        // Options are with the value that applies
	Name, Value  string // of the parameter
	IsCheckbox   bool
	IsNumber     bool
}

// IsChecked reports whether a checkbox is checked.
func (i input) IsChecked() bool { return i.Value == "true" }

// newInput returns the field of a filter with the value that applies, "" for none.
func newInput(p *routes.Param, value string) input {
	i := input{Field: *p.Words.Field, Name: p.Name, Value: value, IsCheckbox: p.Kind == routes.KindBoolean,
		IsNumber: p.Kind == routes.KindDecimal || p.Kind == routes.KindInteger}
	if len(i.Options) > 0 && value != "" && !slices.Contains(i.Options, value) {
		i.Options = append(slices.Clone(i.Options), value)
	}
	return i
}

// parameters are the parameters of a search in the order of its URLs: the words, the filters, the order and the page.
var parameters = func() []string {
	names := []string{"q"}
	for i := range routes.Filters {
		names = append(names, routes.Filters[i].Name)
	}
	return append(names, "sort", "page")
}()

// filterByName returns the filter with this name, or nil.
func filterByName(name string) *routes.Param {
	if i := slices.IndexFunc(routes.Filters, func(p routes.Param) bool { return p.Name == name }); i >= 0 {
		return &routes.Filters[i]
	}
	return nil
}

// NewFilters returns the filters of a page on which values apply. facets have at most one current choice each.
func NewFilters(search string, values url.Values, facets []Facet) Filters {
	f := Filters{Search: search, Values: values, Facets: facets}
	for i := range facets {
		limit(&facets[i])
	}
	for i := range routes.Filters {
		p := &routes.Filters[i]
		if v := values.Get(p.Name); p.Words.Field != nil {
			f.Fields = append(f.Fields, newInput(p, v))
		} else if v != "" {
			f.Hidden = append(f.Hidden, Field{p.Name, v})
		}
	}
	if v := values.Get("sort"); v != "" {
		f.Hidden = append(f.Hidden, Field{"sort", v})
	}
	return f
}

// limit leaves out the values of a facet that are not among the first, but never the current one.
func limit(f *Facet) {
	if len(f.Choices) <= maxChoices {
		f.All.Label = ""
		return
	}
	at := slices.IndexFunc(f.Choices, func(c Choice) bool { return c.Current })
	if at >= maxChoices {
		f.Choices[maxChoices-1] = f.Choices[at]
	}
	if f.All.Href != "" {
		f.All.Label = fmt.Sprintf("All %s", display.Number(int64(len(f.Choices))))
	}
	f.Choices = f.Choices[:maxChoices]
}

// SearchURL returns the URL of a search. Values whose names it does not know are left out.
func SearchURL(search string, values url.Values) string {
	var b strings.Builder
	b.WriteString(search)
	separator := byte('?')
	for _, name := range parameters {
		v := values.Get(name)
		if v == "" || name == "page" && v == "1" {
			continue
		}
		b.WriteByte(separator)
		b.WriteString(name + "=" + url.QueryEscape(v))
		separator = '&'
	}
	return b.String()
}

// with returns the URL of a search in which a parameter has another value, "" for none. It starts on the first page.
func with(search string, values url.Values, name, value string) string {
	changed := url.Values{}
	for _, n := range parameters {
		if v := values.Get(n); v != "" && n != "page" {
			changed.Set(n, v)
		}
	}
	changed.Set(name, value)
	return SearchURL(search, changed)
}

// HTML returns the filters as markup.
func (f Filters) HTML() (template.HTML, error) { return execute("filters", f) }

// funcs are the functions of the template.
var funcs = template.FuncMap{
	"none": chart.None,
	"dollars": func(v any) (template.HTML, error) {
		text, err := display.FormatDecimal(v, display.Dollars)
		return chart.Value(text), err
	},
	"percent":     func(f *float64) template.HTML { return chart.Value(display.Percent(f)) },
	"millis":      func(ms *int) template.HTML { return chart.Value(display.Millis(ms)) },
	"count":       func(n int) string { return display.Number(int64(n)) },
	"blurb":       func(s string) string { return display.Line(s, display.MaxBlurb) },
	"code":        func(s string) string { return display.Line(s, display.MaxCode) },
	"line":        func(s string) string { return display.Line(s, display.MaxLine) },
	"name":        display.Name,
	"advice":      display.Advice,
	"adviceLevel": display.AdviceLevel,
	"status":      func(s string) string { return cmp.Or(display.Status(s), site.StatusUnknown) },
}

var resultParts = template.Must(template.New("").Funcs(funcs).ParseFS(templates.FS, "searchresults.html"))

// execute returns a part of the template as markup.
func execute(name string, v any) (template.HTML, error) {
	var b strings.Builder
	if err := resultParts.ExecuteTemplate(&b, name, v); err != nil {
		return "", fmt.Errorf("render %s of searchresults.html: %w", name, err)
	}
	return template.HTML(b.String()), nil // escaped by the template
}
