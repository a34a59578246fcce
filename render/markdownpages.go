package render

import (
	"bytes"
	"cmp"
	"fmt"

	"tollbook/site"
	"tollbook/site/display"
)

// writeServiceLine writes a service in a list.
func (e *Renderer) writeServiceLine(b *bytes.Buffer, item *site.ServiceListItem) {
	writeService(b, item, e.serviceMarkdownAddress(item.Slug))
}

// homeMarkdown returns the figures of the directory, what changed in a day, picks and links to its pages.
func (e *Renderer) homeMarkdown() Asset {
	s := e.snapshot
	b := e.startMarkdown(display.Markdown(e.pages.site.Title, display.MaxTitle), homeKey)
	fmt.Fprintf(b, "\n%s\n", display.Markdown(e.pages.site.Description, display.MaxDescription))
	st := &s.Stats
	fmt.Fprintf(b,
		"\n- Services: %d, with %d online, %d degraded, %d offline and %d unknown\n- Endpoints: %d\n- Networks: "+
			"%d, and %s\n- Price per request: median %s, from %s to %s\n"+
			"- Uptime: %s over 24 hours, %s over 7 days\n- JSON: %s\n",
		s.Status.Total, s.Status.Online, s.Status.Degraded, s.Status.Offline, s.Status.Unknown, st.TotalEndpoints,
		st.TotalNetworks, display.Plural(int64(st.TotalTestnets), "test network", "test networks"),
		orUnknown(display.DollarsOrNull(st.Pricing.MedianPriceUSD)),
		orUnknown(display.DollarsOrNull(st.Pricing.MinPriceUSD)),
		orUnknown(display.DollarsOrNull(st.Pricing.MaxPriceUSD)),
		orUnknown(display.Percent(st.AvgUptime24h)), orUnknown(display.Percent(st.AvgUptime7d)),
		e.address(bareKey("stats", "")))
	writeHome(b, e.homePage(), e.serviceMarkdownAddress)
	b.WriteString("\n## Pages\n\n")
	for _, l := range []struct{ name, page string }{
		{"Services", listKey(1)}, {"Categories", bareKey(categoriesRoute, "")},
		{"Networks", bareKey(networksRoute, "")}, {"Changes", bareKey(changesRoute, "")},
		{"Status", bareKey(statusRoute, "")}, {"Facilitators", bareKey(facilitatorsRoute, "")},
		{"Which facilitator settles what where", bareKey(matrixRoute, "")}, {"Payment flow", bareKey(flowRoute, "")},
		{"Coverage and gaps", bareKey(coverageRoute, "")}, {"API reference", bareKey(referenceRoute, "")},
	} {
		fmt.Fprintf(b, "- [%s](%s)\n", l.name, e.address(markdownKey(l.page)))
	}
	for _, g := range e.pages.guides {
		fmt.Fprintf(b, "- [%s](%s): %s\n", g.Title, e.address(markdownKey(g.Key)), g.Description)
	}
	return Asset{markdownKey(homeKey), b.Bytes()}
}

// groupMarkdown returns the first page of a category or a network, cheapest first.
func (e *Renderer) groupMarkdown(g *Group) Asset {
	b := e.startMarkdown(markdownQuote(g.name, display.MaxName), g.Key(1))
	f := g.figures
	fmt.Fprintf(b,
		"\n%s, %d online, starting prices %s, average uptime %s over 24 hours. Lowest price first; as JSON: %s\n\n",
		display.Plural(int64(f.Services), "service", "services"), f.Online,
		orUnknown(f.Range()), orUnknown(display.Percent(f.Uptime)), e.address(g.JSON()))
	for _, item := range g.services[:min(PageRows, len(g.services))] {
		e.writeServiceLine(b, item)
	}
	return Asset{markdownKey(g.Key(1)), b.Bytes()}
}

// facilitatorsMarkdown lists facilitators by the volume of 30 days.
func (e *Renderer) facilitatorsMarkdown() Asset {
	key := bareKey(facilitatorsRoute, "")
	b := e.startMarkdown("Facilitators", key)
	items := make([]*site.FacilitatorListItem, len(e.snapshot.Facilitators))
	for i := range items {
		items[i] = &e.snapshot.Facilitators[i].FacilitatorListItem
	}
	site.SortFacilitators(items, site.Timeframe30d)
	fmt.Fprintf(b,
		"\n%s, ranked by the volume settled on chain over 30 days. All figures are lower bounds. As JSON: "+
			"%s\n", display.Plural(int64(len(items)), "facilitator", "facilitators"),
		e.address(bareKey("facilitators", "")))
	b.WriteString("\n| Name | Volume, 30 days | Settlements, 30 days | Last settlement | Verification " +
		"|\n|---|---|---|---|---|\n")
	for _, f := range items {
		volume, count := display.Dollars(f.VolumeUSD30d), display.Number(f.TxCount30d)
		if f.Verification != site.VerificationOnChain || e.isUnread(e.facilitators[f.FacilitatorID]) {
			volume, count = orUnknown(""), orUnknown("")
		}
		fmt.Fprintf(b, "| [%s](%s) | %s | %s | %s | %s |\n",
			display.Markdown(cmp.Or(f.Name, f.FacilitatorID), display.MaxName),
			e.address(markdownKey(facilitatorKey(f.FacilitatorID))), volume, count,
			orUnknown(markdownTime(f.LastActivityAt)), display.Markdown(f.Verification, display.MaxCode))
	}
	return Asset{markdownKey(key), b.Bytes()}
}

func (e *Renderer) statusMarkdown() Asset {
	key := bareKey(statusRoute, "")
	b := e.startMarkdown("Status", key)
	writeStatus(b, &e.snapshot.Status, e.snapshot.Incidents, e.address(bareKey("status", "")),
		e.serviceMarkdownAddress)
	return Asset{markdownKey(key), b.Bytes()}
}

// serviceMarkdownAddress returns the address of a service's Markdown page.
func (e *Renderer) serviceMarkdownAddress(slug string) string {
	return e.address(markdownKey(serviceKey(slug)))
}

func (e *Renderer) facilitatorMarkdown(f *site.FacilitatorDetail) Asset {
	key := facilitatorKey(f.FacilitatorID)
	b := e.startMarkdown(display.Markdown(cmp.Or(display.Line(f.Name, display.MaxTitle), f.FacilitatorID),
		display.MaxTitle), key)
	measured := f.Verification == site.VerificationOnChain && !e.isUnread(f)
	writeFacilitator(b, f, measured, markdownLinks{JSON: e.address(bareKey("facilitator", f.FacilitatorID)),
		Service: e.serviceMarkdownAddress, Network: func(caip2 string) string { return e.network(caip2).Label }})
	return Asset{markdownKey(key), b.Bytes()}
}

func (e *Renderer) coverageMarkdown() Asset {
	key := bareKey(coverageRoute, "")
	b := e.startMarkdown("Coverage and gaps", key)
	writeCoverage(b, &e.snapshot.Coverage, e.address(bareKey("coverage", "")))
	return Asset{markdownKey(key), b.Bytes()}
}
