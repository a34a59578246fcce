// Package sources stores what public sources of services list: their configuration as the operator decided it, the
// newest pulls, and each listed resource with the times since and until when a source listed it.
//
// It owns the tables sources, source_pulls, source_staged, source_resources and source_hosts, and adds the change
// records "listed" and "dropped". It must never know how an answer is read, nor list a service.
package sources

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tollbook/site"
	"tollbook/site/postgres/rows"
)

// ErrUnknown says that there is no source of a name.
var ErrUnknown = errors.New("no such source")

// Outcomes of a pull.
const (
	Accepted  = site.PullAccepted
	Unchanged = site.PullUnchanged
	Held      = site.PullHeld
	Failed    = site.PullFailed
)

// Store stores what sources list.
type Store struct{ pool *pgxpool.Pool }

// New returns the store of the database that a pool is connected to.
func New(pool *pgxpool.Pool) *Store { return &Store{pool} }

// Source is a source as it is configured.
type Source struct {
	Name    string
	Kind    string
	Address string
}

// State is a source with its newest pulls.
type State struct {
	ID int
	Source
	Enabled      *bool // the operator's decision; nil to follow the configuration
	DueAt        time.Time
	Failures     int // pulls that failed since the last one that succeeded
	ETag         string
	LastModified string
	Last         *Pull      // the newest pull that ended; nil before the first
	Accepted     *Pull      // whose answer is believed; nil before the first
	Held         *Pull      // whose answer is held back; nil without one
	SucceededAt  *time.Time // end of the newest pull that was accepted or unchanged; nil before the first
	Listed       int        // resources that the source lists now
	Pulls        []Pull     // those that ended and are stored, oldest first
}

// Pull is one reading of a source.
type Pull struct {
	Number    int64
	BeganAt   time.Time
	EndedAt   *time.Time
	Outcome   string
	Error     string
	Status    *int // of the last response; nil if none came
	Pages     int
	Bytes     int64
	SHA256    []byte // of all pages; nil if the pull failed
	Resources int    // different resources in the answer
	Skipped   int    // entries that name no resource that can be listed
	Partial   bool   // the source hides rows from readers who do not pay
	Missing   *int   // resources that the source listed and the answer lacks; nil if they were not counted
}

// Configure stores the configured sources. A source whose address changed is due at once, without validators. Sources
// that are no longer configured stay as they are.
func (st *Store) Configure(ctx context.Context, list []Source) error {
	if len(list) == 0 {
		return nil
	}
	batch := &pgx.Batch{}
	for _, s := range list {
		batch.Queue(`
			INSERT INTO sources (name, kind, address) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, address = excluded.address, etag = '',
				last_modified = '', due_at = '-infinity'
			WHERE (sources.kind, sources.address) <> (excluded.kind, excluded.address)`, s.Name, s.Kind, s.Address)
	}
	if err := st.pool.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("store the configured sources: %w", err)
	}
	return nil
}

// pullColumns are the columns of source_pulls in the order of Pull.scan.
const pullColumns = `number, began_at, ended_at, coalesce(outcome, ''), coalesce(error, ''), status_code, pages,
	bytes, sha256, coalesce(resources, 0), skipped, partial, missing`

func (p *Pull) scan() []any {
	return []any{&p.Number, &p.BeganAt, &p.EndedAt, &p.Outcome, &p.Error, &p.Status, &p.Pages, &p.Bytes,
		&p.SHA256, &p.Resources, &p.Skipped, &p.Partial, &p.Missing}
}

// List reads all sources by name.
func (st *Store) List(ctx context.Context) ([]State, error) { return List(ctx, st.pool) }

// List reads all sources by name.
func List(ctx context.Context, q rows.Querier) ([]State, error) {
	var list []State
	by := map[int]int{}
	var s State
	var accepted, held *int64
	pulls := map[int][2]*int64{}
	err := rows.Each(ctx, q, `
		SELECT id, name, kind, address, enabled, greatest(due_at, 'epoch'), failures, etag, last_modified,
			accepted_pull, held_pull, (SELECT count(*) FROM source_resources WHERE source_id = id AND until IS NULL)
		FROM sources ORDER BY name COLLATE "C"`,
		[]any{&s.ID, &s.Name, &s.Kind, &s.Address, &s.Enabled, &s.DueAt, &s.Failures, &s.ETag, &s.LastModified,
			&accepted, &held, &s.Listed},
		func() {
			by[s.ID], pulls[s.ID] = len(list), [2]*int64{accepted, held}
			list = append(list, s)
			s = State{}
		})
	if err != nil || len(list) == 0 {
		return list, wrap("read the sources", err)
	}
	var id int
	var p Pull
	err = rows.Each(ctx, q, `SELECT source_id, `+pullColumns+` FROM source_pulls WHERE ended_at IS NOT NULL
		ORDER BY source_id, number`, append([]any{&id}, p.scan()...), func() {
		s, one := &list[by[id]], p
		s.Last, s.Pulls = &one, append(s.Pulls, one)
		if p.Outcome == Accepted || p.Outcome == Unchanged {
			s.SucceededAt = one.EndedAt
		}
		if n := pulls[id][0]; n != nil && *n == p.Number {
			s.Accepted = &one
		}
		if n := pulls[id][1]; n != nil && *n == p.Number {
			s.Held = &one
		}
		p = Pull{}
	})
	return list, wrap("read the pulls of sources", err)
}

// Find returns the source of a name, or ErrUnknown.
func (st *Store) Find(ctx context.Context, name string) (State, error) {
	list, err := st.List(ctx)
	for _, s := range list {
		if s.Name == name {
			return s, nil
		}
	}
	if err == nil {
		err = ErrUnknown
	}
	return State{}, err
}

// SetEnabled stores the operator's decision about a source, with a line of the audit trail. A source that becomes
// enabled is due at once. It reports whether the decision is new.
func (st *Store) SetEnabled(ctx context.Context, name string, enabled bool, actor string, now time.Time) (changed bool,
	err error) {
	err = pgx.BeginFunc(ctx, st.pool, func(tx pgx.Tx) error {
		var was *bool
		err := tx.QueryRow(ctx, `SELECT enabled FROM sources WHERE name = $1 FOR UPDATE`, name).Scan(&was)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrUnknown
		}
		if changed = was == nil || *was != enabled; err != nil || !changed {
			return err
		}
		_, err = tx.Exec(ctx, `
			UPDATE sources SET enabled = $2, failures = CASE WHEN $2 THEN 0 ELSE failures END,
				due_at = CASE WHEN $2 THEN '-infinity' ELSE due_at END
			WHERE name = $1`, name, enabled)
		if err != nil {
			return err
		}
		action := actionDisable
		if enabled {
			action = actionEnable
		}
		return audit(ctx, tx, now, actor, action, name)
	})
	return changed, wrap("decide about source "+name, err)
}

func audit(ctx context.Context, tx pgx.Tx, now time.Time, actor, action, name string) error {
	_, err := tx.Exec(ctx, `INSERT INTO audit (at, actor, action, detail) VALUES ($1, $2, $3, $4)`, now, actor, action,
		name)
	return err
}

// Lock is held by the one process that pulls a source. It belongs to a connection of its own and ends with it.
type Lock struct{ conn *pgx.Conn }

// TryLock takes the lock of a source; it returns nil while another process has it.
func (st *Store) TryLock(ctx context.Context, name string) (*Lock, error) {
	conn, err := pgx.ConnectConfig(ctx, st.pool.Config().ConnConfig)
	if err != nil {
		return nil, wrap("lock source "+name, err)
	}
	l := &Lock{conn}
	var ok bool
	err = conn.QueryRow(ctx, `SELECT pg_try_advisory_lock(hashtextextended('source ' || $1, 0))`, name).Scan(&ok)
	if err != nil || !ok {
		l.Release()
		return nil, wrap("lock source "+name, err)
	}
	return l, nil
}

// WaitToList waits until no other process lists services that sources name. The turn ends with EndListing or Release.
func (l *Lock) WaitToList(ctx context.Context) error {
	_, err := l.conn.Exec(ctx, `SELECT pg_advisory_lock(hashtextextended('sources list services', 0))`)
	return wrap("wait to list services", err)
}

// EndListing lets other processes list services.
func (l *Lock) EndListing(ctx context.Context) error {
	_, err := l.conn.Exec(ctx, `SELECT pg_advisory_unlock(hashtextextended('sources list services', 0))`)
	return wrap("end the listing of services", err)
}

// Release ends the lock.
func (l *Lock) Release() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	// Unlock explicitly: the server may notice the end of the connection only after the next process has asked.
	_, _ = l.conn.Exec(ctx, `SELECT pg_advisory_unlock_all()`)
	_ = l.conn.Close(ctx)
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
