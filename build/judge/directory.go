// Package judge turns facts into judgments: status, uptime, compliance, prices, revenue and risk of each service, and
// the aggregates of a directory.
//
// A judgment is a function of facts, options and the time of the build, so a better formula needs a new build and no
// new crawl. The package reads no files, no database, no network and no clock. Nothing in it may depend on the order of
// a map.
package judge

import (
	"time"

	"tollbook/build/judge/directory"
	"tollbook/build/judge/price"
	"tollbook/build/judge/revenue"
	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/polls"
)

// Options of a judgment.
type Options struct {
	Now       time.Time // every judgment is as of then
	Next      time.Time // of the next build
	BaseURL   string    // of the directory
	FreeHosts listing.FreeHosts
	Explorers map[string]string // the operator's URLs of accounts by CAIP-2 id, "" for none

	// LastGood contains what an earlier build judged of services whose facts cannot be read now, by slug: the row, the
	// trend and the detail. They are published again, and no judgment of another service depends on them.
	LastGood map[string]*site.Listing
}

// Directory judges a directory whose facts do not all fit into memory. Call Survey for all services, then Prepare, then
// Service and Add for each service in the order of slugs, then Finish.
type Directory struct {
	// Snapshot has the rows of all services after Survey, all but the aggregates after Prepare, and everything but
	// the details of services after Finish.
	Snapshot *site.Snapshot

	options    Options
	facts      *postgres.Facts
	hours      lastHours
	market     *price.Market // by category
	networks   *price.Market // by the short name of a network
	weeks      *price.Weeks
	claims     [][]claim
	unstable   []int // places of services whose recipients keep changing
	danger     dangerAccounts
	revenue    *revenueIndex
	operators  *operatorIndex
	operatorOf []int             // by service: the first service of its operator
	incidents  [][]site.Incident // by service, newest first
	beside     *beside
	live       map[int][]site.SharedWithItem
	inFeed     map[string]bool // slugs of services with a record in the feed of changes
	aggregate  *directory.Counter
	settlers   *revenue.FacilitatorServices
}

// New begins to judge facts. It sums the hours of all services and drops them from the facts.
func New(f *postgres.Facts, o Options) *Directory {
	n := len(f.Services)
	d := &Directory{
		Snapshot: &site.Snapshot{Now: site.NewTime(o.Now), Next: site.NewTime(o.Next),
			Services: make([]site.Listing, n)},
		options: o, facts: f, hours: sumHours(f, o.Now), market: price.NewMarket(), networks: price.NewMarket(),
		weeks:  price.NewWeeks(o.Now),
		claims: make([][]claim, n),
		inFeed: map[string]bool{},
	}
	for i := range f.Services {
		f.Services[i].Hours = nil
	}
	return d
}

// Survey judges the rows, prices and recipients of the services from one place up to another, whose facts must have
// their endpoints. It calls each, unless that is nil, with the active endpoints of each service, and with whether none
// of its recipients keeps changing.
func (d *Directory) Survey(from, to int, each func(i int, endpoints []site.Endpoint, isStable bool)) {
	for i := from; i < to; i++ {
		f := &d.facts.Services[i]
		if last := d.options.LastGood[f.Slug]; last != nil {
			d.Snapshot.Services[i].Item = last.Item
			continue
		}
		dropUnpayable(f)
		o := newOffer(f, d.options.Now)
		detail := newDetail(f, &o, &d.hours.services[i], d.options.Now)
		detail.GoneSince = goneSince(f.Runs)
		d.Snapshot.Services[i].Item = detail.Item()
		d.market.Add(f.Category, i, &o.prices)
		for _, p := range newNetworkPrices(&o) {
			d.networks.AddPrices(p.Network, i, p.USD, p.PlausibleUSD, nil)
		}
		d.claims[i] = listClaims(f, d.options.Now)
		isStable := findUnstable(findPayToChanges(f), d.options.Now) == ""
		if !isStable {
			d.unstable = append(d.unstable, i)
		}
		if each != nil {
			each(i, o.endpoints, isStable)
		}
	}
}

// RevenueQuery returns the recipients and tokens whose settlements the facts must have before Prepare. It needs the
// Survey of all services.
func (d *Directory) RevenueQuery() ([]ledger.Recipient, []ledger.CountedToken) {
	measured := measuredNetworks(d.facts.Chains)
	p := newOwnership(d.facts.Services, d.claims, measured, d.options.FreeHosts, d.options.Now)
	d.operatorOf = numberOperators(d.facts.Services, d.claims, d.options.FreeHosts)
	return p.queryRecipients(d.facts.Services, d.operatorOf, dayNumber(d.options.Now)),
		listCountedTokens(d.facts.Facilitators)
}

// Prepare judges what depends on all services: the ranks of prices, revenue, logs, facilitators and coverage. It drops
// facts that nothing else is judged by.
func (d *Directory) Prepare() {
	s, f, now := d.Snapshot, d.facts, d.options.Now
	d.revenue = newRevenueIndex(f, d.claims, d.options.FreeHosts, now)
	d.danger = findDanger(d.unstable, f.Services, d.claims, now)
	if d.operatorOf == nil { // RevenueQuery was not asked
		d.operatorOf = numberOperators(f.Services, d.claims, d.options.FreeHosts)
	}
	d.market.Sort(d.operatorOf)
	d.networks.Sort(d.operatorOf)
	d.judgeIncidents()
	d.live = findLive(s.Services, d.claims)
	s.Checks = globalLog(f)
	judgeChanges(s, f, now)
	for _, r := range s.Changes.Feed {
		d.inFeed[r.Slug] = true
	}
	directory.Group(s, d.options.Explorers, d.market.Distributions(), d.networks.Networks())
	o := newObservatory(f, now)
	s.Facilitators = newFacilitators(f.Facilitators, o, now)
	d.operators = newOperatorLinks(f.Services, d.claims, d.options.FreeHosts, now)
	s.Coverage = newCoverage(f, s.ListedItems(), d.revenue, o, d.operators, now)
	revenue.AddNetworks(s)
	s.Sources = directory.NewSources(f, now)
	s.Matrix = o.Matrix(s.Facilitators)
	s.Flow = revenue.NewFlow(s, d.revenue.ownership.payments, len(d.revenue.measured) > 0)
	d.revenue.ownership.payments = nil
	d.aggregate, d.settlers = directory.NewAggregate(len(s.Services), now), revenue.NewFacilitatorServices(s)
	if f.Revenue != nil {
		f.Revenue.Payees = nil
	}
	f.Log, f.Changes, f.ChangeLogs, f.Facilitators, f.Chains = checks.LogFacts{}, nil, nil, nil, nil
	f.Polls = polls.Facts{}
}

// newObservatory returns the judge of what facilitators answer.
func newObservatory(f *postgres.Facts, now time.Time) *directory.Observatory {
	list := make([]ledger.Facilitator, len(f.Facilitators))
	for i := range list {
		list[i] = f.Facilitators[i].Facilitator
	}
	return directory.NewObservatory(&f.Polls, list, f.Tokens, now)
}

// Service judges everything about the ith service, whose facts must be complete. Several goroutines may call it at
// once.
func (d *Directory) Service(i int) site.Listing {
	if last := d.options.LastGood[d.facts.Services[i].Slug]; last != nil {
		return *last
	}
	return judgeService(d.input(i), d.options.Now)
}

// Add adds the ith service to the aggregates and drops its facts. Of its judgments the snapshot keeps the trend, the
// uptime of 30 days, the risk, the advice, whether the service is ready for payment and, for the feed of changes, the
// prices.
func (d *Directory) Add(i int, l *site.Listing) {
	d.aggregate.Add(&l.Detail)
	d.settlers.Add(l)
	if l.Detail.GoneSince == nil && l.Detail.DelistedAt == nil {
		d.weeks.Add(l.Detail.Category, i, d.facts.Services[i].Assessments)
	}
	row := &d.Snapshot.Services[i]
	row.Trend, row.Uptime30d = l.Trend, l.Uptime30d
	if l.ListingDetail != nil && l.ServiceFiles != nil {
		row.Days = site.UptimeDaysOf(l.Uptime, d.options.Now)
	}
	row.Item.RiskLevel, row.Item.RiskReason = l.Item.RiskLevel, l.Item.RiskReason
	row.Item.PaymentReady = l.Item.PaymentReady
	row.Item.AdviceLevel, row.Item.AdviceReason = l.Item.AdviceLevel, l.Item.AdviceReason
	if d.inFeed[l.Item.Slug] {
		detail := site.ServiceDetail{Slug: l.Item.Slug, Endpoints: l.Detail.Endpoints}
		row.ListingDetail = &site.ListingDetail{Detail: detail}
	}
	d.Drop(i)
	d.revenue.release(i)
}

// Drop drops the facts of the ith service.
func (d *Directory) Drop(i int) {
	f := &d.facts.Services[i]
	f.Endpoints, f.Moves, f.Days, f.DaySums, f.Log = nil, nil, nil, nil, checks.LogFacts{}
	f.Site, f.Domain, f.Synthesis, f.Statements = nil, nil, nil, nil
	f.Changes, f.ChangeLogs, f.Records, f.PriceSpans, f.PriceDays = nil, nil, nil, nil, nil
	f.OfferSpans, f.OfferDays, f.Assessments = nil, nil, nil
}

// Finish writes the aggregates into the snapshot and drops all other facts.
func (d *Directory) Finish() {
	var buyers []ledger.CategoryBuyers
	if d.facts.Revenue != nil {
		buyers = d.facts.Revenue.Categories
		d.facts.Revenue.Services = nil
	}
	d.aggregate.Finish(d.Snapshot, d.hours.checksPerHour, d.facts.OptedOut, buyers)
	weeks := d.weeks.Medians(d.operatorOf)
	for i := range d.Snapshot.Tags {
		t := &d.Snapshot.Tags[i]
		t.PriceWeeks = append(t.PriceWeeks, weeks[t.Tag]...)
	}
	d.settlers.End()
	d.facts.Services = nil
	d.hours.services, d.market, d.claims, d.revenue, d.inFeed = nil, nil, nil, nil, nil
	d.networks, d.weeks, d.operatorOf, d.danger, d.unstable = nil, nil, nil, nil, nil
	d.incidents, d.beside, d.live = nil, nil, nil
	d.aggregate, d.settlers = nil, nil
}

// Endpoints judges the active endpoints of a service.
func Endpoints(f *postgres.ServiceFacts, now time.Time) []site.Endpoint {
	dropUnpayable(f)
	return newOffer(f, now).endpoints
}
