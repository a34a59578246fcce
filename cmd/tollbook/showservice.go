package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"tollbook/site"
	"tollbook/site/postgres"
)

func newServicesShowCommand() *cobra.Command {
	var o dataOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show SLUG",
		Short: "Print what is known of one service, as it was seen",
		Long: `Show prints the facts of one service: what its listing says, when it was visited and is next, and each endpoint with what it
last answered and what it asks for now. What readers are told of it, status, grade, uptime, is judged by build.

EXIT STATUS

0 when they are printed, 1 when there is no such service.`,
		Args: arguments("SLUG"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runServicesShow(cmd.Context(), o, args[0], asJSON, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// serviceFacts is a service as it is printed.
type serviceFacts struct {
	Slug                string          `json:"slug"`
	Name                string          `json:"name"`
	Description         string          `json:"description"`
	BaseURL             string          `json:"base_url"`
	WebsiteURL          *string         `json:"website_url"`
	Category            string          `json:"category"`
	Source              string          `json:"source"`
	CreatedAt           site.Time       `json:"created_at"`
	VerifiedAt          *site.Time      `json:"verified_at"`
	CheckSeconds        int64           `json:"check_interval_seconds"`
	NextCheckAt         site.Time       `json:"next_check_at"`
	LastCheckedAt       *site.Time      `json:"last_checked_at"`
	LastStatus          *string         `json:"last_status"`
	LastSuccessAt       *site.Time      `json:"last_success_at"`
	ConsecutiveFailures int             `json:"consecutive_failures"`
	FailingSince        *site.Time      `json:"failing_since"`
	Endpoints           []endpointFacts `json:"endpoints"`
}

type endpointFacts struct {
	Method         string       `json:"method"`
	Path           string       `json:"path"`
	Origin         string       `json:"origin"`
	FirstSeenAt    site.Time    `json:"first_seen_at"`
	LastPaidAt     *site.Time   `json:"last_paid_at"`
	LastProbedAt   *site.Time   `json:"last_probed_at"`
	Verdict        *string      `json:"verdict"`
	Class          *string      `json:"class"`
	Reason         *string      `json:"reason"`
	ResponseTimeMS *int         `json:"response_time_ms"`
	Prices         []priceFacts `json:"prices"`
}

type priceFacts struct {
	Scheme  string    `json:"scheme"`
	Network string    `json:"network"`
	Asset   string    `json:"asset"`
	PayTo   string    `json:"pay_to"`
	Amount  string    `json:"amount"` // atomic units
	Since   site.Time `json:"since"`
}

func timeOrNull(t *time.Time) *site.Time {
	if t == nil {
		return nil
	}
	return site.TimeOrNull(*t)
}

func newServiceFacts(s *postgres.DueService, prices []postgres.Price) serviceFacts {
	f := serviceFacts{
		Slug: s.Slug, Name: s.Name, Description: s.Description, BaseURL: s.BaseURL, WebsiteURL: s.WebsiteURL, Category: s.Category, Source: s.Source,
		CreatedAt: site.NewTime(s.CreatedAt), VerifiedAt: timeOrNull(s.VerifiedAt), CheckSeconds: int64(s.CheckInterval / time.Second),
		NextCheckAt: site.NewTime(s.NextCheckAt), LastCheckedAt: timeOrNull(s.LastCheckedAt), LastStatus: s.LastStatus, LastSuccessAt: timeOrNull(s.LastSuccessAt),
		ConsecutiveFailures: s.ConsecutiveFailures, FailingSince: timeOrNull(s.FailingSince), Endpoints: []endpointFacts{},
	}
	asked := map[uuid.UUID][]priceFacts{}
	for _, p := range prices {
		network := p.Network
		if p.NetworkCAIP2 != nil {
			network = *p.NetworkCAIP2
		}
		asked[p.EndpointID] = append(asked[p.EndpointID], priceFacts{p.Scheme, network, p.Asset, p.PayTo, p.Amount, site.NewTime(p.Since)})
	}
	for _, e := range s.Endpoints {
		one := endpointFacts{
			Method: e.Method, Path: e.Path, Origin: e.Origin, FirstSeenAt: site.NewTime(e.FirstSeenAt), LastPaidAt: timeOrNull(e.LastPaidAt), LastProbedAt: timeOrNull(e.LastProbedAt),
			Verdict: e.Verdict, Class: e.Class, Reason: e.Reason, ResponseTimeMS: e.ResponseTimeMS, Prices: asked[e.ID],
		}
		if one.Prices == nil {
			one.Prices = []priceFacts{}
		}
		f.Endpoints = append(f.Endpoints, one)
	}
	return f
}

func runServicesShow(ctx context.Context, o dataOptions, slug string, asJSON bool, stdout io.Writer) error {
	var f serviceFacts
	err := withDatabase(ctx, o, func(db *database) error {
		s, err := db.ServiceBySlug(ctx, slug)
		if err != nil {
			return err
		}
		if s == nil {
			return fmt.Errorf("no service %q is listed; tollbook services list shows all", slug)
		}
		prices, err := db.CurrentPrices(ctx, s.ID)
		if err != nil {
			return err
		}
		f = newServiceFacts(s, prices)
		return nil
	})
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(stdout, f)
	}
	return f.print(stdout)
}

// print writes it for people.
func (f *serviceFacts) print(stdout io.Writer) error {
	t := newTable(stdout)
	t.row("Service", f.Slug)
	t.row("Name", f.Name)
	t.row("About", f.Description)
	t.row("Category", f.Category)
	t.row("Address", f.BaseURL)
	t.row("Website", orDash(f.WebsiteURL))
	t.row("Source", f.Source+", since "+f.CreatedAt.String())
	t.row("Verified", orNever(f.VerifiedAt))
	t.row("Last visit", orNever(f.LastCheckedAt)+", "+orDash(f.LastStatus))
	t.row("Last paid", orNever(f.LastSuccessAt))
	t.row("Next visit", f.NextCheckAt.String())
	if f.FailingSince != nil {
		t.row("Failing", fmt.Sprintf("%d visits, since %s", f.ConsecutiveFailures, f.FailingSince))
	}
	for _, e := range f.Endpoints {
		t.row("Endpoint", fmt.Sprintf("%s (%s)", site.DeclaredPath{Method: e.Method, Path: e.Path}, e.Origin))
		t.row("", fmt.Sprintf("%s at %s: %s", orDash(e.Class), orNever(e.LastProbedAt), orDash(e.Reason)))
		for _, p := range e.Prices {
			t.row("", fmt.Sprintf("asks %s of %s on %s for %s, since %s", p.Amount, p.Asset, p.Network, p.PayTo, p.Since))
		}
	}
	return t.flush()
}

func orNever(t *site.Time) string {
	if t == nil {
		return "never"
	}
	return t.String()
}
