// Package chart writes the markup that a directory repeats in thousands: charts of ninety days as SVG, and rows of long
// tables. One method adds text to markup and escapes it with the standard library (markup.go).
//
// It must never know a page, a template or a route.
package chart

import (
	"html/template"
	"strconv"
	"strings"

	"tollbook/site/display"
)

// literal is markup in the source of this package. A variable string is not a literal, so that only the method text can
// add other strings.
type literal string

// markup builds HTML that a directory repeats in thousands: bars of charts and rows of long tables. A template takes
// ten times as long. Its methods return it, so that calls can be chained.
type markup struct{ b strings.Builder }

// newMarkup returns markup with room for size bytes.
func newMarkup(size int) *markup {
	m := new(markup)
	m.b.Grow(size)
	return m
}

// raw appends markup without escaping it.
func (m *markup) raw(s literal) *markup {
	m.b.WriteString(string(s))
	return m
}

// text appends text, escaped for an element or a quoted attribute.
func (m *markup) text(s string) *markup {
	m.b.WriteString(template.HTMLEscapeString(s))
	return m
}

// number appends a decimal number.
func (m *markup) number(n int) *markup {
	m.b.WriteString(strconv.Itoa(n))
	return m
}

// value appends text, or the mark for an unknown value if s is "".
func (m *markup) value(s string) *markup {
	if s == "" {
		return m.raw(noneHTML)
	}
	return m.text(s)
}

// path appends an SVG path, or nothing if it has no data.
func (m *markup) path(class literal, p *path) *markup {
	if len(p.data) == 0 {
		return m
	}
	m.raw(`<path class="`).raw(class).raw(`" d="`)
	m.b.Write(p.data)
	return m.raw(`"/>`)
}

// join appends other markup.
func (m *markup) join(other *markup) *markup {
	m.b.WriteString(other.b.String())
	return m
}

// html returns the markup. Only this method marks strings as escaped.
func (m *markup) html() template.HTML { return template.HTML(m.b.String()) }

// time appends an instant, for programs and for readers.
func (m *markup) time(iso, text string) *markup {
	return m.raw(`<time datetime="`).text(iso).raw(`">`).text(text).raw(`</time>`)
}

// answered appends whether a service answered a check.
func (m *markup) answered(up bool) *markup {
	if up {
		return m.raw(upHTML)
	}
	return m.raw(downHTML)
}

// recipient appends an account, shortened, with the whole account as title. It links to href unless that is "".
func (m *markup) recipient(account, href string) *markup {
	if account == "" {
		return m.raw(noneHTML)
	}
	if href != "" {
		m.raw(`<a rel="nofollow noopener" href="`).text(href).raw(`">`)
	}
	m.raw(`<code class="recipient" title="`).text(display.Line(account, display.MaxLine))
	m.raw(`"><bdi>`).text(display.Short(account)).raw(`</bdi></code>`)
	if href != "" {
		m.raw("</a>")
	}
	return m
}

// The functions below are for templates.

// None returns the mark for an unknown value.
func None() template.HTML { return new(markup).raw(noneHTML).html() }

// Value returns text as markup, or the mark for an unknown value if text is "".
func Value(text string) template.HTML { return new(markup).value(text).html() }

// Time returns an instant as markup, or the mark for an unknown value if at is nil.
func Time(at *display.Moment) template.HTML {
	if at == nil {
		return None()
	}
	return newMarkup(100).time(at.ISO, at.Text).html()
}

// Answered returns whether a service answered a check, as markup.
func Answered(up bool) template.HTML { return new(markup).answered(up).html() }

// Recipient returns an account as markup, shortened, with the whole account as title. It links to href unless that is
// "".
func Recipient(account, href string) template.HTML {
	return new(markup).recipient(account, href).html()
}

const (
	noneHTML literal = `<span class="none" title="not known"><span aria-hidden="true">—</span>` +
		`<span class="hidden">not known</span></span>`

	upHTML   = onlineHTML + `#mark-online"/></svg>up</span>`
	downHTML = offlineHTML + `#mark-offline"/></svg>down</span>`
	passHTML = onlineHTML + `#mark-pass"/></svg>pass</span>`
	failHTML = offlineHTML + `#mark-offline"/></svg>fail</span>`

	onlineHTML  literal = `<span class="state state-online"><svg class="mark" aria-hidden="true"><use href="`
	offlineHTML literal = `<span class="state state-offline"><svg class="mark" aria-hidden="true"><use href="`
)
