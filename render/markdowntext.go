// This part of the package writes parts of Markdown pages: what strangers wrote, escaped and in quotation marks, and
// the facts of some pages. Callers pass the addresses of pages.

package render

import (
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

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

// markdownQuote returns text that a service wrote, escaped and in quotation marks.
func markdownQuote(s string, limit int) string { return "“" + display.Markdown(s, limit) + "”" }

// orUnknown returns s, or "not known" for "".
func orUnknown(s string) string {
	if s == "" {
		return "not known"
	}
	return s
}

// markdownTime returns an instant as text, "" without one.
func markdownTime(t *site.Time) string {
	if t == nil {
		return ""
	}
	return t.String()
}

// markdownAdvice returns the advice on a service, which is before the other facts of its line.
func markdownAdvice(item *site.ServiceListItem) string {
	return display.Markdown(display.Advice(item.AdviceLevel, item.AdviceReason), display.MaxLine) + "; "
}

// markdownReasons returns an advice with all its reasons.
func markdownReasons(a *site.Advice) string {
	text := display.Reasons(a)
	return display.Markdown(display.Advice(a.Level, &text), display.MaxLine)
}

// escapeMarkdown returns text of our own, in which each character that could begin markup is escaped.
func escapeMarkdown(text string) string { return syntax.Replace(text) }

var syntax = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`,
	">", `\>`, "#", `\#`, "|", `\|`, "~", `\~`, "&", `\&`, "!", `\!`)
