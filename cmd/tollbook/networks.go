package main

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/pflag"

	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// networkConfig is a [[network]] of the configuration file: a chain whose settlements are read.
type networkConfig struct {
	CAIP2         *string       `toml:"caip2"`
	RPC           []string      `toml:"rpc"` // addresses may hold keys: they are told by scheme and host alone
	Confirmations *int          `toml:"confirmations"`
	Start         *string       `toml:"start"`
	Tokens        []tokenConfig `toml:"token"`
}

// tokenConfig is a [[network.token]]: a token that is measured, in place of those that would be without any.
type tokenConfig struct {
	Address  *string `toml:"address"`
	Symbol   *string `toml:"symbol"`
	Decimals *int    `toml:"decimals"`
	USD      *bool   `toml:"usd"`
}

// networkOptions say which chains are read, and from where.
type networkOptions struct {
	RPC           []string // CAIP2=URL
	Confirmations []string // CAIP2=N
	Start         []string // CAIP2=DATE
	Networks      []string // CAIP2
}

// AddFlags adds --rpc, --confirmations, --start and --network.
func (o *networkOptions) AddFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.RPC, "rpc", nil, "`CAIP2=URL` of a JSON-RPC address to read a network from; given several times for one network, the next is asked when one fails")
	f.StringArrayVar(&o.Confirmations, "confirmations", nil, "`CAIP2=N` blocks below the newest that count as settled there; without, what the node calls finalized")
	f.StringArrayVar(&o.Start, "start", nil, "`CAIP2=DATE` before which nothing is looked for there, such as 2025-10-01")
	f.StringSliceVar(&o.Networks, "network", nil, "`CAIP2` of a network to read, of those that have an address; all by default")
}

// measuredNetwork is a chain to index and the tokens that the configuration names for it.
type measuredNetwork struct {
	chain.Network
	tokens []ledger.Token
}

const howToIndex = `no network has an address to read it from. Give one:

    tollbook index --once --rpc eip155:8453=https://base.example/rpc

or write it into tollbook.toml:

    [[network]]
    caip2 = "eip155:8453"
    rpc   = ["https://base.example/rpc", "https://other.example/base"]`

// networks puts the file's networks and the flags together, which win, in the order of their ids.
func (o *networkOptions) networks(file []networkConfig) ([]measuredNetwork, error) {
	byID := map[string]*measuredNetwork{}
	for i, c := range file {
		n, err := c.network(i + 1)
		if err != nil {
			return nil, err
		}
		if byID[n.ID] != nil {
			return nil, usagef("[[network]] %s stands twice", n.ID)
		}
		byID[n.ID] = n
	}
	at := func(id string) *measuredNetwork {
		if byID[id] == nil {
			byID[id] = &measuredNetwork{Network: chain.Network{ID: id}}
		}
		return byID[id]
	}
	given := map[string][]string{}
	for i, text := range o.RPC {
		id, address, err := assigned("--rpc", text, "eip155:8453=https://base.example/rpc")
		if err == nil && !isNodeAddress(address) {
			err = usagef("--rpc %s, number %d: it needs an address that begins with https:// or http://", id, i+1)
		}
		if err != nil {
			return nil, err
		}
		given[id] = append(given[id], address)
	}
	for id, addresses := range given {
		at(id).RPC = addresses
	}
	for _, text := range o.Confirmations {
		id, value, err := assigned("--confirmations", text, "eip155:8453=64")
		if err != nil {
			return nil, err
		}
		n, wrong := strconv.Atoi(value)
		if wrong != nil || n < 1 {
			return nil, usagef("--confirmations %s=%.20q: it is a number of blocks, at least 1", id, value)
		}
		at(id).Confirmations = n
	}
	for _, text := range o.Start {
		id, value, err := assigned("--start", text, "eip155:8453=2025-10-01")
		if err != nil {
			return nil, err
		}
		if at(id).Start, err = startDay(value); err != nil {
			return nil, usagef("--start %s=%.20q: %w", id, value, err)
		}
	}
	return o.restrict(byID)
}

// restrict leaves the networks that --network names, else all, each of which needs an address.
func (o *networkOptions) restrict(byID map[string]*measuredNetwork) ([]measuredNetwork, error) {
	var wanted []string
	for _, text := range o.Networks {
		id, _ := x402.ResolveNetwork(text)
		if id == "" {
			return nil, usagef("--network %.60q: it is a CAIP-2 id such as eip155:8453", text)
		}
		wanted = append(wanted, id)
	}
	if len(wanted) == 0 {
		for id := range byID {
			wanted = append(wanted, id)
		}
	}
	slices.Sort(wanted)
	var list []measuredNetwork
	for _, id := range slices.Compact(wanted) {
		n := byID[id]
		if n == nil || len(n.RPC) == 0 {
			return nil, usagef("network %s has no address to read it from: give --rpc %[1]s=https://…, or rpc of its [[network]]", id)
		}
		if namespace, _, _ := strings.Cut(id, ":"); namespace != "eip155" && namespace != "solana" {
			return nil, usagef("network %s: settlements are read from EVM chains (eip155:…) and Solana (solana:…) alone", id)
		}
		if len(n.Tokens) == 0 && len(chain.DefaultTokens(id)) == 0 {
			return nil, usagef("network %s has no token to measure: the configuration file may name some, [[network.token]]", id)
		}
		list = append(list, *n)
	}
	if len(list) == 0 {
		return nil, usagef("%s", howToIndex)
	}
	return list, nil
}

// assigned takes CAIP2=VALUE apart. The value is not shown: it may hold a key.
func assigned(flag, text, example string) (id, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	if ok {
		id, _ = x402.ResolveNetwork(name)
	}
	if id == "" {
		return "", "", usagef("%s: it is a CAIP-2 id and a value, such as %s", flag, example)
	}
	return id, value, nil
}

func isNodeAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// startDay reads a day; the first chain began in 2009.
func startDay(text string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Year() < 2009 {
		return time.Time{}, usagef("it is a day such as 2025-10-01")
	}
	return day, nil
}

// network checks what the file says of one.
func (c networkConfig) network(number int) (*measuredNetwork, error) {
	if c.CAIP2 == nil {
		return nil, usagef("[[network]] number %d has no caip2, such as \"eip155:8453\"", number)
	}
	id, _ := x402.ResolveNetwork(*c.CAIP2)
	if id == "" {
		return nil, usagef("[[network]] caip2 %.60q: it is a CAIP-2 id such as eip155:8453", *c.CAIP2)
	}
	n := &measuredNetwork{Network: chain.Network{ID: id, RPC: c.RPC}}
	for i, address := range c.RPC {
		if !isNodeAddress(address) {
			return nil, usagef("[[network]] %s: rpc number %d must begin with https:// or http://", id, i+1)
		}
	}
	if c.Confirmations != nil {
		if n.Confirmations = *c.Confirmations; n.Confirmations < 0 {
			return nil, usagef("[[network]] %s: confirmations is a number of blocks, or 0 for what the node calls finalized", id)
		}
	}
	if c.Start != nil {
		var err error
		if n.Start, err = startDay(*c.Start); err != nil {
			return nil, usagef("[[network]] %s: start %.20q: %w", id, *c.Start, err)
		}
	}
	for i, t := range c.Tokens {
		token, err := t.token(id)
		if err != nil {
			return nil, usagef("[[network.token]] number %d of %s: %w", i+1, id, err)
		}
		if slices.ContainsFunc(n.tokens, func(o ledger.Token) bool { return o.Address == token.Address }) {
			return nil, usagef("[[network.token]] %s of %s stands twice", token.Address, id)
		}
		n.tokens = append(n.tokens, token)
		n.Tokens = append(n.Tokens, chain.Token{Address: token.Address, Symbol: token.Symbol, Decimals: token.Decimals})
	}
	return n, nil
}

// maxDecimals is what a token's amounts may have: more than any that is worth something.
const maxDecimals = 36

// token checks what the file says of one. What it leaves out is taken from the table of assets, where that has the
// token.
func (c tokenConfig) token(network string) (ledger.Token, error) {
	if c.Address == nil {
		return ledger.Token{}, usagef("it has no address")
	}
	t := ledger.Token{Network: network, Address: x402.NormalizeAddress(network, *c.Address)}
	if err := x402.CheckAsset(network, t.Address); err != nil {
		return t, err
	}
	known, ok := x402.LookupAsset(network, t.Address)
	if ok {
		n, _ := x402.NetworkByID(network)
		t.Symbol, t.Decimals, t.USD = known.Symbol, known.Decimals, known.Symbol == "USDC" && n.Mainnet
	}
	if c.Symbol != nil {
		t.Symbol = *c.Symbol
	}
	if c.Decimals != nil {
		t.Decimals = *c.Decimals
	}
	if c.USD != nil {
		t.USD = *c.USD
	}
	switch {
	case t.Symbol == "" || len(t.Symbol) > 32 || strings.ContainsFunc(t.Symbol, func(r rune) bool { return !unicode.IsGraphic(r) }):
		return t, usagef("symbol is 1 to 32 characters")
	case !ok && c.Decimals == nil:
		return t, usagef("it needs decimals: atomic units per token are 10 to that power")
	case ok && c.Decimals != nil && *c.Decimals != known.Decimals:
		return t, usagef("it has %d decimals, not %d", known.Decimals, *c.Decimals)
	case t.Decimals < 0 || t.Decimals > maxDecimals:
		return t, usagef("decimals are 0 to %d", maxDecimals)
	}
	return t, nil
}
