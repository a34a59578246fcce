package ledger

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Token is a token from the operator's configuration that is measured on a network.
type Token struct {
	Network  string // CAIP-2
	Address  string // in normal form
	Symbol   string
	Decimals int
	USD      bool // worth one US dollar
}

// SetTokens replaces the configured tokens of a network. If one of them was not measured before, every settler of the
// network is scanned again, because the blocks read so far may contain its settlements.
func (db *DB) SetTokens(ctx context.Context, network string, list []Token) error {
	err := db.transact(ctx, func(tx pgx.Tx) error {
		before, err := dropTokens(ctx, tx, network)
		if err != nil {
			return err
		}
		fresh := len(list) == 0 && len(before) > 0 // back from configured tokens to the built-in ones
		for _, t := range list {
			fresh = fresh || !slices.Contains(before, t.Address)
		}
		if fresh {
			if err := resetSettlers(ctx, tx, network); err != nil {
				return err
			}
		}
		for _, t := range list {
			if _, err := tx.Exec(ctx, `
				INSERT INTO tokens (network, address, symbol, decimals, usd) VALUES ($1, $2, $3, $4, $5)
				ON CONFLICT (network, address) DO UPDATE SET symbol = excluded.symbol, decimals = excluded.decimals,
					usd = excluded.usd`,
				network, t.Address, t.Symbol, t.Decimals, t.USD); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store the tokens of %s: %w", network, err)
	}
	return nil
}

// dropTokens deletes the tokens of a network, and returns their addresses.
func dropTokens(ctx context.Context, tx pgx.Tx, network string) (before []string, err error) {
	rows, err := tx.Query(ctx, `DELETE FROM tokens WHERE network = $1 RETURNING address`, network)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// resetSettlers deletes the progress of a network's settlers. Stored settlements stay, and are found again.
func resetSettlers(ctx context.Context, tx pgx.Tx, network string) error {
	for _, sql := range []string{`DELETE FROM scan_settlers WHERE network = $1`,
		`DELETE FROM walks WHERE network = $1`} {
		if _, err := tx.Exec(ctx, sql, network); err != nil {
			return err
		}
	}
	return nil
}

// ReadTokens reads every configured token, by network and address.
func (r *Reader) ReadTokens(ctx context.Context) ([]Token, error) {
	rows, err := r.tx.Query(ctx, `SELECT network, address, symbol, decimals, usd FROM tokens
		ORDER BY network COLLATE "C", address COLLATE "C"`)
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t Token, err error) {
		return t, row.Scan(&t.Network, &t.Address, &t.Symbol, &t.Decimals, &t.USD)
	})
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	return list, nil
}

// configure sets Configured of each token's facts to the token in the operator's configuration.
func configure(facilitators []FacilitatorFacts, chains []ChainFacts, tokens []Token) {
	configured := map[[2]string]*Token{}
	for i := range tokens {
		configured[[2]string{tokens[i].Network, tokens[i].Address}] = &tokens[i]
	}
	for i := range facilitators {
		for j := range facilitators[i].Tokens {
			flow := &facilitators[i].Tokens[j]
			flow.Configured = configured[[2]string{flow.Network, flow.Token}]
		}
	}
	for i := range chains {
		chain := &chains[i]
		for j := range chain.Authorizations {
			chain.Authorizations[j].Configured = configured[[2]string{chain.Network, chain.Authorizations[j].Token}]
		}
		for j := range chain.Candidates {
			chain.Candidates[j].Configured = configured[[2]string{chain.Network, chain.Candidates[j].Token}]
		}
	}
}
