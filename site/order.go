package site

import (
	"cmp"
	"slices"
	"strings"
)

// The four orders of the list of services.
const (
	OrderNewest    = "newest"
	OrderUptime    = "uptime"
	OrderCheapest  = "cheapest"
	OrderEndpoints = "endpoints"
)

// The orders of services that no file contains.
const (
	OrderVolume        = "volume"
	OrderBuyers        = "buyers"
	OrderOrganicVolume = "organic_volume"
	OrderOrganicBuyers = "organic_buyers"
	OrderGrade         = "grade"
	OrderResponse      = "response"
	OrderUptime24h     = "uptime_24h"
	OrderUptime30d     = "uptime_30d"
)

// Orders that /v1/search named first.
const (
	OrderPrice = "price"
	OrderSpeed = "speed"
)

// Every list of services knows these orders, each by the same name: OrderNewest, OrderPrice, OrderSpeed,
// OrderUptime24h, OrderUptime30d, OrderEndpoints, OrderVolume, OrderBuyers, OrderOrganicVolume, OrderOrganicBuyers and
// OrderGrade. Lists had other names for some before; they mean the same as ever.
var (
	// ServicesOrderNames are the orders of /v1/services under other names, with the names that its files have.
	ServicesOrderNames = map[string]string{OrderPrice: OrderCheapest, OrderSpeed: OrderResponse,
		OrderUptime24h: OrderUptime}
	// SearchOrderNames are the orders of /v1/search under other names.
	SearchOrderNames = map[string]string{OrderCheapest: OrderPrice, OrderResponse: OrderSpeed,
		OrderUptime30d: OrderUptime}
)

// Orders lists the orders of files, the default first.
var Orders = []string{OrderNewest, OrderUptime, OrderCheapest, OrderEndpoints}

// PageOrders lists the orders of the pages of all services, the default first.
var PageOrders = append(slices.Clone(Orders), OrderResponse)

// SortForPage sorts services by one of PageOrders. OrderUptime compares uptimes of 30 days, which pages show and a
// search calls by the same name; files compare those of 24 hours.
func SortForPage(list []*Listing, order string) {
	slices.SortFunc(list, func(a, b *Listing) int {
		switch order {
		case OrderUptime:
			return cmp.Or(NullsLast(a.Uptime30d, b.Uptime30d, largestFirst),
				strings.Compare(a.Item.Slug, b.Item.Slug))
		case OrderResponse:
			return cmp.Or(NullsLast(a.Item.AvgResponseTimeMS, b.Item.AvgResponseTimeMS, cmp.Compare[int]),
				strings.Compare(a.Item.Slug, b.Item.Slug))
		}
		return CompareBy(order)(&a.Item, &b.Item)
	})
}

// Order is an order of services by a column. Nulls are last, and ties are broken by slug.
type Order struct {
	Name       string `json:"name"`
	Column     string `json:"column"`
	Descending bool   `json:"descending,omitempty"`
	// Within is the parameter with the entry of a column of prices; without it the lowest counts.
	Within string `json:"within,omitempty"`
}

// ColumnOrders are the orders that a scan knows: the four orders, which are also stored as files, and those that are
// not.
var ColumnOrders = []Order{
	{Name: OrderNewest, Column: "created_at", Descending: true},
	{Name: OrderUptime, Column: "uptime_24h", Descending: true},
	{Name: OrderCheapest, Column: "prices_usd"},
	{Name: OrderEndpoints, Column: "endpoint_count", Descending: true},
	{Name: OrderVolume, Column: "volume_usd_30d", Descending: true},
	{Name: OrderBuyers, Column: "unique_buyers_30d", Descending: true},
	{Name: OrderOrganicVolume, Column: "organic_volume_usd_30d", Descending: true},
	{Name: OrderOrganicBuyers, Column: "organic_buyers_30d", Descending: true},
	{Name: OrderGrade, Column: "grade"}, // A is first, unknown last
	{Name: OrderResponse, Column: "avg_response_time_ms"},
	{Name: OrderUptime30d, Column: "uptime_30d", Descending: true},
}

// OrderByName returns the order with this name. It panics if there is none.
func OrderByName(name string) Order {
	if i := slices.IndexFunc(ColumnOrders, func(o Order) bool { return o.Name == name }); i >= 0 {
		return ColumnOrders[i]
	}
	panic("site: no order " + name)
}

// Sort sorts items by one of the four orders.
func Sort(items []*ServiceListItem, order string) {
	slices.SortFunc(items, CompareBy(order))
}

var comparators = map[string]func(a, b *ServiceListItem) int{
	OrderNewest: func(a, b *ServiceListItem) int { return b.CreatedAt.Compare(a.CreatedAt.Time) },
	OrderUptime: func(a, b *ServiceListItem) int {
		return NullsLast(a.Uptime24h, b.Uptime24h, largestFirst)
	},
	OrderCheapest: func(a, b *ServiceListItem) int {
		return NullsLast(a.MinPriceUSD, b.MinPriceUSD, Decimal.Compare)
	},
	OrderEndpoints: func(a, b *ServiceListItem) int { return cmp.Compare(b.EndpointCount, a.EndpointCount) },
}

// CompareBy returns a function that compares two items by one of the four orders. Every order is total: nulls are last,
// and ties are broken by slug.
func CompareBy(order string) func(a, b *ServiceListItem) int {
	compare := comparators[order]
	return func(a, b *ServiceListItem) int {
		if c := compare(a, b); c != 0 {
			return c
		}
		return strings.Compare(a.Slug, b.Slug)
	}
}

// NullsLast compares two values that may be nil. A nil is after all others, in a descending order too.
func NullsLast[T any](a, b *T, compare func(a, b T) int) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return compare(*a, *b)
}

// largestFirst compares two values for a descending order.
func largestFirst(a, b float64) int { return cmp.Compare(b, a) }
