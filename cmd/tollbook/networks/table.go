package networks

import (
	"slices"
	"strings"
	"unicode"

	"tollbook/cmd/tollbook/usage"
	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
	"tollbook/site/x402/address"
)

// Table is a [[network]] of the configuration file: a chain whose settlements are read. Keys that the file leaves out
// are nil.
type Table struct {
	CAIP2         *string      `toml:"caip2"`
	RPC           []string     `toml:"rpc"` // a URL may contain a secret: only its scheme and host are shown
	Confirmations *int         `toml:"confirmations"`
	Start         *string      `toml:"start"`
	Tokens        []TokenTable `toml:"token"`
}

// TokenTable is a [[network.token]]: a token to measure in place of the default ones.
type TokenTable struct {
	Address  *string `toml:"address"`
	Symbol   *string `toml:"symbol"`
	Decimals *int    `toml:"decimals"`
	USD      *bool   `toml:"usd"`
}

// Network checks the table, whose number in the file begins at 1.
func (t Table) Network(number int) (*Network, error) {
	if t.CAIP2 == nil {
		return nil, usage.Errorf("[[network]] number %d has no caip2, such as \"eip155:8453\"", number)
	}
	id, _ := x402.ResolveNetwork(*t.CAIP2)
	if id == "" {
		return nil, usage.Errorf("[[network]] caip2 %.60q: give a CAIP-2 id such as eip155:8453", *t.CAIP2)
	}
	n := &Network{Network: chain.Network{ID: id, RPC: t.RPC}}
	for i, nodeURL := range t.RPC {
		if !isNodeURL(nodeURL) {
			return nil, usage.Errorf("[[network]] %s: rpc number %d must begin with https:// or http://", id, i+1)
		}
	}
	if t.Confirmations != nil {
		if n.Confirmations = *t.Confirmations; n.Confirmations < 0 {
			return nil, usage.Errorf("[[network]] %s: confirmations must be a number of blocks, or 0 for the block "+
				"that the node calls finalized", id)
		}
	}
	if t.Start != nil {
		var err error
		if n.Start, err = parseDay(*t.Start); err != nil {
			return nil, usage.Errorf("[[network]] %s: start %.20q: %w", id, *t.Start, err)
		}
	}
	for i, tt := range t.Tokens {
		token, err := tt.token(id)
		if err != nil {
			return nil, usage.Errorf("[[network.token]] number %d of %s: %w", i+1, id, err)
		}
		if slices.ContainsFunc(n.LedgerTokens, func(o ledger.Token) bool { return o.Address == token.Address }) {
			return nil, usage.Errorf("[[network.token]] %s of %s appears twice", token.Address, id)
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
func (t TokenTable) token(network string) (ledger.Token, error) {
	if t.Address == nil {
		return ledger.Token{}, usage.Errorf("address is missing")
	}
	token := ledger.Token{Network: network, Address: address.Normalize(network, *t.Address)}
	if err := address.CheckToken(network, token.Address); err != nil {
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
		return token, usage.Errorf("symbol must have 1 to 32 visible characters")
	case !ok && t.Decimals == nil:
		return token, usage.Errorf("decimals is missing: one token is 10 to that power in atomic units")
	case ok && t.Decimals != nil && *t.Decimals != asset.Decimals:
		return token, usage.Errorf("this token has %d decimals, not %d", asset.Decimals, *t.Decimals)
	case token.Decimals < 0 || token.Decimals > maxDecimals:
		return token, usage.Errorf("decimals must be 0 to %d", maxDecimals)
	}
	return token, nil
}

func isSymbol(s string) bool {
	return s != "" && len(s) <= 32 && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) })
}
