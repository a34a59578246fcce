package crowd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"tollbook/site/postgres"
	"tollbook/site/postgres/load"
)

// fate is the state that a service ends in.
type fate int

const (
	well   fate = iota
	partly      // one endpoint does not ask for payment correctly
	down
	unseen // listed a moment ago, not yet visited
)

// service is a service of the crowd during its generation.
type service struct {
	c         *crowd
	k, owner  int
	r         *rand.Rand
	fate      fate
	since     time.Time // when partly or down began
	created   time.Time
	version   int // of the x402 protocol
	scheme    string
	rails     []rail
	endpoints []endpoint
	states    []state // its terms, oldest first
	is        load.Service
	latency   int // typical response time in ms
}

// endpoint is one endpoint of a service.
type endpoint struct {
	method, path, description string
	declared                  bool
	micros                    uint64 // price in micro-dollars
	timeout                   int
}

// cast chooses the properties of service k and lists it.
func (c *crowd) cast(k int) *service {
	s := &service{c: c, k: k, owner: c.owner(k), r: c.random(ofService, k)}
	r := s.r
	s.created = c.o.Moment.Add(-time.Duration(r.ExpFloat64() * float64(130*day))).Add(-time.Hour).
		Truncate(time.Millisecond)
	s.fate = fate(chosen(r, []float64{80, 8, 9.5, 2.5}))
	alive := c.o.Moment.Sub(s.created)
	s.since = c.o.Moment.Add(-time.Duration(float64(alive) * math.Pow(r.Float64(), 3))).Truncate(time.Millisecond)
	if s.fate == unseen {
		s.created = c.o.Moment.Add(-time.Duration(r.IntN(600_000)) * time.Millisecond)
	}
	s.latency = int(math.Min(4000, 25+140*math.Exp(0.9*r.NormFloat64())))
	s.version = 1 + chosen(r, []float64{38, 62})
	s.rails = c.choose(r, 1+chosen(r, []float64{78, 14, 5, 1.5, 0.7, 0.4, 0.2, 0.2}))
	for _, rail := range s.rails {
		if rail.word == "" {
			s.version = 2
		}
	}
	s.scheme = "exact"
	if s.version == 2 && s.rails[0].evm() && r.IntN(30) == 0 {
		s.scheme = "upto"
	}
	owner := brand(c.random(ofOwner, s.owner<<8|1)) + "-" + code(s.owner)
	kind := category(r)
	about := pick(r, topics[kind])
	s.is.Service = postgres.Service{
		ID:          int64(k) + 1,
		Slug:        strings.ToLower(fmt.Sprintf("%s-%s-%s", owner[:strings.IndexByte(owner, '-')], about, code(k))),
		Name:        title(owner[:strings.IndexByte(owner, '-')]) + " " + title(about) + " " + pick(r, nouns),
		Description: describe(r, kind),
		BaseURL:     fmt.Sprintf("https://%s%s.%s.example", strings.ToLower(about), code(k), owner), Category: kind,
		Source:        pick(r, []string{"imported:bazaar", "submitted", "imported:file", "imported:well-known"}),
		CreatedAt:     s.created,
		CheckInterval: 15 * time.Minute, NextCheckAt: s.created,
	}
	if r.IntN(3) > 0 {
		website := fmt.Sprintf("https://%s.example", owner)
		s.is.WebsiteURL = &website
	}
	if r.IntN(20) == 0 {
		at := s.created.Add(time.Hour)
		s.is.VerifiedAt = &at
	}
	s.cover(kind)
	s.change()
	return s
}

// cover adds the endpoints of the service. Half of all services have one; the maximum is 25.
func (s *service) cover(kind string) {
	r := s.r
	n := []int{1, 2, 3, 4 + r.IntN(3), 7 + r.IntN(6), 13 + r.IntN(13)}[chosen(r, []float64{50, 15, 9, 14, 8, 4})]
	base := price(r)
	for i := range n {
		e := endpoint{
			method: "GET", path: "/" + strings.ToLower(pick(r, topics[kind])), declared: r.IntN(3) > 0,
			micros: base, timeout: []int{60, 300, 120, 30}[chosen(r, []float64{50, 35, 10, 5})],
		}
		if r.IntN(2) == 0 {
			e.method = "POST"
		}
		if r.IntN(3) > 0 {
			e.path = "/v1" + e.path
		}
		if i > 0 { // paths are distinct
			e.path += "/" + strings.ToLower(pick(r, verbs)) + code(i)
			if r.IntN(3) == 0 {
				e.micros = price(r)
			}
		}
		if r.IntN(6) > 0 {
			e.description = describe(r, kind)
		}
		s.endpoints = append(s.endpoints, e)
	}
}

// prices are typical prices of calls in micro-dollars; shareOfPrice gives their frequencies.
var prices = []uint64{100, 500, 1000, 2000, 3000, 5000, 10_000, 20_000, 30_000, 50_000, 100_000, 250_000, 500_000,
	1_000_000, 3_000_000, 5_000_000, 10_000_000}
var shareOfPrice = []float64{2, 2, 34, 6, 4, 10, 14, 7, 2, 6, 4, 2, 1.5, 2, 1.5, 1, 1}

// price returns a typical price, or one of many rare prices.
func price(r *rand.Rand) uint64 {
	if r.IntN(7) > 0 {
		return prices[chosen(r, shareOfPrice)]
	}
	return uint64(math.Exp(math.Log(300) + r.Float64()*math.Log(50_000_000.0/300)))
}

// look adds the documents of the site and the domain's registration.
func (s *service) look() {
	r, c := s.r, s.c
	domain := s.is.BaseURL[strings.IndexByte(s.is.BaseURL, '.')+1:]
	at := c.o.Moment.Add(-time.Duration(r.IntN(86_400)) * time.Second)
	if at.Before(s.created) {
		return
	}
	some := func(percent int) *bool { b := r.IntN(100) < percent; return &b }
	s.is.Site = &postgres.SiteFacts{
		CheckedAt: &at, Homepage: some(85), OpenAPI: some(35), Pricing: some(20), LLMsTxt: some(25), Robots: some(55),
		Terms: some(15), Domain: &domain,
	}
	if s.k != s.owner {
		return
	}
	registered := s.created.AddDate(0, 0, -int(r.ExpFloat64()*400)).Truncate(time.Second)
	s.is.Domain = &postgres.DomainFacts{Domain: domain, CheckedAt: &at, Registrar: &registrars[r.IntN(len(registrars))],
		CreatedAt: &registered}
}
