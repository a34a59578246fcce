package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/ledger"
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

// A Loader fills an empty database by COPY, several services at once and over several connections, with the very rows
// that visits and indexers would have left. It is no transaction: a load that is broken off leaves a database to throw
// away.
type Loader struct {
	db      *DB
	now     time.Time
	since   time.Time // first UTC day whose checks are loaded one by one
	upTo    time.Time // hours before are sealed in the end
	trusted bool      // foreign keys need no look, since the role may say so
	settled *ledger.Loader
}

// Load prepares an empty database to be filled as of now, with the logs of all hours numbered that were over delay
// before. Facilitators of the flows are imported already.
func (db *DB) Load(ctx context.Context, now, since time.Time, delay time.Duration, flows []ledger.LoadedFlow) (*Loader, error) {
	l := &Loader{db: db, now: now.UTC(), since: since.UTC().Truncate(24 * time.Hour), upTo: now.Add(-delay).UTC().Truncate(time.Hour)}
	var err error
	if l.settled, err = db.NewLoader(ctx, l.now, flows); err != nil {
		return nil, err
	}
	err = db.transact(ctx, func(tx pgx.Tx) error {
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
func (l *Loader) Accounts(ctx context.Context, list []ledger.LoadedAccount) error {
	return l.transact(ctx, func(tx pgx.Tx) error { return l.settled.Accounts(ctx, tx, list) })
}

// Services writes services with their settlements, of which no payee is in another call. Several goroutines may call
// it.
func (l *Loader) Services(ctx context.Context, list []Loaded, accounts []ledger.LoadedAccount, settlements []ledger.LoadedSettlement) (rows int64, err error) {
	err = l.transact(ctx, func(tx pgx.Tx) error {
		n, err := loadServices(ctx, tx, list)
		if err != nil {
			return err
		}
		m, err := l.loadChecks(ctx, tx, list)
		if err != nil {
			return err
		}
		if err := l.settled.Accounts(ctx, tx, accounts); err != nil {
			return err
		}
		s, err := l.settled.Settlements(ctx, tx, settlements)
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

// Finish writes what is summed over all services, sets the sequences behind the numbers that were given, and seals the
// logs.
func (l *Loader) Finish(ctx context.Context) error {
	err := l.transact(ctx, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(`UPDATE log_seal SET first_kept = (SELECT coalesce(sum(checks), 0) FROM check_days)`)
		batch.Queue(startPositions)
		l.settled.QueueSums(batch)
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

// Seen returns the authorisations among what was loaded on a network: those of known settlers.
func (l *Loader) Seen(ctx context.Context, network string) ([]ledger.SeenDay, error) {
	return l.settled.Seen(ctx, network)
}

// Size is how many bytes the database takes.
func (db *DB) Size(ctx context.Context) (n int64, err error) {
	if err := db.pool.QueryRow(ctx, `SELECT pg_database_size(current_database())`).Scan(&n); err != nil {
		return 0, fmt.Errorf("ask for the size of the database: %w", err)
	}
	return n, nil
}
