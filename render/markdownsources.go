package render

import (
	"bytes"
	"fmt"

	"tollbook/site"
	"tollbook/site/display"
)

// maxSourceRows is the most rows of each list of a source on a page.
const maxSourceRows = 100

// writeSources writes the public sources that are read.
func writeSources(b *bytes.Buffer, list []site.SourceDetail, json string) {
	fmt.Fprintf(b, "\nPublic directories and catalogues that are read. This page as JSON: %s\n\n"+
		"| Source | Resources | Only here | Services | Last read | Held back |\n|---|---|---|---|---|---|\n", json)
	for i := range list {
		s := &list[i]
		fmt.Fprintf(b, "| %s | %d | %d | %d | %s | %s |\n", display.Markdown(s.Source.Source, display.MaxLine),
			s.ResourceCount, s.UniqueCount, s.ServiceCount, orUnknown(markdownTime(s.LastSuccessAt)), yesNo(s.HeldBack != nil))
	}
}

// writeSource writes one source. service returns the address of a service's page.
func writeSource(b *bytes.Buffer, s *site.SourceDetail, json string, service func(slug string) string) {
	fmt.Fprintf(b, "\n- Address: %s\n- Kind: %s\n- Resources: %d, of which %d are only here\n- Services: %d\n"+
		"- Last read to its end: %s\n- Held back: %s\n- JSON: %s\n", markdownQuote(s.Address, display.MaxLine),
		display.Markdown(s.Kind, display.MaxCode), s.ResourceCount, s.UniqueCount, s.ServiceCount,
		orUnknown(markdownTime(s.LastSuccessAt)), yesNo(s.HeldBack != nil), json)
	b.WriteString("\n## Newest answers\n\n| Time | Result | Status | Resources | SHA-256 |\n|---|---|---|---|---|\n")
	for _, p := range s.Pulls[:min(len(s.Pulls), maxSourceRows)] {
		status, resources, sum := "", "", ""
		if p.StatusCode != nil {
			status = fmt.Sprint(*p.StatusCode)
		}
		if p.Resources != nil {
			resources = fmt.Sprint(*p.Resources)
		}
		if p.SHA256 != nil {
			sum = *p.SHA256
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", p.EndedAt, display.PullOutcome(p.Outcome), orUnknown(status),
			orUnknown(resources), orUnknown(sum))
	}
	b.WriteString("\n## Dropped\n\n")
	if len(s.Dropped) == 0 {
		b.WriteString("It dropped no resource of a listed service.\n")
	}
	for _, d := range s.Dropped[:min(len(s.Dropped), maxSourceRows)] {
		fmt.Fprintf(b, "- %s: %s of [%s](%s), listed since %s\n", d.Until, markdownQuote(d.Endpoint, display.MaxLine), d.Slug,
			service(d.Slug), d.Since)
	}
	writeMore(b, len(s.Dropped)-maxSourceRows)
	b.WriteString("\n## Services\n\n")
	if len(s.Services) == 0 {
		b.WriteString("It lists no resource of a listed service.\n")
	}
	for _, of := range s.Services[:min(len(s.Services), maxSourceRows)] {
		fmt.Fprintf(b, "- [%s](%s) since %s: %s\n", of.Slug, service(of.Slug), of.Since,
			display.Plural(int64(of.ResourceCount), "resource", "resources"))
	}
	writeMore(b, s.ServiceCount-maxSourceRows)
	if len(s.Overlap) > 0 {
		b.WriteString("\n## Overlap\n\n| Source | Resources that both list |\n|---|---|\n")
	}
	for _, o := range s.Overlap {
		fmt.Fprintf(b, "| %s | %d |\n", display.Markdown(o.Source, display.MaxLine), o.ResourceCount)
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
