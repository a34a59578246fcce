// Package sample is a small world that shows everything offline. Its services answer 402 over real HTTP on loopback,
// each at a name below sample.test. They have a history of ninety days before the first visit, with payments, and a
// chain on which the payments continue.
//
// The package owns cast.toml and facilitators.toml, the tables of services and facilitators. An answer is a pure
// function of the request and the time (answer). The past is the same function at earlier times (Histories). The
// payments of an hour are a function of the start and that hour (Ledger). The World only serves these over sockets.
//
// Networks and tokens are real. Everything else is invented: names, and recipients, which are hashes without keys. The
// package must never know how visits are made, stored or shown. A visitor of the world uses its Dial and RootCAs.
package sample

import (
	"strings"
	"time"

	"tollbook/site/postgres"
)

// Domain is the domain of all names of the world. It is below .test, which public resolvers do not answer for.
const Domain = "sample.test"

// Source is the source of every listing here.
const Source = "imported:sample"

// Notice is the text that tells readers of pages that these services are not real.
const Notice = "Sample data: these services, their addresses and their history are made up to show how Tollbook works."

// Listings returns the services as if they had been listed before start, each with a visit every interval, by slug.
// Equal arguments give equal listings.
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
		at := daysBefore(start, 1+float64(s.seed%20))
		l.VerifiedAt = &at
	}
	for _, e := range s.endpoints {
		l.Endpoints = append(l.Endpoints, postgres.ListedEndpoint{
			Method: e.declared, Path: e.path, Description: &e.description, MimeType: &s.Mime,
		})
	}
	return l
}

// created returns the time at which the service was listed: its age before start, at an hour that depends on the slug.
func (s *service) created(start time.Time) time.Time {
	return daysBefore(start, s.Age).Add(-time.Duration(s.seed%(8*3600)) * time.Second)
}

// changed returns the time of the service's nth change: days before start, at an hour that depends on the slug.
func (s *service) changed(n int, start time.Time) time.Time {
	return daysBefore(start, s.Change[n].Days).Add(-time.Duration((s.seed>>8+uint64(n)*7919)%86400) * time.Second)
}

// daysBefore returns the time some days before start, to the millisecond.
func daysBefore(start time.Time, days float64) time.Time {
	return start.UTC().Truncate(time.Millisecond).
		Add(-time.Duration(days * 24 * float64(time.Hour)).Truncate(time.Millisecond))
}

// slugOf returns the slug of a host name of the world, in any case; false for other names.
func slugOf(host string) (string, bool) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	slug, ok := strings.CutSuffix(host, "."+Domain)
	return slug, ok && slug != ""
}
