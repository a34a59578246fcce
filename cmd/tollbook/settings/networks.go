// This part of the package reads which chains to index, and from which nodes, from the [[network]] tables of the
// configuration file and from flags. It must never call a node.

package settings

import (
	"context"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tollbook/cmd/tollbook/terminal"
	"tollbook/crawl/chain"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// Network is a chain to index, with the tokens that the configuration names for it.
type Network struct {
	chain.Network
	LedgerTokens []ledger.Token // the same tokens as Network.Tokens, as the database stores them
}

// NetworkOptions are the values of flags. They win over the tables.
type NetworkOptions struct {
	RPC           []string // CAIP2=URL
	Confirmations []string // CAIP2=N
	Start         []string // CAIP2=DATE
	Only          []string // CAIP2 of the networks to read; empty for all
}

const help = `no network has a node to read it from. Name one with a flag:

    tollbook index --once --rpc eip155:8453=https://base.example/rpc

or in tollbook.toml:

    [[network]]
    caip2 = "eip155:8453"
    rpc   = ["https://base.example/rpc", "https://other.example/base"]`

// Read combines tables and flags. It returns the networks in the order of their ids, and an error if there are none.
func (o *NetworkOptions) Read(tables []Networks) ([]Network, error) {
	byID := map[string]*Network{}
	for i, t := range tables {
		n, err := t.Network(i + 1)
		if err != nil {
			return nil, err
		}
		if byID[n.ID] != nil {
			return nil, terminal.UsageErrorf("[[network]] %s appears twice; combine the two tables", n.ID)
		}
		byID[n.ID] = n
	}
	if err := o.applyFlags(byID); err != nil {
		return nil, err
	}
	return o.choose(byID)
}

// IsEmpty reports whether neither tables nor flags name a network.
func (o *NetworkOptions) IsEmpty(tables []Networks) bool {
	return len(tables) == 0 && len(o.RPC) == 0 && len(o.Only) == 0
}

func (o *NetworkOptions) applyFlags(byID map[string]*Network) error {
	network := func(id string) *Network {
		if byID[id] == nil {
			byID[id] = &Network{Network: chain.Network{ID: id}}
		}
		return byID[id]
	}
	rpc := map[string][]string{}
	for i, text := range o.RPC {
		id, nodeURL, err := cutAssignment("--rpc", text, "eip155:8453=https://base.example/rpc")
		if err == nil && !isNodeURL(nodeURL) {
			err = terminal.UsageErrorf("--rpc %s, number %d: give a URL that begins with https:// or http://", id, i+1)
		}
		if err != nil {
			return err
		}
		rpc[id] = append(rpc[id], nodeURL)
	}
	for id, urls := range rpc {
		network(id).RPC = urls
	}
	for _, text := range o.Confirmations {
		id, value, err := cutAssignment("--confirmations", text, "eip155:8453=64")
		if err != nil {
			return err
		}
		n, wrong := strconv.Atoi(value)
		if wrong != nil || n < 1 {
			return terminal.UsageErrorf("--confirmations %s=%.20q: give a number of blocks, at least 1", id, value)
		}
		network(id).Confirmations = n
	}
	for _, text := range o.Start {
		id, value, err := cutAssignment("--start", text, "eip155:8453=2025-10-01")
		if err != nil {
			return err
		}
		if network(id).Start, err = parseDay(value); err != nil {
			return terminal.UsageErrorf("--start %s=%.20q: %w", id, value, err)
		}
	}
	return nil
}

// namespaces are those of the networks that can be read.
var namespaces = []string{"eip155", "solana", "stellar", "xrpl"}

// choose returns the networks that --network names, else all. Each needs a node and a token.
func (o *NetworkOptions) choose(byID map[string]*Network) ([]Network, error) {
	var ids []string
	for _, text := range o.Only {
		id, _ := x402.ResolveNetwork(text)
		if id == "" {
			return nil, terminal.UsageErrorf("--network %.60q: give a CAIP-2 id such as eip155:8453", text)
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		for id := range byID {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	var list []Network
	for _, id := range slices.Compact(ids) {
		n := byID[id]
		if n == nil || len(n.RPC) == 0 {
			return nil, terminal.UsageErrorf("network %s has no node to read it from: use --rpc %[1]s=https://…, "+
				"or rpc of its [[network]]", id)
		}
		if namespace, _, _ := strings.Cut(id, ":"); !slices.Contains(namespaces, namespace) {
			return nil, terminal.UsageErrorf("network %s: settlements can be read only from EVM chains (eip155:…), "+
				"Solana (solana:…), Stellar (stellar:…) and the XRP Ledger (xrpl:…)", id)
		}
		if len(n.Tokens) == 0 && len(chain.DefaultTokens(id)) == 0 {
			return nil, terminal.UsageErrorf("network %s has no token to measure: add a [[network.token]] to the "+
				"configuration file", id)
		}
		list = append(list, *n)
	}
	if len(list) == 0 {
		return nil, terminal.UsageErrorf("%s", help)
	}
	return list, nil
}

// cutAssignment splits CAIP2=VALUE. Its errors do not contain the value, which may be a secret.
func cutAssignment(flag, text, example string) (id, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	if ok {
		id, _ = x402.ResolveNetwork(name)
	}
	if id == "" {
		return "", "", terminal.UsageErrorf("%s: give a CAIP-2 id and a value, such as %s", flag, example)
	}
	return id, value, nil
}

func isNodeURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// parseDay reads a day from 2009 on, when the first chain began.
func parseDay(text string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Year() < 2009 {
		return time.Time{}, terminal.UsageErrorf("give a day such as 2025-10-01")
	}
	return day, nil
}

// StoreNetworks stores the tokens of each network and returns the networks for an indexer. It warns of a network
// without a facilitator, on which no settlement can be found.
func StoreNetworks(
	ctx context.Context, db *postgres.DB, networks []Network, logger *slog.Logger,
) ([]chain.Network, error) {
	facilitators, err := db.Facilitators(ctx)
	if err != nil {
		return nil, err
	}
	settled := map[string]bool{}
	for _, f := range facilitators {
		for _, s := range f.Settlers {
			settled[s.Network] = true
		}
	}
	chains := make([]chain.Network, len(networks))
	for i, n := range networks {
		chains[i] = n.Network
		if err := db.SetTokens(ctx, n.ID, n.LedgerTokens); err != nil {
			return nil, err
		}
		if !settled[n.ID] {
			logger.Warn("no facilitator has an account on this network; add one with tollbook facilitators import",
				"network", n.ID)
		}
	}
	return chains, nil
}
