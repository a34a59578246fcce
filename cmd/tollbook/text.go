package main

import (
	"fmt"
	"strings"

	"golang.org/x/text/width"

	"tollbook/site/display"
)

// columns is the width of the text for people.
const columns = 80

// Limits of a text for people, in bytes, because a hostile directory may answer with megabytes.
const (
	maxPage = 256 << 10
	maxWord = 1000
)

// page collects lines for people. A line of a stranger's text is cut or wrapped to the width of a terminal. After
// maxPage it says that there is more.
type page struct{ strings.Builder }

// line adds a line.
func (p *page) line(format string, args ...any) {
	if p.Len() > maxPage {
		return
	}
	fmt.Fprintf(p, format, args...)
	p.WriteByte('\n')
	if p.Len() > maxPage {
		p.WriteString("… and more, which --json prints\n")
	}
}

// wrap adds a text as lines that begin with an indent.
func (p *page) wrap(indent, text string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if len(word) > maxWord {
			word = strings.ToValidUTF8(word[:maxWord], "") + "…"
		}
		for cells(word) > columns-cells(indent) { // longer than a line
			head := cut(word, columns-cells(indent)-1)
			if line != "" {
				p.line("%s%s", indent, line)
				line = ""
			}
			p.line("%s%s", indent, head)
			word = word[len(head):]
		}
		switch {
		case line == "":
			line = word
		case cells(indent)+cells(line)+1+cells(word) > columns:
			p.line("%s%s", indent, line)
			line = word
		default:
			line += " " + word
		}
	}
	if line != "" {
		p.line("%s%s", indent, line)
	}
}

// labelWidth is the width of the names of values.
const labelWidth = 13

// value adds a name and a value; a value that is longer than the line goes on below it. An empty value is left out.
func (p *page) value(name, value string) {
	if value == "" {
		return
	}
	var below page
	below.wrap(strings.Repeat(" ", labelWidth), value)
	text := below.String()
	p.WriteString(fmt.Sprintf("%-*s", labelWidth, name) + text[labelWidth:])
}

// cells returns the number of cells of a terminal that a text takes.
func cells(s string) (n int) {
	for _, r := range s {
		n += cellsOf(r)
	}
	return n
}

func cellsOf(r rune) int {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// cut returns the beginning of a text that takes at most so many cells.
func cut(s string, limit int) string {
	n := 0
	for i, r := range s {
		if n += cellsOf(r); n > limit {
			return s[:i]
		}
	}
	return s
}

// fit returns a text in at most so many cells, and an ellipsis if it was longer.
func fit(s string, limit int) string {
	if cells(s) <= limit {
		return s
	}
	return cut(s, limit-1) + "…"
}

// own returns a stranger's text in one line, without invisible characters.
func own(s string) string { return display.Line(s, display.MaxLine) }

// plainText returns a figure of package display without the space that does not break, which some terminals draw
// wrongly.
func plainText(s string) string { return strings.ReplaceAll(s, display.NBSP, " ") }
