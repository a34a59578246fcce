package ledger

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres/rows"
)

// ErrUnknownFacilitator says that a settlement names a facilitator that was never imported.
var ErrUnknownFacilitator = errors.New("no such facilitator; import it first")

// Settlement is a payment seen on chain. Addresses are in normal form.
type Settlement struct {
	Network     string // CAIP-2
	Block       int64
	BlockHash   string    // "" if the chain has none
	Time        time.Time // of the block
	Transaction string    // hash or signature, as the chain writes it
	// of the transfer within its block (EVM) or transaction (Solana). Network, block, transaction and index identify a
	// settlement.
	LogIndex    int
	Method      string // eip3009, permit2, memo, transfer, batch, spl, sep41, source_tag
	Facilitator string // id
	Settler     string
	Token       string
	Payer       string // the contract for MethodBatch
	Payee       string
	Amount      string // atomic units
}

const (
	// methodAuthorization is the method of settlements that counting scans also count as authorisations.
	methodAuthorization = "eip3009"
	// MethodBatch is the method of redemptions. One pays for any number of calls, of payers that it does not name, so
	// sums by payer and by amount omit it.
	MethodBatch = "batch"
)

// RecordSettlements stores settlements and their sums in one transaction, and returns how many were new. A settlement
// that is stored already changes nothing, so that a list may be sent twice.
func (db *DB) RecordSettlements(ctx context.Context, list []Settlement) (fresh int64, err error) {
	if len(list) == 0 {
		return 0, nil
	}
	entries, err := db.entries(ctx, list)
	if err == nil {
		err = db.transact(ctx, func(tx pgx.Tx) error {
			if err := lockChains(ctx, tx, entries); err != nil {
				return err
			}
			fresh, err = storeEntries(ctx, tx, entries, nil, &pgx.Batch{})
			return err
		})
	}
	if err != nil {
		return 0, fmt.Errorf("record %d settlements: %w", len(list), err)
	}
	return fresh, nil
}

// entry is a settlement with numbers, like its row.
type entry struct {
	chain                 int16
	tokenID               int32
	settler, payer, payee int64
	block                 int64
	log                   int32
	at                    time.Time
	transaction, hash     []byte
	method, token         string
	amount                amount
}

func compareEntries(a, b entry) int {
	return cmp.Or(cmp.Compare(a.chain, b.chain), cmp.Compare(a.block, b.block),
		bytes.Compare(a.transaction, b.transaction), cmp.Compare(a.log, b.log))
}

// entries converts settlements, sorted by the table's key and each once.
func (db *DB) entries(ctx context.Context, lists ...[]Settlement) ([]entry, error) {
	n := 0
	for _, list := range lists {
		n += len(list)
	}
	entries := make([]entry, 0, n)
	names, place := []string(nil), map[string]int64{} // of accounts, in the order of their first use
	account := func(address string) int64 {
		at, ok := place[address]
		if !ok {
			at = int64(len(names))
			place[address] = at
			names = append(names, address)
		}
		return at
	}
	short := make([]byte, 0, 40*n)
	for _, list := range lists {
		for i := range list {
			s := &list[i]
			value, ok := parseAmount(s.Amount)
			if !ok {
				return nil, fmt.Errorf("settlement %s/%d: amount %.80q is no decimal integer", s.Transaction,
					s.LogIndex, s.Amount)
			}
			if s.LogIndex < 0 || s.LogIndex > 1<<31-1 {
				return nil, fmt.Errorf("settlement %s/%d: no such log index", s.Transaction, s.LogIndex)
			}
			chain, err := db.chainID(ctx, s.Network)
			if err != nil {
				return nil, err
			}
			flow, err := db.tokenID(ctx, tokenKey{chain, s.Facilitator, s.Token})
			if err != nil {
				return nil, err
			}
			e := entry{chain: chain, tokenID: flow, block: s.Block, log: int32(s.LogIndex), at: s.Time,
				method: s.Method,
				token:  s.Token, amount: value,
				settler: account(s.Settler), payer: account(s.Payer), payee: account(s.Payee)}
			e.transaction, short = appendShort(short, s.Transaction)
			if i > 0 && s.BlockHash == list[i-1].BlockHash {
				e.hash = entries[len(entries)-1].hash
			} else {
				e.hash, short = appendShort(short, s.BlockHash)
			}
			entries = append(entries, e)
		}
	}
	ids, err := db.accountIDs(ctx, names)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		e := &entries[i]
		e.settler, e.payer, e.payee = ids[e.settler], ids[e.payer], ids[e.payee]
	}
	if !slices.IsSortedFunc(entries, compareEntries) {
		slices.SortStableFunc(entries, compareEntries)
	}
	return slices.CompactFunc(entries, func(a, b entry) bool { return compareEntries(a, b) == 0 }), nil
}

// appendShort appends the short form of a name to b: the 32 bytes of a hash in hex, or the text of any other name.
func appendShort(b []byte, name string) (short, after []byte) {
	from := len(b)
	after = append(b, name...)
	if digits, ok := strings.CutPrefix(name, "0x"); ok && len(digits) == 64 {
		var raw [32]byte
		if _, err := hex.Decode(raw[:], after[from+2:]); err == nil {
			after = append(after[:from], raw[:]...)
		}
	}
	return after[from:len(after):len(after)], after
}

// lockChains makes the writers of a network wait for each other, so that no two writers change the same row. It also
// disables sequential scans, hash joins and merge joins, so that look-ups use the keys even while a table is small.
func lockChains(ctx context.Context, tx pgx.Tx, entries []entry) error {
	var chains []int16
	for i := range entries {
		if i == 0 || entries[i].chain != entries[i-1].chain {
			chains = append(chains, entries[i].chain)
		}
	}
	return lock(ctx, tx, chains...)
}

func lock(ctx context.Context, tx pgx.Tx, chains ...int16) error {
	_, err := tx.Exec(ctx, `
		SELECT id, set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
			set_config('enable_mergejoin', 'off', true)
		FROM chains WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`, chains)
	if err != nil {
		return fmt.Errorf("wait for other writers: %w", err)
	}
	return nil
}

// storeEntries writes the entries that are new, with their sums and the rest of the batch, and returns how many were
// new. The caller has locked their chains.
func storeEntries(ctx context.Context, tx pgx.Tx, entries []entry, scan *int32, batch *pgx.Batch) (int64, error) {
	entries, err := excludeStored(ctx, tx, entries, scan)
	if err != nil {
		return 0, err
	}
	var fresh []*insertRows
	if len(entries) > 0 {
		summed := make(chan struct{})
		go func() { // while the server receives the settlements
			defer close(summed)
			t := newRollups(len(entries))
			for i := range entries {
				t.add(&entries[i])
			}
			fresh = t.queue(batch)
		}()
		err := copyEntries(ctx, tx, "settlements", entries, scan)
		if <-summed; err != nil {
			return 0, err
		}
	}
	if batch.Len() > 0 {
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return 0, fmt.Errorf("add to roll-ups: %w", err)
		}
	}
	for _, r := range fresh {
		if err := r.copy(ctx, tx, r.updated); err != nil {
			return 0, err
		}
	}
	return int64(len(entries)), nil
}

// excludeStored returns the entries that are not stored yet. At the head of a chain all are new, which one query shows.
func excludeStored(ctx context.Context, tx pgx.Tx, entries []entry, scan *int32) ([]entry, error) {
	var fresh []entry
	for from := 0; from < len(entries); {
		to := from
		for to < len(entries) && entries[to].chain == entries[from].chain {
			to++
		}
		part, err := excludeStoredOfChain(ctx, tx, entries[from:to], scan)
		if err != nil {
			return nil, fmt.Errorf("read which settlements are stored: %w", err)
		}
		if from == 0 && to == len(entries) {
			return part, nil
		}
		fresh = append(fresh, part...)
		from = to
	}
	return fresh, nil
}

func excludeStoredOfChain(ctx context.Context, tx pgx.Tx, part []entry, scan *int32) ([]entry, error) {
	chain := part[0].chain
	var some bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM settlements WHERE chain_id = $1 AND block BETWEEN $2 AND $3)`,
		chain, part[0].block, part[len(part)-1].block).Scan(&some)
	if err != nil || !some {
		return part, err
	}
	blocks, transactions, logs := make([]int64, len(part)), make([][]byte, len(part)), make([]int32, len(part))
	for i := range part {
		blocks[i], transactions[i], logs[i] = part[i].block, part[i].transaction, part[i].log
	}
	rows, err := tx.Query(ctx, `
		SELECT n - 1 FROM unnest($2::bigint[], $3::bytea[], $4::integer[]) WITH ORDINALITY k (block, transaction,
			log_index, n)
		WHERE EXISTS (SELECT FROM settlements s
			WHERE s.chain_id = $1 AND s.block = k.block AND s.transaction = k.transaction
				AND s.log_index = k.log_index)`,
		chain, blocks, transactions, logs)
	if err != nil {
		return nil, err
	}
	stored, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(stored) == 0 {
		return part, err
	}
	if scan != nil { // a roll-back of the range that found it last removes it
		_, err := tx.Exec(ctx, `
			UPDATE settlements s SET scan_id = $5 FROM unnest($2::bigint[], $3::bytea[], $4::integer[]) k (block,
				transaction, log_index)
			WHERE s.chain_id = $1 AND s.block = k.block AND s.transaction = k.transaction AND s.log_index = k.log_index
				AND s.scan_id IS DISTINCT FROM $5`,
			chain, blocks, transactions, logs, *scan)
		if err != nil {
			return nil, err
		}
	}
	old := make([]bool, len(part))
	for _, i := range stored {
		old[i] = true
	}
	fresh := make([]entry, 0, len(part)-len(stored))
	for i := range part {
		if !old[i] {
			fresh = append(fresh, part[i])
		}
	}
	return fresh, nil
}

const settlementColumns = "settled_at, block, settler_id, payer_id, payee_id, token_id, log_index, scan_id, " +
	"chain_id, transaction, block_hash, method, amount"

func copyEntries(ctx context.Context, tx pgx.Tx, table string, entries []entry, scan *int32) error {
	return rows.Copy(ctx, tx, table, settlementColumns, entries, func(row []any, e *entry) {
		rows.Put(row, e.at, e.block, e.settler, e.payer, e.payee, e.tokenID, e.log, scan, e.chain, e.transaction,
			e.hash,
			e.method, e.amount.value())
	})
}

// Retain deletes old sums by hour, and sums of amounts and senders by day that no build reads. A roll-back does not
// reach so far on a chain with a block a minute; one that does finds nothing to subtract. It counts from now, but at
// most from a day after the newest settlement, because chains have their own clocks.
func Retain(ctx context.Context, tx pgx.Tx, now time.Time) error {
	// wait like a writer
	if _, err := tx.Exec(ctx, `SELECT FROM chains ORDER BY id FOR NO KEY UPDATE`); err != nil {
		return fmt.Errorf("wait for indexers: %w", err)
	}
	var newest *time.Time
	if err := tx.QueryRow(ctx, `SELECT max(hour) FROM token_hours`).Scan(&newest); err != nil {
		return fmt.Errorf("read the newest settlement: %w", err)
	}
	if newest == nil {
		return nil
	}
	now = earliest(now, newest.Add(24*time.Hour))
	days := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -site.WindowDays["90d"])
	for _, old := range []struct {
		sql  string
		than time.Time
	}{
		{`DELETE FROM token_hours WHERE hour < $1`, now.Add(-HourRetention)},
		{`DELETE FROM amount_days WHERE day < $1`, days},
		{`DELETE FROM sender_days d USING chains c WHERE d.chain_id = c.id AND d.day < $1`, days},
	} {
		if _, err := tx.Exec(ctx, old.sql, old.than); err != nil {
			return fmt.Errorf("delete sums before %s: %w", old.than.Format(time.RFC3339), err)
		}
	}
	return nil
}
