package data

import (
	"tollbook/site"
)

// Buyer is a buyer of a service.
type Buyer struct {
	Slug string
	*site.NumberedBuyer
}

// BuyersOf returns the buyers of a service; none of one that is set aside, whose facts cannot be read.
func BuyersOf(l *site.Listing) []Buyer {
	if l.ServiceFiles == nil {
		return nil
	}
	list := make([]Buyer, len(l.AllBuyers))
	for i := range l.AllBuyers {
		list[i] = Buyer{l.Detail.Slug, &l.AllBuyers[i]}
	}
	return list
}

// Buyers makes the table of what each buyer paid each service.
var Buyers = newMaker(
	Table{
		Name: "buyers", Key: []string{"slug", "payer"}, Sort: []string{"slug", "payer"},
		Description: "What each buyer paid the recipients of each measured service in 30 UTC days, today included.",
		References:  []Reference{slugReference},
	},
	buyer(slugColumn(fromOperator), func(b Buyer) Value { return NewText(b.Slug) }),
	buyer(Column{Name: "payer", Kind: Integer, Required: true, Source: fromChain,
		Description: "Number of the account in this snapshot, by address, from 1; 0 for redemptions of batch " +
			"settlement, whose payers are unknown. Other snapshots have other numbers."},
		func(b Buyer) Value { return newInt(b.Number) }),
	buyer(Column{Name: "kind", Required: true, Source: fromJudgment,
		Description: "relative (a recipient of the service's operator), scout, organic, or unknown."},
		func(b Buyer) Value { return NewText(b.Kind) }),
	buyer(Column{Name: "first_day", Kind: Date, Source: fromChain, Description: "First UTC day with a settlement."},
		func(b Buyer) Value { return b.day(b.FirstDay) }),
	buyer(Column{Name: "last_day", Kind: Date, Source: fromChain, Description: "Last UTC day with a settlement."},
		func(b Buyer) Value { return b.day(b.LastDay) }),
	buyer(Column{Name: "settlements", Kind: Integer, Required: true, Unit: "settlements", Source: fromChain,
		Description: "Number of settlements."}, func(b Buyer) Value { return newInt(b.Settlements) }),
	buyer(usdColumn("volume_usd", fromChain, "Sum of the settlements, not divided among services with one recipient."),
		func(b Buyer) Value { return newDecimal(string(b.USD), usdScale) }),
)

func buyer(c Column, of func(Buyer) Value) field[Buyer] { return field[Buyer]{c, of} }

// day returns a UTC day, null for an unknown buyer.
func (b Buyer) day(n int) Value {
	if b.Kind == site.BuyerUnknown {
		return Value{}
	}
	return newInt(n)
}

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
