package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strings"

	"tollbook/crawl/probe"
	"tollbook/crawl/pull"
	"tollbook/site/postgres"
)

// maxContact is the longest contact, in bytes, because it is part of every request.
const maxContact = 200

// ReadContact reports whether the owner of a service can write to a contact: a URL of a page, a mailto: URL or an
// e-mail address. Nobody can write to "", to a host without a domain, or to an example such as
// https://tollbook.example/bot. Any other text is an error.
func ReadContact(contact string) (isReachable bool, err error) {
	if contact == "" {
		return false, nil
	}
	host, err := contactHost(contact)
	if err != nil {
		return false, err
	}
	return strings.Contains(host, ".") && !probe.IsReserved(host), nil
}

// contactHost returns the host of a contact.
func contactHost(contact string) (string, error) {
	// A parenthesis would end the comment of the user agent; sellers answer browsers, "Mozilla", with pages.
	if len(contact) > maxContact || strings.ContainsAny(contact, " ()<>\"\\") || strings.Contains(contact, "Mozilla") {
		return "", errors.New("it has characters that a user agent can't contain, or is too long")
	}
	u, err := url.Parse(contact)
	if err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil {
		return u.Hostname(), nil
	}
	address, err := mail.ParseAddress(strings.TrimPrefix(contact, "mailto:"))
	if err != nil {
		return "", errors.New("it is neither a URL nor an e-mail address")
	}
	return address.Address[strings.LastIndex(address.Address, "@")+1:], nil
}

// OthersHosts returns the hosts of services that belong to others: not to the operator, who lists their own hosts in
// AllowPrivate of the guard. Each host appears once, in order.
func OthersHosts(services []postgres.Service, guard *probe.Guard) []string {
	var hosts []string
	for _, s := range services {
		if guard.ReachesOthers(s.BaseURL) {
			hosts = append(hosts, host(s.BaseURL))
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// SkippedNotice says that services are not visited because nobody is named to write to.
const SkippedNotice = "crawl.contact is not set: services on hosts of others are not visited"

// Notice returns what the operator should know about the crawl, "" for nothing.
func (c *Crawler) Notice() string {
	if c.skipped.Load() {
		return SkippedNotice
	}
	return ""
}

// skips reports whether a service must not be asked, because one of its URLs reaches others and there is no contact.
// The first such service is logged.
func (c *Crawler) skips(ctx context.Context, slug string, urls ...string) bool {
	if !c.o.NoContact || !slices.ContainsFunc(urls, c.guard.ReachesOthers) {
		return false
	}
	if !c.skipped.Swap(true) {
		c.o.Logger.WarnContext(ctx, SkippedNotice, "service", slug, "do", ContactAdvice)
	}
	return true
}

// ContactAdvice says in one line how to set a contact.
const ContactAdvice = `add contact = "mailto:you@your-domain" to the section [crawl] of tollbook.toml`

// NoContactError is the error of a crawl that would ask others without a contact.
type NoContactError struct {
	Contact string   // the setting: "" or an example
	Hosts   []string // of others, at least one
}

// Unwrap returns pull.ErrNoContact.
func (e *NoContactError) Unwrap() error { return pull.ErrNoContact }

func (e *NoContactError) Error() string {
	whom := e.Hosts[0]
	switch len(e.Hosts) {
	case 1:
	case 2:
		whom = e.Hosts[0] + " and " + e.Hosts[1]
	default:
		whom = fmt.Sprintf("%s and %d other hosts", e.Hosts[0], len(e.Hosts)-1)
	}
	why := "crawl.contact is not set"
	if e.Contact != "" {
		why = fmt.Sprintf("crawl.contact %s is only an example", e.Contact)
	}
	return fmt.Sprintf(`visit %s: %s, so nobody there can ask who visits; add to tollbook.toml:

    [crawl]
    contact = "mailto:you@your-domain"    # or the URL of a page about your directory`, whom, why)
}
