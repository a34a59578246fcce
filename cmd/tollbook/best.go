package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/directory"
	"tollbook/site"
	"tollbook/site/display"
)

func newBestCommand() *cobra.Command {
	var o options
	var q *directoryQuery
	cmd := &cobra.Command{
		Use:   "best [TEXT]...",
		Short: "Recommend services for a task, with reasons",
		Long: `Best ranks the services of a directory that can do a task, and prints for each one the endpoint to use,
its price, a score from 0 to 100 with its terms, and why. It also prints which services match but are not recommended,
and why not: danger, offline, not payable, too expensive. The page /methodology of every directory has the formula.
What a service says of itself can't raise its score.

` + whichDirectory + `

With --json it prints the response of the API, /v1/best.

EXIT STATUS

0 if the ranking is printed, also if no service is recommended. 1 if the directory could not be read, 2 for an error
in the command line, such as an unknown network.`,
		Example: "  tollbook best speech to text --network base --max-price 0.01\n" +
			"  tollbook best \"web search\" --prefer cheapest --json | jq -r '.data[0].endpoint.url'",
		Args:    cobra.ArbitraryArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return o.validate(cmd.Flags()) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return runQuery(cmd, &o, q, args, bestText)
		},
	}
	o.AddFlags(cmd.Flags())
	q = newQuery(cmd, "best")
	return cmd
}

// runQuery sends a request and prints the response: as JSON, or as text makes it for people.
func runQuery(
	cmd *cobra.Command, o *options, q *directoryQuery, args []string,
	text func(ctx context.Context, r *directory.Reader, q *directoryQuery, values url.Values, body []byte) (string, error),
) error {
	words := strings.Join(args, " ")
	if _, err := q.encode(words); err != nil { // before a directory is opened
		return err
	}
	return o.with(func(r *directory.Reader) error {
		ctx := cmd.Context()
		body, values, err := q.get(ctx, r, words)
		if err != nil {
			return err
		}
		if o.JSON {
			return printJSON(cmd.OutOrStdout(), body)
		}
		out, err := text(ctx, r, q, values, body)
		if err == nil {
			_, err = io.WriteString(cmd.OutOrStdout(), out)
		}
		return err
	})
}

// bestText returns a ranking for people.
func bestText(
	_ context.Context, r *directory.Reader, q *directoryQuery, values url.Values, body []byte,
) (string, error) {
	var list site.List[site.Recommendation, site.RankingMeta]
	if err := r.Decode(q.route.Pattern, body, &list); err != nil {
		return "", err
	}
	var p page
	if len(list.Data) == 0 {
		p.wrap("", "No service is recommended"+prefixed(" for ", quoted(values.Get(textParam)), "")+
			prefixed(" with ", q.describe(values), "")+".")
	}
	p.addReadings(list.Meta.ReadAs)
	for i := range list.Data {
		p.addRecommendation(i+1, &list.Data[i])
	}
	p.addExcluded(&list.Meta)
	if len(list.Data) > 0 {
		p.line("")
		p.wrap("", fmt.Sprintf("Ranking %s of %s, prefer %s. tollbook show SLUG shows more, tollbook check --ask URL "+
			"compares before you pay.", own(list.Meta.RankingVersion),
			display.Plural(int64(list.Meta.Candidates), "candidate", "candidates"), own(list.Meta.Prefer)))
	}
	return plainText(p.String()), nil
}

// addRecommendation adds a service with its rank.
func (p *page) addRecommendation(rank int, b *site.Recommendation) {
	price := "price not known"
	if b.PriceUSD != nil {
		if usd, err := site.ParseDecimal(*b.PriceUSD); err == nil {
			price = display.Dollars(usd)
		}
	}
	needs := ""
	if b.PriceCondition != nil {
		needs = prefixed(" (", display.Line(*b.PriceCondition, display.MaxLine), ")")
	}
	const indent = "    "
	p.line("%2d  %s", rank, fit(own(b.Slug), columns-4))
	p.wrap(indent, joined(fmt.Sprintf("score %.1f", b.Score),
		prefixed(price, prefixed(" on ", own(b.Network), "")+needs, "")))
	p.wrap(indent, own(b.Endpoint.Method+" "+b.Endpoint.URL))
	p.wrap(indent, own(b.Why))
	t := &b.Terms
	p.wrap(indent, fmt.Sprintf("relevance %.0f reliability %.0f compliance %.0f price %.0f traction %.0f recency %.0f",
		t.Relevance, t.Reliability, t.Compliance, t.Price, t.Traction, t.Recency))
}

// excludedLines is the maximum number of exclusions shown to people.
const excludedLines = 10

// addExcluded adds the services that match but are not recommended.
func (p *page) addExcluded(m *site.RankingMeta) {
	if len(m.Excluded) == 0 {
		return
	}
	p.line("")
	p.line("Not recommended:")
	for i := range m.Excluded {
		if i == excludedLines {
			break
		}
		p.wrap("    ", own(m.Excluded[i].Slug)+": "+own(m.Excluded[i].Reason))
	}
	if more := max(m.ExcludedCount, len(m.Excluded)) - excludedLines; more > 0 {
		p.line("    and %d more", more)
	}
}

// quoted returns a text in quotation marks, or "" without one.
func quoted(s string) string {
	if s == "" {
		return ""
	}
	return `"` + own(s) + `"`
}
