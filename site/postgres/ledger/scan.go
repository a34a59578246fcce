package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrMoved refuses a commit whose scan or walk is no longer where it was when it was read: another indexer was faster,
// or a reorganisation was rolled back. Nothing is kept of it; whoever made it reads the scans anew.
var ErrMoved = errors.New("the scan has moved")

// reorganisationDepth is how far below the head ranges are remembered, so that a reorganisation within them can be
// taken back.
const reorganisationDepth = 100_000

// Scan looks for the settlements of its settlers over the blocks [Next, End). Of every block exactly one scan counts.
type Scan struct {
	ID       int64 // another one whenever settlers join the scan
	Network  string
	Next     int64
	End      *int64 // nil follows the head
	Counts   bool   // sums all authorisations that it sees, whoever sent them
	Settlers []ScanSettler
}

// ScanSettler is a settler as the lists say it now.
type ScanSettler struct {
	Address     string
	Facilitator string
	Tokens      []string
	Since       *time.Time // what it settled before that day is nobody's
	Deprecated  bool
}

// Range is what a scan found over the blocks [First, Last]: it is kept whole or not at all.
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

// AuthorizationDay counts authorisations of a token on a UTC day, whoever sent them.
type AuthorizationDay struct {
	Token          string
	Day            time.Time
	Authorizations int64
}

// SenderDay is what a sender that no list names moved to known recipients on a UTC day.
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
}

const scanSettlerColumns = `s.address, s.facilitator_id, s.tokens, s.since, s.deprecated`

func scanSettler(row pgx.CollectableRow) (s ScanSettler, err error) {
	return s, row.Scan(&s.Address, &s.Facilitator, &s.Tokens, &s.Since, &s.Deprecated)
}

// NewSettlers are a network's settlers that no scan looks for yet, by address.
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

// OpenScans registers those of the settlers that no scan looks for yet. The head scan begins at block head, or goes on
// for them too from where it is; fills cover what is behind it, from block first on, whose time is firstTime. It may be
// told twice, also at once.
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

// openScan is what a scan is as long as it has blocks to go. One that neither counts nor has settlers left looks for
// nothing.
const openScan = `(c.until IS NULL OR c.next < c.until)
	AND (c.counts OR EXISTS (SELECT FROM scan_settlers j WHERE j.scan_id = c.id))`

// Scans are a network's open ones, the head scan first, with their settlers as the lists say them now, by address.
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
				SELECT `+scanSettlerColumns+` FROM scans c JOIN scan_settlers j ON j.scan_id = c.id JOIN settlers s USING (network, address)
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

// SetHead keeps the chain's confirmed head. It may fall: a reorganisation can shorten a chain.
func (db *DB) SetHead(ctx context.Context, h Head) error {
	chain, err := db.chainID(ctx, h.Network)
	if err == nil {
		_, err = db.pool.Exec(ctx, `UPDATE chains SET head_block = $2, head_at = $3, polled_at = $4 WHERE id = $1`,
			chain, h.Block, h.Time, h.PolledAt)
	}
	if err != nil {
		return fmt.Errorf("keep the head of %s: %w", h.Network, err)
	}
	return nil
}

// Recipients are the addresses on a network that listed services asked to be paid to within the last 90 days, in normal
// form, sorted.
func (db *DB) Recipients(ctx context.Context, network string) ([]string, error) {
	// Only EVM networks are indexed that do not tell cases apart.
	rows, err := db.pool.Query(ctx, `
		SELECT DISTINCT CASE WHEN network_caip2 LIKE 'eip155:%' THEN lower(btrim(pay_to))
			ELSE btrim(pay_to) END COLLATE "C" AS address FROM prices
		WHERE network_caip2 = $1 AND btrim(pay_to) <> '' AND (until IS NULL OR until >= now() - interval '90 days')
			ORDER BY address`, network)
	if err != nil {
		return nil, fmt.Errorf("read recipients on %s: %w", network, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read recipients on %s: %w", network, err)
	}
	return list, nil
}

// LockIndex lets one indexer at a time work on a network: ok is false while another does. The lock lies on a connection
// of its own, and falls with it.
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
		// Told, the server lets go at once; else when it sees the connection end, which may be after the next one has
		// asked.
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
