package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ReceptionKey names a recipient and the asset that it is to receive.
type ReceptionKey struct {
	Network string // CAIP-2
	Asset   string // in normal form; of an issued currency of the XRP Ledger with its issuer
	PayTo   string // in normal form
}

// Reception is what the nodes of a network answered to whether a recipient can receive an asset.
type Reception struct {
	ReceptionKey
	CanReceive *bool  // nil if unknown
	Reason     string // code; "" if the recipient can receive
	CheckedAt  time.Time
}

// receptionRetention is the age from which an answer says nothing: of a node that is configured no more.
const receptionRetention = 72 * time.Hour

// NamedRecipient is a recipient of a current price as the service wrote it.
type NamedRecipient struct {
	Asset, PayTo string
	Extra        string // of the price, where the asset needs it; "" otherwise
}

// NamedRecipients reads the recipients of the current prices of listed services on a network, at most limit, in a fixed
// order.
func (db *DB) NamedRecipients(ctx context.Context, network string, limit int) ([]NamedRecipient, error) {
	rows, err := db.pool.Query(ctx, `
		SELECT DISTINCT asset, pay_to, CASE WHEN network_caip2 LIKE 'xrpl:%' THEN coalesce(extra, '') ELSE '' END
		FROM prices WHERE network_caip2 = $1 AND until IS NULL AND btrim(pay_to) <> ''
			AND octet_length(pay_to) <= 1024 AND octet_length(asset) <= 900
		ORDER BY 2, 1, 3 LIMIT $2`, network, limit)
	if err != nil {
		return nil, fmt.Errorf("read the recipients on %s: %w", network, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[NamedRecipient])
	if err != nil {
		return nil, fmt.Errorf("read the recipients on %s: %w", network, err)
	}
	return list, nil
}

// Receptions reads the stored answers about a network.
func (db *DB) Receptions(ctx context.Context, network string) (map[ReceptionKey]Reception, error) {
	return readReceptions(ctx, db.pool, `WHERE network_caip2 = $1`, network)
}

// ReadReceptions reads the answers that are fresh as of now.
func (r *Reader) ReadReceptions(ctx context.Context, now time.Time) (map[ReceptionKey]Reception, error) {
	return readReceptions(ctx, r.tx, `WHERE checked_at > $1`, now.Add(-receptionRetention))
}

func readReceptions(ctx context.Context, q querier, where string, arg any) (map[ReceptionKey]Reception, error) {
	rows, err := q.Query(ctx, `
		SELECT network_caip2, asset, pay_to, can_receive, reason, checked_at FROM recipient_checks `+where, arg)
	if err != nil {
		return nil, fmt.Errorf("read recipient_checks: %w", err)
	}
	all := map[ReceptionKey]Reception{}
	var one Reception
	_, err = pgx.ForEachRow(rows, []any{&one.Network, &one.Asset, &one.PayTo, &one.CanReceive, &one.Reason,
		&one.CheckedAt}, func() error {
		all[one.ReceptionKey] = one
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read recipient_checks: %w", err)
	}
	return all, nil
}

// StoreReceptions stores answers. An unknown one replaces no answer of the last two days: a node that is down takes
// nothing back.
func (db *DB) StoreReceptions(ctx context.Context, list []Reception) error {
	b := &pgx.Batch{}
	for _, r := range list {
		b.Queue(`
			INSERT INTO recipient_checks AS c (network_caip2, asset, pay_to, can_receive, reason, checked_at)
			VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (network_caip2, asset, pay_to) DO UPDATE SET can_receive = excluded.can_receive,
				reason = excluded.reason, checked_at = excluded.checked_at
			WHERE excluded.can_receive IS NOT NULL OR c.can_receive IS NULL
				OR c.checked_at < excluded.checked_at - interval '48 hours'`,
			r.Network, r.Asset, r.PayTo, r.CanReceive, r.Reason, r.CheckedAt)
	}
	if err := db.pool.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("store %d answers about recipients: %w", len(list), err)
	}
	return nil
}

// RetainReceptions deletes the answers about recipients that no current price names.
func RetainReceptions(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `
		DELETE FROM recipient_checks c WHERE NOT EXISTS (SELECT FROM prices p
			WHERE p.network_caip2 = c.network_caip2 AND btrim(p.pay_to) = c.pay_to AND p.until IS NULL)`)
	if err != nil {
		return fmt.Errorf("delete from recipient_checks: %w", err)
	}
	return nil
}
