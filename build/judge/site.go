package judge

import (
	"time"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/invisible"
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

// PublishSiteAnswers returns the published form of the answers of a site.
func PublishSiteAnswers(answers []postgres.SiteAnswer) []site.EvidenceSiteAnswer {
	list := []site.EvidenceSiteAnswer{}
	for _, a := range answers {
		answer := site.EvidenceSiteAnswer{Document: a.Document, URL: invisible.Replace(a.URL),
			ContentType: invisible.ReplaceOrNull(a.ContentType), Exists: a.Exists, Reason: a.Reason,
			Problem: invisible.ReplaceOrNull(a.Problem), Declared: a.Declared, Skipped: []site.EvidenceSkipped{}}
		for _, skipped := range a.Skipped {
			answer.Skipped = append(answer.Skipped, site.EvidenceSkipped{Reason: skipped.Reason,
				Meaning: site.SkipMeaning(skipped.Reason), Count: skipped.Count})
		}
		if a.Status != 0 {
			answer.Status = &a.Status
		}
		list = append(list, answer)
	}
	return list
}

// addSiteEvidence adds the answers behind the facts of a service's site and domain, and who verified the service.
func addSiteEvidence(f *postgres.ServiceFacts, e *site.Evidence) {
	e.SiteAnswers = []site.EvidenceSiteAnswer{}
	if f.Site != nil {
		e.SiteAnswers = PublishSiteAnswers(f.Site.Answers)
	}
	if d := f.Domain; d != nil {
		e.Registration = &site.EvidenceRegistration{Domain: d.Domain, PrivateSuffix: d.Suffix, URL: d.URL,
			Registered: d.Registered, CheckedAt: timeOrNull(d.CheckedAt), Registrar: d.Registrar,
			CreatedDate: timeOrNull(d.CreatedAt)}
	}
	switch {
	case f.VerifiedAt == nil:
	case f.OwnerProved:
		e.VerifiedBy = new(site.VerifiedByOwner)
	default:
		e.VerifiedBy = new(site.VerifiedByOperator)
	}
}

// youngDays is the age in days below which a domain is young.
const youngDays = 30

// flagYoung flags a domain that is younger than youngDays.
func flagYoung(f *postgres.ServiceFacts, d site.DomainFacts) *site.RiskFlag {
	if d.AgeDays == nil || *d.AgeDays >= youngDays {
		return nil
	}
	return newFlag(site.RiskWarning, "young_domain", "%s was registered %s ago, on %s", f.Domain.Domain,
		display.PlainPlural(int64(*d.AgeDays), "day", "days"), dayOf(*d.CreatedDate))
}

// flagFreeHost flags a host on the list of free hosts. A name below a public suffix of another owner is a hint.
func flagFreeHost(f *postgres.ServiceFacts, d site.DomainFacts) *site.RiskFlag {
	switch {
	case d.FreeHost:
		return newFlag(site.RiskWarning, "free_host", "%s is on a free-hosting or tunnel domain", hostname(f.BaseURL))
	case f.Domain != nil && f.Domain.Suffix != nil:
		return newFlag(site.RiskClean, "free_host", "the owner of %s gives away or sells names under it",
			*f.Domain.Suffix)
	}
	return nil
}

// dayOf returns the UTC day of an instant as pages show it.
func dayOf(t site.Time) string { return t.UTC().Format(display.DayLayout) }

// minuteOf returns an instant to the minute as pages show it.
func minuteOf(t site.Time) string { return t.UTC().Format(display.MinuteLayout) + " UTC" }

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
