// Package sample is a small world to show everything offline: services that answer 402 over real HTTP on loopback,
// each a name under sample.test, what they did in the ninety days before they were first visited, what they were paid,
// and a chain that goes on paying them.
//
// It owns cast.toml and facilitators.toml, the tables of who there is. What a service answers is a pure function of the
// request and the time (answer), what it did is that function looked at backwards (Histories); what was paid in an hour
// is a function of the start and that hour (Ledger). The World only carries answers to sockets.
// Nothing here is real but the networks and the tokens: names are invented, recipients are hashes that nobody has the
// key of. The package must never know how visits are made (crawl, crawl/probe), stored or shown: whoever wants to visit
// the world takes Dial and RootCAs from it.
package sample

import (
	"strings"
	"time"

	"tollbook/site/postgres"
)

// Domain holds every name of the world. It lies under .test, which no resolver of the Internet answers for.
const Domain = "sample.test"

// Source is the provenance of every service here.
const Source = "imported:sample"

// Notice says on pages what these services are.
const Notice = "Sample data: these services, their addresses and their history are made up to show how Tollbook works."

// Listings are the services as somebody would have listed them before start, each to be visited every interval, by
// slug. Equal arguments give equal listings.
func Listings(start time.Time, interval time.Duration) []postgres.Listing {
	list := make([]postgres.Listing, 0, len(cast()))
	for _, s := range cast() {
		list = append(list, s.listing(start, interval))
	}
	return list
}

func (s *service) listing(start time.Time, interval time.Duration) postgres.Listing {
	l := postgres.Listing{
		Slug: s.Slug, Name: s.Name, Description: s.Description, BaseURL: s.baseURL(), Category: s.Category,
		Source: Source, CreatedAt: s.created(start), Interval: interval,
	}
	if s.Website {
		site := s.baseURL() + "/"
		l.WebsiteURL = &site
	}
	if s.Verified {
		at := ago(start, 1+float64(s.seed%20))
		l.VerifiedAt = &at
	}
	for _, e := range s.endpoints {
		l.Endpoints = append(l.Endpoints, postgres.ListedEndpoint{
			Method: e.declared, Path: e.path, Description: &e.description, MimeType: &s.Mime,
		})
	}
	return l
}

// created is when the service was listed: its age before start, at an hour of its own.
func (s *service) created(start time.Time) time.Time {
	return ago(start, s.Age).Add(-time.Duration(s.seed%(8*3600)) * time.Second)
}

// changed is when the service's nth change happened: some days before start, at an hour of its own.
func (s *service) changed(n int, start time.Time) time.Time {
	return ago(start, s.Change[n].Days).Add(-time.Duration((s.seed>>8+uint64(n)*7919)%86400) * time.Second)
}

// ago counts days back from start, to the millisecond that the contract knows.
func ago(start time.Time, days float64) time.Time {
	return start.UTC().Truncate(time.Millisecond).
		Add(-time.Duration(days * 24 * float64(time.Hour)).Truncate(time.Millisecond))
}

// slugOf is the slug of a host name of the world, whatever its case; false for any other name.
func slugOf(host string) (string, bool) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	slug, ok := strings.CutSuffix(host, "."+Domain)
	return slug, ok && slug != ""
}
