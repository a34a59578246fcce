// Package chart draws what a directory repeats by the thousand: charts of ninety days as SVG, and the rows of long
// tables. Words get into its markup by one method, which escapes them with the standard library (markup.go).
//
// It must never know a page, a template or a route.
package chart

import (
	"html/template"
	"strconv"
	"strings"

	"tollbook/site/display"
)

// literal is markup that stands in the source of this package. A variable string is no literal, so that words from
// elsewhere get into markup by text alone.
type literal string

// markup builds HTML that a directory repeats by the thousand: bars of charts and rows of long tables. A template takes
// ten times as long. Its methods return it, so that calls chain.
type markup struct{ b strings.Builder }

// newMarkup returns markup with room for size bytes.
func newMarkup(size int) *markup {
	m := new(markup)
	m.b.Grow(size)
	return m
}

// raw appends markup as it is.
func (m *markup) raw(s literal) *markup {
	m.b.WriteString(string(s))
	return m
}

// text appends words, escaped for an element or a quoted attribute.
func (m *markup) text(s string) *markup {
	m.b.WriteString(template.HTMLEscapeString(s))
	return m
}

// number appends digits.
func (m *markup) number(n int) *markup {
	m.b.WriteString(strconv.Itoa(n))
	return m
}

// value appends words, or the mark for what is not known in place of "".
func (m *markup) value(s string) *markup {
	if s == "" {
		return m.raw(noneHTML)
	}
	return m.text(s)
}

// rect appends an SVG rectangle. Those without a class or a y leave the attribute out: "" and noY.
func (m *markup) rect(class literal, x, y, width, height int) *markup {
	return m.openRect(class, x, y, width, height).raw("/>")
}

// openRect is rect up to the end of its attributes.
func (m *markup) openRect(class literal, x, y, width, height int) *markup {
	m.raw("<rect")
	if class != "" {
		m.raw(` class="`).raw(class).raw(`"`)
	}
	m.raw(` x="`).number(x)
	if y != noY {
		m.raw(`" y="`).number(y)
	}
	return m.raw(`" width="`).number(width).raw(`" height="`).number(height).raw(`"`)
}

// noY is the y of a rectangle that begins at the top.
const noY = -1

// html returns what was built. Only this method says of strings that they are escaped.
func (m *markup) html() template.HTML { return template.HTML(m.b.String()) }

// time appends an instant: for programs, and as readers see it.
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

// recipient appends an account, shortened, with all of it in its title.
func (m *markup) recipient(account string) *markup {
	if account == "" {
		return m.raw(noneHTML)
	}
	m.raw(`<code class="recipient" title="`).text(display.Line(account, display.MaxLine))
	return m.raw(`"><bdi>`).text(display.Short(account)).raw(`</bdi></code>`)
}

// The same for templates.

// None returns the mark for what is not known.
func None() template.HTML { return new(markup).raw(noneHTML).html() }

// Value returns text as markup, or the mark for what is not known if text is "".
func Value(text string) template.HTML { return new(markup).value(text).html() }

// Time returns an instant as markup, or the mark for what is not known if the instant is nil.
func Time(at *display.Moment) template.HTML {
	if at == nil {
		return None()
	}
	return newMarkup(100).time(at.ISO, at.Text).html()
}

// Answered returns as markup whether a service answered a check.
func Answered(up bool) template.HTML { return new(markup).answered(up).html() }

// Recipient returns an account as markup, shortened, with all of it in its title.
func Recipient(account string) template.HTML { return new(markup).recipient(account).html() }

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
