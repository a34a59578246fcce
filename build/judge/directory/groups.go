package directory

import (
	"cmp"
	"math"
	"slices"

	"tollbook/site"
	"tollbook/site/x402"
)

// Group fills in the networks, tags and categories of a snapshot. They are counted in the rows of services. explorers
// contains the operator's URLs of accounts by CAIP-2 id, "" for none.
func Group(s *site.Snapshot, explorers map[string]string, prices map[string]*site.CategoryPrices,
	on map[string]*site.NetworkPrices) {
	items := s.ListedItems()
	s.Networks = newNetworks(items, explorers, on)
	s.Tags = newTags(items, prices)
	s.Categories = []string{}
	for _, t := range s.Tags {
		s.Categories = append(s.Categories, t.Tag)
	}
	slices.Sort(s.Categories)
}

// newNetworks returns the known networks on which a listed service accepts payment, the most used first.
func newNetworks(services []*site.ServiceListItem, explorers map[string]string,
	prices map[string]*site.NetworkPrices) []site.Network {
	count, up := map[string]int{}, map[string]*mean{}
	for _, item := range services {
		for _, abbreviation := range item.Networks {
			count[abbreviation]++
			if up[abbreviation] == nil {
				up[abbreviation] = &mean{}
			}
			up[abbreviation].add(item.Uptime24h)
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
			Prices: prices[abbreviation],
		}
		if w.ExplorerURL != "" {
			network.ExplorerURL = &w.ExplorerURL
		}
		account, isSet := explorers[w.ID]
		if !isSet {
			account = w.AddressURL()
		}
		if account != "" {
			network.AddressURL = &account
		}
		out = append(out, network)
	}
	slices.SortFunc(out, func(a, b site.Network) int {
		return cmp.Or(cmp.Compare(b.ServiceCount, a.ServiceCount), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// newTags returns the categories with their numbers of services and their prices, the largest first.
func newTags(services []*site.ServiceListItem, prices map[string]*site.CategoryPrices) []site.Tag {
	count := map[string]int{}
	for _, item := range services {
		count[item.Category]++
	}
	out := []site.Tag{}
	for tag, n := range count {
		out = append(out, site.Tag{Tag: tag, ServiceCount: n, Prices: prices[tag],
			PriceWeeks: []site.CategoryWeek{}})
	}
	slices.SortFunc(out, func(a, b site.Tag) int {
		return cmp.Or(cmp.Compare(b.ServiceCount, a.ServiceCount), cmp.Compare(a.Tag, b.Tag))
	})
	return out
}

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
