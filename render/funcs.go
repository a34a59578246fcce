package render

import (
	"fmt"
	"html/template"
	"strings"

	"tollbook/render/chart"
	"tollbook/render/lists"
	"tollbook/render/openapi"
	"tollbook/site/display"
)

// funcs returns the functions of templates: formats and links. A function for a value that may be unknown returns
// markup: the value, or the mark for an unknown one.
func (p *Pages) funcs() template.FuncMap {
	funcs := template.FuncMap{
		"none":      chart.None,
		"value":     chart.Value,
		"supported": display.Supported,
		"answered":  chart.Answered,
		"recipient": chart.Recipient,

		"at":     timeFunc(display.At),
		"clock":  timeFunc(display.Clock),
		"day":    timeFunc(display.Day),
		"second": timeFunc(display.Second),
		"when":   timeFunc(display.When),
		"minute": minute,

		"age":        valueFunc(display.Age),
		"hundredths": valueFunc(display.Share),
		"millis":     valueFunc(display.Millis),
		"percent":    valueFunc(display.Percent),
		"three":      valueFunc(three),

		"cents": func(v any) (template.HTML, error) {
			text, err := display.FormatDecimal(v, display.Cents)
			return chart.Value(text), err
		},
		"dollars": func(v any) (template.HTML, error) {
			text, err := display.FormatDecimal(v, display.Dollars)
			return chart.Value(text), err
		},
		"exactly": func(v any) (string, error) { return display.FormatDecimal(v, display.Dollars) },
		"roughly": func(v any) (string, error) { return display.FormatDecimal(v, display.Roughly) },

		"count":    func(n int) string { return display.Number(int64(n)) },
		"count64":  display.Number,
		"plural":   func(n int, one, many string) string { return display.Plural(int64(n), one, many) },
		"plural64": display.Plural,
		"rate":     display.Rate,
		"sure":     display.Confidence,

		"asset":       display.Asset,
		"blurb":       func(s string) string { return display.Line(s, display.MaxBlurb) },
		"code":        func(s string) string { return display.Line(s, display.MaxCode) },
		"description": func(s string) string { return display.Line(s, display.MaxDescription) },
		"line":        func(s string) string { return display.Line(s, display.MaxLine) },
		"link":        display.Link,
		"name":        display.Name,
		"reason":      display.Reason,
		"lasted":      statusDuration,
		"because":     because,
		"advice":      display.Advice,
		"adviceLevel": display.AdviceLevel,
		"short":       display.Short,
		"spans":       openapi.Spans,

		"path":  func(path string) string { return p.href(strings.TrimPrefix(path, "/")) },
		"bytes": display.Bytes,

		"address":     p.address,
		"compare":     p.compareURL,
		"facilitator": func(id string) string { return p.href(facilitatorKey(id)) },
		"incident":    func(id *string) string { return p.href(incidentKey(*id)) },
		"home":        func() string { return p.href(homeKey) },
		"href":        p.href,
		"json":        func(route string) string { return p.href(bareKey(route, "")) },
		"list":        func(n int) string { return p.href(listKey(n)) },
		"service":     func(slug string) string { return p.href(serviceKey(slug)) },
		"source":      func(name string) string { return p.href(sourceKey(name)) },

		"recheckForm": func(slug, at string) (template.HTML, error) { return lists.Recheck(p.prefix, slug, at) },
		"suggestForm": func(text string) (template.HTML, error) { return lists.Suggestion(p.prefix, text) },

		"typesOf": func(part string) string { return p.href(typesKey(part)) },

		"add":  func(a, b int) int { return a + b },
		"dict": dict,
		"table": func(route, id, name string) string {
			return strings.TrimSuffix(bareKey(route, id), ".json") + "/" + name + ".csv"
		},
	}
	for name, route := range map[string]string{
		"about": aboutRoute, "categories": categoriesRoute, "changes": changesRoute, "coverage": coverageRoute,
		"facilitators": facilitatorsRoute, "flow": flowRoute, "market": marketRoute, "matrix": matrixRoute,
		"methodology": methodologyRoute,
		"networks":    networksRoute, "owners": ownersRoute, "reference": referenceRoute, "search": searchRoute,
		"sources": sourcesRoute, "status": statusRoute, "submit": submitRoute, "suggest": suggestRoute,
		"data": dataRoute, "beforeYouPay": "before-you-pay-page", "verify": "verify-page", "types": typesRoute, "files": referenceFilesRoute,
	} {
		href := p.href(bareKey(route, ""))
		funcs[name] = func() string { return href }
	}
	return funcs
}

// timeFunc returns a function of templates that shows an instant in a format.
func timeFunc(format func(any) (*display.Moment, error)) func(any) (template.HTML, error) {
	return func(v any) (template.HTML, error) {
		m, err := format(v)
		return chart.Time(m), err
	}
}

// valueFunc returns a function of templates that shows a value, nil if it is unknown, in a format.
func valueFunc[T any](format func(*T) string) func(*T) template.HTML {
	return func(v *T) template.HTML { return chart.Value(format(v)) }
}

// minute returns an instant to the minute as text, "" for an unknown one.
func minute(v any) (string, error) {
	m, err := display.When(v)
	if m == nil {
		return "", err
	}
	return m.Text, err
}

// three returns one of three answers: yes, no, or "" for what is unknown.
func three(b *bool) string {
	switch {
	case b == nil:
		return ""
	case *b:
		return "yes"
	}
	return "no"
}

// dict returns a map of the named values that a template passes to another one.
func dict(pairs ...any) (map[string]any, error) {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		key, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: key %v is %T; pass names and values in turn", pairs[i], pairs[i])
		}
		m[key] = pairs[i+1]
	}
	return m, nil
}
