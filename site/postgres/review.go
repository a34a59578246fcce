package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/postgres/inbox"
	"tollbook/site/postgres/rows"
)

// SubmissionSlug returns the slug under which a submission would be listed if it were approved now.
func (db *DB) SubmissionSlug(ctx context.Context, s site.Submission) (string, error) {
	return findFreeSlug(ctx, db.pool, s)
}

// findFreeSlug returns a slug that no service has or had, made from the name, or from the host if the name gives none.
func findFreeSlug(ctx context.Context, q rows.Querier, s site.Submission) (string, error) {
	slugs, err := rows.Column[string](ctx, q, `SELECT slug FROM services UNION ALL SELECT slug FROM removed_services`)
	if err != nil {
		return "", fmt.Errorf("read slugs: %w", err)
	}
	taken := make(map[string]bool, len(slugs))
	for _, slug := range slugs {
		taken[slug] = true
	}
	wanted := listing.Slug(s.ServiceName)
	if wanted == "" {
		u, err := listing.ParseURL(s.URL)
		if err != nil {
			return "", fmt.Errorf("slug of %.60q: %w", s.URL, err)
		}
		wanted = listing.Slug(u.Hostname())
	}
	return listing.FreeSlug(taken, wanted), nil
}

// ApproveSubmission lists the service of a submission, due at once, and returns its slug. A token is the proof that its
// owner published; "" is none. Besides errors of the database it returns site.ErrNotFound, *inbox.DecidedError, or
// ErrListed if its address was listed meanwhile.
func (db *DB) ApproveSubmission(ctx context.Context, id uuid.UUID, actor, token string, now time.Time) (slug string,
	err error) {
	err = db.Transact(ctx, func(tx pgx.Tx) error {
		s, err := inbox.LockPending(ctx, tx, id)
		if err != nil {
			return err
		}
		// Choose slugs one after the other. If an import takes the slug meanwhile, the unique index refuses it.
		if err := lockSlugs(ctx, tx); err != nil {
			return err
		}
		var listed bool
		if err := tx.QueryRow(ctx,
			`SELECT EXISTS (SELECT FROM services WHERE split_part(base_url, '://', 2) = split_part($1, '://', 2))`,
			s.URL).Scan(&listed); err != nil {
			return err
		}
		if listed {
			return ErrListed
		}
		if slug, err = findFreeSlug(ctx, tx, s.Submission); err != nil {
			return err
		}
		paths, err := listing.ParsePaths(s.Endpoints)
		if err != nil {
			return fmt.Errorf("endpoints %w", err)
		}
		l := Listing{
			Slug: slug, Name: s.ServiceName, Description: s.Description, BaseURL: s.URL, WebsiteURL: &s.WebsiteURL,
			Category: s.Category,
			Source:   "submitted", CreatedAt: now,
		}
		for _, p := range paths {
			l.Endpoints = append(l.Endpoints, ListedEndpoint{Method: p.Method, Path: p.Path, Origin: "submission"})
		}
		service, err := AddListing(ctx, tx, l)
		if err != nil {
			return err
		}
		if err := inbox.Approve(ctx, tx, id, service, slug, actor, now); err != nil || token == "" {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE services SET ownership_token = $2 WHERE id = $1`, service, token)
		if err != nil {
			return err
		}
		return verify(ctx, tx, slug, actor, now)
	})
	if err != nil {
		return "", fmt.Errorf("approve submission %s: %w", id, err)
	}
	return slug, nil
}
