package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrUnknownFacilitator is a settlement of a facilitator that was never imported.
var ErrUnknownFacilitator = errors.New("no such facilitator")

// Settlement is a payment seen on chain. Addresses are in normal form.
type Settlement struct {
	Network     string // CAIP-2
	Block       int64
	Time        time.Time // of the block
	Transaction string    // hash or signature, as the chain writes it
	LogIndex    int       // of the transfer within its transaction or block: with both before, it tells settlements apart
	Facilitator string    // id
	Settler     string
	Token       string
	Payer       string
	Payee       string
	Amount      string // atomic units
}

// intake is where settlements arrive by COPY. It belongs to a connection and is emptied by every commit.
const intake = `
	CREATE TEMPORARY TABLE IF NOT EXISTS settlement_intake (
		network text NOT NULL, block bigint NOT NULL, settled_at timestamptz NOT NULL, transaction bytea NOT NULL, log_index integer NOT NULL,
		facilitator text NOT NULL, settler text NOT NULL, token text NOT NULL, payer text NOT NULL, payee text NOT NULL, amount text NOT NULL
	) ON COMMIT DELETE ROWS`

var intakeColumns = []string{"network", "block", "settled_at", "transaction", "log_index", "facilitator", "settler", "token", "payer", "payee", "amount"}

// analyzeFrom is the number of settlements from which a plan by their true number saves more than looking costs.
const analyzeFrom = 1000

// RecordSettlements keeps settlements and their roll-ups in one transaction, and answers how many were new. One that is
// kept already changes nothing, so that a range of blocks may be told twice.
func (db *DB) RecordSettlements(ctx context.Context, list []Settlement) (fresh int64, err error) {
	if len(list) == 0 {
		return 0, nil
	}
	err = db.transact(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, intake); err != nil {
			return err
		}
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"settlement_intake"}, intakeColumns, pgx.CopyFromSlice(len(list), func(i int) ([]any, error) {
			s := &list[i]
			if s.Amount == "" || strings.Trim(s.Amount, "0123456789") != "" {
				return nil, fmt.Errorf("settlement %s/%d: amount %.80q is no decimal integer", s.Transaction, s.LogIndex, s.Amount)
			}
			return []any{s.Network, s.Block, s.Time, transactionBytes(s.Transaction), s.LogIndex, s.Facilitator, s.Settler, s.Token, s.Payer, s.Payee, s.Amount}, nil
		}))
		if err != nil {
			return err
		}
		if len(list) >= analyzeFrom { // nothing else tells the planner of a temporary table's size
			if _, err := tx.Exec(ctx, `ANALYZE settlement_intake`); err != nil {
				return err
			}
		}
		for _, number := range numbering {
			if _, err := tx.Exec(ctx, number); err != nil {
				return unknownFacilitator(err)
			}
		}
		return tx.QueryRow(ctx, keepSettlements).Scan(&fresh)
	})
	if err != nil {
		return 0, fmt.Errorf("record %d settlements: %w", len(list), err)
	}
	return fresh, nil
}

// unknownFacilitator words the violation of the one foreign key that a settlement's own words can break.
func unknownFacilitator(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Code == "23503" && e.ConstraintName == "flows_facilitator_id_fkey" {
		return fmt.Errorf("%w: %s", ErrUnknownFacilitator, e.Detail)
	}
	return err
}

// transactionBytes is the short form of a transaction's name: a hash in hex as its 32 bytes, any other as its text.
func transactionBytes(name string) []byte {
	if digits, ok := strings.CutPrefix(name, "0x"); ok && len(digits) == 64 {
		if b, err := hex.DecodeString(digits); err == nil {
			return b
		}
	}
	return []byte(name)
}

// numbering gives what the intake names a number where it has none. Rows go in sorted, so that two writers wait for each
// other and never in a circle.
var numbering = []string{
	`INSERT INTO chains (network)
	SELECT DISTINCT network FROM settlement_intake i WHERE NOT EXISTS (SELECT FROM chains c WHERE c.network = i.network)
	ORDER BY network ON CONFLICT DO NOTHING`,

	`INSERT INTO flows (facilitator_id, chain_id, token)
	SELECT DISTINCT i.facilitator, c.id, i.token FROM settlement_intake i JOIN chains c USING (network)
	WHERE NOT EXISTS (SELECT FROM flows f WHERE f.facilitator_id = i.facilitator AND f.chain_id = c.id AND f.token = i.token)
	ORDER BY 1, 2, 3 ON CONFLICT DO NOTHING`,

	`INSERT INTO accounts (chain_id, address)
	SELECT n.chain_id, n.address FROM (
		SELECT DISTINCT c.id AS chain_id, a.address FROM settlement_intake i JOIN chains c USING (network)
		CROSS JOIN LATERAL (VALUES (i.settler), (i.payer), (i.payee)) a (address)
	) n WHERE NOT EXISTS (SELECT FROM accounts o WHERE o.chain_id = n.chain_id AND o.address = n.address)
	ORDER BY 1, 2 ON CONFLICT DO NOTHING`,
}

// keepSettlements moves the intake into settlements and adds what was new to every roll-up.
const keepSettlements = `
	WITH fresh AS (
		INSERT INTO settlements (settled_at, block, flow_id, log_index, settler_id, payer_id, payee_id, chain_id, transaction, amount)
		SELECT i.settled_at, i.block, f.id, i.log_index, settler.id, payer.id, payee.id, c.id, i.transaction, i.amount::numeric
		FROM settlement_intake i
		JOIN chains c ON c.network = i.network
		JOIN flows f ON f.facilitator_id = i.facilitator AND f.chain_id = c.id AND f.token = i.token
		JOIN accounts settler ON settler.chain_id = c.id AND settler.address = i.settler
		JOIN accounts payer ON payer.chain_id = c.id AND payer.address = i.payer
		JOIN accounts payee ON payee.chain_id = c.id AND payee.address = i.payee
		ORDER BY c.id, i.transaction, i.log_index
		ON CONFLICT DO NOTHING
		RETURNING flow_id, settled_at, payer_id, payee_id, amount
	), hours AS (
		INSERT INTO flow_hours AS old (flow_id, hour, settlements, amount, last_at)
		SELECT flow_id, date_trunc('hour', settled_at, 'UTC'), count(*), sum(amount), max(settled_at) FROM fresh GROUP BY 1, 2 ORDER BY 2, 1
		ON CONFLICT (hour, flow_id) DO UPDATE SET settlements = old.settlements + excluded.settlements,
			amount = old.amount + excluded.amount, last_at = greatest(old.last_at, excluded.last_at)
	), days AS (
		INSERT INTO flow_days AS old (flow_id, day, settlements, amount, last_at)
		SELECT flow_id, (settled_at AT TIME ZONE 'UTC')::date, count(*), sum(amount), max(settled_at) FROM fresh GROUP BY 1, 2 ORDER BY 1, 2
		ON CONFLICT (flow_id, day) DO UPDATE SET settlements = old.settlements + excluded.settlements,
			amount = old.amount + excluded.amount, last_at = greatest(old.last_at, excluded.last_at)
	), payees AS (
		INSERT INTO payee_days AS old (payee_id, day, flow_id, settlements, amount, last_at)
		SELECT payee_id, (settled_at AT TIME ZONE 'UTC')::date, flow_id, count(*), sum(amount), max(settled_at) FROM fresh
		GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
		ON CONFLICT (payee_id, day, flow_id) DO UPDATE SET settlements = old.settlements + excluded.settlements,
			amount = old.amount + excluded.amount, last_at = greatest(old.last_at, excluded.last_at)
	), payers AS (
		INSERT INTO payer_days AS old (payee_id, day, payer_id, flow_id, settlements, amount)
		SELECT payee_id, (settled_at AT TIME ZONE 'UTC')::date, payer_id, flow_id, count(*), sum(amount) FROM fresh
		GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
		ON CONFLICT (payee_id, day, payer_id, flow_id) DO UPDATE SET settlements = old.settlements + excluded.settlements,
			amount = old.amount + excluded.amount
	)
	SELECT count(*) FROM fresh`
