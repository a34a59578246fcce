package report

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// state returns the result of the last conclusive visit, or "unknown" before there is one. Readers see a status that
// build judges from many visits.
func state(s *postgres.Service) string {
	if s.LastStatus == nil {
		return site.StatusUnknown
	}
	return cmp.Or(*s.LastStatus, site.StatusUnknown)
}

// Services prints the listed services.
func Services(w io.Writer, services []postgres.Service, asJSON bool) error {
	if asJSON {
		return JSONList(w, serviceLines(services))
	}
	if len(services) == 0 {
		_, err := fmt.Fprintln(w, "No services are listed. Add some: tollbook services apply FILE")
		return err
	}
	t := NewTable(w, "SLUG", "STATE", "CATEGORY", "LAST CHECK", "URL")
	for i := range services {
		s := &services[i]
		last := "never"
		if s.LastCheckedAt != nil {
			last = s.LastCheckedAt.UTC().Format(time.DateTime)
		}
		shown := state(s)
		if s.State != postgres.StateListed {
			shown = s.State
		}
		if s.StateBeforeOptOut != nil {
			shown = "opted out"
		}
		t.Row(s.Slug, shown, s.Category, last, s.BaseURL)
	}
	return t.Flush()
}

type serviceLine struct {
	Slug          string     `json:"slug"`
	Name          string     `json:"name"`
	State         string     `json:"state"` // online, degraded, offline; unknown before the first conclusive visit
	BaseURL       string     `json:"base_url"`
	Category      string     `json:"category"`
	LastCheckedAt *site.Time `json:"last_checked_at"`
	NextCheckAt   *site.Time `json:"next_check_at"` // null unless it is visited
	ListingState  string     `json:"listing_state"` // listed, paused, hidden or retired
	OptedOut      bool       `json:"opted_out"`     // hidden, because the owner of its host opted out or it is blocked
}

func serviceLines(services []postgres.Service) []serviceLine {
	lines := make([]serviceLine, len(services))
	for i := range services {
		s := &services[i]
		lines[i] = serviceLine{
			Slug: s.Slug, Name: s.Name, State: state(s), BaseURL: s.BaseURL, Category: s.Category,
			LastCheckedAt: timeOrNull(s.LastCheckedAt), NextCheckAt: nextVisit(s), ListingState: s.State,
			OptedOut: s.StateBeforeOptOut != nil,
		}
	}
	return lines
}

// Service is one service with its endpoints and prices, as services show prints it.
type Service struct {
	Slug                string     `json:"slug"`
	Name                string     `json:"name"`
	Description         string     `json:"description"`
	BaseURL             string     `json:"base_url"`
	WebsiteURL          *string    `json:"website_url"`
	Category            string     `json:"category"`
	Source              string     `json:"source"`
	CreatedAt           site.Time  `json:"created_at"`
	VerifiedAt          *site.Time `json:"verified_at"`
	CheckSeconds        int64      `json:"check_interval_seconds"`
	NextCheckAt         *site.Time `json:"next_check_at"` // null unless it is visited
	ListingState        string     `json:"listing_state"` // listed, paused, hidden or retired
	ListingStateAt      *site.Time `json:"listing_state_at"`
	OptedOut            bool       `json:"opted_out"` // hidden, because the owner of its host opted out or it is blocked
	LastCheckedAt       *site.Time `json:"last_checked_at"`
	LastStatus          *string    `json:"last_status"`
	LastSuccessAt       *site.Time `json:"last_success_at"`
	ConsecutiveFailures int        `json:"consecutive_failures"`
	FailingSince        *site.Time `json:"failing_since"`
	Endpoints           []endpoint `json:"endpoints"`
}

type endpoint struct {
	Method         string     `json:"method"`
	Path           string     `json:"path"`
	Origin         string     `json:"origin"`
	FirstSeenAt    site.Time  `json:"first_seen_at"`
	LastPaidAt     *site.Time `json:"last_paid_at"`
	LastProbedAt   *site.Time `json:"last_probed_at"`
	Verdict        *string    `json:"verdict"`
	Class          *string    `json:"class"`
	Reason         *string    `json:"reason"`
	ResponseTimeMS *int       `json:"response_time_ms"`
	Prices         []price    `json:"prices"`
}

type price struct {
	Scheme  string    `json:"scheme"`
	Network string    `json:"network"`
	Asset   string    `json:"asset"`
	PayTo   string    `json:"pay_to"`
	Amount  string    `json:"amount"` // atomic units
	Since   site.Time `json:"since"`
}

// nextVisit returns when a service is due; nil for one that is not visited.
func nextVisit(s *postgres.Service) *site.Time {
	if s.State != postgres.StateListed {
		return nil
	}
	return timeOrNull(&s.NextCheckAt)
}

// NewService returns the report on a service with its current prices.
func NewService(s *postgres.DueService, prices []checks.Price) Service {
	r := Service{
		Slug: s.Slug, Name: s.Name, Description: s.Description, BaseURL: s.BaseURL, WebsiteURL: s.WebsiteURL,
		Category: s.Category, Source: s.Source, CreatedAt: site.NewTime(s.CreatedAt),
		VerifiedAt: timeOrNull(s.VerifiedAt), CheckSeconds: int64(s.CheckInterval / time.Second),
		NextCheckAt: nextVisit(&s.Service), ListingState: s.State, ListingStateAt: timeOrNull(s.StateAt),
		OptedOut:      s.StateBeforeOptOut != nil,
		LastCheckedAt: timeOrNull(s.LastCheckedAt),
		LastStatus:    s.LastStatus, LastSuccessAt: timeOrNull(s.LastSuccessAt),
		ConsecutiveFailures: s.ConsecutiveFailures, FailingSince: timeOrNull(s.FailingSince),
		Endpoints: []endpoint{},
	}
	byEndpoint := map[uuid.UUID][]price{}
	for _, p := range prices {
		network := p.Network
		if p.NetworkCAIP2 != nil {
			network = *p.NetworkCAIP2
		}
		byEndpoint[p.EndpointID] = append(byEndpoint[p.EndpointID],
			price{p.Scheme, network, p.Asset, p.PayTo, p.Amount, site.NewTime(p.Since)})
	}
	for _, e := range s.Endpoints {
		one := endpoint{
			Method: e.Method, Path: e.Path, Origin: e.Origin, FirstSeenAt: site.NewTime(e.FirstSeenAt),
			LastPaidAt: timeOrNull(e.LastPaidAt), LastProbedAt: timeOrNull(e.LastProbedAt), Verdict: e.Verdict,
			Class: e.Class, Reason: e.Reason, ResponseTimeMS: e.ResponseTimeMS, Prices: byEndpoint[e.ID],
		}
		if one.Prices == nil {
			one.Prices = []price{}
		}
		r.Endpoints = append(r.Endpoints, one)
	}
	return r
}

// Print writes the report.
func (s *Service) Print(w io.Writer, asJSON bool) error {
	if asJSON {
		return JSON(w, s)
	}
	t := NewTable(w)
	t.Row("Service", s.Slug)
	t.Row("Name", s.Name)
	t.Row("About", s.Description)
	t.Row("Category", s.Category)
	t.Row("URL", s.BaseURL)
	t.Row("Website", orDash(s.WebsiteURL))
	t.Row("Source", s.Source+", since "+s.CreatedAt.String())
	t.Row("Verified", orNever(s.VerifiedAt))
	t.Row("Last visit", orNever(s.LastCheckedAt)+", "+orDash(s.LastStatus))
	t.Row("Last paid", orNever(s.LastSuccessAt))
	if s.OptedOut {
		t.Row("State", fmt.Sprintf("opted out by its owner, or blocked, since %s; tollbook services opt-outs says which",
			orNever(s.ListingStateAt)))
	} else if s.ListingState != postgres.StateListed {
		t.Row("State", fmt.Sprintf("%s since %s; tollbook services resume %s lists it again", s.ListingState,
			orNever(s.ListingStateAt), s.Slug))
	}
	t.Row("Next visit", orNever(s.NextCheckAt))
	if s.FailingSince != nil {
		t.Row("Failing", fmt.Sprintf("%d visits, since %s", s.ConsecutiveFailures, s.FailingSince))
	}
	for _, e := range s.Endpoints {
		t.Row("Endpoint", fmt.Sprintf("%s (%s)", listing.DeclaredPath{Method: e.Method, Path: e.Path}, e.Origin))
		t.Row("", fmt.Sprintf("%s at %s: %s", orDash(e.Class), orNever(e.LastProbedAt), orDash(e.Reason)))
		for _, p := range e.Prices {
			t.Row("", fmt.Sprintf("%s of %s on %s to %s, since %s", p.Amount, p.Asset, p.Network, p.PayTo, p.Since))
		}
	}
	return t.Flush()
}
