package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrMoved refuses a commit whose scan or walk changed after it was read: another indexer was faster, or a
// reorganisation was rolled back. Nothing is stored; the caller reads the scans again.
var ErrMoved = errors.New("the scan has moved; read the scans again")

// reorganisationDepth is how far below the head ranges are stored, so that a reorganisation of so many blocks can be
// rolled back.
const reorganisationDepth = 100_000

// Scan reads the settlements of its settlers in the blocks [Next, End). Exactly one scan counts each block.
type Scan struct {
	ID       int64 // changes when settlers join the scan
	Network  string
	Next     int64
	End      *int64 // nil for the scan that follows the head
	Counts   bool   // counts all authorisations, by any sender
	Settlers []ScanSettler
}

// ScanSettler is a settler as currently listed.
type ScanSettler struct {
	Address     string
	Facilitator string
	Tokens      []string
	Since       *time.Time // settlements before that day are not attributed
	Deprecated  bool
}

// Range is what a scan found in the blocks [First, Last]. It is stored as a whole or not at all.
type Range struct {
	Scan           int64
	Network        string
	First, Last    int64
	Hash           string    // of block Last
	Time           time.Time // of block Last
	Settlements    []Settlement
	Authorizations []AuthorizationDay // of a counting scan
	Senders        []SenderDay        // of a counting scan
}

// AuthorizationDay counts the authorisations of a token on a UTC day, by any sender.
type AuthorizationDay struct {
	Token          string
	Day            time.Time
	Authorizations int64
}

// SenderDay is what a sender that no list names paid to known recipients on a UTC day.
type SenderDay struct {
	Sender     string
	Day        time.Time
	Token      string
	Payments   int64
	Amount     string // atomic units
	Recipients int64  // distinct ones within the range
}

// RangeEnd is the last block of a range that was committed.
type RangeEnd struct {
	Last int64
	Hash string
}

// Head is the newest block that a chain calls confirmed.
type Head struct {
	Network  string
	Block    int64
	Time     time.Time
	PolledAt time.Time
	// nodes whose settlements are compared, 1 if a single one is believed; 0 if unknown
	ComparedNodes int
}

const scanSettlerColumns = `s.address, s.facilitator_id, s.tokens, s.since, s.deprecated`

func scanSettler(row pgx.CollectableRow) (s ScanSettler, err error) {
	return s, row.Scan(&s.Address, &s.Facilitator, &s.Tokens, &s.Since, &s.Deprecated)
}

// NewSettlers returns a network's settlers that no scan reads yet, by address.
func (db *DB) NewSettlers(ctx context.Context, network string) ([]ScanSettler, error) {
	rows, err := db.pool.Query(ctx, `
		SELECT `+scanSettlerColumns+` FROM settlers s
		WHERE s.network = $1 AND NOT EXISTS (
			SELECT FROM scan_settlers j JOIN scans c ON c.id = j.scan_id WHERE j.network = s.network
				AND j.address = s.address AND c.until IS NULL
		) ORDER BY s.address COLLATE "C"`, network)
	if err != nil {
		return nil, fmt.Errorf("read new settlers of %s: %w", network, err)
	}
	list, err := pgx.CollectRows(rows, scanSettler)
	if err != nil {
		return nil, fmt.Errorf("read new settlers of %s: %w", network, err)
	}
	return list, nil
}

// OpenScans opens scans for the settlers that no scan reads yet. The head scan starts at block head, or goes on from
// its position for them too. Backfills read the blocks before it, from block first on, whose time is firstTime. It may
// be called twice, also concurrently.
func (db *DB) OpenScans(ctx context.Context, network string, settlers []ScanSettler, first int64, firstTime time.Time,
	head int64) error {
	addresses := make([]string, len(settlers))
	for i, s := range settlers {
		addresses[i] = s.Address
	}
	chain, err := db.chainID(ctx, network)
	if err == nil {
		err = db.transact(ctx, func(tx pgx.Tx) error {
			if err := lock(ctx, tx, chain); err != nil {
				return err
			}
			return openScans(ctx, tx, chain, network, addresses, first, firstTime, head)
		})
	}
	if err != nil {
		return fmt.Errorf("open scans of %s for %d settlers: %w", network, len(settlers), err)
	}
	return nil
}

func openScans(ctx context.Context, tx pgx.Tx, chain int16, network string, addresses []string, first int64,
	firstTime time.Time, head int64) error {
	rows, err := tx.Query(ctx, `
		SELECT s.address FROM settlers s
		WHERE s.network = $1 AND s.address = ANY($2) AND NOT EXISTS (
			SELECT FROM scan_settlers j JOIN scans c ON c.id = j.scan_id WHERE j.network = s.network
				AND j.address = s.address AND c.until IS NULL
		) ORDER BY s.address FOR KEY SHARE OF s`, network, addresses)
	if err != nil {
		return err
	}
	fresh, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(fresh) == 0 {
		return err
	}
	open := func(first int64, since *time.Time, until *int64, counts bool) (id int32, err error) {
		err = tx.QueryRow(ctx, `
			INSERT INTO scans (chain_id, first, since, next, until, counts) VALUES ($1, $2, $3, $2, $4, $5)
				RETURNING id`,
			chain, first, since, until, counts).Scan(&id)
		if err == nil {
			err = join(ctx, tx, id, network, fresh)
		}
		return id, err
	}
	var headScan int32
	var next, counted int64
	err = tx.QueryRow(ctx,
		`SELECT s.id, s.next, c.counted_from FROM scans s JOIN chains c ON c.id = s.chain_id WHERE s.chain_id = $1
			AND s.until IS NULL`,
		chain).Scan(&headScan, &next, &counted)
	if errors.Is(err, pgx.ErrNoRows) {
		since := &firstTime
		if first < head {
			if _, err := open(first, since, &head, true); err != nil {
				return err
			}
			since = nil
		}
		if _, err := open(head, since, nil, true); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE chains SET counted_from = $2 WHERE id = $1`, chain, min(first, head))
		return err
	}
	if err != nil {
		return err
	}
	if err := join(ctx, tx, headScan, network, fresh); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE scans SET version = DEFAULT WHERE id = $1`, headScan); err != nil {
		return err
	}
	if low := max(first, counted); low < next {
		if _, err := open(low, nil, &next, false); err != nil {
			return err
		}
	}
	if first >= counted {
		return nil
	}
	if _, err := open(first, &firstTime, &counted, true); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE chains SET counted_from = $2 WHERE id = $1`, chain, first)
	return err
}

func join(ctx context.Context, tx pgx.Tx, scan int32, network string, addresses []string) error {
	_, err := tx.Exec(ctx, `INSERT INTO scan_settlers (scan_id, network, address) SELECT $1, $2, unnest($3::text[])`,
		scan, network, addresses)
	return err
}

// openScan is true of a scan with blocks to read. A scan that neither counts nor has settlers is finished.
const openScan = `(c.until IS NULL OR c.next < c.until)
	AND (c.counts OR EXISTS (SELECT FROM scan_settlers j WHERE j.scan_id = c.id))`

// Scans returns a network's open scans, the head scan first, with their settlers as currently listed, by address.
func (db *DB) Scans(ctx context.Context, network string) ([]Scan, error) {
	var list []Scan
	err := pgx.BeginTxFunc(ctx, db.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error {
			rows, err := tx.Query(ctx, `
			SELECT c.version, h.network, c.next, c.until, c.counts FROM scans c JOIN chains h ON h.id = c.chain_id
			WHERE h.network = $1 AND `+openScan+` ORDER BY c.until IS NOT NULL, c.id`, network)
			if err != nil {
				return err
			}
			list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (s Scan, err error) {
				return s, row.Scan(&s.ID, &s.Network, &s.Next, &s.End, &s.Counts)
			})
			for i := range list {
				if err != nil {
					return err
				}
				rows, err = tx.Query(ctx, `
				SELECT `+scanSettlerColumns+` FROM scans c JOIN scan_settlers j ON j.scan_id = c.id
					JOIN settlers s USING (network, address)
				WHERE c.version = $1 ORDER BY s.address COLLATE "C"`, list[i].ID)
				if err == nil {
					list[i].Settlers, err = pgx.CollectRows(rows, scanSettler)
				}
			}
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read scans of %s: %w", network, err)
	}
	return list, nil
}

// SetHead stores the chain's confirmed head. It may fall, because a reorganisation can shorten a chain.
func (db *DB) SetHead(ctx context.Context, h Head) error {
	chain, err := db.chainID(ctx, h.Network)
	if err == nil {
		_, err = db.pool.Exec(ctx, `
			UPDATE chains SET head_block = $2, head_at = $3, polled_at = $4, compared_nodes = nullif($5, 0) WHERE id = $1`,
			chain, h.Block, h.Time, h.PolledAt, h.ComparedNodes)
	}
	if err != nil {
		return fmt.Errorf("store the head of %s: %w", h.Network, err)
	}
	return nil
}

// Recipients returns the addresses on a network that listed services asked to be paid to in the last 90 days, in normal
// form, sorted.
func (db *DB) Recipients(ctx context.Context, network string) ([]string, error) {
	// Of the indexed networks, only EVM addresses are case-insensitive.
	rows, err := db.pool.Query(ctx, `
		SELECT DISTINCT CASE WHEN $1 LIKE 'eip155:%' THEN lower(btrim(pay_to))
			ELSE btrim(pay_to) END COLLATE "C" AS address FROM (
			SELECT pay_to, until FROM prices WHERE network_caip2 = $1
			UNION ALL SELECT o->>'pay_to', until FROM offer_sets, jsonb_array_elements(offers) AS o
			WHERE o->>'network_caip2' = $1
		) AS named
		WHERE btrim(pay_to) <> '' AND (until IS NULL OR until >= now() - interval '90 days') ORDER BY address`, network)
	if err != nil {
		return nil, fmt.Errorf("read recipients on %s: %w", network, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read recipients on %s: %w", network, err)
	}
	return list, nil
}

// LockIndex lets one indexer at a time work on a network; ok is false while another does. The lock belongs to a
// connection of its own and ends with it.
func (db *DB) LockIndex(ctx context.Context, network string) (release func(), ok bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, db.pool.Config().ConnConfig)
	if err == nil {
		err = conn.QueryRow(ctx, `SELECT pg_try_advisory_lock(hashtextextended('index ' || $1, 0))`, network).Scan(&ok)
	}
	release = func() {
		if conn == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		// Unlock explicitly: the server may notice the end of the connection only after the next indexer has asked.
		_, _ = conn.Exec(ctx, `SELECT pg_advisory_unlock_all()`)
		_ = conn.Close(ctx)
	}
	if err != nil || !ok {
		release()
		release = func() {}
	}
	if err != nil {
		return nil, false, fmt.Errorf("lock the index of %s: %w", network, err)
	}
	return release, ok, nil
}
