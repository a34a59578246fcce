package directory

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"tollbook/build/judge/price"
	"tollbook/site"
	"tollbook/site/postgres/ledger"
)

const (
	facilitatorNote = "The sum over all measured facilitators, which settle for other services than listed ones too."
	uptimeMethod    = "The mean of the uptimes of services that have one; each service counts the same."
	networksNote    = "Main networks on which services accept payment; total_testnets counts test networks."
	measurementNote = "Settlements are counted from these times on: on the first of the networks that are read, and " +
		"on all of them."
	tractionMethod = "The sum over services whose traction is measured. What several services receive at one account " +
		"is divided between them, so no dollar is counted twice. A settlement counts at each of them, because it " +
		"cannot be divided, so settlement_count_30d may exceed the settlements of the flow."
	tractionCaveat = "Volumes are lower bounds: unknown facilitators and networks that are not read are not counted. " +
		"Buyers of different services are not compared, so unique_buyers_30d is null."
)

// statsCounter collects the values behind the statistics of a directory.
type statsCounter struct {
	up24, up7, response mean
	endpoints           int
	prices              []site.Decimal

	verified, paymentReady int
	growth                 site.ListingGrowth

	volumes     []*big.Rat // of measured services, 30 days
	settlements int64      // of measured services, 30 days

	organic    organicSums
	byCategory map[string]*organicSums
}

// organicSums are the organic settlements of services with measured traction in 30 days.
type organicSums struct {
	services    int
	usd         big.Rat
	settlements int64
	isUnknown   bool // an earlier build judged one of them without these figures
}

func (s *organicSums) add(t *site.Traction) {
	s.services++
	if t.OrganicVolumeUSD30d == nil || t.OrganicTxCount30d == nil {
		s.isUnknown = true
		return
	}
	s.usd.Add(&s.usd, t.OrganicVolumeUSD30d.Rational())
	s.settlements += *t.OrganicTxCount30d
}

func (a *statsCounter) add(d *site.ServiceDetail, now time.Time) {
	a.endpoints += d.EndpointCount
	a.up24.add(d.Uptime.H24)
	a.up7.add(d.Uptime.D7)
	if d.AvgResponseTimeMS != nil {
		ms := float64(*d.AvgResponseTimeMS)
		a.response.add(&ms)
	}
	for _, e := range d.Endpoints {
		if e.MinPriceUSD != nil {
			a.prices = append(a.prices, *e.MinPriceUSD)
		}
	}
	if d.Verified {
		a.verified++
	}
	if d.PaymentReady {
		a.paymentReady++
	}
	if d.CreatedAt.After(now.AddDate(0, 0, -7)) {
		a.growth.New7d++
	}
	if d.CreatedAt.After(now.AddDate(0, 0, -30)) {
		a.growth.New30d++
	}
	if t := &d.Assessment.Traction; t.Status == site.TractionMeasured && t.VolumeUSD30d != nil && t.TxCount30d != nil {
		a.volumes = append(a.volumes, t.VolumeUSD30d.Rational())
		a.settlements += *t.TxCount30d
		a.organic.add(t)
		if a.byCategory[d.Category] == nil {
			a.byCategory[d.Category] = &organicSums{}
		}
		a.byCategory[d.Category].add(t)
	}
}

// addDemand adds to the categories what was bought of their services. The buyers are those of the snapshot's facts.
func (a *statsCounter) addDemand(tags []site.Tag, buyers []ledger.CategoryBuyers) {
	for i := range tags {
		sums := a.byCategory[tags[i].Tag]
		if sums == nil || sums.isUnknown {
			continue
		}
		demand := &site.CategoryDemand{MeasuredServices: sums.services,
			OrganicVolumeUSD30d: site.DecimalOf(&sums.usd), OrganicTxCount30d: sums.settlements}
		demand.OrganicBuyers30d, demand.ReturningBuyers30d = sums.buyers(tags[i].Tag, buyers)
		tags[i].Demand = demand
	}
}

// buyers returns how many organic buyers a category has, "" for all, and how many of them came back; nil if settlements
// name none.
func (o *organicSums) buyers(category string, of []ledger.CategoryBuyers) (all, returning *int64) {
	n := slices.IndexFunc(of, func(b ledger.CategoryBuyers) bool { return b.Category == category })
	switch {
	case n >= 0:
		return &of[n].Buyers, &of[n].Returning30d
	case o.settlements == 0:
		return new(int64(0)), new(int64(0))
	}
	return nil, nil
}

// finish returns the statistics, all but those that no service says anything about.
func (a *statsCounter) finish(s *site.Snapshot, buyers []ledger.CategoryBuyers) site.AggregateStats {
	st := site.AggregateStats{
		TotalServices: s.Status.Total, TotalEndpoints: a.endpoints,
		Networks:     []site.StatsNetwork{},
		AvgUptime24h: a.up24.value(), AvgUptime7d: a.up7.value(), AvgResponseTimeMS: a.response.value(),
		Pricing:       price.Statistics(a.prices),
		VerifiedCount: a.verified, PaymentReadyCount: a.paymentReady, ListingGrowth: a.growth,
		FacilitatorVolumeNote: facilitatorNote, AvgUptimeMethod: uptimeMethod, TotalNetworksNote: networksNote,
		OnChainMeasurement: measurement(&s.Coverage),
	}
	for _, n := range s.Networks {
		st.Networks = append(st.Networks, site.StatsNetwork{Abbreviation: n.Abbreviation, ServiceCount: n.ServiceCount,
			AvgUptime: n.AvgUptime, Testnet: n.Testnet, IsMainnet: n.IsMainnet})
		if n.Testnet {
			st.TotalTestnets++
		} else {
			st.TotalNetworks++
		}
	}
	slices.SortFunc(st.Networks, func(a, b site.StatsNetwork) int {
		return cmp.Compare(a.Abbreviation, b.Abbreviation)
	})
	st.Traction = a.traction(s, buyers)
	if st.Traction.MeasuredNetworks > 0 {
		st.FacilitatorVolumeUSD30d = new(site.DecimalOf(facilitatorVolume(s)))
	}
	return st
}

// facilitatorVolume returns the volume of all facilitators in 30 days.
func facilitatorVolume(s *site.Snapshot) *big.Rat {
	sum := new(big.Rat)
	for i := range s.Facilitators {
		sum.Add(sum, s.Facilitators[i].VolumeUSD30d.Rational())
	}
	return sum
}

// measurement returns since when networks are measured.
func measurement(c *site.CoverageReport) site.OnChainMeasurement {
	m := site.OnChainMeasurement{Note: measurementNote}
	for i := range c.Networks {
		since := c.Networks[i].MeasuredSince
		if since == nil {
			continue
		}
		if m.MeasuredSince == nil || since.Before(m.MeasuredSince.Time) {
			m.MeasuredSince = since
		}
		if m.AllNetworksMeasuredSince == nil || since.After(m.AllNetworksMeasuredSince.Time) {
			m.AllNetworksMeasuredSince = since
		}
	}
	return m
}

// maxCursorAge is the age in seconds of a network's newest block from which on the network is stale.
const maxCursorAge = 3600

// freshness returns how far behind the reading of networks is.
func freshness(s *site.Snapshot) (f site.FlowFreshness) {
	isStale := map[string]bool{} // by network that is read
	for i := range s.Coverage.Networks {
		n := &s.Coverage.Networks[i]
		if n.Cursor == nil {
			continue
		}
		age := n.Cursor.AgeSeconds
		f.TotalSyncGroups++
		isStale[n.NetworkCAIP2] = age == nil || *age > maxCursorAge
		if isStale[n.NetworkCAIP2] {
			f.StaleSyncGroups++
		}
		if age != nil && (f.OldestCursorAgeSeconds == nil || *f.OldestCursorAgeSeconds < *age) {
			f.OldestCursorAgeSeconds = age
		}
	}
	for i := range s.Facilitators {
		isRead, stale := false, false
		for _, settler := range s.Facilitators[i].Settlers {
			is, ok := isStale[settler.NetworkCAIP2]
			isRead = isRead || ok && settler.Enabled
			stale = stale || is && settler.Enabled
		}
		if isRead {
			f.TotalFacilitators++
		}
		if stale {
			f.StaleFacilitators++
		}
	}
	return f
}

// traction sums the traction of measured services. Its volumes and shares are null unless a network is measured.
func (a *statsCounter) traction(s *site.Snapshot, buyers []ledger.CategoryBuyers) site.DirectoryTraction {
	t := site.DirectoryTraction{AsOf: s.Now, Method: tractionMethod, Caveat: tractionCaveat,
		MeasuredServices: a.organic.services, MeasuredFlowFreshness: freshness(s)}
	for i := range s.Coverage.Networks {
		if s.Coverage.Networks[i].Measured {
			t.MeasuredNetworks++
		}
	}
	if t.MeasuredNetworks == 0 {
		return t
	}
	slices.SortFunc(a.volumes, func(x, y *big.Rat) int { return y.Cmp(x) })
	sum, first := new(big.Rat), make([]*big.Rat, 0, 10)
	for i, v := range a.volumes {
		sum.Add(sum, v)
		if i < cap(first) {
			first = append(first, new(big.Rat).Set(sum))
		}
	}
	t.VolumeUSD30d, t.SettlementCount30d = new(site.DecimalOf(sum)), &a.settlements
	if !a.organic.isUnknown {
		t.OrganicVolumeUSD30d, t.OrganicSettlementCount30d = new(site.DecimalOf(&a.organic.usd)), &a.organic.settlements
		t.OrganicBuyers30d, t.ReturningBuyers30d = a.organic.buyers("", buyers)
	}
	t.CoverageOfMeasuredFlowPct = percent(sum, facilitatorVolume(s))
	if len(first) > 0 {
		t.Top1ServiceSharePct, t.Top10ServicesSharePct = percent(first[0], sum), percent(first[len(first)-1], sum)
	}
	return t
}

// percent returns part of whole in percent, rounded half up to two decimals. It returns nil if whole is zero or less
// than part: a service that is set aside has the figures of an earlier build.
func percent(part, whole *big.Rat) *float64 {
	if whole.Sign() == 0 || part.Cmp(whole) > 0 {
		return nil
	}
	share := new(big.Rat).Quo(part, whole)
	v, _ := new(big.Rat).SetString(share.Mul(share, big.NewRat(100, 1)).FloatString(2))
	f, _ := v.Float64()
	return &f
}
