package ledger

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Export reads what people decided: facilitators with their settlers, by id, network and address, and tokens by network
// and address.
func Export(ctx context.Context, tx pgx.Tx) (list []Facilitator, tokens []Token, err error) {
	if list, err = facilitators(ctx, tx); err != nil {
		return nil, nil, err
	}
	rows, err := tx.Query(ctx,
		`SELECT network, address, symbol, decimals::integer, usd FROM tokens ORDER BY network COLLATE "C",
			address COLLATE "C"`)
	if err == nil {
		tokens, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Token])
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read tokens: %w", err)
	}
	return list, tokens, nil
}

// Restore writes what Export read into empty tables.
func Restore(ctx context.Context, tx pgx.Tx, list []Facilitator, tokens []Token) error {
	batch := &pgx.Batch{}
	for _, f := range list {
		queueFacilitator(batch, f)
		batch.Queue(`UPDATE facilitators SET trusted = $2 WHERE id = $1`, f.ID, f.Trusted)
	}
	for _, t := range tokens {
		batch.Queue(`INSERT INTO tokens (network, address, symbol, decimals, usd) VALUES ($1, $2, $3, $4, $5)`,
			t.Network, t.Address, t.Symbol, t.Decimals, t.USD)
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("restore facilitators and tokens: %w", err)
	}
	return putSettlers(ctx, tx, list)
}
