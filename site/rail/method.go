package rail

import (
	"strconv"
	"strings"

	"tollbook/site/x402"
)

// method describes how the requests of an MPP method name their network and their asset. SOURCES.md names the
// specifications.
type method struct {
	standard string            // network of a request that names none, "" if such a request has no known network
	names    map[string]string // CAIP-2 ids by the names that the method gives its networks
	chains   map[uint64]string // CAIP-2 ids by chain id, where the ids are not those of eip155
	symbols  bool              // the SDK pays the token of a symbol, such as USDC
	assetIDs bool              // currencies are CAIP-19 ids
}

// The networks that methods name without a CAIP-2 id.
const (
	solanaMainnet = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	solanaDevnet  = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"
	solanaTestnet = "solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z"
	stellarPubnet = "stellar:pubnet"
)

// methods has the methods with networks of their own; every other method names an EVM network by its chainId, or has
// no network. No chain of hedera has a default, because implementations disagree.
var methods = map[string]method{
	"tempo": {standard: "eip155:4217"},
	"solana": {standard: solanaMainnet, symbols: true, names: map[string]string{"mainnet": solanaMainnet,
		"mainnet-beta": solanaMainnet, "devnet": solanaDevnet, "testnet": solanaTestnet}},
	"stellar": {names: map[string]string{"public": stellarPubnet, "pubnet": stellarPubnet, "mainnet": stellarPubnet,
		"testnet": "stellar:testnet"}},
	"hedera": {chains: map[uint64]string{295: "hedera:mainnet", 296: "hedera:testnet"},
		names: map[string]string{"mainnet": "hedera:mainnet", "testnet": "hedera:testnet"}},
	"stacks": {chains: map[uint64]string{1: "stacks:1", 2147483648: "stacks:2147483648"},
		names: map[string]string{"mainnet": "stacks:1", "testnet": "stacks:2147483648"}},
	"nearintents": {assetIDs: true},
	"lightning":   {},
}

// networkOf returns the CAIP-2 id of the network of a request, "" for a request without one.
func networkOf(name string, r request) string {
	if name == "usdc" && r.kind != "" { // a method of several profiles, each of which names networks as its own method
		name = r.kind
	}
	m := methods[name]
	switch {
	case name == "lightning":
		return ""
	case strings.Contains(r.network, ":"): // a CAIP-2 id
		id, isListed := x402.ResolveNetwork(r.network)
		if !isListed {
			return ""
		}
		return id
	case r.network != "" && m.names[strings.ToLower(r.network)] != "":
		return m.names[strings.ToLower(r.network)]
	case r.network != "" && (m.names != nil || r.chainID == 0):
		for _, text := range []string{name + ":" + r.network, name + "-" + r.network} {
			if id, isListed := x402.ResolveNetwork(text); isListed {
				return id
			}
		}
		return ""
	case r.chainID != 0 && m.chains[r.chainID] != "" && !r.paysContract():
		return m.chains[r.chainID]
	case r.chainID != 0:
		return "eip155:" + strconv.FormatUint(r.chainID, 10)
	}
	return m.standard
}

// paysContract reports whether a request names its recipient by an EVM address, as the channels of hedera do.
func (r request) paysContract() bool { return x402.CheckAddress("eip155:1", r.recipient) == nil }

// assetOf returns the token that a currency stands for: the mint of a symbol, or the last part of a CAIP-19 id. It
// returns any other currency unchanged.
func assetOf(name, network, currency string) string {
	m := methods[name]
	switch {
	case m.symbols:
		if a, ok := x402.AssetBySymbol(network, currency); ok {
			return a.Address
		}
	case m.assetIDs:
		if _, asset, ok := strings.Cut(strings.TrimPrefix(currency, network+"/"), ":"); ok && network != "" &&
			strings.HasPrefix(currency, network+"/") {
			return asset
		}
	}
	return currency
}
