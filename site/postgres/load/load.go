// Package load fills an empty database with a directory that was made up: the sample of the demo, and the crowds that
// benches measure. It writes the rows that visits and indexers would have left. A real directory never needs it.
package load

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/ledger"
)

// Service is a service with all that is known of it, as its visits left it.
type Service struct {
	postgres.Service // with its id
	Endpoints        []postgres.Endpoint
	Envelopes        []checks.Envelope
	Answers          []checks.Response
	Prices           []checks.Price
	Changes          []checks.Change // oldest first, no more than loadedChanges
	Days             []checks.Rollup // UTC days before those of Checks
	Checks           []checks.Check  // of the days from the loader's on
	Site             *postgres.SiteFacts
	Domain           *postgres.DomainFacts // nil where another service brings it
}

// loadedChanges bounds the records of a service: their ids follow from its own.
const loadedChanges = 16

// Loader fills an empty database by COPY, several services at once and over several connections. It is no transaction:
// a load that is interrupted leaves a database to throw away.
type Loader struct {
	db              *postgres.DB
	now             time.Time
	since           time.Time // first UTC day whose checks are loaded one by one
	upTo            time.Time // hours before are sealed in the end
	skipForeignKeys bool      // foreign keys need no look, since the role may say so
	ledger          *ledger.Loader
}

// NewLoader prepares an empty database to be filled as of now. Finish will seal the hours that ended at least delay
// before. The facilitators of the flows are imported already.
func NewLoader(ctx context.Context, db *postgres.DB, now, since time.Time, delay time.Duration,
	tokens []ledger.FacilitatorToken) (*Loader, error) {
	l := &Loader{db: db, now: now.UTC(), since: since.UTC().Truncate(24 * time.Hour),
		upTo: now.Add(-delay).UTC().Truncate(time.Hour)}
	var err error
	if l.ledger, err = db.NewLoader(ctx, l.now, tokens); err != nil {
		return nil, err
	}
	err = db.Transact(ctx, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, `SELECT rolsuper FROM pg_roles WHERE rolname = current_user`).
			Scan(&l.skipForeignKeys); err != nil {
			return err
		}
		return checks.PrepareLoad(ctx, tx, l.since, l.now)
	})
	if err != nil {
		return nil, fmt.Errorf("prepare to load: %w", err)
	}
	return l, nil
}

// Accounts names accounts by their numbers.
func (l *Loader) Accounts(ctx context.Context, list []ledger.LoadedAccount) error {
	return l.transact(ctx, func(tx pgx.Tx) error { return l.ledger.Accounts(ctx, tx, list) })
}

// Services writes services with their settlements, of which no payee is in another call. Several goroutines may call
// it.
func (l *Loader) Services(ctx context.Context, list []Service, accounts []ledger.LoadedAccount,
	settlements []ledger.LoadedSettlement) (rows int64, err error) {
	err = l.transact(ctx, func(tx pgx.Tx) error {
		n, err := loadServices(ctx, tx, list)
		if err != nil {
			return err
		}
		m, err := l.loadChecks(ctx, tx, list)
		if err != nil {
			return err
		}
		if err := l.ledger.Accounts(ctx, tx, accounts); err != nil {
			return err
		}
		s, err := l.ledger.Settlements(ctx, tx, settlements)
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
	return l.db.Transact(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL synchronous_commit = off`); err != nil {
			return err
		}
		if l.skipForeignKeys {
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
		checks.QueueNumbers(batch)
		checks.QueueClaims(batch)
		l.ledger.QueueSums(batch)
		for _, table := range []string{"services", "changes", "accounts"} {
			batch.Queue(`SELECT setval(pg_get_serial_sequence($1, 'id'), (SELECT coalesce(max(id), 0) + 1 FROM `+table+
				`), false)`, table)
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
	err := l.db.Transact(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `ANALYZE`)
		return err
	})
	if err != nil {
		return fmt.Errorf("analyze what was loaded: %w", err)
	}
	return nil
}

// Authorizations returns the authorisations among what was loaded on a network: those of known settlers.
func (l *Loader) Authorizations(ctx context.Context, network string) ([]ledger.AuthorizationDay, error) {
	return l.ledger.Authorizations(ctx, network)
}
