package data

import (
	"cmp"
	"slices"

	"tollbook/build/judge"
	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// NewAssetTables returns the tables of a directory whose operator added tokens and free hosts to the shipped ones.
func NewAssetTables(tokens []ledger.Token, free listing.FreeHosts) site.AssetTables {
	t := site.AssetTables{Assets: listAssets(tokens), Addresses: []site.AddressForm{}, FreeHosts: free.List()}
	for _, n := range x402.Networks() {
		t.Networks = append(t.Networks, site.KnownNetwork{CAIP2: n.ID, Name: n.Name, Abbreviation: n.Abbreviation,
			ChainType: n.ChainType, IsMainnet: n.Mainnet, Aliases: append([]string{}, n.Aliases...),
			AlsoCAIP2: append([]string{}, n.AlsoCAIP2...)})
	}
	slices.SortFunc(t.Networks, func(a, b site.KnownNetwork) int { return cmp.Compare(a.CAIP2, b.CAIP2) })
	for _, f := range x402.AddressForms() {
		t.Addresses = append(t.Addresses, site.AddressForm{Namespace: f.Namespace, RecipientPattern: f.Recipient,
			RecipientRule: site.TextOrNull(f.RecipientRule), AssetPattern: f.Asset, AssetRule: site.TextOrNull(f.AssetRule),
			BurnAddresses: append([]string{}, f.Burn...), NormalForm: f.Normal})
	}
	return t
}

// listAssets returns the shipped tokens and those of the operator, who decides whether they count as dollars.
func listAssets(tokens []ledger.Token) []site.KnownAsset {
	var list []site.KnownAsset
	for _, a := range x402.Assets() {
		list = append(list, site.KnownAsset{NetworkCAIP2: a.Network, TokenAddress: a.Address,
			TokenAddressNorm: x402.NormalizeAddress(a.Network, a.Address), AssetName: a.Symbol, Decimals: a.Decimals,
			Issuer: site.TextOrNull(a.Issuer), Peg: site.TextOrNull(a.Peg),
			CountsAsUSD: judge.CountsAsUSD(a.Network, a.Address, nil),
			EIP712Name:  site.TextOrNull(a.Name), EIP712Version: site.TextOrNull(a.Version), Permit2: a.Permit2})
	}
	for _, token := range tokens {
		i := slices.IndexFunc(list, func(a site.KnownAsset) bool {
			return a.NetworkCAIP2 == token.Network && a.TokenAddressNorm == token.Address
		})
		if i < 0 {
			i = len(list)
			list = append(list, site.KnownAsset{NetworkCAIP2: token.Network, TokenAddress: token.Address,
				TokenAddressNorm: token.Address, AssetName: token.Symbol, Decimals: token.Decimals})
		}
		list[i].Configured, list[i].CountsAsUSD = true, judge.CountsAsUSD(token.Network, token.Address, &token)
	}
	slices.SortFunc(list, func(a, b site.KnownAsset) int {
		return cmp.Or(cmp.Compare(a.NetworkCAIP2, b.NetworkCAIP2), cmp.Compare(a.TokenAddressNorm, b.TokenAddressNorm))
	})
	return list
}
