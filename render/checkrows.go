package render

import (
	"cmp"
	"html/template"
	"strconv"

	"tollbook/site"
)

// Of the table of checks: what the templates "answered" make of an answer and of none.
const (
	upHTML   = `<span class="state state-online"><svg class="mark" aria-hidden="true"><use href="#mark-online"/></svg>up</span>`
	downHTML = `<span class="state state-offline"><svg class="mark" aria-hidden="true"><use href="#mark-offline"/></svg>down</span>`
)

// checkRows are the newest checks as rows of a table, drawn here for the reason that strip has. Of what services say
// they hold an error alone, which is escaped.
type checkRows []site.CheckEntry

func (rows checkRows) draw(b []byte) []byte {
	for i := range rows {
		c := &rows[i]
		answered := downHTML
		if c.IsUp {
			answered = upHTML
		}
		code := noneHTML
		if c.StatusCode != nil {
			code = strconv.Itoa(*c.StatusCode)
		}
		b = append(b, `<tr><td class="nowrap"><time datetime="`...)
		b = append(c.CheckedAt.Append(b), `">`...)
		b = c.CheckedAt.UTC().AppendFormat(b, layoutSecond)
		b = texts(b, `</time></td><td>`, answered, `</td><td class="num">`, code)
		b = texts(b, `</td><td class="num">`, cmp.Or(millis(c.ResponseTimeMS), noneHTML), `</td><td class="num">`, number(int64(c.EndpointsFound)), `</td><td class="error">`)
		if c.ErrorMessage != nil {
			b = texts(b, `<bdi>`, template.HTMLEscapeString(words(*c.ErrorMessage, maxLine)), `</bdi>`)
		}
		b = append(b, "</td></tr>\n"...)
	}
	return b
}
