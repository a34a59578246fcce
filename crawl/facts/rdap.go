package facts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"tollbook/site/jsontext"
)

// Domain is the registered domain to which a service's host belongs.
type Domain struct {
	Name string // registrable domain: "acme.example" of "api.acme.example"

	// Suffix is set for a name below a private suffix such as vercel.app. Such a name is not registered, so no registry
	// answers about it. Some of these suffixes are sold like public ones.
	Suffix string
}

// DomainOf returns the registrable domain of a host by the public suffix list. It returns false for addresses and for
// names outside the public DNS, such as those below .test.
func DomainOf(host string) (Domain, bool) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return Domain{}, false
	}
	suffix, icann := publicsuffix.PublicSuffix(host)
	name, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil || !icann && !strings.Contains(suffix, ".") {
		return Domain{}, false
	}
	if !icann {
		return Domain{name, suffix}, true
	}
	return Domain{Name: name}, true
}

// Registration is a registry's record of a domain. A zero Created or an empty Registrar means unknown.
type Registration struct {
	Registrar string
	Created   time.Time
}

// BootstrapURL is the URL of IANA's list of RDAP servers by top-level domain.
const BootstrapURL = "https://data.iana.org/rdap/dns.json"

// Bootstrap maps top-level domains to their RDAP servers.
type Bootstrap map[string][]string // by suffix, without a dot at either end

// ReadBootstrap reads IANA's list (RFC 9224).
func ReadBootstrap(doc []byte) (Bootstrap, error) {
	b := Bootstrap{}
	text, err := readJSON(doc)
	if err != nil {
		return nil, fmt.Errorf("list of RDAP servers: %w", err)
	}
	for _, raw := range objectOf(text).list("services") {
		service := jsontext.List(raw)
		if len(service) < 2 {
			continue
		}
		var servers []string
		for _, s := range jsontext.List(service[1]) {
			if u, err := url.Parse(scalar(s)); err == nil && (u.Scheme == "https" || u.Scheme == "http") &&
				u.Host != "" {
				servers = append(servers, strings.TrimRight(u.String(), "/")+"/")
			}
		}
		// https first
		slices.SortStableFunc(servers, func(a, b string) int { return strings.Compare(scheme(b), scheme(a)) })
		for _, suffix := range jsontext.List(service[0]) {
			if s := strings.ToLower(strings.Trim(scalar(suffix), ".")); s != "" && len(servers) > 0 {
				b[s] = servers
			}
		}
	}
	if len(b) == 0 {
		return nil, fmt.Errorf("list of RDAP servers: %w", errNoDocument)
	}
	return b, nil
}

func scheme(address string) string {
	s, _, _ := strings.Cut(address, ":")
	return s
}

// Server returns the RDAP server of a domain, that of its longest suffix in the list, or else in unlistedServers; ""
// for none.
func (b Bootstrap) Server(domain string) string {
	for suffix := domain; suffix != ""; _, suffix, _ = strings.Cut(suffix, ".") {
		if servers := b[suffix]; len(servers) > 0 {
			return servers[0]
		}
	}
	return unlistedServers[domain[strings.LastIndexByte(domain, '.')+1:]]
}

// maxBootstrap is the most that is read of IANA's list, in bytes; the list has 70 kB.
const maxBootstrap = 4 << 20

// Bootstrap requests the list of RDAP servers. It also returns the list as received, to be stored.
func (f *Fetcher) Bootstrap(ctx context.Context, address string) (Bootstrap, []byte, error) {
	doc, err := f.get(ctx, address, request{accept: "application/json", limit: maxBootstrap})
	if err != nil {
		return nil, nil, err
	}
	if doc.status != 200 || doc.truncated {
		return nil, nil, fmt.Errorf("get %s: the answer is %d", address, doc.status)
	}
	b, err := ReadBootstrap(doc.body)
	return b, doc.body, err
}

// Errors of a query to a registry.
var (
	ErrUnregistered = errors.New("the registry has no such domain")
	ErrLater        = errors.New("the registry did not answer")
)

// RegistrationURL returns the URL of a domain at a registry's RDAP server.
func RegistrationURL(server, domain string) string {
	return server + "domain/" + url.PathEscape(domain)
}

// Registration asks a registry's RDAP server about a domain. It returns ErrUnregistered if the registry has no such
// domain. If another try may help, it returns an error that wraps ErrLater, and the pause that the registry asks for.
func (f *Fetcher) Registration(
	ctx context.Context, server, domain string,
) (r Registration, retryIn time.Duration, err error) {
	doc, err := f.get(ctx, RegistrationURL(server, domain),
		request{accept: "application/rdap+json, application/json", limit: maxPage, anySite: true})
	switch {
	case err != nil:
		return r, 0, fmt.Errorf("%w: %w", ErrLater, err)
	case doc.status == 404:
		return r, 0, ErrUnregistered
	case doc.status != 200:
		return r, doc.retryAfter, fmt.Errorf("%w: the answer is %d", ErrLater, doc.status)
	}
	r, err = ReadRegistration(doc.body, domain, f.o.Now())
	return r, 0, err
}

// ReadRegistration reads an RDAP answer about a domain (RFC 9083). It ignores a date before 1980 or in the future.
func ReadRegistration(doc []byte, domain string, now time.Time) (Registration, error) {
	top, err := readTop(doc)
	if err != nil {
		return Registration{}, fmt.Errorf("answer about %s: %w", domain, err)
	}
	if top.text("objectClassName") != "domain" && !top.Has("events") && !top.Has("entities") {
		return Registration{}, fmt.Errorf("answer about %s: %w", domain, errNoDocument)
	}
	if name := strings.ToLower(strings.TrimSuffix(top.text("ldhName"), ".")); name != "" && name != domain {
		return Registration{}, fmt.Errorf("answer about %s: it is about %.80q", domain, name)
	}
	var r Registration
	for _, raw := range top.list("events") {
		e := objectOf(raw)
		if strings.ToLower(e.text("eventAction")) != "registration" {
			continue
		}
		if t, ok := parseDate(e.text("eventDate")); ok && t.Year() >= 1980 && !t.After(now.Add(24*time.Hour)) {
			r.Created = t
			break
		}
	}
	for _, raw := range top.list("entities") {
		e := objectOf(raw)
		if slices.ContainsFunc(e.list("roles"),
			func(role json.RawMessage) bool { return strings.ToLower(scalar(role)) == "registrar" }) {
			if r.Registrar = fullName(e); r.Registrar != "" {
				break
			}
		}
	}
	return r, nil
}

// fullName returns the name on an entity's card: ["vcard", [["fn", {}, "text", "Name"], …]].
func fullName(entity object) string {
	card := jsontext.List(entity.Get("vcardArray"))
	if len(card) < 2 {
		return cleanText(entity.text("handle"), 200)
	}
	for _, raw := range jsontext.List(card[1]) {
		if p := jsontext.List(raw); len(p) >= 4 && strings.EqualFold(scalar(p[0]), "fn") {
			return cleanText(scalar(p[3]), 200)
		}
	}
	return ""
}

// parseDate parses the formats in which registries write a time.
func parseDate(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05",
		"2006-01-02T15:04:05-0700", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC().Truncate(time.Millisecond), true
		}
	}
	return time.Time{}, false
}
