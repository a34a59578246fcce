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
