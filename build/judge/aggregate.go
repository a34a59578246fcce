package judge

import (
	"cmp"
	"math"
	"slices"

	"tollbook/build/judge/price"
	"tollbook/site"
	"tollbook/site/x402"
)

// mean averages values of at most two decimals, some of which may be nil.
type mean struct{ hundredths, n int64 }

func (m *mean) add(v *float64) {
	if v != nil {
		m.hundredths += int64(math.Round(*v * 100))
		m.n++
	}
}

// value returns the average, rounded half up to two decimals, nil without values.
func (m *mean) value() *float64 {
	if m.n == 0 {
		return nil
	}
	v := float64((2*m.hundredths+m.n)/(2*m.n)) / 100
	return &v
}

// groupServices fills in the networks, tags and categories of a snapshot. They are counted in the rows of services.
func groupServices(s *site.Snapshot) {
	s.Networks = newNetworks(s.Services)
	s.Tags = newTags(s.Services)
	s.Categories = []string{}
	for _, t := range s.Tags {
		s.Categories = append(s.Categories, t.Tag)
	}
	slices.Sort(s.Categories)
}

// aggregator sums what a directory publishes about all services. Services are added in the order of slugs.
type aggregator struct {
	status       statusCounter
	stats        statsCounter
	facilitators servicesByFacilitator
}

func newAggregator(s *site.Snapshot) *aggregator {
	n := len(s.Services)
	return &aggregator{
		facilitators: newServicesByFacilitator(s),
		status:       statusCounter{site.StatusSummary{Total: n, Services: make([]site.StatusService, 0, n)}},
	}
}

// add adds a judged service.
func (a *aggregator) add(l *site.Listing) {
	a.status.add(l)
	a.stats.add(l)
	a.facilitators.add(l)
}

// end writes the aggregates into a snapshot.
func (a *aggregator) end(s *site.Snapshot, checksPerHour float64, optedOut int) {
	s.Status, s.Stats = a.status.StatusSummary, a.stats.stats(s, checksPerHour)
	s.Stats.OptedOut = optedOut
	a.facilitators.end()
}

// statusCounter counts services by status.
type statusCounter struct{ site.StatusSummary }

func (s *statusCounter) add(l *site.Listing) {
	d := &l.Detail
	switch d.Status {
	case site.StatusOnline:
		s.Online++
	case site.StatusDegraded:
		s.Degraded++
	case site.StatusOffline:
		s.Offline++
	default:
		s.Unknown++
	}
	s.Services = append(s.Services, site.StatusService{
		Slug: d.Slug, Name: d.Name, Status: d.Status, LastCheckedAt: d.LastCheckedAt,
		ConsecutiveFailures: d.ConsecutiveFailures, Uptime24h: d.Uptime24h, AvgResponseTimeMS: d.AvgResponseTimeMS,
	})
}

// newNetworks returns the known networks on which a listed service accepts payment, the most used first.
func newNetworks(services []site.Listing) []site.Network {
	count, up := map[string]int{}, map[string]*mean{}
	for i := range services {
		for _, abbreviation := range services[i].Item.Networks {
			count[abbreviation]++
			if up[abbreviation] == nil {
				up[abbreviation] = &mean{}
			}
			up[abbreviation].add(services[i].Item.Uptime24h)
		}
	}
	out := []site.Network{}
	for abbreviation, n := range count {
		w, ok := x402.NetworkByAbbreviation(abbreviation)
		if !ok {
			continue
		}
		network := site.Network{
			ID: w.ID, CAIP2: w.ID, CAIP2ID: w.ID, Name: w.Name, Abbreviation: w.Abbreviation, ChainType: w.ChainType,
			IsMainnet: w.Mainnet, ServiceCount: n, AvgUptime: up[abbreviation].value(), Testnet: !w.Mainnet,
		}
		if w.ExplorerURL != "" {
			network.ExplorerURL = &w.ExplorerURL
		}
		out = append(out, network)
	}
	slices.SortFunc(out, func(a, b site.Network) int {
		return cmp.Or(cmp.Compare(b.ServiceCount, a.ServiceCount), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// newTags returns the categories with their numbers of services, the largest first.
func newTags(services []site.Listing) []site.Tag {
	count := map[string]int{}
	for i := range services {
		count[services[i].Item.Category]++
	}
	out := []site.Tag{}
	for tag, n := range count {
		out = append(out, site.Tag{Tag: tag, ServiceCount: n})
	}
	slices.SortFunc(out, func(a, b site.Tag) int {
		return cmp.Or(cmp.Compare(b.ServiceCount, a.ServiceCount), cmp.Compare(a.Tag, b.Tag))
	})
	return out
}

// statsCounter collects the values behind the statistics of a directory.
type statsCounter struct {
	up24, up7, response mean
	endpoints           int
	prices              []site.Decimal
}

func (a *statsCounter) add(l *site.Listing) {
	d := &l.Detail
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
}

func (a *statsCounter) stats(s *site.Snapshot, checksPerHour float64) site.AggregateStats {
	st := site.AggregateStats{
		TotalServices: len(s.Services), TotalEndpoints: a.endpoints,
		Networks:     []site.StatsNetwork{},
		AvgUptime24h: a.up24.value(), AvgUptime7d: a.up7.value(), AvgResponseTimeMS: a.response.value(),
		ChecksPerHour: checksPerHour, Pricing: price.Statistics(a.prices),
	}
	for _, n := range s.Networks {
		st.Networks = append(st.Networks, site.StatsNetwork{Abbreviation: n.Abbreviation, ServiceCount: n.ServiceCount,
			AvgUptime: n.AvgUptime, Testnet: n.Testnet})
		if n.Testnet {
			st.TotalTestnets++
		} else {
			st.TotalNetworks++
		}
	}
	slices.SortFunc(st.Networks, func(a, b site.StatsNetwork) int {
		return cmp.Compare(a.Abbreviation, b.Abbreviation)
	})
	return st
}
