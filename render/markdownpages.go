package render

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"tollbook/site"
	"tollbook/site/display"
)

// Limits of Markdown pages; the JSON is complete.
const (
	markdownServices = 500 // on the status page
	markdownAccounts = 100 // of a facilitator, and candidates on the coverage page
)

// writeServiceLine writes a service in a list.
func (e *Renderer) writeServiceLine(b *bytes.Buffer, item *site.ServiceListItem) {
	fmt.Fprintf(b, "- [%s](%s) %s: %s%s, price from %s, uptime %s over 24 hours\n", item.Slug,
		e.address(markdownKey(serviceKey(item.Slug))), quoteMarkdown(item.Name, display.MaxName),
		markdownRisk(item), display.Status(item.Status),
		orUnknown(display.DollarsOrNull(item.MinPriceUSD)), orUnknown(display.Percent(item.Uptime24h)))
}

// markdownRisk returns the risk of a service before the other facts of its line, "" without one.
func markdownRisk(item *site.ServiceListItem) string {
	if risk := display.Risk(item.RiskLevel, item.RiskReason); risk != "" {
		return display.Markdown(risk, display.MaxLine) + "; "
	}
	return ""
}

// homeMarkdown returns the figures of the directory and links to its pages.
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
	b.WriteString("\n## Pages\n\n")
	for _, l := range []struct{ name, page string }{
		{"Services", listKey(1)}, {"Categories", bareKey(categoriesRoute, "")},
		{"Networks", bareKey(networksRoute, "")}, {"Changes", bareKey(changesRoute, "")},
		{"Status", bareKey(statusRoute, "")}, {"Facilitators", bareKey(facilitatorsRoute, "")},
		{"Coverage and gaps", bareKey(coverageRoute, "")}, {"API reference", bareKey(referenceRoute, "")},
	} {
		fmt.Fprintf(b, "- [%s](%s)\n", l.name, e.address(markdownKey(l.page)))
	}
	for _, g := range e.pages.guides {
		fmt.Fprintf(b, "- [%s](%s): %s\n", g.Title, e.address(markdownKey(g.Key)), g.Description)
	}
	return Asset{markdownKey(homeKey), b.Bytes()}
}

// statusMarkdown lists the services that are not online, by state.
func (e *Renderer) statusMarkdown() Asset {
	key := bareKey(statusRoute, "")
	b := e.startMarkdown("Status", key)
	s := &e.snapshot.Status
	fmt.Fprintf(b, "\n%d of %s online. The status of each service as JSON: %s\n", s.Online,
		display.Plural(int64(s.Total), "service", "services"), e.address(bareKey("status", "")))
	for _, state := range display.StatusOrder {
		of := slices.DeleteFunc(slices.Clone(s.Services), func(service site.StatusService) bool {
			return display.Status(service.Status) != state
		})
		if len(of) == 0 || state == site.StatusOnline {
			continue
		}
		slices.SortFunc(of, func(a, b site.StatusService) int { return cmp.Compare(a.Slug, b.Slug) })
		fmt.Fprintf(b, "\n## %s: %d\n\n", state, len(of))
		for _, service := range of[:min(markdownServices, len(of))] {
			fmt.Fprintf(b, "- [%s](%s) %s: last checked %s, uptime %s over 24 hours, failures in a row: "+
				"%d\n", service.Slug,
				e.address(markdownKey(serviceKey(service.Slug))),
				quoteMarkdown(service.Name, display.MaxName), orUnknown(iso(service.LastCheckedAt)),
				orUnknown(display.Percent(service.Uptime24h)), service.ConsecutiveFailures)
		}
		writeMarkdownMore(b, len(of)-markdownServices)
	}
	return Asset{markdownKey(key), b.Bytes()}
}

// writeMarkdownMore writes how many entries are left out, if any.
func writeMarkdownMore(b *bytes.Buffer, more int) {
	if more > 0 {
		fmt.Fprintf(b, "\nand %s more in the JSON\n", display.Number(int64(more)))
	}
}

// groupMarkdown returns the first page of a category or a network, cheapest first.
func (e *Renderer) groupMarkdown(g *Group) Asset {
	b := e.startMarkdown(quoteMarkdown(g.name, display.MaxName), g.Key(1))
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
			orUnknown(iso(f.LastActivityAt)), display.Markdown(f.Verification, display.MaxCode))
	}
	return Asset{markdownKey(key), b.Bytes()}
}

// facilitatorMarkdown returns a facilitator with its networks, accounts and services.
func (e *Renderer) facilitatorMarkdown(f *site.FacilitatorDetail) Asset {
	key := facilitatorKey(f.FacilitatorID)
	b := e.startMarkdown(display.Markdown(cmp.Or(display.Line(f.Name, display.MaxTitle), f.FacilitatorID),
		display.MaxTitle),
		key)
	fmt.Fprintf(b, "\n- Verification: %s\n- Website: %s\n", display.Markdown(f.Verification, display.MaxCode),
		orUnknown(display.Link(f.WebsiteURL)))
	if f.Verification == site.VerificationOnChain && !e.isUnread(f) {
		fmt.Fprintf(b,
			"- Volume: %s over 24 hours, %s over 7 days, %s over 30 days, %s all time\n- Settlements: %s over 24 "+
				"hours, %s over 7 days, %s over 30 days, %s all time\n",
			display.Dollars(f.VolumeUSD24h), display.Dollars(f.VolumeUSD7d), display.Dollars(f.VolumeUSD30d),
			display.Dollars(f.VolumeUSDAll), display.Number(f.TxCount24h), display.Number(f.TxCount7d),
			display.Number(f.TxCount30d), display.Number(f.TxCountAll))
	} else {
		b.WriteString(
			"- Volume: unknown, not zero. The networks of its accounts are not read, or its accounts have not been " +
				"confirmed\n")
	}
	fmt.Fprintf(b, "- Last settlement: %s\n- JSON: %s\n", orUnknown(iso(f.LastActivityAt)),
		e.address(bareKey("facilitator", f.FacilitatorID)))
	if len(f.Chains) > 0 {
		b.WriteString("\n## Networks\n\n| Network | Asset | Volume, 30 days | Settlements, 30 days " +
			"|\n|---|---|---|---|\n")
		for _, c := range f.Chains {
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", display.Markdown(e.network(c.NetworkCAIP2).Label,
				display.MaxLine), display.Markdown(display.Asset(c.AssetName), display.MaxCode),
				orUnknown(display.DollarsOrNull(c.VolumeUSD30d)), display.Number(c.TxCount30d))
		}
	}
	if len(f.Settlers) > 0 {
		fmt.Fprintf(b,
			"\n## Settlement accounts\n\n%s; one on several networks is listed for each and counts once.\n\n",
			display.Plural(int64(f.SettlerCount), "account", "accounts"))
		for _, s := range f.Settlers[:min(markdownAccounts, len(f.Settlers))] {
			fmt.Fprintf(b, "- %s on %s\n", display.Markdown(s.Address, display.MaxLine),
				display.Markdown(e.network(s.NetworkCAIP2).Label, display.MaxLine))
		}
		writeMarkdownMore(b, len(f.Settlers)-markdownAccounts)
	}
	if len(f.Services) > 0 {
		b.WriteString("\n## Listed services\n\n")
		for _, s := range f.Services {
			fmt.Fprintf(b, "- [%s](%s) %s\n", s.Slug, e.address(markdownKey(serviceKey(s.Slug))),
				quoteMarkdown(s.Name, display.MaxName))
		}
		writeMarkdownMore(b, f.ServiceCount-len(f.Services))
	}
	return Asset{markdownKey(key), b.Bytes()}
}

// coverageMarkdown returns which settlements are measured on chain and which are not.
func (e *Renderer) coverageMarkdown() Asset {
	key := bareKey(coverageRoute, "")
	b := e.startMarkdown("Coverage and gaps", key)
	c := &e.snapshot.Coverage
	fmt.Fprintf(b,
		"\nThis page as JSON: %s\n\n## Networks\n\n| Network | Services | Measured since | Latest block read "+
			"|\n|---|---|---|---|\n", e.address(bareKey("coverage", "")))
	for i := range c.Networks {
		n := &c.Networks[i]
		since, upTo := "not measured", ""
		if n.Measured {
			since = orUnknown(iso(n.MeasuredSince))
		}
		if n.Cursor != nil {
			upTo = iso(n.Cursor.Time)
		}
		fmt.Fprintf(b, "| %s | %d | %s | %s |\n", display.Markdown(n.Name, display.MaxLine), n.ServiceCount, since,
			orUnknown(upTo))
	}
	b.WriteString(
		"\n## Payments from unidentified senders, 30 days\n\n| Network | Asset | Authorisations | From known " +
			"accounts | From others |\n|---|---|---|---|---|\n")
	for i := range c.Networks {
		for _, t := range c.Networks[i].Tokens {
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", display.Markdown(c.Networks[i].Name, display.MaxLine),
				display.Markdown(display.Asset(t.AssetName), display.MaxCode), display.Number(t.Authorizations30d),
				display.Number(t.Attributed30d), display.Number(t.Unattributed30d))
		}
	}
	v := &c.Volume30d
	b.WriteString("\n## Possible wash volume, 30 days\n\n")
	for _, row := range []struct {
		label string
		sum   site.VolumeSum
	}{{"Total volume", v.Raw}, {"Self-payments: payer and recipient are the same account", v.SelfPayment},
		{"Recipients with a single payer", v.SinglePayer}, {"Volume without both", v.Without}} {
		fmt.Fprintf(b, "- %s: %s in %s\n", row.label, display.Dollars(row.sum.VolumeUSD),
			display.Plural(row.sum.TxCount, "settlement", "settlements"))
	}
	fmt.Fprintf(b, "\n%s\n\n## Services and operators\n\n%s of %s. "+
		"%s\n", display.Markdown(v.Rule, display.MaxDescription),
		display.Plural(int64(c.Operators.ServiceCount), "service", "services"),
		display.Plural(int64(c.Operators.OperatorCount), "operator", "operators"),
		display.Markdown(c.Operators.Rule, display.MaxDescription))
	return Asset{markdownKey(key), b.Bytes()}
}
