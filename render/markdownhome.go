package render

import (
	"bytes"
	"fmt"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// writeHome writes what changed in a day, the picks of each category and the newest services. service returns the
// address of a service's Markdown page.
func writeHome(b *bytes.Buffer, p *homePage, service func(slug string) string) {
	if p.Stats.TotalServices == 0 {
		return
	}
	switch {
	case p.Day.Counts != "":
		fmt.Fprintf(b, "\n## Last 24 hours\n\n%s\n\n", p.Day.Counts)
	case p.Day.Previous:
		b.WriteString("\n## Last 24 hours\n\nNothing changed. The latest changes before:\n\n")
	default:
		b.WriteString("\n## Last 24 hours\n\nNothing changed.\n")
	}
	for _, e := range p.Day.Events {
		fmt.Fprintf(b, "- %s: [%s](%s) %s, %s%s\n", display.Markdown(e.Label, display.MaxCode), e.Slug, service(e.Slug),
			markdownQuote(e.Name, display.MaxName), markdownTime(&e.At), eventText(&e))
	}
	if len(p.Picks) > 0 {
		b.WriteString("\n## Cheapest and most used\n\nOnly services that are good to pay.\n\n" +
			"| Category | Cheapest | Price | Most used | Buyers, 30 days |\n|---|---|---|---|---|\n")
	}
	for _, c := range p.Picks {
		cheapest, used := orUnknown("")+" | "+orUnknown(""), orUnknown("")+" | "+orUnknown("")
		if x := c.Cheapest; x != nil {
			cheapest = fmt.Sprintf("[%s](%s) | %s on %s", x.Slug, service(x.Slug),
				orUnknown(display.DollarsOrNull(x.PriceUSD)), display.Markdown(x.On.Label, display.MaxLine))
		}
		if x := c.MostUsed; x != nil && x.UniqueBuyers30d != nil {
			used = fmt.Sprintf("[%s](%s) | %s", x.Slug, service(x.Slug), display.Number(*x.UniqueBuyers30d))
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", display.Markdown(c.Name, display.MaxName), cheapest, used)
	}
	b.WriteString("\n## Newest services\n\nWithout those that must not be paid.\n\n")
	for _, item := range p.Newest {
		writeService(b, item, service(item.Slug))
	}
}

// eventText returns the difference and the note of an event. Text of a service is in quotation marks.
func eventText(e *homeEvent) string {
	var b strings.Builder
	if e.What != "" {
		b.WriteString(", " + markdownQuote(e.What, display.MaxName))
	}
	if e.Network.Label != "" {
		b.WriteString(" on " + display.Markdown(e.Network.Label, display.MaxLine))
	}
	if e.Old != "" {
		b.WriteString(", was " + markdownQuote(e.Old, display.MaxLine))
	}
	if e.New != "" {
		b.WriteString(", is " + markdownQuote(e.New, display.MaxLine))
	}
	if e.Note != "" {
		b.WriteString(", " + e.Note)
	}
	return b.String()
}

// writeService writes a service in a list. address is that of its Markdown page.
func writeService(b *bytes.Buffer, item *site.ServiceListItem, address string) {
	fmt.Fprintf(b, "- [%s](%s) %s: %s%s, price from %s, uptime %s over 24 hours\n", item.Slug, address,
		markdownQuote(item.Name, display.MaxName), markdownAdvice(item), display.Status(item.Status),
		orUnknown(display.DollarsOrNull(item.MinPriceUSD)), orUnknown(display.Percent(item.Uptime24h)))
}
