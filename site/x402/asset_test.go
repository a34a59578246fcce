package x402

import (
	"slices"
	"strings"
	"testing"
)

func TestAssetTable(t *testing.T) {
	t.Parallel()
	list := Assets()
	if len(list) != 114 {
		t.Errorf("%d assets, want 114", len(list))
	}
	if !slices.IsSortedFunc(list, func(a, b Asset) int {
		return strings.Compare(a.Network+" "+a.Symbol+" "+a.Address, b.Network+" "+b.Symbol+" "+b.Address)
	}) {
		t.Error("assets are not in the order of network, symbol and address")
	}
	for _, a := range list {
		if n, ok := NetworkByID(a.Network); !ok || n.ID != a.Network {
			t.Errorf("%s on a network %s that the table lacks", a.Symbol, a.Network)
		}
		if err := CheckAsset(a.Network, a.Address); err != nil {
			t.Errorf("%s: %v", a.Symbol, err)
		}
		if got, ok := LookupAsset(a.Network, a.Address); !ok || got != a {
			t.Errorf("LookupAsset(%s, %s) = %+v, want %+v", a.Network, a.Address, got, a)
		}
		if (a.Name == "") != (a.Version == "") || a.Symbol == "" || a.Source == "" || a.Decimals < 0 ||
			a.Decimals > 18 {
			t.Errorf("incomplete: %+v", a)
		}
		if !slices.Contains([]string{"USD", "EUR", ""}, a.Peg) {
			t.Errorf("%s has peg %q", a.Symbol, a.Peg)
		}
	}
}

func TestLookupAsset(t *testing.T) {
	t.Parallel()
	const usdc = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	for _, test := range []struct{ network, address, symbol string }{
		{"eip155:8453", usdc, "USDC"},
		{"eip155:8453", strings.ToLower(usdc), "USDC"},
		{"eip155:1", usdc, ""}, // the same address on another chain is another token
		{"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "USDC"},
		{"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "epjfwdd5aufqssqem2qn1xzybapc8g4wegGkzwytdt1v", ""},
		{"tvm:-239", "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs", "USDT"},
		{"sui:mainnet", "0xDBA34672e30cb065b1f93e3ab55318768fd6fef66c15942c9f7cb846e2f900e7::usdc::USDC", "USDC"},
		{"", "USDC", ""},
	} {
		if a, ok := LookupAsset(test.network, test.address); a.Symbol != test.symbol || ok != (test.symbol != "") {
			t.Errorf("LookupAsset(%s, %s) = %q, %v, want %q", test.network, test.address, a.Symbol, ok, test.symbol)
		}
	}
}

// TestToken checks that an issued currency of the XRP Ledger is a token only with its issuer and decimals, and which
// tokens are measured and count as dollars.
func TestToken(t *testing.T) {
	t.Parallel()
	const code, issued = "524C555344000000000000000000000000000000",
		"524C555344000000000000000000000000000000.rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5De"
	for _, c := range []struct {
		network, address, token string
		decimals                int
		dollars, measured       bool
	}{
		{"xrpl:0", code, issued, 24, true, true},
		{"xrpl:0", issued, issued, 24, true, true},
		{"xrpl:0", "XRP", "XRP", 6, false, true},
		{"eip155:4217", "0x20c0000000000000000000000000000000000000", "0x20c0000000000000000000000000000000000000", 6,
			true, true},
		{"eip155:42220", "0x48065fbBE25f71C9282ddf5e1cD6D6A887483D5e", "0x48065fbBE25f71C9282ddf5e1cD6D6A887483D5e", 6,
			false, false},
	} {
		a, ok := LookupAsset(c.network, c.address)
		got := a.Token()
		if !ok || got.Address != c.token || got.Decimals != c.decimals || a.CountsAsUSD() != c.dollars ||
			a.IsMeasured() != c.measured {
			t.Errorf("%s on %s: %+v, counts as dollars %t, measured %t; want %+v", c.address, c.network, got,
				a.CountsAsUSD(), a.IsMeasured(), c)
		}
	}
	if _, ok := LookupAsset("xrpl:0", code+".rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh"); ok {
		t.Error("a currency of another issuer is in the table")
	}
}
