package data

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/postgres/ledger"
)

// TestAssetTables checks rows of each kind: shipped ones, and those that an operator configured.
func TestAssetTables(t *testing.T) {
	t.Parallel()
	free, err := listing.FreeHosts{}.With([]byte("free.example\n"))
	if err != nil {
		t.Fatal(err)
	}
	const eurc = "0x60a3e35cc302bfa44cb288bc5a4f316fdb1adb42"
	got := NewAssetTables([]ledger.Token{
		{Network: "eip155:8453", Address: eurc, Symbol: "EURC", Decimals: 6},
		{Network: "eip155:8453", Address: "0xown", Symbol: "OWN", Decimals: 2, USD: true},
		{Network: "eip155:84532", Address: "0xown", Symbol: "OWN", Decimals: 2, USD: true}, // a test network
	}, free)
	asset := func(network, norm string) site.KnownAsset {
		i := slices.IndexFunc(got.Assets, func(a site.KnownAsset) bool {
			return a.NetworkCAIP2 == network && a.TokenAddressNorm == norm
		})
		if i < 0 {
			t.Fatalf("no token %s on %s", norm, network)
		}
		return got.Assets[i]
	}
	for _, want := range []site.KnownAsset{
		{NetworkCAIP2: "eip155:8453", TokenAddress: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
			TokenAddressNorm: "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913", AssetName: "USDC", Decimals: 6,
			Peg: new("USD"), CountsAsUSD: true, EIP712Name: new("USD Coin"), EIP712Version: new("2")},
		{NetworkCAIP2: "eip155:84532", TokenAddress: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
			TokenAddressNorm: "0x036cbd53842c5426634e7929541ec2318f3dcf7e", AssetName: "USDC", Decimals: 6,
			Peg: new("USD"), EIP712Name: new("USDC"), EIP712Version: new("2")},
		{NetworkCAIP2: "eip155:8453", TokenAddress: "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42",
			TokenAddressNorm: eurc, AssetName: "EURC", Decimals: 6, Peg: new("EUR"), EIP712Name: new("EURC"),
			EIP712Version: new("2"), Configured: true},
		{NetworkCAIP2: "eip155:8453", TokenAddress: "0xown", TokenAddressNorm: "0xown", AssetName: "OWN", Decimals: 2,
			CountsAsUSD: true, Configured: true},
		{NetworkCAIP2: "eip155:84532", TokenAddress: "0xown", TokenAddressNorm: "0xown", AssetName: "OWN",
			Decimals: 2, Configured: true},
	} {
		if diff := cmp.Diff(want, asset(want.NetworkCAIP2, want.TokenAddressNorm)); diff != "" {
			t.Errorf("token (-want +got):\n%s", diff)
		}
	}
	if !slices.Contains(got.FreeHosts, "free.example") || len(got.FreeHosts) < 2 || !slices.IsSorted(got.FreeHosts) {
		t.Errorf("free hosts are %q, want the shipped ones and free.example, sorted", got.FreeHosts)
	}
	i := slices.IndexFunc(got.Networks, func(n site.KnownNetwork) bool { return n.CAIP2 == "eip155:8453" })
	if n := got.Networks[i]; n.Abbreviation != "BSE" || !n.IsMainnet || !slices.Contains(n.Aliases, "base") {
		t.Errorf("Base is %+v, want the main network BSE with the alias base", n)
	}
}
