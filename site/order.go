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

// Orders lists them, the default first.
var Orders = []string{OrderNewest, OrderUptime, OrderCheapest, OrderEndpoints}

// Sort sorts items by one of the four orders.
func Sort(items []*ServiceListItem, order string) {
	slices.SortFunc(items, CompareBy(order))
}

var comparators = map[string]func(a, b *ServiceListItem) int{
	OrderNewest: func(a, b *ServiceListItem) int { return b.CreatedAt.Compare(a.CreatedAt.Time) },
	OrderUptime: func(a, b *ServiceListItem) int {
		return nullsLast(b.Uptime24h, a.Uptime24h, cmp.Compare[float64], true)
	},
	OrderCheapest: func(a, b *ServiceListItem) int {
		return nullsLast(a.MinPriceUSD, b.MinPriceUSD, Decimal.Compare, false)
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

// nullsLast compares two values that may be nil. swapped means that the caller exchanged them to sort in descending
// order.
func nullsLast[T any](a, b *T, compare func(a, b T) int, swapped bool) int {
	last := 1
	if swapped {
		last = -1
	}
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return last
	case b == nil:
		return -last
	}
	return compare(*a, *b)
}
