package money

import (
	"testing"

	"tollbook/site"
)

func TestDecimalsOf(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		name   string
		atomic string
		usd    *string
		want   int
		ok     bool
	}{
		{"six decimals", "10000", text("0.01"), 6, true},
		{"whole dollars", "2000000", text("2"), 6, true},
		{"eighteen", "2500000000000000", text("0.0025"), 18, true},
		{"tens", "10000000", text("10"), 6, true},
		{"cents", "150", text("1.5"), 2, true},
		{"none", "7", text("7"), 0, true},
		{"not one to one", "10000", text("0.0117"), 0, false},
		{"unknown worth", "10000", nil, 0, false},
		{"nothing", "0", text("0"), 0, false},
		{"no amount", "0.01", text("0.01"), 0, false},
		{"no price", "10000", text("x"), 0, false},
		{"less than it has digits", "1", text("10"), 0, false},
	} {
		got, ok := decimalsOf(site.PricingEntry{Price: c.atomic, PriceUSD: c.usd})
		if got != c.want || ok != c.ok {
			t.Errorf("%s: got %d, %v, want %d, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

func TestUnitsPrice(t *testing.T) {
	t.Parallel()
	u := Units{{"eip155:8453", "USDC"}: 6, {"eip155:56", "USDT"}: 18}
	for _, c := range []struct{ network, asset, amount, want, title string }{
		{"eip155:8453", "USDC", "10000", "$0.01", "10,000 atomic units of USDC"},
		{"eip155:8453", "USDC", "1", "$0.000001", "1 atomic units of USDC"},
		{"eip155:8453", "USDC", "0", "$0", "0 atomic units of USDC"},
		{"eip155:8453", "USDC", "1000000000000", "$1,000,000", "1,000,000,000,000 atomic units of USDC"},
		{"eip155:56", "USDT", "2500000000000000", "$0.0025", "2,500,000,000,000,000 atomic units of USDT"},
		{"eip155:137", "USDC", "10000", "10,000 atomic units of USDC", ""},
		{"eip155:8453", "USDC", "1,2", "1,2", ""},
		{"eip155:8453", "USDC", "-5", "-5", ""},
	} {
		text, title := u.Price(c.network, c.asset, c.amount)
		if text != c.want || title != c.title {
			t.Errorf("%s %s %s: got %q, %q, want %q, %q", c.network, c.asset, c.amount, text, title, c.want, c.title)
		}
	}
}

func TestTrend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ older, newer, want string }{
		{"1", "2", "up"}, {"10", "9", "down"}, {"7", "7", ""}, {"x", "7", ""}, {"7", "", ""},
	} {
		if got := Trend(c.older, c.newer); got != c.want {
			t.Errorf("Trend(%s, %s) = %q, want %q", c.older, c.newer, got, c.want)
		}
	}
}

func TestRank(t *testing.T) {
	for _, test := range []struct {
		dearer, others *int
		want           string
	}{
		{nil, nil, ""}, {new(11), new(13), "Cheaper than 11 of 13\u00a0others in Data"},
		{new(0), new(13), "None of 13\u00a0others in Data asks for more"},
		{new(13), new(13), "Cheaper than all 13\u00a0others in Data"}, {new(1), new(1), "Cheaper than the only other in Data"},
	} {
		if got := Rank(&site.Economics{CategoryDearer: test.dearer, CategoryOthers: test.others}, "Data"); got != test.want {
			t.Errorf("rank is %q, want %q", got, test.want)
		}
	}
}

// TestIsMeaningless checks that changes to prices that are not counted are left out, and those in assets without a
// known value are not.
func TestIsMeaningless(t *testing.T) {
	row := func(usd, caveat *string, testnet bool) *site.ServiceDetail {
		return &site.ServiceDetail{Endpoints: []site.Endpoint{{Pricing: []site.PricingEntry{{NetworkCAIP2: new("a:b"),
			AssetName: "X", Price: "7", PriceUSD: usd, PriceCaveat: caveat, Testnet: testnet}}}}}
	}
	reason := new("reason")
	for _, test := range []struct {
		name   string
		detail *site.ServiceDetail
		want   bool
	}{
		{"counted", row(new("7"), nil, false), false}, {"not counted", row(new("7000"), reason, false), true},
		{"unknown value", row(nil, reason, false), false}, {"test network", row(nil, reason, true), true},
		{"not asked now", &site.ServiceDetail{}, false},
	} {
		if got := IsMeaningless(test.detail, "a:b", "X", "7"); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestSettled checks each wording of what calls cost.
func TestSettled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		settled *site.SettledPrice
		want    string
	}{
		{nil, ""},
		{&site.SettledPrice{MedianUSD: new("0.02"), P95USD: new("0.06")},
			"half of the calls cost $0.02 or less, 19 of 20 $0.06 or less"},
		{&site.SettledPrice{Reason: new("fewer than 20 settlements")},
			"what calls cost is not known: fewer than 20 settlements"},
		{&site.SettledPrice{}, ""}, // of another version of the directory
	} {
		if got := Settled(test.settled); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
