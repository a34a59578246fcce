// Package markdown writes parts of Markdown pages: what strangers wrote, escaped and in quotation marks, and the facts
// of some pages. Callers pass the addresses of pages.
package markdown

import (
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// Key returns the key of the Markdown page of an HTML page. For a service, facilitator or group the key is
// below that of the page, because "/services/acme.md" would be the address of a service.
func Key(page string) string {
	stem := strings.TrimSuffix(page, ".html")
	switch folder, _, _ := strings.Cut(stem, "/"); folder {
	case "services", "facilitators", "categories", "networks":
		if stem != folder {
			return stem + "/page.md"
		}
	}
	return stem + ".md"
}

// Quote returns text that a service wrote, escaped and in quotation marks.
func Quote(s string, limit int) string { return "“" + display.Markdown(s, limit) + "”" }

// OrUnknown returns s, or "not known" for "".
func OrUnknown(s string) string {
	if s == "" {
		return "not known"
	}
	return s
}

// ISO returns an instant as text, "" without one.
func ISO(t *site.Time) string {
	if t == nil {
		return ""
	}
	return t.String()
}

// Advice returns the advice on a service, which is before the other facts of its line.
func Advice(item *site.ServiceListItem) string {
	return display.Markdown(display.Advice(item.AdviceLevel, item.AdviceReason), display.MaxLine) + "; "
}

// Reasons returns an advice with all its reasons.
func Reasons(a *site.Advice) string {
	text := display.Reasons(a)
	return display.Markdown(display.Advice(a.Level, &text), display.MaxLine)
}

// Escape returns text of our own, in which each character that could begin markup is escaped.
func Escape(text string) string { return syntax.Replace(text) }

var syntax = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`,
	">", `\>`, "#", `\#`, "|", `\|`, "~", `\~`, "&", `\&`, "!", `\!`)
