package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/message"
	"tollbook/site/postgres/consent"
	"tollbook/site/postgres/rows"
)

// probeLease is how long a submission is leased to a process that probes it.
const probeLease = time.Minute

// SubmissionCategories returns the categories that a submission may have: those in use and site.Categories, sorted. It
// returns site.ErrNoDatabase if the database does not answer.
func (b *Inbox) SubmissionCategories(ctx context.Context) ([]string, error) {
	used, err := rows.Column[string](ctx, b.pool, `SELECT DISTINCT category FROM services`)
	if err != nil {
		return nil, fmt.Errorf("read categories: %w", markUnreachable(err))
	}
	used = append(used, site.Categories...)
	slices.Sort(used)
	return slices.Compact(used), nil
}

// ReceiveSubmission stores a submission, or returns the receipt of the one that the client sent before under the same
// key. Besides errors of the database it returns site.ErrNoDatabase, site.ErrKeyReused, *site.SubmissionLimitError,
// *site.DuplicateError and, for a host that opted out, *message.Error.
func (b *Inbox) ReceiveSubmission(ctx context.Context, r site.IncomingSubmission) (site.Receipt, error) {
	hash, err := hashSubmission(r.Submission)
	if err != nil {
		return site.Receipt{}, err
	}
	m := &entry{kind: submissions, id: uuid.New(), at: r.At, key: r.Key, hash: hash, body: r.Submission,
		domain: r.Domain, state: site.SubmissionPending}
	probe := r.Probe
	repeated, err := b.receive(ctx, m, r.Client, r.MaxPending, pass, func(tx pgx.Tx) error {
		if err := checkDuplicate(ctx, tx, r); err != nil {
			return err
		}
		due := r.At
		if r.Probe {
			free, err := takeProbe(ctx, tx, r.Domain, r.At)
			if err != nil {
				return err
			}
			if probe = !free.After(r.At); probe {
				free = r.At.Add(probeLease)
			}
			due = free
		}
		m.probeDue = &due
		return nil
	})
	if err != nil {
		return site.Receipt{}, err
	}
	return site.Receipt{ID: m.id.String(), Repeated: repeated, Probe: probe && !repeated, ProbeResult: m.probe}, nil
}

func hashSubmission(s site.Submission) ([]byte, error) {
	content, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode submission: %w", err)
	}
	sum := sha256.Sum256(content)
	return sum[:], nil
}

// checkDuplicate refuses an address that is listed or waits for review, by http or https, a host that opted out, and a
// domain with too many pending submissions.
func checkDuplicate(ctx context.Context, tx pgx.Tx, r site.IncomingSubmission) error {
	var optOut *consent.Error
	if err := consent.Check(ctx, tx, r.URL); errors.As(err, &optOut) {
		return &message.Error{What: "submission",
			Fields: []site.ErrorField{{Field: "url", Message: "is refused: " + optOut.OptOut.Public()}}}
	} else if err != nil {
		return err
	}
	var listed, pending bool
	var waiting int
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM services WHERE split_part(base_url, '://', 2) = split_part($1, '://', 2)),
			EXISTS (SELECT FROM inbox WHERE split_part(body->>'url', '://', 2) = split_part($1, '://', 2)
				AND state = 'pending'),
			(SELECT count(*) FROM inbox WHERE domain = $2 AND state = 'pending')`, r.URL, r.Domain).
		Scan(&listed, &pending, &waiting)
	switch {
	case err != nil:
		return err
	case listed:
		return &site.DuplicateError{Message: "this address is listed already"}
	case pending:
		return &site.DuplicateError{Message: "this address was submitted already and waits for review"}
	case waiting >= site.PendingPerDomain:
		return &site.SubmissionLimitError{
			Message: fmt.Sprintf(
				"%d submissions of this domain wait for review already; more are taken when they are decided",
				site.PendingPerDomain),
			RetryAfter: time.Hour,
		}
	}
	return nil
}

// takeProbe counts a probe of a domain and returns now, or returns when the next probe is allowed.
func takeProbe(ctx context.Context, tx pgx.Tx, domain string, now time.Time) (time.Time, error) {
	hour := now.Add(-time.Hour)
	// The rows of all domains, because nothing else deletes them.
	if _, err := tx.Exec(ctx, `DELETE FROM submission_probes WHERE began_at <= $1`, hour); err != nil {
		return now, err
	}
	var n int
	var oldest *time.Time
	err := tx.QueryRow(ctx, `SELECT count(*), min(began_at) FROM submission_probes WHERE domain = $1 AND began_at > $2`,
		domain, hour).Scan(&n, &oldest)
	if err != nil {
		return now, err
	}
	if n >= site.ProbesPerHour {
		return oldest.Add(time.Hour), nil
	}
	_, err = tx.Exec(ctx, `INSERT INTO submission_probes (domain, began_at) VALUES ($1, $2)`, domain, now)
	return now, err
}

// QueuedProbe is a submission to be probed.
type QueuedProbe struct {
	ID        string
	URL       string
	Endpoints []string
}

// TakeSubmissionProbe leases a submission whose probe is due, or returns nil. If the process dies, the probe is due
// again when the lease ends.
func (b *Inbox) TakeSubmissionProbe(ctx context.Context, now time.Time) (taken *QueuedProbe, err error) {
	err = pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		if err := lock(ctx, tx, submissions); err != nil {
			return err
		}
		for taken == nil {
			list, err := read(ctx, tx, submissions, scanSubmission, `probe_due_at <= $1
				ORDER BY probe_due_at, inbox.id LIMIT 1 FOR UPDATE OF inbox SKIP LOCKED`, now)
			if err != nil || len(list) == 0 {
				return err
			}
			s := list[0]
			due, err := takeProbe(ctx, tx, s.Domain, now)
			if err != nil {
				return err
			}
			if !due.After(now) {
				taken, due = &QueuedProbe{s.ID.String(), s.URL, s.Endpoints}, now.Add(probeLease)
			}
			if _, err = tx.Exec(ctx, `UPDATE inbox SET probe_due_at = $2 WHERE id = $1`, s.ID, due); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("take submission to probe: %w", err)
	}
	return taken, nil
}

// StoreSubmissionProbe stores the result of a probe. Of two results the first counts.
func (b *Inbox) StoreSubmissionProbe(ctx context.Context, id string, result site.ProbeResult) error {
	_, err := b.pool.Exec(ctx, `
		UPDATE inbox SET probe_result = $2, probe_grade = nullif($3, ''), probe_due_at = NULL
		WHERE id = $1 AND probe_result IS NULL`, id, result, result.Grade)
	if err != nil {
		return fmt.Errorf("store probe of submission %s: %w", id, err)
	}
	return nil
}

// SubmissionState returns what the submitter may know of a submission, site.ErrNotFound or site.ErrNoDatabase.
func (b *Inbox) SubmissionState(ctx context.Context, id string) (site.SubmissionState, error) {
	key, err := uuid.Parse(id)
	if err != nil || key.String() != id {
		return site.SubmissionState{}, site.ErrNotFound
	}
	s, err := readOne(ctx, b.pool, submissions, scanSubmission, key)
	if err != nil {
		return site.SubmissionState{}, markUnreachable(err)
	}
	state := site.SubmissionState{SubmissionID: id, Status: s.State, Reason: s.Reason, Slug: s.Slug,
		ProbeResult: s.ProbeResult, ReceivedAt: site.NewTime(s.ReceivedAt)}
	if s.DecidedAt != nil {
		state.DecidedAt = site.TimeOrNull(*s.DecidedAt)
	}
	return state, nil
}

// Submission is a submission with everything that its reviewer may see, as it is exported. It has no sender, because
// the sender's address is stored as a hash under a key that stays in this database.
type Submission struct {
	ID         uuid.UUID `json:"id"`
	ReceivedAt time.Time `json:"received_at"`
	Domain     string    `json:"domain"`
	site.Submission
	State       string            `json:"state"`
	DecidedAt   *time.Time        `json:"decided_at"`
	Reason      *string           `json:"reason"`
	Slug        *string           `json:"slug"` // of the service that was listed for it
	ProbeResult *site.ProbeResult `json:"probe_result"`
	Grade       *string           `json:"-"`     // of the probe; nil without a response to grade
	Audit       []AuditLine       `json:"audit"` // empty in lists for reviewers
}

// AuditLine says who did what and when.
type AuditLine struct {
	At     time.Time `json:"at"`
	Actor  string    `json:"actor"`
	Action string    `json:"action"`
	Detail string    `json:"detail"`
}

func scanSubmission(row pgx.CollectableRow) (s Submission, err error) {
	s.Audit = []AuditLine{}
	err = row.Scan(&s.ID, &s.ReceivedAt, &s.Submission, &s.State, &s.DecidedAt, nil, &s.Domain, &s.Reason, &s.Slug,
		&s.ProbeResult, &s.Grade)
	return s, err
}

// Submissions reads the submissions in a state, or all for "", oldest first, without their audit trails.
func (b *Inbox) Submissions(ctx context.Context, state string) ([]Submission, error) {
	return read(ctx, b.pool, submissions, scanSubmission, `$1 IN ('', state)`+order, state)
}

// Submission reads a submission with its audit trail, or returns site.ErrNotFound.
func (b *Inbox) Submission(ctx context.Context, id uuid.UUID) (Submission, error) {
	s, err := readOne(ctx, b.pool, submissions, scanSubmission, id)
	if err == nil {
		err = readAudit(ctx, b.pool, `= $1`, func(_ uuid.UUID, l AuditLine) { s.Audit = append(s.Audit, l) }, id)
	}
	return s, err
}

// ReadSubmissions reads all submissions with their audit trails, oldest first.
func ReadSubmissions(ctx context.Context, q rows.Querier) ([]Submission, error) {
	list, err := read(ctx, q, submissions, scanSubmission, `true`+order)
	if err != nil {
		return nil, err
	}
	at := make(map[uuid.UUID]*Submission, len(list))
	for i := range list {
		at[list[i].ID] = &list[i]
	}
	err = readAudit(ctx, q, `IS NOT NULL`, func(id uuid.UUID, l AuditLine) { at[id].Audit = append(at[id].Audit, l) })
	return list, err
}

// readAudit calls each with the audit lines of the submissions whose id fulfils a condition, in order.
func readAudit(ctx context.Context, q rows.Querier, condition string, each func(uuid.UUID, AuditLine),
	args ...any) error {
	var id uuid.UUID
	var l AuditLine
	err := rows.Each(ctx, q, `SELECT submission_id, at, actor, action, detail FROM audit
		WHERE submission_id `+condition+` ORDER BY id`, []any{&id, &l.At, &l.Actor, &l.Action, &l.Detail},
		func() { each(id, l) }, args...)
	if err != nil {
		return fmt.Errorf("read audit trails of submissions: %w", err)
	}
	return nil
}

// LockPending locks a submission that waits for review until the transaction ends. It returns site.ErrNotFound or
// *DecidedError if there is none.
func LockPending(ctx context.Context, tx pgx.Tx, id uuid.UUID) (Submission, error) {
	if err := lockUndecided(ctx, tx, submissions, id); err != nil {
		return Submission{}, err
	}
	return readOne(ctx, tx, submissions, scanSubmission, id)
}

// Approve stores that a submission, which is locked, was approved: its service is listed under a slug.
func Approve(ctx context.Context, tx pgx.Tx, id uuid.UUID, service int64, slug, actor string, now time.Time) error {
	_, err := tx.Exec(ctx, `
		UPDATE inbox SET state = 'approved', decided_at = $2, decided_by = $3, probe_due_at = NULL, service_id = $4
		WHERE id = $1`, id, now, actor, service)
	if err != nil {
		return err
	}
	return writeAudit(ctx, tx, id, AuditLine{now, actor, "approve", slug})
}

// RejectSubmission rejects a submission with a reason, which its submitter can read. It returns the errors of
// LockPending.
func (b *Inbox) RejectSubmission(ctx context.Context, id uuid.UUID, actor, reason string, now time.Time) error {
	err := pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		if err := lockUndecided(ctx, tx, submissions, id); err != nil {
			return err
		}
		return reject(ctx, tx, id, actor, reason, now)
	})
	if err != nil {
		return fmt.Errorf("reject submission %s: %w", id, err)
	}
	return nil
}

func reject(ctx context.Context, tx pgx.Tx, id uuid.UUID, actor, reason string, now time.Time) error {
	_, err := tx.Exec(ctx, `
		UPDATE inbox SET state = 'rejected', decided_at = $2, decided_by = $3, reason = $4, probe_due_at = NULL
		WHERE id = $1`, id, now, actor, reason)
	if err != nil {
		return err
	}
	return writeAudit(ctx, tx, id, AuditLine{now, actor, "reject", reason})
}

func writeAudit(ctx context.Context, tx pgx.Tx, id uuid.UUID, l AuditLine) error {
	_, err := tx.Exec(ctx, `INSERT INTO audit (at, actor, action, submission_id, detail) VALUES ($1, $2, $3, $4, $5)`,
		l.At, l.Actor, l.Action, id, l.Detail)
	return err
}

// RestoreSubmissions inserts submissions of another database as they were. Their senders become unknown and count for
// no client. A probe that was never made is due. The services of approved ones must be listed.
func RestoreSubmissions(ctx context.Context, tx pgx.Tx, list []Submission, now time.Time) error {
	for _, s := range list {
		if err := restoreSubmission(ctx, tx, s, now); err != nil {
			return fmt.Errorf("submission %s: %w", s.ID, err)
		}
	}
	return nil
}

func restoreSubmission(ctx context.Context, tx pgx.Tx, s Submission, now time.Time) error {
	hash, err := hashSubmission(s.Submission)
	if err != nil {
		return err
	}
	m := &entry{kind: submissions, id: s.ID, at: s.ReceivedAt, client: []byte{}, hash: hash, body: s.Submission,
		domain: s.Domain, state: s.State, decidedAt: s.DecidedAt, reason: s.Reason, probe: s.ProbeResult}
	if s.Slug != nil {
		ids, err := rows.Column[int64](ctx, tx, `SELECT id FROM services WHERE slug = $1`, *s.Slug)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			return fmt.Errorf("no service %q is in the list", *s.Slug)
		}
		m.service = &ids[0]
	}
	if s.State == site.SubmissionPending && s.ProbeResult == nil {
		m.probeDue = &now
	}
	if s.DecidedAt != nil && len(s.Audit) > 0 {
		m.decidedBy = s.Audit[0].Actor
	}
	if err := insert(ctx, tx, m); err != nil {
		return err
	}
	for _, l := range s.Audit {
		if err := writeAudit(ctx, tx, s.ID, l); err != nil {
			return err
		}
	}
	return nil
}
