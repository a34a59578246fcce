package postgres

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Loaded is a service with all that is known of it, as its visits left it.
type Loaded struct {
	Service   // with its id
	Endpoints []Endpoint
	Envelopes []Envelope
	Answers   []Answer
	Prices    []Price
	Changes   []Change // oldest first, no more than loadedChanges
	Days      []Rollup // UTC days before those of Checks
	Checks    []Check  // of the days from the loader's on
	Site      *SiteFacts
	Domain    *DomainFacts // nil where another service brings it
}

// loadedChanges bounds the records of a service: their ids follow from its own.
const loadedChanges = 16

// LoadedAccount is an address with its number.
type LoadedAccount struct {
	ID      int64
	Address string // in normal form
}

// LoadedFlow names a flow by whom, where and what.
type LoadedFlow struct{ Facilitator, Network, Token string }

// LoadedSettlement is a Settlement whose accounts are numbers, and whose flow is one of the loader's.
type LoadedSettlement struct {
	Flow                  int // index
	Settler, Payer, Payee int64
	Block                 int64
	BlockHash             []byte
	Time                  time.Time
	Transaction           []byte
	LogIndex              int32
	Method                string
	Amount                uint64 // atomic units, below 1<<63
}

// A Loader fills an empty database by COPY, several services at once and over several connections, with the very rows
// that visits and indexers would have left. It is no transaction: a load that is broken off leaves a database to throw away.
type Loader struct {
	db      *DB
	now     time.Time
	since   time.Time // first UTC day whose checks are loaded one by one
	upTo    time.Time // hours before are sealed in the end
	trusted bool      // foreign keys need no look, since the role may say so
	flows   []loadedFlow

	mu    sync.Mutex // guards all below
	whole *tally     // what is summed over all services: hours, flows, authorisations
}

type loadedFlow struct {
	chain int16
	id    int32
	token string
}

// Load prepares an empty database to be filled as of now, with the logs of all hours numbered that were over delay before.
// Facilitators of the flows are imported already.
func (db *DB) Load(ctx context.Context, now, since time.Time, delay time.Duration, flows []LoadedFlow) (*Loader, error) {
	l := &Loader{db: db, now: now.UTC(), since: since.UTC().Truncate(24 * time.Hour), upTo: now.Add(-delay).UTC().Truncate(time.Hour), whole: newTally(0)}
	for _, f := range flows {
		chain, err := db.chain(ctx, f.Network)
		if err != nil {
			return nil, err
		}
		id, err := db.flow(ctx, flowName{chain, f.Facilitator, f.Token})
		if err != nil {
			return nil, err
		}
		l.flows = append(l.flows, loadedFlow{chain, id, f.Token})
	}
	err := db.transact(ctx, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, `SELECT rolsuper FROM pg_roles WHERE rolname = current_user`).Scan(&l.trusted); err != nil {
			return err
		}
		for day := l.since; !day.After(l.now); day = day.AddDate(0, 0, 1) {
			if err := makeDay(ctx, tx, day); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `INSERT INTO log_seal (through, kept_since) VALUES ($1, $1)`, l.since)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("prepare to load: %w", err)
	}
	return l, nil
}

// Empty answers ErrNotEmpty for a database that holds a directory, or a part of one.
func (db *DB) Empty(ctx context.Context) error {
	var filled bool
	err := db.pool.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM services) OR EXISTS (SELECT FROM facilitators) OR EXISTS (SELECT FROM log_seal) OR EXISTS (SELECT FROM accounts)
			OR EXISTS (SELECT FROM submissions) OR EXISTS (SELECT FROM removed_services) OR EXISTS (SELECT FROM settings)`).Scan(&filled)
	if err != nil {
		return fmt.Errorf("look whether the database is empty: %w", err)
	}
	if filled {
		return ErrNotEmpty
	}
	return nil
}

// Accounts names accounts by their numbers.
func (l *Loader) Accounts(ctx context.Context, list []LoadedAccount) error {
	return l.transact(ctx, func(tx pgx.Tx) error { return loadAccounts(ctx, tx, list) })
}

// Services writes services with their settlements, of which no payee is in another call. Several goroutines may call it.
func (l *Loader) Services(ctx context.Context, list []Loaded, accounts []LoadedAccount, settlements []LoadedSettlement) (rows int64, err error) {
	err = l.transact(ctx, func(tx pgx.Tx) error {
		n, err := loadServices(ctx, tx, list)
		if err != nil {
			return err
		}
		m, err := l.loadChecks(ctx, tx, list)
		if err != nil {
			return err
		}
		if err := loadAccounts(ctx, tx, accounts); err != nil {
			return err
		}
		s, err := l.loadSettlements(ctx, tx, settlements)
		rows = n + m + s + int64(len(accounts))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("load %d services: %w", len(list), err)
	}
	return rows, nil
}

// transact runs f in a transaction that neither waits for the disk nor looks up what rows refer to.
func (l *Loader) transact(ctx context.Context, f func(pgx.Tx) error) error {
	return l.db.transact(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL synchronous_commit = off`); err != nil {
			return err
		}
		if l.trusted {
			if _, err := tx.Exec(ctx, `SET LOCAL session_replication_role = replica`); err != nil {
				return err
			}
		}
		return f(tx)
	})
}

// Finish writes what is summed over all services, sets the sequences behind the numbers that were given, and seals the logs.
func (l *Loader) Finish(ctx context.Context) error {
	err := l.transact(ctx, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(`UPDATE log_seal SET first_kept = (SELECT coalesce(sum(checks), 0) FROM check_days)`)
		batch.Queue(startPositions)
		if len(l.whole.flows) > 0 {
			l.whole.queueFlows(batch)
			batch.Queue(`INSERT INTO flow_payers (flow_id, payer_id, last_day) SELECT flow_id, payer_id, max(day) FROM payer_days GROUP BY flow_id, payer_id`)
			batch.Queue(`
				UPDATE flow_totals t SET payers = n FROM (SELECT flow_id, count(*) AS n FROM flow_payers GROUP BY flow_id) p WHERE p.flow_id = t.flow_id`)
			for _, k := range sortedKeys(l.whole.seen, func(a, b seenKey) int {
				return cmp.Or(cmp.Compare(a.chain, b.chain), cmp.Compare(a.day, b.day), cmp.Compare(a.token, b.token))
			}) {
				batch.Queue(addSeen, k.chain, k.token, dayTime(k.day), 0, l.whole.seen[k])
			}
		}
		for _, table := range []string{"services", "changes", "accounts"} {
			batch.Queue(`SELECT setval(pg_get_serial_sequence($1, 'id'), (SELECT coalesce(max(id), 0) + 1 FROM `+table+`), false)`, table)
		}
		return tx.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		return fmt.Errorf("sum what was loaded: %w", err)
	}
	// Without statistics the planner takes the tables for empty.
	if err := l.analyze(ctx); err != nil {
		return err
	}
	if err := l.db.SealLogs(ctx, l.upTo, 0); err != nil {
		return err
	}
	return l.analyze(ctx)
}

func (l *Loader) analyze(ctx context.Context) error {
	if _, err := l.db.pool.Exec(ctx, `ANALYZE`); err != nil {
		return fmt.Errorf("analyze what was loaded: %w", err)
	}
	return nil
}

// Seen are the authorisations among what was loaded, by network: those of known settlers.
func (l *Loader) Seen(ctx context.Context, network string) ([]SeenDay, error) {
	chain, err := l.db.chain(ctx, network)
	if err != nil {
		return nil, err
	}
	var days []SeenDay
	for _, k := range sortedKeys(l.whole.seen, func(a, b seenKey) int { return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.token, b.token)) }) {
		if k.chain == chain {
			days = append(days, SeenDay{Token: k.token, Day: dayTime(k.day), Authorizations: l.whole.seen[k]})
		}
	}
	return days, nil
}

// Size is how many bytes the database takes.
func (db *DB) Size(ctx context.Context) (n int64, err error) {
	if err := db.pool.QueryRow(ctx, `SELECT pg_database_size(current_database())`).Scan(&n); err != nil {
		return 0, fmt.Errorf("ask for the size of the database: %w", err)
	}
	return n, nil
}
