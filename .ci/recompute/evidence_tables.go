package main

import "regexp"

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

// tables are the published tables by which payment options are judged.
var tables struct {
	networks  map[string]network // by CAIP-2 id, also by other ids of the same network
	aliases   map[string]string  // CAIP-2 ids by name
	assets    map[account]listedAsset
	addresses map[string]addressForm // by namespace; * stands for all others
	freeHosts map[string]bool
}

// loadTables reads the data of /v1/assets.
func loadTables(data node) {
	tables.networks, tables.aliases = map[string]network{}, map[string]string{}
	for _, n := range data.get("networks").items() {
		row := network{n.get("caip2").text(), n.get("name").text(), n.get("abbreviation").text(),
			n.get("is_mainnet").bool()}
		for _, id := range append(n.get("also_caip2").texts(), row.ID) {
			tables.networks[id] = row
		}
		for _, alias := range n.get("aliases").texts() {
			tables.aliases[alias] = row.ID
		}
	}
	tables.addresses = map[string]addressForm{}
	for _, n := range data.get("addresses").items() {
		form := addressForm{compile(n.get("recipient_pattern")), compile(n.get("asset_pattern")), map[string]bool{}}
		for _, text := range n.get("burn_addresses").texts() {
			form.burned[text] = true
		}
		tables.addresses[n.get("namespace").text()] = form
	}
	tables.assets = map[account]listedAsset{}
	for _, n := range data.get("assets").items() {
		at := account{n.get("network_caip2").text(), n.get("token_address_norm").text()}
		tables.assets[at] = listedAsset{
			Symbol: n.get("asset_name").text(), Issuer: n.get("issuer").text(), Peg: n.get("peg").text(),
			Decimals: n.get("decimals").int(), Name: n.get("eip712_name").text(),
			Version: n.get("eip712_version").text(), Permit2: n.get("permit2").bool(),
		}
	}
	tables.freeHosts = map[string]bool{}
	for _, host := range data.get("free_hosts").texts() {
		tables.freeHosts[host] = true
	}
}

// compile reads a published pattern. A damaged one matches nothing.
func compile(n node) *regexp.Regexp {
	form, err := regexp.Compile(n.text())
	if err != nil || !n.hasValue() {
		return regexp.MustCompile(`^\b$`)
	}
	return form
}

// lookupNetwork returns the row of a CAIP-2 id.
func lookupNetwork(id string) (network, bool) {
	n, ok := tables.networks[id]
	return n, ok
}

// lookupAsset returns the table's row of the asset of a payment option. An issued currency of the XRP Ledger needs the
// issuer of the table.
func lookupAsset(r *row) (listedAsset, bool) {
	asset, ok := tables.assets[account{r.network, r.assetNorm()}]
	if ok && asset.Issuer != "" && asset.Issuer != r.text("issuer") {
		return listedAsset{}, false
	}
	return asset, ok
}
