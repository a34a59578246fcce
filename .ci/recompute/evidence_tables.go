package main

import (
	"encoding/json"
	"os"
)

// network and listedAsset are rows of /v1/assets.
type network struct {
	ID, Name, Abbreviation string
	Mainnet                bool
	Aliases                []string
	AlsoCAIP2              []string `json:"also_caip2"`
}

type listedAsset struct {
	Network, Address, Symbol string
	Decimals                 int
	Name, Version            string // the EIP-712 domain, "" if it is not known
	Peg                      string // USD if a token is worth a dollar
	Issuer                   string
	Permit2                  bool
}

// tables contains the published tables.
var tables struct {
	networks []network
	assets   []listedAsset
}

// The tables are read from the repository until the snapshot contains them.
func init() {
	for _, folder := range []string{"site/x402/", "../../site/x402/"} {
		if data, err := os.ReadFile(folder + "networks.json"); err == nil {
			_ = json.Unmarshal(data, &tables.networks)
		}
		if data, err := os.ReadFile(folder + "assets.json"); err == nil {
			_ = json.Unmarshal(data, &tables.assets)
		}
	}
}

// lookupNetwork returns the row of a CAIP-2 id.
func lookupNetwork(id string) (network, bool) {
	for _, n := range tables.networks {
		if n.ID == id {
			return n, true
		}
	}
	return network{}, false
}

// lookupAsset returns the table's row of the asset of a payment option. An issued currency of the XRP Ledger needs the
// issuer of the table.
func lookupAsset(r *row) (listedAsset, bool) {
	for _, t := range tables.assets {
		if t.Network == r.network && normalAddress(t.Network, t.Address) == r.assetNorm() &&
			(t.Issuer == "" || t.Issuer == r.text("issuer")) {
			return t, true
		}
	}
	return listedAsset{}, false
}
