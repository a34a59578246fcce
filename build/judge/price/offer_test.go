package price

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/postgres/checks"
)

// TestWhichPricesCount checks each reason why a price is not counted, and the largest price that is.
func TestWhichPricesCount(t *testing.T) {
	t.Parallel()
	on := func(p checks.Price, network, asset string) checks.Price {
		p.Network, p.NetworkCAIP2, p.Asset = network, &network, asset
		return p
	}
	price := func(amount string) checks.Price { return newPrice(amount, alice, now, nil) }
	type row struct {
		USD, Caveat string
		Testnet     bool
	}
	for _, test := range []struct {
		name    string
		price   checks.Price
		want    row
		counted bool
	}{
		{"a cent", price("10000"), row{USD: "0.01"}, true},
		{"the highest", price("1000000000"), row{USD: "1000"}, true},
		{"a unit more", price("1000000001"), row{"1000.000001", "more than $1000 a call", false}, false},
		{"zero", price("0"), row{"0", "the amount is 0", false}, false},
		{"an unknown asset", on(price("1"), base, "0x1111111111111111111111111111111111111111"),
			row{"", "no known value in dollars", false}, false},
		{"a test network", on(price("1"), "eip155:84532", "0x036CbD53842c5426634e7929541eC2318f3dCF7e"),
			row{"", "test network", true}, false},
	} {
		var o Offer
		var e site.Endpoint
		o.Add(&e, []checks.Price{test.price}, nil)
		p := e.Pricing[0]
		text := func(s *string) string {
			if s == nil {
				return ""
			}
			return *s
		}
		if diff := cmp.Diff(test.want, row{text(p.PriceUSD), text(p.PriceCaveat), p.Testnet}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if (o.Lowest != nil) != test.counted || (e.MinPriceUSD != nil) != test.counted ||
			(o.Highest != nil) != test.counted {
			t.Errorf("%s: prices %v to %v, of the endpoint %v; counted should be %v", test.name, o.Lowest, o.Highest,
				e.MinPriceUSD, test.counted)
		}
		if o.Atomic == nil || *o.Atomic != test.price.Amount {
			t.Errorf("%s: atomic price %v, want that of the only row", test.name, o.Atomic)
		}
	}
}

func TestCaveat(t *testing.T) {
	t.Parallel()
	var o Offer
	o.Add(&site.Endpoint{}, []checks.Price{newPrice("10000", alice, now, nil), newPrice("0", alice, now, nil),
		newPrice("10000000000", alice, now, nil)}, nil)
	want := new("2 of 3 prices not counted in dollars: more than $1000 a call; the amount is 0")
	if diff := cmp.Diff(want, o.caveat()); diff != "" {
		t.Errorf("caveat (-want +got):\n%s", diff)
	}
	if o.Lowest == nil || *o.Lowest != "0.01" || *o.Highest != "0.01" || *o.Atomic != "10000" {
		t.Errorf("prices %v to %v, atomic %v; want the only counted one", o.Lowest, o.Highest, o.Atomic)
	}
	if got := (&Offer{}).caveat(); got != nil {
		t.Errorf("caveat without prices = %q, want null", *got)
	}
}

// TestLowestWithoutCondition checks that a price for which a buyer needs a deposit first is the lowest only if there is
// no other, and that the condition stands with it.
func TestLowestWithoutCondition(t *testing.T) {
	t.Parallel()
	gateway := newPrice("100", alice, now, nil)
	gateway.Extra = new(`{"name":"GatewayWalletBatched","version":"1"}`)
	plain := newPrice("1000", alice, now, nil)
	for _, test := range []struct {
		name                       string
		first, second              []checks.Price // of two endpoints
		lowest, highest, condition string
		ofFirst                    string
	}{
		{"both in one", []checks.Price{gateway, plain}, nil, "0.001", "0.001", "", "0.001"},
		{"the other way round", []checks.Price{plain, gateway}, nil, "0.001", "0.001", "", "0.001"},
		{"in two endpoints", []checks.Price{gateway}, []checks.Price{plain}, "0.001", "0.001", "", "0.0001"},
		{"a deposit alone", []checks.Price{gateway}, nil, "0.0001", "0.0001", "Needs a deposit in Circle Gateway first, from a wallet that is no contract",
			"0.0001"},
	} {
		var o Offer
		var first, second site.Endpoint
		o.Add(&first, test.first, nil)
		o.Add(&second, test.second, nil)
		condition := ""
		if o.Condition != nil {
			condition = *o.Condition
		}
		got := []string{string(*o.Lowest), string(*o.Highest), condition, string(*first.MinPriceUSD)}
		if diff := cmp.Diff([]string{test.lowest, test.highest, test.condition, test.ofFirst}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
