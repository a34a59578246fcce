package x402

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// Asset is one row of assets.json: a token in which services request payment.
type Asset struct {
	Network string `json:"network"` // CAIP-2
	Address string `json:"address"` // contract, mint, denomination or currency code, as its chain writes it
	Symbol  string `json:"symbol"`
	// atomic units per token are 10^Decimals; 0 for XRPL issued currencies, whose amounts are decimal text
	Decimals int    `json:"decimals"`
	Name     string `json:"name"`              // EIP-712 domain name, "" when it is not verified or does not apply
	Version  string `json:"version"`           // EIP-712 domain version, likewise
	Peg      string `json:"peg"`               // "USD", "EUR", "" for no peg
	Issuer   string `json:"issuer,omitempty"`  // XRPL: the account that issues it, which the code alone does not say
	Permit2  bool   `json:"permit2,omitempty"` // moves by Permit2, since the token lacks EIP-3009
	Source   string `json:"source"`            // as in networks.json
}

//go:embed assets.json
var assetsJSON []byte

type assetTable struct {
	list  []Asset
	byKey map[[2]string]int   // network and normalised address
	homes map[[2]string][]int // namespace and normalised address; empty on the XRP Ledger, where codes are no addresses

	issued map[[2]string]Asset // issued currencies of the XRP Ledger as tokens, by network and currency.issuer
}

var assets = sync.OnceValue(func() assetTable {
	t := assetTable{byKey: map[[2]string]int{}, homes: map[[2]string][]int{}, issued: map[[2]string]Asset{}}
	if err := json.Unmarshal(assetsJSON, &t.list); err != nil {
		panic(fmt.Errorf("read embedded assets.json: %w", err)) // a broken build, not a broken input
	}
	for i, a := range t.list {
		normal := NormalizeAddress(a.Network, a.Address)
		t.byKey[[2]string{a.Network, normal}] = i
		if space := AddressNamespace(a.Network); space != "xrpl" {
			t.homes[[2]string{space, normal}] = append(t.homes[[2]string{space, normal}], i)
		}
		if a.Issuer != "" {
			a.Address, a.Decimals = a.Address+"."+a.Issuer, issuedDecimals
			t.issued[[2]string{a.Network, a.Address}] = a
		}
	}
	return t
})

// Assets returns the table in the order of network, symbol and address.
func Assets() []Asset { return append([]Asset(nil), assets().list...) }

// issuedDecimals is how many decimals settled amounts of issued currencies have. The ledger has 16 significant digits,
// so that every amount from 10^-8 on is exact.
const issuedDecimals = 24

// Token returns the asset as a token of settlements. An issued currency has its issuer in the address, and decimals.
func (a Asset) Token() Asset {
	if a.Issuer == "" || strings.HasSuffix(a.Address, "."+a.Issuer) {
		return a
	}
	return assets().issued[[2]string{a.Network, a.Address + "." + a.Issuer}]
}

// LookupAsset returns the row of a token. The address may have any form that its chain accepts, and that of Token.
func LookupAsset(networkCAIP2, token string) (Asset, bool) {
	if a, ok := assets().issued[[2]string{networkCAIP2, token}]; ok {
		return a, true
	}
	return assetAt(networkCAIP2, NormalizeAddress(networkCAIP2, token))
}

// AssetBySymbol returns the only token of a network with a symbol, whatever its case.
func AssetBySymbol(networkCAIP2, symbol string) (Asset, bool) {
	var found Asset
	for _, a := range assets().list {
		if a.Network == networkCAIP2 && strings.EqualFold(a.Symbol, symbol) {
			if found.Address != "" {
				return Asset{}, false
			}
			found = a
		}
	}
	return found, found.Address != ""
}

// CountsAsUSD reports whether settlements in the token count as dollars, one to one: USDC, and what payers use in its
// place on Tempo (USDC.e, pathUSD) and the XRP Ledger (RLUSD). The caller must know that tokens of test networks are
// worth nothing.
func (a Asset) CountsAsUSD() bool {
	return a.Symbol == "USDC" || (a.Network == "eip155:4217" || a.Network == "xrpl:0") && a.Peg == "USD"
}

// IsMeasured reports whether settlements in the token are read unless the operator names other tokens: dollars, and
// XRP, whose settlements are counted without a volume.
func (a Asset) IsMeasured() bool { return a.CountsAsUSD() || a.Symbol == "XRP" }

// assetAt returns the row of a token whose address is normalised.
func assetAt(networkCAIP2, normal string) (Asset, bool) {
	t := assets()
	i, ok := t.byKey[[2]string{networkCAIP2, normal}]
	if !ok {
		return Asset{}, false
	}
	return t.list[i], true
}

// UnknownAsset is the name of each token that is not in the table.
const UnknownAsset = "UNKNOWN"

// assetOf returns the table's row for a requirement. On the XRP Ledger anyone may issue a currency code, so there the
// issuer must be the table's too.
func (r Requirement) assetOf() (Asset, bool) {
	a, ok := assetAt(r.NetworkCAIP2, r.AssetNorm)
	if ok && a.Issuer != "" && object(r.extra()).text("issuer") != a.Issuer {
		return Asset{}, false
	}
	return a, ok
}

// foreign returns the listed token of another network that a requirement names as its asset, and false for any other
// asset. Nothing is known about the tokens of a network that is not listed. On EVM networks an address that is listed on
// several of them has the same token on further ones, because its deployer chose the address.
func (r Requirement) foreign() (Asset, bool) {
	t := assets()
	if _, ok := t.byKey[[2]string{r.NetworkCAIP2, r.AssetNorm}]; ok {
		return Asset{}, false
	}
	if _, ok := NetworkByID(r.NetworkCAIP2); !ok {
		return Asset{}, false
	}
	space := AddressNamespace(r.NetworkCAIP2)
	homes := t.homes[[2]string{space, r.AssetNorm}]
	if len(homes) == 0 || space == "eip155" && len(homes) > 1 {
		return Asset{}, false
	}
	return t.list[homes[0]], true
}

// foreignFault returns why the asset is no token of the row's network, "" unless it is known to be another network's.
func (r Requirement) foreignFault() string {
	a, ok := r.foreign()
	if !ok {
		return ""
	}
	name := a.Network
	if n, ok := NetworkByID(a.Network); ok {
		name = n.Name
	}
	return fmt.Sprintf("the asset %q is the %s of %s, not a token of %s", clip(r.Asset, 80), a.Symbol, name,
		r.NetworkCAIP2)
}

// Symbol returns the symbol of the asset, UnknownAsset for one that is not in the table.
func (r Requirement) Symbol() string {
	if a, ok := r.assetOf(); ok {
		return a.Symbol
	}
	return UnknownAsset
}

// extra returns the members of the scheme's data.
func (r Requirement) extra() object {
	list, _ := members(r.Extra)
	return list
}
