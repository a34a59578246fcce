package conformance

import (
	"regexp"

	"tollbook/.ci/recompute/snapshot"
)

// network is a row of the networks in /v1/assets.
type network struct {
	ID, Name, Abbreviation string
	Mainnet                bool
}

// listedAsset is a token in /v1/assets.
type listedAsset struct {
	Symbol, Issuer, Peg string // the peg is USD if a token is worth a dollar
	Decimals            int
	Name, Version       string // the EIP-712 domain, "" if it is not known
	Permit2             bool
}

// addressForm is how the networks of one namespace write addresses.
type addressForm struct {
	recipient, asset *regexp.Regexp
	burned           map[string]bool // recipients from which nobody can spend, in normal form
}

// Tables are the published tables by which payment options are judged.
var Tables struct {
	networks  map[string]network // by CAIP-2 id, also by other ids of the same network
	aliases   map[string]string  // CAIP-2 ids by name
	assets    map[Account]listedAsset
	addresses map[string]addressForm // by namespace; * stands for all others
	FreeHosts map[string]bool

	railChecks map[string][]railCheck // by protocol
}

// LoadTables reads the data of /v1/assets and the tables of the methodology.
func LoadTables(data snapshot.Node, methodology string) {
	Tables.railChecks = readRailChecks(methodology)
	Tables.networks, Tables.aliases = map[string]network{}, map[string]string{}
	for _, n := range data.Get("networks").Items() {
		row := network{n.Get("caip2").Text(), n.Get("name").Text(), n.Get("abbreviation").Text(),
			n.Get("is_mainnet").Bool()}
		for _, id := range append(n.Get("also_caip2").Texts(), row.ID) {
			Tables.networks[id] = row
		}
		for _, alias := range n.Get("aliases").Texts() {
			Tables.aliases[alias] = row.ID
		}
	}
	Tables.addresses = map[string]addressForm{}
	for _, n := range data.Get("addresses").Items() {
		form := addressForm{compile(n.Get("recipient_pattern")), compile(n.Get("asset_pattern")), map[string]bool{}}
		for _, text := range n.Get("burn_addresses").Texts() {
			form.burned[text] = true
		}
		Tables.addresses[n.Get("namespace").Text()] = form
	}
	Tables.assets = map[Account]listedAsset{}
	for _, n := range data.Get("assets").Items() {
		at := Account{n.Get("network_caip2").Text(), n.Get("token_address_norm").Text()}
		Tables.assets[at] = listedAsset{
			Symbol: n.Get("asset_name").Text(), Issuer: n.Get("issuer").Text(), Peg: n.Get("peg").Text(),
			Decimals: n.Get("decimals").Int(), Name: n.Get("eip712_name").Text(),
			Version: n.Get("eip712_version").Text(), Permit2: n.Get("permit2").Bool(),
		}
	}
	Tables.FreeHosts = map[string]bool{}
	for _, host := range data.Get("free_hosts").Texts() {
		Tables.FreeHosts[host] = true
	}
}

// compile reads a published pattern. A damaged one matches nothing.
func compile(n snapshot.Node) *regexp.Regexp {
	form, err := regexp.Compile(n.Text())
	if err != nil || !n.HasValue() {
		return regexp.MustCompile(`^\b$`)
	}
	return form
}

// LookupNetwork returns the row of a CAIP-2 id.
func LookupNetwork(id string) (network, bool) {
	n, ok := Tables.networks[id]
	return n, ok
}

// LookupAsset returns the table's row of the asset of a payment option. An issued currency of the XRP Ledger needs the
// issuer of the table.
func LookupAsset(r *Row) (listedAsset, bool) {
	asset, ok := Tables.assets[Account{r.Network, r.AssetNorm()}]
	if ok && asset.Issuer != "" && asset.Issuer != r.text("issuer") {
		return listedAsset{}, false
	}
	return asset, ok
}

// Account is an address on a network.
type Account struct{ Network, Address string }
