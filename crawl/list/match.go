package list

import (
	"net"
	"net/url"
	"strings"

	"golang.org/x/net/publicsuffix"

	"tollbook/crawl/source"
	"tollbook/site/postgres"
)

// matcher finds the service that each entry means.
type matcher struct {
	in      *reader
	entries []Entry
	has     []postgres.DueService
	of      []int           // by entry: place of its service, -1 without one
	claimed []bool          // by service
	slugs   map[string]bool // in use, or used by erased services
}

func newMatcher(entries []Entry, o Options, has postgres.Listed) *matcher {
	m := &matcher{
		in: &reader{Options: o}, entries: entries, has: has.Services, of: make([]int, len(entries)),
		claimed: make([]bool, len(has.Services)), slugs: map[string]bool{},
	}
	for i := range m.of {
		m.of[i] = -1
	}
	for slug := range has.Erased {
		m.slugs[slug] = true
	}
	for i := range m.has {
		m.slugs[m.has[i].Slug] = true
	}
	for i := range entries {
		if entries[i].NamesSlug {
			m.slugs[entries[i].Slug] = true
		}
	}
	m.matchSlugs(has)
	m.match(func(s *postgres.DueService) string { return s.BaseURL }, func(e *Entry) string { return e.BaseURL })
	m.match(func(s *postgres.DueService) string { return addressOf(s.BaseURL) }, func(e *Entry) string {
		return addressOf(e.BaseURL)
	})
	m.match(func(s *postgres.DueService) string { return addressOf(s.BaseURL) }, func(e *Entry) string {
		address := addressOf(e.BaseURL)
		host, _, _ := strings.Cut(address, "/")
		if old := has.Moved[source.CanonicalHost(host)]; old != "" {
			return old + address[len(host):]
		}
		return address
	})
	m.match(func(s *postgres.DueService) string {
		if s.Source != sourceFile {
			return "" // somebody else may have given that name
		}
		return s.Name
	}, func(e *Entry) string { return e.Name })
	m.checkURLs()
	return m
}

// matchSlugs finds the services of the entries that name a slug.
func (m *matcher) matchSlugs(has postgres.Listed) {
	places := map[string]int{}
	for i := range m.has {
		places[m.has[i].Slug] = i
	}
	for i := range m.entries {
		e := &m.entries[i]
		if !e.NamesSlug {
			continue
		}
		if at, ok := places[e.Slug]; ok {
			m.of[i], m.claimed[at] = at, true
		} else if has.Erased[e.Slug] && findRemoved(e, -1, has) == nil {
			m.in.fault(e.at["slug"], "slug %s belonged to a service that was erased, and a slug is never given twice; "+
				"choose another or leave it out", e.Slug)
		}
	}
}

// match finds the services of other entries by a value. It counts only if one free service and one free entry have it.
func (m *matcher) match(ofService func(*postgres.DueService) string, ofEntry func(*Entry) string) {
	services, entries := map[string][]int{}, map[string][]int{}
	for i := range m.has {
		if v := ofService(&m.has[i]); v != "" && !m.claimed[i] {
			services[v] = append(services[v], i)
		}
	}
	for i := range m.entries {
		if e := &m.entries[i]; m.of[i] < 0 && !e.NamesSlug {
			entries[ofEntry(e)] = append(entries[ofEntry(e)], i)
		}
	}
	for v, of := range entries {
		if at := services[v]; len(of) == 1 && len(at) == 1 {
			m.of[of[0]], m.claimed[at[0]] = at[0], true
		}
	}
}

// checkURLs adds a fault for each entry whose URL belongs to another service, and for each that moves a service which has
// asked for payment to another domain: prices, recipients, uptime and grade of one seller would become another's.
func (m *matcher) checkURLs() {
	at := map[string]int{}
	for i := range m.has {
		at[m.has[i].BaseURL] = i
	}
	for i := range m.entries {
		e := &m.entries[i]
		if other, taken := at[e.BaseURL]; taken && other != m.of[i] {
			m.in.fault(e.at["url"], "url %s is listed as %s; name that slug, or leave the slug out", e.BaseURL,
				m.has[other].Slug)
		} else if m.of[i] >= 0 {
			if s := &m.has[m.of[i]]; s.LastSuccessAt != nil && !isSameDomain(s.BaseURL, e.BaseURL) {
				m.in.fault(e.at["url"], "url %s is on another domain than %s, where %s has asked for payment; list the "+
					"new address as a service of its own", e.BaseURL, s.BaseURL, s.Slug)
			}
		}
	}
}

// isSameDomain reports whether two URLs have the same registrable domain, or the same host where there is none.
func isSameDomain(a, b string) bool {
	x, y := domainOf(a), domainOf(b)
	return x != "" && x == y
}

// domainOf returns the registrable domain of a URL, or its host where there is none, "" for what is no URL.
func domainOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	host := strings.ToLower(u.Hostname())
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil && net.ParseIP(host) == nil {
		return domain
	}
	return host
}

// addressOf returns a base URL without its scheme, which may change from http to https.
func addressOf(base string) string {
	_, address, _ := strings.Cut(base, "://")
	return address
}
