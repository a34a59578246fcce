package site_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
)

// TestSort checks that nulls are last in every order and that ties are broken by slug.
func TestSort(t *testing.T) {
	t.Parallel()
	day := func(n int) site.Time { return site.NewTime(time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC)) }
	usd := func(s string) *site.Decimal { return new(site.Decimal(s)) }
	items := []*site.ServiceListItem{
		{Slug: "acme", CreatedAt: day(1), Uptime24h: new(99.5), MinPriceUSD: usd("0.1"), EndpointCount: 2},
		{Slug: "bolt", CreatedAt: day(3), Uptime24h: new(100.0), MinPriceUSD: usd("0.09"), EndpointCount: 10},
		{Slug: "cove", CreatedAt: day(3), Uptime24h: nil, MinPriceUSD: nil, EndpointCount: 0},
		{Slug: "dale", CreatedAt: day(2), Uptime24h: new(0.0), MinPriceUSD: usd("0"), EndpointCount: 2},
		{Slug: "echo", CreatedAt: day(2), Uptime24h: nil, MinPriceUSD: usd("12"), EndpointCount: 2},
		{Slug: "fern", CreatedAt: day(2), Uptime24h: new(100.0), MinPriceUSD: nil, EndpointCount: 1},
	}
	for order, want := range map[string][]string{
		site.OrderNewest:    {"bolt", "cove", "dale", "echo", "fern", "acme"},
		site.OrderUptime:    {"bolt", "fern", "acme", "dale", "cove", "echo"},
		site.OrderCheapest:  {"dale", "bolt", "acme", "echo", "cove", "fern"},
		site.OrderEndpoints: {"bolt", "acme", "dale", "echo", "fern", "cove"},
	} {
		site.Sort(items, order)
		if diff := cmp.Diff(want, slugs(items)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", order, diff)
		}
	}
}

func slugs(items []*site.ServiceListItem) (out []string) {
	for _, i := range items {
		out = append(out, i.Slug)
	}
	return out
}

// TestSortIsTotal checks that the result does not depend on the order of the input.
func TestSortIsTotal(t *testing.T) {
	t.Parallel()
	item := rapid.Custom(func(t *rapid.T) *site.ServiceListItem {
		return &site.ServiceListItem{ // few values, so that there are ties
			Slug:      rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "slug"),
			CreatedAt: site.NewTime(time.Unix(rapid.Int64Range(0, 3).Draw(t, "created"), 0)),
			Uptime24h: rapid.Ptr(rapid.SampledFrom([]float64{0, 99.99, 100}), true).Draw(t, "uptime"),
			MinPriceUSD: rapid.Ptr(rapid.SampledFrom([]site.Decimal{"0", "0.1", "0.09", "2", "10"}), true).Draw(t,
				"price"),
			EndpointCount: rapid.IntRange(0, 2).Draw(t, "endpoints"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfNDistinct(item, 0, 30, func(i *site.ServiceListItem) string { return i.Slug }).Draw(t,
			"items")
		other := rapid.Permutation(items).Draw(t, "other")
		order := rapid.SampledFrom(site.Orders).Draw(t, "order")
		items = slices.Clone(items)
		site.Sort(items, order)
		site.Sort(other, order)
		if diff := cmp.Diff(slugs(items), slugs(other)); diff != "" {
			t.Fatalf("%s depends on the order of the input (-one +other):\n%s", order, diff)
		}
	})
}
