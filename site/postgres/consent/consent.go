// Package consent stores what the owners of hosts allow: their robots.txt, and which hosts opted out of the directory. The
// hosts that the operator blocked are beside them, because a block keeps a host out in the same way.
//
// It owns the tables robots and opt_outs. An opt-out also hides the services of its host, which package postgres
// inserts. It must never request a document, or decide what one says.
package consent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Permissions stores what hosts allow in a migrated database.
type Permissions struct{ pool *pgxpool.Pool }

// New returns the tables of the database that a pool is connected to.
func New(pool *pgxpool.Pool) *Permissions { return &Permissions{pool: pool} }

// NeverDue is next_check_at of a service that is not visited.
var NeverDue = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Robots is an origin's response to a request for robots.txt.
type Robots struct {
	Origin    string
	FetchedAt time.Time
	State     string // document, none, unknown
	Body      []byte
}

// Robots reads the last robots.txt of an origin, nil if it was never requested.
func (p *Permissions) Robots(ctx context.Context, origin string) (*Robots, error) {
	rows, err := p.pool.Query(ctx, `SELECT origin, fetched_at, state, body FROM robots WHERE origin = $1`, origin)
	if err != nil {
		return nil, fmt.Errorf("read robots.txt of %s: %w", origin, err)
	}
	r, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByPos[Robots])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read robots.txt of %s: %w", origin, err)
	}
	return r, nil
}

// StoreRobots stores an origin's robots.txt, and deletes those of other origins that are more than a week older.
func (p *Permissions) StoreRobots(ctx context.Context, r Robots) error {
	if r.Body == nil {
		r.Body = []byte{}
	}
	_, err := p.pool.Exec(ctx, `
		WITH old AS (DELETE FROM robots WHERE fetched_at < $2::timestamptz - interval '7 days' AND origin <> $1)
		INSERT INTO robots (origin, fetched_at, state, body) VALUES ($1, $2, $3, $4)
		ON CONFLICT (origin) DO UPDATE SET fetched_at = excluded.fetched_at, state = excluded.state,
			body = excluded.body`,
		r.Origin, r.FetchedAt, r.State, r.Body)
	if err != nil {
		return fmt.Errorf("store robots.txt of %s: %w", r.Origin, err)
	}
	return nil
}
