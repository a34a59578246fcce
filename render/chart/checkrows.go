package chart

import (
	"html/template"
	"strconv"

	"tollbook/site"
	"tollbook/site/display"
)

// CheckRows returns checks as rows of a table.
func CheckRows(checks []site.CheckEntry) template.HTML {
	m := newMarkup(600 * len(checks))
	for i := range checks {
		c := &checks[i]
		answered, code, failure := downHTML, "", ""
		if c.IsUp {
			answered = upHTML
		}
		if c.StatusCode != nil {
			code = strconv.Itoa(*c.StatusCode)
		}
		m.raw(`<tr><td class="nowrap"><time datetime="`).text(c.CheckedAt.String())
		m.raw(`">`).text(c.CheckedAt.UTC().Format(display.SecondLayout))
		m.raw(`</time></td><td>`).raw(answered)
		m.raw(`</td><td class="num">`).value(code)
		m.raw(`</td><td class="num">`).value(display.Millis(c.ResponseTimeMS))
		m.raw(`</td><td class="num">`).text(display.Number(int64(c.EndpointsFound)))
		m.raw(`</td><td class="error">`)
		if c.ErrorMessage != nil {
			failure = display.Line(*c.ErrorMessage, display.MaxLine)
			m.raw(`<bdi>`).text(failure).raw(`</bdi>`)
		}
		m.raw("</td></tr>\n")
	}
	return m.html()
}
