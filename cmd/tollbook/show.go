package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/directory"
	"tollbook/render/guide"
	"tollbook/render/money"
	"tollbook/site"
	"tollbook/site/display"
)

func newShowCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "show SLUG",
		Short: "Show one service: risk, prices and how to pay",
		Long: `Show prints what a directory publishes about one service: its risk first, then state, grade and uptime,
each endpoint with its prices, and how to pay. How to pay is left out if the directory advises against it. The
commands find and best print slugs.

` + whichDirectory + `
"tollbook services show" prints what the database of your own directory stores instead.

With --json it prints the response of the API, /v1/services/SLUG.

EXIT STATUS

0 if it is printed, 1 if there is no such service or the directory could not be read, 2 for an error in the command
line.`,
		Example: "  tollbook show acme-quotes --directory https://directory.example\n" +
			"  tollbook show acme-quotes --json | jq .data.assessment.risk",
		Args:    arguments("SLUG"),
		PreRunE: func(cmd *cobra.Command, _ []string) error { return o.validate(cmd.Flags()) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(func(r *directory.Reader) error {
				return runShow(cmd.Context(), r, args[0], o.JSON, cmd.OutOrStdout())
			})
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runShow(ctx context.Context, r *directory.Reader, slug string, asJSON bool, stdout io.Writer) error {
	if !site.ValidSlug(slug) {
		return noService(ctx, r, slug)
	}
	body, s, err := r.Service(ctx, slug)
	if directory.IsNotFound(err) {
		return noService(ctx, r, slug)
	}
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(stdout, body)
	}
	_, err = io.WriteString(stdout, serviceText(s))
	return err
}

// noService returns the error for a slug that the directory does not list, with the nearest slugs.
func noService(ctx context.Context, r *directory.Reader, slug string) error {
	slugs, err := r.Slugs(ctx)
	if err != nil {
		return err
	}
	return fmt.Errorf("the directory %s lists no service %q%s", r.Name(), own(slug), suggest(slug, slugs,
		"tollbook find lists the services"))
}

// serviceText returns a service for people.
func serviceText(s *site.ServiceDetail) string {
	var p page
	p.addRisk(s)
	p.line("")
	p.value("slug", own(s.Slug))
	p.value("name", display.Name(s.Name))
	p.value("description", display.Line(s.Description, display.MaxDescription))
	p.value("state", joined(display.Status(s.Status), prefixed("up ", display.Percent(s.Uptime.D30), " of 30 days"),
		prefixed("", display.Millis(s.AvgResponseTimeMS), " on average"), s.DownFrom()))
	p.value("grade", own(s.Assessment.Compliance.GradeReason))
	p.value("verified", verifiedText(s))
	p.value("category", own(s.Category))
	p.value("networks", own(strings.Join(s.Networks, " ")))
	p.value("payments", tractionText(&s.Assessment.Traction))
	p.value("last check", timeText(s.LastCheckedAt))
	p.addEnd("paused", s.PausedAt)
	p.addEnd("delisted", s.DelistedAt)
	p.addEnd("gone", s.GoneSince)
	p.value("base URL", own(s.BaseURL))
	p.value("page", own(s.Provenance.CiteAs))
	p.line("")
	p.addEndpoints(s)
	if s.IsAdvised() {
		p.addPayment(s)
	}
	return plainText(p.String())
}

// addEnd adds since when the operator has paused or retired the service, if they have.
func (p *page) addEnd(name string, at *site.Time) {
	if at != nil {
		p.value(name, "since "+timeText(at))
	}
}

// addRisk adds the advice on a service and its risk.
func (p *page) addRisk(s *site.ServiceDetail) {
	reasons := display.Reasons(&s.Assessment.Advice)
	p.wrap("", "Should I pay? "+display.Advice(s.Assessment.Advice.Level, &reasons)+".")
	risk := &s.Assessment.Risk
	if len(risk.Flags) == 0 {
		p.wrap("", "Risk: "+display.Line(risk.Level, display.MaxCode))
	}
	for i := range risk.Flags {
		f := &risk.Flags[i]
		p.wrap("", "Risk: "+display.Risk(f.Level, &f.Title))
		p.wrap("  ", own(f.Evidence))
	}
}

func verifiedText(s *site.ServiceDetail) string {
	switch {
	case s.Verified && s.VerifiedUntil != nil:
		return "yes, until " + timeText(s.VerifiedUntil)
	case s.Verified:
		return "yes"
	case s.VerifiedUntil != nil:
		return "no, since " + timeText(s.VerifiedUntil)
	}
	return "no"
}

// tractionText returns the payments that were measured on chain.
func tractionText(t *site.Traction) string {
	if t.Status != site.TractionMeasured || t.VolumeUSD30d == nil {
		return "not measured"
	}
	buyers := "unknown buyers"
	if t.UniqueBuyers30d != nil {
		buyers = display.Plural(*t.UniqueBuyers30d, "buyer", "buyers")
	}
	text := fmt.Sprintf("at least %s from %s in 30 days", display.Cents(*t.VolumeUSD30d), buyers)
	if t.OrganicVolumeUSD30d == nil || t.OrganicBuyers30d == nil || t.ReturningBuyers30d == nil {
		return text
	}
	return text + fmt.Sprintf("; organic: %s from %d, of which %d came back", display.Cents(*t.OrganicVolumeUSD30d),
		*t.OrganicBuyers30d, *t.ReturningBuyers30d)
}

func timeText(t *site.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format(display.MinuteLayout) + " UTC"
}

// endpointLines is the maximum number of endpoints shown to people. A service may have hundreds.
const endpointLines = 25

// addEndpoints adds a line for each endpoint, and its description.
func (p *page) addEndpoints(s *site.ServiceDetail) {
	if len(s.Endpoints) == 0 {
		p.line("It has no active endpoint.")
		return
	}
	p.line("%s", display.Plural(int64(len(s.Endpoints)), "endpoint", "endpoints"))
	for i := range s.Endpoints {
		if i == endpointLines {
			p.line("  and %d more; --json prints all", len(s.Endpoints)-i)
			break
		}
		e := &s.Endpoints[i]
		p.addEndpoint(own(e.Method+" "+e.Path), endpointPrice(e), e.Networks, e.Description)
		if e.PriceCondition != nil {
			p.line("    %s", fit(own(*e.PriceCondition), columns-4))
		}
		for k := range e.Pricing {
			if s := e.Pricing[k].Settled; s != nil && s.MedianUSD != nil {
				p.line("    %s", fit(money.Settled(s), columns-4))
				break
			}
		}
	}
}

// Widths of the columns of endpoints.
const (
	pathWidth  = 40
	priceWidth = 12
)

// addEndpoint adds an endpoint's line, and a line with its description.
func (p *page) addEndpoint(name, price string, networks []string, description *string) {
	on := fit(own(strings.Join(networks, " ")), columns-2-pathWidth-2-priceWidth-2)
	name = fit(name, pathWidth)
	p.line("%s", strings.TrimRight(fmt.Sprintf("  %s%s  %-*s  %s", name, strings.Repeat(" ", pathWidth-cells(name)),
		priceWidth, price, on), " "))
	if description != nil && *description != "" {
		p.line("    %s", fit(own(*description), columns-4))
	}
}

// endpointPrice returns the lowest price that counts, or why there is none.
func endpointPrice(e *site.Endpoint) string {
	price := "not in USD"
	if e.MinPriceUSD != nil {
		price = display.Dollars(*e.MinPriceUSD)
	} else if len(e.Pricing) == 0 {
		price = "no price"
	}
	if e.VariableAmount {
		price = "to " + price
	}
	return fit(price, priceWidth)
}

// addPayment adds the commands with which a reader asks the first endpoint for its price, and checks the answer.
func (p *page) addPayment(s *site.ServiceDetail) {
	var r guide.Request
	if !slices.ContainsFunc(s.Endpoints, func(e site.Endpoint) (ok bool) {
		if len(e.Pricing) > 0 {
			r, ok = guide.NewRequest(s.BaseURL, &e)
		}
		return ok
	}) {
		return
	}
	p.line("\nhow to pay")
	p.line("  Ask for the price without paying, and compare the answer with the directory:")
	p.line("    %s", r.Curl())
	p.line("    tollbook check --ask '%s'", r.Address())
	p.line("  Then let an x402 client pay, with a limit. The page has a program for it.")
}

// joined joins the parts that are not empty by commas.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// prefixed returns a value between two texts, or "" for an empty value.
func prefixed(before, value, after string) string {
	if value == "" {
		return ""
	}
	return before + value + after
}
