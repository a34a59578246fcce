package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/consent"
	"tollbook/site/postgres/inbox"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/rows"
	"tollbook/site/postgres/sources"
)

// ErrNotEmpty says that a database contains a directory already.
var ErrNotEmpty = errors.New("the directory is not empty")

// Directory is what people decided: listed services, facilitators, submissions with their decisions, erased services,
// opt-outs, which sources are read, and suggestions. Measurements are no part of it; a crawl and an index repeat them.
type Directory struct {
	Facilitators []ledger.Facilitator
	Tokens       []ledger.Token
	Services     []DirectoryService
	Submissions  []inbox.Submission
	Erased       []RemovedService   // oldest first
	OptOuts      []consent.OptOut   // by host
	Sources      []sources.Decision // by name
	Suggestions  []inbox.Suggestion
}

// DirectoryService is a listed service.
type DirectoryService struct {
	Slug           string              `json:"slug"`
	Name           string              `json:"name"`
	Description    string              `json:"description"`
	BaseURL        string              `json:"base_url"`
	WebsiteURL     *string             `json:"website_url"`
	Category       string              `json:"category"`
	Source         string              `json:"source"`
	CreatedAt      time.Time           `json:"created_at"`
	VerifiedAt     *time.Time          `json:"verified_at"`
	CheckSeconds   int64               `json:"check_interval_seconds"`
	State          string              `json:"listing_state,omitempty"` // "" for StateListed
	StateAt        *time.Time          `json:"listing_state_at,omitempty"`
	Pruned         bool                `json:"pruned,omitempty"`
	OwnershipToken *string             `json:"ownership_token"`
	Endpoints      []DirectoryEndpoint `json:"endpoints"`
	Audit          []inbox.AuditLine   `json:"audit"`
}

// DirectoryEndpoint is an endpoint as declared. Method is "" if no method is declared.
type DirectoryEndpoint struct {
	Method      string  `json:"method"`
	Path        string  `json:"path"`
	Description *string `json:"description"`
	MimeType    *string `json:"mime_type"`
	Origin      string  `json:"origin"`
}

// Directory reads everything as of one moment, each list in a total order.
func (db *DB) Directory(ctx context.Context) (d Directory, err error) {
	err = pgx.BeginTxFunc(ctx, db.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error {
			if d.Facilitators, d.Tokens, err = ledger.Export(ctx, tx); err != nil {
				return err
			}
			if d.Erased, err = readRemoved(ctx, tx); err != nil {
				return err
			}
			if d.OptOuts, err = consent.ReadSorted(ctx, tx); err != nil {
				return err
			}
			if d.Sources, err = sources.ReadDecisions(ctx, tx); err != nil {
				return err
			}
			if d.Suggestions, err = inbox.ReadSuggestions(ctx, tx, ""); err != nil {
				return err
			}
			if d.Submissions, err = inbox.ReadSubmissions(ctx, tx); err != nil {
				return err
			}
			return d.readServices(ctx, tx)
		})
	if err != nil {
		return d, fmt.Errorf("read the directory: %w", err)
	}
	return d, nil
}

func collect[T any](ctx context.Context, tx pgx.Tx, scan pgx.RowToFunc[T], sql string) ([]T, error) {
	rows, err := tx.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

func (d *Directory) readServices(ctx context.Context, tx pgx.Tx) (err error) {
	at := map[int64]int{}
	d.Services, err = collect(ctx, tx, func(row pgx.CollectableRow) (s DirectoryService, err error) {
		var id int64
		var every time.Duration
		err = row.Scan(&id, &s.Slug, &s.Name, &s.Description, &s.BaseURL, &s.WebsiteURL, &s.Category, &s.Source,
			&s.CreatedAt, &s.VerifiedAt, &every, &s.OwnershipToken, &s.State, &s.StateAt, &s.Pruned)
		s.CheckSeconds, at[id] = int64(every/time.Second), len(at)
		s.Endpoints, s.Audit = []DirectoryEndpoint{}, []inbox.AuditLine{}
		return s, err
	}, `
		SELECT id, slug, name, description, base_url, website_url, category, source, created_at, verified_at,
			check_interval, ownership_token,
			replace(coalesce(state_before_opt_out, listing_state), 'listed', ''), listing_state_at, pruned
		FROM services ORDER BY slug COLLATE "C"`)
	if err != nil {
		return err
	}
	var id int64
	var e DirectoryEndpoint
	list, err := tx.Query(ctx, `
		SELECT service_id, CASE WHEN method_declared THEN method ELSE '' END, path, description, mime_type, origin
			FROM endpoints
		ORDER BY service_id, path COLLATE "C", method_declared, method COLLATE "C", id`)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(list, []any{&id, &e.Method, &e.Path, &e.Description, &e.MimeType, &e.Origin}, func() error {
		all := &d.Services[at[id]].Endpoints
		if n := len(*all); n > 0 && (*all)[n-1].Method == e.Method && (*all)[n-1].Path == e.Path {
			return nil // the same path with another undeclared method that responded
		}
		*all = append(*all, e)
		return nil
	})
	if err != nil {
		return err
	}
	var l inbox.AuditLine
	return rows.Each(ctx, tx,
		`SELECT service_id, at, actor, action, detail FROM audit WHERE service_id IS NOT NULL ORDER BY id`,
		[]any{&id, &l.At, &l.Actor, &l.Action, &l.Detail}, func() {
			s := &d.Services[at[id]]
			s.Audit = append(s.Audit, l)
		})
}

// Restore writes a directory into an empty database, in one transaction. Its services are due at once, and their
// endpoints count as first seen now. It returns ErrNotEmpty if the database contains a service, a facilitator, a token,
// a submission, an erased service, an opt-out, a decision about a source or a suggestion.
func (db *DB) Restore(ctx context.Context, d Directory, now time.Time) error {
	err := db.Transact(ctx, func(tx pgx.Tx) error {
		// keep others from listing, submitting or deciding until the commit
		if _, err := tx.Exec(ctx,
			`LOCK services, inbox, removed_services, facilitators, settlers,
				tokens, opt_outs, sources IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
		var full bool
		err := tx.QueryRow(ctx, `
			SELECT EXISTS (SELECT FROM services) OR EXISTS (SELECT FROM inbox)
				OR EXISTS (SELECT FROM removed_services)
				OR EXISTS (SELECT FROM facilitators) OR EXISTS (SELECT FROM tokens)
				OR EXISTS (SELECT FROM opt_outs)
				OR EXISTS (SELECT FROM sources WHERE enabled IS NOT NULL)`).Scan(&full)
		if err != nil {
			return err
		}
		if full {
			return ErrNotEmpty
		}
		if err := ledger.Restore(ctx, tx, d.Facilitators, d.Tokens); err != nil {
			return err
		}
		for _, s := range d.Services {
			if err := restoreService(ctx, tx, s, now); err != nil {
				return fmt.Errorf("service %s: %w", s.Slug, err)
			}
		}
		// The services are listed before, because one may be listed above the address of a service that was removed.
		if err := insertRemoved(ctx, tx, d.Erased); err != nil {
			return fmt.Errorf("erased services: %w", err)
		}
		if err := consent.Restore(ctx, tx, d.OptOuts, now); err != nil {
			return err
		}
		if err := sources.RestoreDecisions(ctx, tx, d.Sources); err != nil {
			return err
		}
		if err := inbox.RestoreSuggestions(ctx, tx, d.Suggestions); err != nil {
			return err
		}
		return inbox.RestoreSubmissions(ctx, tx, d.Submissions, now)
	})
	if err != nil {
		return fmt.Errorf("restore the directory: %w", err)
	}
	return nil
}

// Empty returns ErrNotEmpty if the database contains a directory or a part of one.
func (db *DB) Empty(ctx context.Context) error {
	var filled bool
	err := db.pool.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM services) OR EXISTS (SELECT FROM facilitators) OR EXISTS (SELECT FROM log_seal)
			OR EXISTS (SELECT FROM accounts)
			OR EXISTS (SELECT FROM inbox) OR EXISTS (SELECT FROM removed_services)
			OR EXISTS (SELECT FROM settings WHERE name <> $1)`, hostForm).Scan(&filled)
	if err != nil {
		return fmt.Errorf("check that the database is empty: %w", err)
	}
	if filled {
		return ErrNotEmpty
	}
	return nil
}

func restoreService(ctx context.Context, tx pgx.Tx, s DirectoryService, now time.Time) error {
	l := Listing{
		Slug: s.Slug, Name: s.Name, Description: s.Description, BaseURL: s.BaseURL, WebsiteURL: s.WebsiteURL,
		Category: s.Category, Source: s.Source,
		CreatedAt: now, VerifiedAt: s.VerifiedAt, Interval: time.Duration(s.CheckSeconds) * time.Second,
	}
	for _, e := range s.Endpoints {
		l.Endpoints = append(l.Endpoints, ListedEndpoint(e))
	}
	id, err := AddListing(ctx, tx, l)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `
		UPDATE services SET created_at = $2, ownership_token = $3, listing_state = coalesce(nullif($4, ''), 'listed'),
			listing_state_at = $5, pruned = $6
		WHERE id = $1`, id, s.CreatedAt, s.OwnershipToken, s.State, s.StateAt, s.Pruned); err != nil {
		return err
	}
	batch := &pgx.Batch{}
	if s.State != "" {
		batch.Queue(`UPDATE service_states SET next_check_at = $2 WHERE service_id = $1`, id, consent.NeverDue)
	}
	for _, a := range s.Audit {
		batch.Queue(`INSERT INTO audit (at, actor, action, service_id, detail) VALUES ($1, $2, $3, $4, $5)`, a.At,
			a.Actor, a.Action, id, a.Detail)
	}
	return tx.SendBatch(ctx, batch).Close()
}
