package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/postgres/rows"
)

// ReviewedSubmission is a submission with everything that its reviewer may see.
type ReviewedSubmission struct {
	ID         uuid.UUID
	ReceivedAt time.Time
	site.Submission
	State       string
	DecidedAt   *time.Time
	Reason      *string
	Slug        *string // of the service that was listed for it
	ProbeResult *site.ProbeResult
	Grade       *string // of the probe; nil without a response to grade
}

// AuditEntry says who did what and when.
type AuditEntry struct {
	At                    time.Time
	Actor, Action, Detail string
}

// DecidedError says that a submission was decided already.
type DecidedError struct {
	State string
	At    time.Time
	By    string
}

func (e *DecidedError) Error() string {
	return fmt.Sprintf("it was %s on %s by %s", e.State, e.At.UTC().Format("2006-01-02 15:04 UTC"), e.By)
}

const reviewColumns = `submissions.id, received_at, url, email, service_name, submissions.description,
	submissions.website_url, submissions.category, endpoints, notes, state, decided_at, reason, slug, probe_result,
	probe_grade
	FROM submissions LEFT JOIN services ON services.id = service_id`

func scanReviewed(row pgx.CollectableRow) (s ReviewedSubmission, err error) {
	err = row.Scan(&s.ID, &s.ReceivedAt, &s.URL, &s.Email, &s.ServiceName, &s.Description, &s.WebsiteURL, &s.Category,
		&s.Endpoints, &s.Notes,
		&s.State, &s.DecidedAt, &s.Reason, &s.Slug, &s.ProbeResult, &s.Grade)
	return s, err
}

// Submissions reads the submissions in a state, or all for "", oldest first.
func (db *DB) Submissions(ctx context.Context, state string) ([]ReviewedSubmission, error) {
	rows, err := db.pool.Query(ctx, `SELECT `+reviewColumns+
		` WHERE $1 IN ('', state) ORDER BY received_at, submissions.id`, state)
	if err != nil {
		return nil, fmt.Errorf("read submissions: %w", err)
	}
	list, err := pgx.CollectRows(rows, scanReviewed)
	if err != nil {
		return nil, fmt.Errorf("read submissions: %w", err)
	}
	return list, nil
}

// Submission reads a submission with its audit trail, or returns ErrNotFound.
func (db *DB) Submission(ctx context.Context, id uuid.UUID) (s ReviewedSubmission, trail []AuditEntry, err error) {
	rows, err := db.pool.Query(ctx, `SELECT `+reviewColumns+` WHERE submissions.id = $1`, id)
	if err == nil {
		s, err = pgx.CollectExactlyOneRow(rows, scanReviewed)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return s, nil, fmt.Errorf("read submission %s: %w", id, err)
	}
	rows, err = db.pool.Query(ctx, `SELECT at, actor, action, detail FROM audit WHERE submission_id = $1 ORDER BY id`,
		id)
	if err == nil {
		trail, err = pgx.CollectRows(rows, pgx.RowToStructByPos[AuditEntry])
	}
	if err != nil {
		return s, nil, fmt.Errorf("read audit trail of submission %s: %w", id, err)
	}
	return s, trail, nil
}

// SubmissionSlug returns the slug under which a submission would be listed if it were approved now.
func (db *DB) SubmissionSlug(ctx context.Context, s site.Submission) (string, error) {
	return findFreeSlug(ctx, db.pool, s)
}

// findFreeSlug returns a slug that no service has or had, made from the name, or from the host if the name gives none.
func findFreeSlug(ctx context.Context, q rows.Querier, s site.Submission) (string, error) {
	rows, err := q.Query(ctx, `SELECT slug FROM services UNION ALL SELECT slug FROM removed_services`)
	if err != nil {
		return "", fmt.Errorf("read slugs: %w", err)
	}
	slugs, err := pgx.CollectRows(rows, pgx.RowTo[string])
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

// ApproveSubmission lists the service of a submission, due at once, and returns its slug. Besides errors of the
// database it returns ErrNotFound, *DecidedError, or ErrListed if its address was listed meanwhile.
func (db *DB) ApproveSubmission(ctx context.Context, id uuid.UUID, actor string, now time.Time) (string, error) {
	return db.approve(ctx, id, actor, "", now)
}

// ApproveVerified is ApproveSubmission for a service whose owner published the token: it stores the proof, too.
func (db *DB) ApproveVerified(
	ctx context.Context, id uuid.UUID, actor, token string, now time.Time,
) (slug string, err error) {
	return db.approve(ctx, id, actor, token, now)
}

func (db *DB) approve(ctx context.Context, id uuid.UUID, actor, token string, now time.Time) (slug string, err error) {
	err = db.decide(ctx, id, func(tx pgx.Tx, s ReviewedSubmission) error {
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
		_, err = tx.Exec(ctx, `
			UPDATE submissions SET state = 'approved', decided_at = $2, probe_due_at = NULL, service_id = $3
			WHERE id = $1`, id, now, service)
		if err != nil {
			return err
		}
		if err := writeAudit(ctx, tx, now, actor, "approve", &id, slug); err != nil || token == "" {
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

// RejectSubmission rejects a submission with a reason, which its submitter can read. It returns the errors of
// ApproveSubmission.
func (db *DB) RejectSubmission(ctx context.Context, id uuid.UUID, actor, reason string, now time.Time) error {
	err := db.decide(ctx, id, func(tx pgx.Tx, _ ReviewedSubmission) error {
		_, err := tx.Exec(ctx,
			`UPDATE submissions SET state = 'rejected', decided_at = $2, reason = $3, probe_due_at = NULL
				WHERE id = $1`, id, now, reason)
		if err != nil {
			return err
		}
		return writeAudit(ctx, tx, now, actor, "reject", &id, reason)
	})
	if err != nil {
		return fmt.Errorf("reject submission %s: %w", id, err)
	}
	return nil
}

// decide locks a pending submission and runs f on it.
func (db *DB) decide(ctx context.Context, id uuid.UUID, f func(pgx.Tx, ReviewedSubmission) error) error {
	return db.Transact(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT `+reviewColumns+` WHERE submissions.id = $1 FOR UPDATE OF submissions`, id)
		if err != nil {
			return err
		}
		s, err := pgx.CollectExactlyOneRow(rows, scanReviewed)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		if s.State == site.SubmissionPending {
			return f(tx, s)
		}
		decided := &DecidedError{State: s.State, At: *s.DecidedAt}
		if err := tx.QueryRow(ctx, `SELECT actor FROM audit WHERE submission_id = $1 ORDER BY id LIMIT 1`,
			id).Scan(&decided.By); err != nil {
			return err
		}
		return decided
	})
}

func writeAudit(ctx context.Context, tx pgx.Tx, now time.Time, actor, action string, submission *uuid.UUID,
	detail string) error {
	_, err := tx.Exec(ctx, `INSERT INTO audit (at, actor, action, submission_id, detail) VALUES ($1, $2, $3, $4, $5)`,
		now, actor, action, submission, detail)
	return err
}
