package settings

import (
	"slices"
	"strings"
	"unicode"

	"tollbook/cmd/tollbook/terminal"
	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// Networks is a [[network]] of the configuration file: a chain whose settlements are read. Keys that the file leaves
// out are nil.
type Networks struct {
	CAIP2         *string      `toml:"caip2"`
	RPC           []string     `toml:"rpc"` // a URL may contain a secret: only its scheme and host are shown
	Confirmations *int         `toml:"confirmations"`
	Start         *string      `toml:"start"`
	Tokens        []tokenTable `toml:"token"`
}

// tokenTable is a [[network.token]]: a token to measure in place of the default ones.
type tokenTable struct {
	Address  *string `toml:"address"`
	Symbol   *string `toml:"symbol"`
	Decimals *int    `toml:"decimals"`
	USD      *bool   `toml:"usd"`
}

// Network checks the table, whose number in the file begins at 1.
func (t Networks) Network(number int) (*Network, error) {
	if t.CAIP2 == nil {
		return nil, terminal.UsageErrorf("[[network]] number %d has no caip2, such as \"eip155:8453\"", number)
	}
	id, _ := x402.ResolveNetwork(*t.CAIP2)
	if id == "" {
		return nil, terminal.UsageErrorf("[[network]] caip2 %.60q: give a CAIP-2 id such as eip155:8453", *t.CAIP2)
	}
	n := &Network{Network: chain.Network{ID: id, RPC: t.RPC}}
	for i, nodeURL := range t.RPC {
		if !isNodeURL(nodeURL) {
			return nil, terminal.UsageErrorf("[[network]] %s: rpc number %d must begin with https:// or http://", id, i+1)
		}
	}
	if t.Confirmations != nil {
		if n.Confirmations = *t.Confirmations; n.Confirmations < 0 {
			return nil, terminal.UsageErrorf("[[network]] %s: confirmations must be a number of blocks, or 0 for the block "+
				"that the node calls finalized", id)
		}
	}
	if t.Start != nil {
		var err error
		if n.Start, err = parseDay(*t.Start); err != nil {
			return nil, terminal.UsageErrorf("[[network]] %s: start %.20q: %w", id, *t.Start, err)
		}
	}
	for i, tt := range t.Tokens {
		token, err := tt.token(id)
		if err != nil {
			return nil, terminal.UsageErrorf("[[network.token]] number %d of %s: %w", i+1, id, err)
		}
		if slices.ContainsFunc(n.LedgerTokens, func(o ledger.Token) bool { return o.Address == token.Address }) {
			return nil, terminal.UsageErrorf("[[network.token]] %s of %s appears twice", token.Address, id)
		}
		n.LedgerTokens = append(n.LedgerTokens, token)
		n.Tokens = append(n.Tokens, chain.Token{
			Address: token.Address, Symbol: token.Symbol, Decimals: token.Decimals,
		})
	}
	return n, nil
}

// maxDecimals is the largest number of decimals: more than any token in use has.
const maxDecimals = 36

// token checks the table. Keys that it leaves out are taken from the table of assets, if that has the token.
func (t tokenTable) token(network string) (ledger.Token, error) {
	if t.Address == nil {
		return ledger.Token{}, terminal.UsageErrorf("address is missing")
	}
	token := ledger.Token{Network: network, Address: x402.NormalizeAddress(network, *t.Address)}
	if err := x402.CheckToken(network, token.Address); err != nil {
		return token, err
	}
	asset, ok := x402.LookupAsset(network, token.Address)
	if ok {
		n, _ := x402.NetworkByID(network)
		token.Symbol, token.Decimals = asset.Symbol, asset.Decimals
		token.USD = asset.CountsAsUSD() && n.Mainnet
	}
	if t.Symbol != nil {
		token.Symbol = *t.Symbol
	}
	if t.Decimals != nil {
		token.Decimals = *t.Decimals
	}
	if t.USD != nil {
		token.USD = *t.USD
	}
	switch {
	case !isSymbol(token.Symbol):
		return token, terminal.UsageErrorf("symbol must have 1 to 32 visible characters")
	case !ok && t.Decimals == nil:
		return token, terminal.UsageErrorf("decimals is missing: one token is 10 to that power in atomic units")
	case ok && t.Decimals != nil && *t.Decimals != asset.Decimals:
		return token, terminal.UsageErrorf("this token has %d decimals, not %d", asset.Decimals, *t.Decimals)
	case token.Decimals < 0 || token.Decimals > maxDecimals:
		return token, terminal.UsageErrorf("decimals must be 0 to %d", maxDecimals)
	}
	return token, nil
}

func isSymbol(s string) bool {
	return s != "" && len(s) <= 32 && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) })
}
