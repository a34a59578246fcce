package build

import (
	"cmp"
	"math/big"
	"slices"

	"tollbook/site"
	"tollbook/site/x402"
)

// mean averages values that may be absent.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v *float64) {
	if v != nil {
		m.sum += *v
		m.n++
	}
}

// value is the average to two decimals, nil of nothing.
func (m *mean) value() *float64 {
	if m.n == 0 {
		return nil
	}
	v := site.Round2(m.sum / float64(m.n))
	return &v
}

// group judges which networks and categories there are, by the rows of services.
func group(s *site.Snapshot) {
	s.Networks = networks(s.Services)
	s.Tags = tags(s.Services)
	s.Categories = []string{}
	for _, t := range s.Tags {
		s.Categories = append(s.Categories, t.Tag)
	}
	slices.Sort(s.Categories)
}

func statusSummary(services []site.Listing) site.StatusSummary {
	sum := site.StatusSummary{Total: len(services), Services: make([]site.StatusService, len(services))}
	for i, l := range services {
		d := &l.Detail
		switch d.Status {
		case site.StatusOnline:
			sum.Online++
		case site.StatusDegraded:
			sum.Degraded++
		case site.StatusOffline:
			sum.Offline++
		default:
			sum.Unknown++
		}
		sum.Services[i] = site.StatusService{
			Slug: d.Slug, Name: d.Name, Status: d.Status, LastCheckedAt: d.LastCheckedAt,
			ConsecutiveFailures: d.ConsecutiveFailures, Uptime24h: d.Uptime24h, AvgResponseTimeMS: d.AvgResponseTimeMS,
		}
	}
	return sum
}

// networks are those of the table on which a listed service takes payment.
func networks(services []site.Listing) []site.Network {
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
			IsMainnet: w.Mainnet, ServiceCount: n, AvgUptime: up[abbreviation].value(),
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

func tags(services []site.Listing) []site.Tag {
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

func stats(s *site.Snapshot, checksPerHour float64) site.AggregateStats {
	var up24, up7, response mean
	var prices []site.Decimal
	st := site.AggregateStats{TotalServices: len(s.Services), TotalNetworks: len(s.Networks), Networks: []site.StatsNetwork{}}
	for i := range s.Services {
		d := &s.Services[i].Detail
		st.TotalEndpoints += d.EndpointCount
		up24.add(d.Uptime.H24)
		up7.add(d.Uptime.D7)
		if d.AvgResponseTimeMS != nil {
			ms := float64(*d.AvgResponseTimeMS)
			response.add(&ms)
		}
		for _, e := range d.Endpoints {
			if e.MinPriceUSD != nil {
				prices = append(prices, *e.MinPriceUSD)
			}
		}
	}
	st.AvgUptime24h, st.AvgUptime7d, st.AvgResponseTimeMS = up24.value(), up7.value(), response.value()
	st.ChecksPerHour = checksPerHour
	st.Pricing = pricingStats(prices)
	for _, n := range s.Networks {
		st.Networks = append(st.Networks, site.StatsNetwork{Abbreviation: n.Abbreviation, ServiceCount: n.ServiceCount, AvgUptime: n.AvgUptime})
	}
	slices.SortFunc(st.Networks, func(a, b site.StatsNetwork) int { return cmp.Compare(a.Abbreviation, b.Abbreviation) })
	return st
}

// pricingStats are exact but for the average, which is cut to nine decimals.
func pricingStats(prices []site.Decimal) site.StatsPricing {
	if len(prices) == 0 {
		return site.StatsPricing{}
	}
	slices.SortFunc(prices, site.Decimal.Compare)
	n := len(prices)
	return site.StatsPricing{
		AvgPriceUSD: average(prices), MinPriceUSD: &prices[0], MaxPriceUSD: &prices[n-1],
		MedianPriceUSD: average(prices[(n-1)/2 : n/2+1]),
	}
}

func average(prices []site.Decimal) *site.Decimal {
	sum := new(big.Rat)
	for _, p := range prices {
		if r, ok := new(big.Rat).SetString(string(p)); ok {
			sum.Add(sum, r)
		}
	}
	sum.Quo(sum, new(big.Rat).SetInt64(int64(len(prices))))
	d, err := site.ParseDecimal(sum.FloatString(9))
	if err != nil {
		return nil // never of non-negative decimals
	}
	return &d
}
