package judge

import (
	"fmt"
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
)

// newSiteFacts returns the documents that the newest visit to a service's site found, all nil before the first visit.
func newSiteFacts(f *postgres.ServiceFacts) site.SiteFacts {
	s := f.Site
	if s == nil {
		return site.SiteFacts{}
	}
	return site.SiteFacts{
		Homepage: s.Homepage, OpenAPI: s.OpenAPI, Pricing: s.Pricing, LLMsTxt: s.LLMsTxt, Robots: s.Robots,
		Terms:     s.Terms,
		CheckedAt: timeOrNull(s.CheckedAt),
	}
}

// newDomainFacts returns what the registry of a service's domain answered. A name on a free host has no facts, because
// the domain's age is the host's. An age is in whole days.
func newDomainFacts(f *postgres.ServiceFacts, freeHost bool, now time.Time) site.DomainFacts {
	d := site.DomainFacts{FreeHost: freeHost}
	if f.Domain == nil || f.Domain.Suffix != nil || d.FreeHost {
		return d
	}
	d.Registrar, d.CreatedDate, d.CheckedAt = f.Domain.Registrar, timeOrNull(f.Domain.CreatedAt),
		timeOrNull(f.Domain.CheckedAt)
	if f.Domain.CreatedAt != nil {
		d.AgeDays = new(daysBetween(*f.Domain.CreatedAt, now))
	}
	return d
}

// youngDays is the age in days below which a domain is young.
const youngDays = 30

// domainFlags returns the risk flags of a service's domain: it is younger than youngDays, or it is on the list of free
// hosts. A name below a public suffix of another owner is a hint.
func domainFlags(f *postgres.ServiceFacts, d site.DomainFacts) []site.RiskFlag {
	var flags []site.RiskFlag
	host := hostname(f.BaseURL)
	if d.AgeDays != nil && *d.AgeDays < youngDays {
		flags = append(flags, site.RiskFlag{Level: site.RiskWarning, Code: "young_domain",
			Evidence: fmt.Sprintf("%s was registered %d days ago, on %s", f.Domain.Domain, *d.AgeDays,
				d.CreatedDate.Format(time.DateOnly))})
	}
	switch {
	case d.FreeHost:
		flags = append(flags, site.RiskFlag{Level: site.RiskWarning, Code: "free_host",
			Evidence: fmt.Sprintf("%s is on a free-hosting or tunnel domain", host)})
	case f.Domain != nil && f.Domain.Suffix != nil:
		flags = append(flags, site.RiskFlag{Level: site.RiskClean, Code: "free_host",
			Evidence: fmt.Sprintf("the owner of %s gives away or sells names under it",
				*f.Domain.Suffix)})
	}
	return flags
}

// newestFact returns the time of the newest fact behind an assessment, nil without facts.
func newestFact(f *postgres.ServiceFacts, t *site.Traction) *time.Time {
	newest := f.LastCheckedAt
	take := func(t *time.Time) {
		if t != nil && (newest == nil || t.After(*newest)) {
			newest = t
		}
	}
	for _, e := range f.Endpoints {
		if e.Envelope != nil {
			take(&e.Envelope.ReceivedAt)
		}
	}
	if f.Site != nil {
		take(f.Site.CheckedAt)
	}
	if f.Domain != nil {
		take(f.Domain.CheckedAt)
	}
	if t.LastSettlementAt != nil {
		take(&t.LastSettlementAt.Time)
	}
	return newest
}
