package data

import (
	"tollbook/site"
)

// ServiceNetwork is a network on which a service can be paid.
type ServiceNetwork struct {
	Slug, Network, CAIP2 string
	Price                *site.NetworkPrice // nil if no price counts, or each needs something first
}

// NetworksOf returns the networks of a service. Of one that is set aside they have no prices.
func NetworksOf(l *site.Listing) []ServiceNetwork {
	list := make([]ServiceNetwork, len(l.Detail.Networks))
	for i, network := range l.Detail.Networks {
		list[i] = ServiceNetwork{Slug: l.Detail.Slug, Network: network}
		if i < len(l.Detail.NetworksCAIP2) { // an old snapshot of a service that is set aside lacks it
			list[i].CAIP2 = l.Detail.NetworksCAIP2[i]
		}
		if l.ServiceFiles == nil {
			continue
		}
		for k := range l.NetworkPrices {
			if p := &l.NetworkPrices[k]; p.Network == network {
				list[i].Price = p
			}
		}
	}
	return list
}

// ServiceNetworks makes the table of networks on which services can be paid.
var ServiceNetworks = newMaker(
	Table{
		Name: "service_networks", Key: []string{"slug", "network"}, Sort: []string{"slug", "network"},
		Description: "Networks on which each service can be paid, with its lowest price there.",
		References:  []Reference{slugReference},
	},
	serviceNetwork(slugColumn(fromOperator), func(n ServiceNetwork) Value { return NewText(n.Slug) }),
	serviceNetwork(Column{Name: "network", Required: true, Source: fromJudgment,
		Description: "Short name of the network, or its CAIP-2 ID."},
		func(n ServiceNetwork) Value { return NewText(n.Network) }),
	serviceNetwork(Column{Name: "network_caip2", Required: true, Source: fromJudgment,
		Description: "CAIP-2 ID of the network."}, func(n ServiceNetwork) Value { return NewText(n.CAIP2) }),
	serviceNetwork(usdColumn("min_price_usd", fromJudgment,
		"Lowest counted price there that needs nothing first; null without one."),
		func(n ServiceNetwork) Value {
			if n.Price == nil {
				return Value{}
			}
			return usdOrNull(&n.Price.USD)
		}),
	serviceNetwork(usdColumn("vote_usd", fromJudgment,
		"Lowest of these prices of at least $0.0001, which enters medians; null without one."),
		func(n ServiceNetwork) Value {
			if n.Price == nil {
				return Value{}
			}
			return usdOrNull(n.Price.PlausibleUSD)
		}),
)

func serviceNetwork(c Column, of func(ServiceNetwork) Value) field[ServiceNetwork] {
	return field[ServiceNetwork]{c, of}
}
