package render

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"tollbook/site"
	"tollbook/site/display"
)

// Limits of pages; the JSON is complete.
const (
	maxServices  = 500 // on the status page
	maxIncidents = 20  // likewise
	maxAccounts  = 100 // of a facilitator
)

// writeStatus writes the services that are not online, by state. The function service returns the address of a
// service's page.
func writeStatus(b *bytes.Buffer, s *site.StatusSummary, incidents []site.Incident, json string,
	service func(slug string) string) {
	fmt.Fprintf(b, "\n%d of %s online. The status of each service as JSON: %s\n", s.Online,
		display.Plural(int64(s.Total), "service", "services"), json)
	for i, x := range incidents[:min(maxIncidents, len(incidents))] {
		if i == 0 {
			b.WriteString("\n## Newest incidents\n\n")
		}
		fmt.Fprintf(b, "- [%s](%s) %s: %s from %s to %s, failed checks: %d, cause: %s\n", x.Slug, service(x.Slug),
			markdownQuote(x.Name, display.MaxName), display.Markdown(x.Kind, display.MaxCode), markdownTime(&x.StartedAt),
			orUnknown(markdownTime(x.EndedAt)), x.FailedChecks, display.Markdown(x.Cause, display.MaxCode))
	}
	for _, state := range display.StatusOrder {
		of := slices.DeleteFunc(slices.Clone(s.Services), func(row site.StatusService) bool {
			return display.Status(row.Status) != state
		})
		if len(of) == 0 || state == site.StatusOnline {
			continue
		}
		slices.SortFunc(of, func(a, b site.StatusService) int { return cmp.Compare(a.Slug, b.Slug) })
		fmt.Fprintf(b, "\n## %s: %d\n\n", state, len(of))
		for _, row := range of[:min(maxServices, len(of))] {
			fmt.Fprintf(b, "- [%s](%s) %s: last checked %s, uptime %s over 24 hours, failures in a row: "+
				"%d\n", row.Slug, service(row.Slug),
				markdownQuote(row.Name, display.MaxName), orUnknown(markdownTime(row.LastCheckedAt)),
				orUnknown(display.Percent(row.Uptime24h)), row.ConsecutiveFailures)
		}
		writeMore(b, len(of)-maxServices)
	}
}

// writeMore writes how many entries are left out, if any.
func writeMore(b *bytes.Buffer, more int) {
	if more > 0 {
		fmt.Fprintf(b, "\nand %s more in the JSON\n", display.Number(int64(more)))
	}
}

// markdownLinks are the addresses and names that a page needs.
type markdownLinks struct {
	JSON    string                    // address of the same facts as JSON
	Service func(slug string) string  // address of a service's page
	Network func(caip2 string) string // name of a network
}

// writeFacilitator writes a facilitator with its networks, accounts and services. Its volume is unknown if it is not
// measured.
func writeFacilitator(b *bytes.Buffer, f *site.FacilitatorDetail, measured bool, links markdownLinks) {
	fmt.Fprintf(b, "\n- Verification: %s\n- Website: %s\n", display.Markdown(f.Verification, display.MaxCode),
		orUnknown(display.Link(f.WebsiteURL)))
	if measured {
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
	if f.AvgSettlementUSD30d != nil {
		fmt.Fprintf(b, "- Average settlement: %s over 30 days\n", display.Dollars(*f.AvgSettlementUSD30d))
	}
	if f.Trend7dVsPrev7d != nil {
		fmt.Fprintf(b, "- Volume of 7 days to that of the 7 before: %v\n", *f.Trend7dVsPrev7d)
	}
	fmt.Fprintf(b, "- First settlement: %s\n- Last settlement: %s\n- JSON: %s\n", orUnknown(markdownTime(f.FirstActivityAt)),
		orUnknown(markdownTime(f.LastActivityAt)), links.JSON)
	if len(f.Chains) > 0 {
		b.WriteString("\n## Networks\n\n| Network | Asset | Volume, 30 days | Settlements, 30 days " +
			"|\n|---|---|---|---|\n")
		for _, c := range f.Chains {
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", display.Markdown(links.Network(c.NetworkCAIP2),
				display.MaxLine), display.Markdown(display.Asset(c.AssetName), display.MaxCode),
				orUnknown(display.DollarsOrNull(c.VolumeUSD30d)), display.Number(c.TxCount30d))
		}
	}
	writeSupported(b, f.Supported, links.Network)
	if len(f.Settlers) > 0 {
		fmt.Fprintf(b,
			"\n## Settlement accounts\n\n%s; one on several networks is listed for each and counts once.\n\n",
			display.Plural(int64(f.SettlerCount), "account", "accounts"))
		for _, s := range f.Settlers[:min(maxAccounts, len(f.Settlers))] {
			fmt.Fprintf(b, "- %s on %s", display.Markdown(s.Address, display.MaxLine),
				display.Markdown(links.Network(s.NetworkCAIP2), display.MaxLine))
			if s.Kind != site.SettlerAccount {
				b.WriteString("; a mark in payments that payers send themselves")
			}
			if s.LastSeenAt != nil {
				fmt.Fprintf(b, "; last settlement %s", markdownTime(s.LastSeenAt))
			}
			b.WriteByte('\n')
		}
		writeMore(b, len(f.Settlers)-maxAccounts)
	}
	if len(f.Services) > 0 {
		b.WriteString("\n## Listed services\n\n")
		for _, s := range f.Services {
			fmt.Fprintf(b, "- [%s](%s) %s\n", s.Slug, links.Service(s.Slug),
				markdownQuote(s.Name, display.MaxName))
		}
		writeMore(b, f.ServiceCount-len(f.Services))
	}
}

// writeCoverage writes which settlements are measured on chain and which are not. json is the address of the same facts
// as JSON.
func writeCoverage(b *bytes.Buffer, c *site.CoverageReport, json string) {
	fmt.Fprintf(b,
		"\nThis page as JSON: %s\n\n## Networks\n\n| Network | Services | Measured since | Latest block read "+
			"|\n|---|---|---|---|\n", json)
	for i := range c.Networks {
		n := &c.Networks[i]
		since, upTo := "not measured", ""
		if n.Measured {
			since = orUnknown(markdownTime(n.MeasuredSince))
		}
		if n.Cursor != nil {
			upTo = markdownTime(n.Cursor.Time)
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
}
