package main

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/directory"
	"tollbook/site"
	"tollbook/site/display"
)

func newFindCommand() *cobra.Command {
	var o options
	var q *directoryQuery
	cmd := &cobra.Command{
		Use:   "find [TEXT]...",
		Short: "Find paid services by what they do",
		Long: `Find searches the services of a directory by what they do: in names, descriptions, tags, categories and
endpoints. It knows stems and synonyms, completes the last word, and corrects typing errors. Without a text it lists
all services that pass the filters, the newest first. Each result has a line with its lowest price, networks, status
and uptime of 24 hours, its own words, and the endpoint that matches best. With --network the price is that of this
endpoint on the network.

If nothing matches, find prints how many services match without each of the filters.

` + whichDirectory + `

With --json it prints the response of the API, /v1/search. Each flag is the parameter of that name.

EXIT STATUS

0 if the search ran, also if nothing matches. 1 if the directory could not be read, 2 for an error in the command
line, such as an unknown network.`,
		Example: "  tollbook find \"speech to text\" --network base --max-price 0.01\n" +
			"  tollbook find --category AI --verified --sort uptime\n" +
			"  tollbook find ocr --json | jq -r '.data[].slug'",
		Args:    cobra.ArbitraryArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return o.validate(cmd.Flags()) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return runQuery(cmd, &o, q, args, searchText)
		},
	}
	o.AddFlags(cmd.Flags())
	q = newQuery(cmd, "search")
	return cmd
}

// searchText returns the results of a search for people.
func searchText(
	_ context.Context, r *directory.Reader, q *directoryQuery, values url.Values, body []byte,
) (string, error) {
	var list site.List[site.SearchResult, site.SearchMeta]
	if err := r.Decode(q.route.Pattern, body, &list); err != nil {
		return "", err
	}
	var p page
	m := &list.Meta
	p.addTotal(q, values, m)
	p.addReadings(m.ReadAs)
	if m.Total == 0 {
		p.addWithout(q, values, m.Without)
		return plainText(p.String()), nil
	}
	if len(list.Data) > 0 {
		p.line("")
		p.line("%s", resultLine("SERVICE", "PRICE", "NETWORKS", "STATUS", "UPTIME"))
	}
	for i := range list.Data {
		p.addResult(&list.Data[i], values.Get("network"))
	}
	p.addFacets(m.Facets)
	if m.Page < m.TotalPages {
		p.line("")
		p.line("Page %d of %d. --page %d prints the next one.", m.Page, m.TotalPages, m.Page+1)
	}
	return plainText(p.String()), nil
}

// addTotal adds how many services match what.
func (p *page) addTotal(q *directoryQuery, values url.Values, m *site.SearchMeta) {
	what := prefixed(" ", quoted(values.Get(textParam)), "") + prefixed(" with ", q.describe(values), "")
	switch {
	case m.Total == 0 && what == "":
		p.line("This directory lists no service yet.")
	case m.Total == 0:
		p.wrap("", "Nothing matches"+what+".")
	case what == "":
		p.line("%s", display.Plural(int64(m.Total), "service.", "services."))
	case m.Total == 1:
		p.wrap("", "1 service matches"+what+".")
	default:
		p.wrap("", display.Number(int64(m.Total))+" services match"+what+".")
	}
}

// addWithout adds how many services match without one of the filters, the filters that help alone.
func (p *page) addWithout(q *directoryQuery, values url.Values, without map[string]int) {
	for _, name := range slices.Sorted(maps.Keys(without)) {
		if n := without[name]; n > 0 && values.Get(name) != "" {
			p.wrap("", fmt.Sprintf("%s without %s.", matches(n), q.argument(name, values.Get(name))))
		}
	}
}

func matches(n int) string {
	if n == 1 {
		return "1 service matches"
	}
	return display.Number(int64(n)) + " services match"
}

// resultLine returns a line of the table. A slug that is longer than its column is on a line of its own.
func resultLine(slug, price, networks, status, uptime string) string {
	const slugWidth = 34
	if len(slug) > slugWidth {
		slug += "\n" + strings.Repeat(" ", slugWidth)
	}
	return strings.TrimRight(fmt.Sprintf("%-*s %-10s %-14s %-9s %s", slugWidth, slug, fit(price, 10),
		fit(networks, 14), status, uptime), " ")
}

// addResult adds a service that matches: its line, its risk, its own words and its best endpoint.
func (p *page) addResult(s *site.SearchResult, network string) {
	price, condition := "-", ""
	if s.MinPriceUSD != nil {
		price, condition = display.Dollars(*s.MinPriceUSD), pointed(s.PriceCondition)
	}
	if network != "" && len(s.Endpoints) > 0 { // the endpoint that matches best, on that network
		text, needs := s.Endpoints[0].PriceOn(network)
		if usd, err := site.ParseDecimal(pointed(text)); err == nil {
			price, condition = display.Dollars(usd), needs
		}
	}
	if condition != "" {
		price += "*"
	}
	if !site.ValidSlug(s.Slug) {
		return // a directory that is no Tollbook's: nothing could be shown of it
	}
	uptime := display.Percent(s.Uptime24h)
	p.line("%s", resultLine(s.Slug, price, own(strings.Join(s.Networks, " ")), display.Status(s.Status), uptime))
	p.line("    %s", fit(display.Advice(s.AdviceLevel, s.AdviceReason), columns-4))
	if condition != "" {
		p.line("    %s", fit("* "+display.Line(condition, columns-6), columns-4))
	}
	p.line("    %s", fit(display.Name(s.Name)+prefixed(": ", display.Line(s.Description, display.MaxBlurb), ""),
		columns-4))
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		p.line("    %s", fit(joined(own(e.Method+" "+e.Path), rowPrice(&e.RowEndpoint, network),
			own(pointed(e.Description))), columns-4))
		break
	}
}

// rowPrice returns the price of an endpoint on a network, or its lowest one, with its condition; "" if the price is not
// known.
func rowPrice(e *site.RowEndpoint, network string) string {
	text, condition := e.PriceOn(network)
	if text == nil {
		text, condition = e.PriceOn("")
	}
	usd, err := site.ParseDecimal(pointed(text))
	if err != nil {
		return ""
	}
	return display.Dollars(usd) + prefixed(" (", display.Line(condition, display.MaxLine), ")")
}

// pointed returns the text, or "" without one.
func pointed(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// addFacets adds how many of the services have each value of some members.
func (p *page) addFacets(facets map[string]map[string]int) {
	for _, name := range slices.Sorted(maps.Keys(facets)) {
		var parts []string
		for _, value := range slices.Sorted(maps.Keys(facets[name])) {
			parts = append(parts, fmt.Sprintf("%s %d", own(value), facets[name][value]))
		}
		p.line("")
		p.wrap("", own(name)+": "+strings.Join(parts, ", "))
	}
}
