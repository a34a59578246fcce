package postgres

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/fields"
	"tollbook/site/postgres/consent"
)

// Classes of advisory locks, in the order in which a transaction takes them, so that no two wait for each other. Two
// keys of a class with the same hash only wait for each other.
const (
	lockSubmitter = 402_001
	lockDomain    = 402_002
	lockPending   = 402_003 // one for all submissions; the last, because the others wait for it
	// 402_004 is the lock of package suggestions, 402_005 that of package rechecks
)

// probeLease is how long a submission is leased to a process that probes it.
const probeLease = time.Minute

// SubmissionCategories returns the categories that a submission may have: those in use and site.Categories, sorted. It
// returns site.ErrNoDatabase if the database does not answer.
func (db *DB) SubmissionCategories(ctx context.Context) ([]string, error) {
	rows, err := db.pool.Query(ctx, `SELECT DISTINCT category FROM services`)
	if err != nil {
		return nil, fmt.Errorf("read categories: %w", markUnreachable(err))
	}
	used, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read categories: %w", markUnreachable(err))
	}
	used = append(used, site.Categories...)
	slices.Sort(used)
	return slices.Compact(used), nil
}

// ReceiveSubmission stores a submission, or returns the receipt of the one that the client sent before under the same
// key. Besides errors of the database it returns site.ErrNoDatabase, site.ErrKeyReused, *site.SubmissionLimitError,
// *site.DuplicateError and, for a host that opted out, *fields.Error. Submissions of one client, and of one domain,
// are processed one after the other, and so are all of them from the check of r.MaxPending to the commit. So parallel
// requests cannot exceed a limit.
func (db *DB) ReceiveSubmission(ctx context.Context, r site.IncomingSubmission) (site.Receipt, error) {
	client, err := db.hashClient(ctx, r.Client)
	if err != nil {
		return site.Receipt{}, err
	}
	content, err := json.Marshal(r.Submission)
	if err != nil {
		return site.Receipt{}, fmt.Errorf("encode submission: %w", err)
	}
	sum := sha256.Sum256(content)
	var receipt site.Receipt
	err = db.Transact(ctx, func(tx pgx.Tx) (err error) {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1::integer, hashtext(encode($2, 'hex')))`,
			lockSubmitter, client); err != nil {
			return err
		}
		receipt, err = findRepetition(ctx, tx, client, sum[:], r)
		if err != nil || receipt.Repeated {
			return err
		}
		if err := checkClientLimit(ctx, tx, client, r.At); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1::integer, hashtext($2))`, lockDomain,
			r.Domain); err != nil {
			return err
		}
		if err := checkDuplicate(ctx, tx, r); err != nil {
			return err
		}
		if err := checkPendingLimit(ctx, tx, r.MaxPending); err != nil {
			return err
		}
		receipt, err = insertSubmission(ctx, tx, client, sum[:], r)
		return err
	})
	if err != nil {
		return site.Receipt{}, fmt.Errorf("receive submission: %w", markUnreachable(err))
	}
	return receipt, nil
}

// ReceiveSuggestion stores a suggestion, or returns the equal one that is stored. Besides errors of the database it
// returns site.ErrNoDatabase, site.ErrKeyReused and *site.SubmissionLimitError.
func (db *DB) ReceiveSuggestion(ctx context.Context, r site.IncomingSuggestion) (site.SuggestionResult, error) {
	client, err := db.hashClient(ctx, r.Client)
	if err != nil {
		return site.SuggestionResult{}, err
	}
	result, err := db.Suggestions.Receive(ctx, client, r)
	return result, markUnreachable(err)
}

// RequestRecheck makes a service due at once. Besides errors of the database it returns site.ErrNoDatabase,
// site.ErrNotFound, *site.UnvisitedError and *site.SubmissionLimitError.
func (db *DB) RequestRecheck(ctx context.Context, r site.IncomingRecheck) (site.RecheckResult, error) {
	client, err := db.hashClient(ctx, r.Client)
	if err != nil {
		return site.RecheckResult{}, err
	}
	result, err := db.Rechecks.Request(ctx, client, r)
	return result, markUnreachable(err)
}

// hashClient returns the keyed hash of a sender, under which limits count them.
func (db *DB) hashClient(ctx context.Context, client string) ([]byte, error) {
	key, err := db.clientKey(ctx)
	if err != nil {
		return nil, markUnreachable(err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(client))
	return mac.Sum(nil), nil
}

// clientKey returns the key for hashes of clients. It creates the key at the first call.
func (db *DB) clientKey(ctx context.Context) ([]byte, error) {
	const name = "submission_client_key"
	value, err := db.Setting(ctx, name)
	if err != nil {
		return nil, err
	}
	if value == "" {
		fresh := make([]byte, sha256.Size)
		rand.Read(fresh) // never fails
		_, err := db.pool.Exec(ctx, `INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING`, name,
			hex.EncodeToString(fresh))
		if err != nil {
			return nil, fmt.Errorf("store setting %s: %w", name, err)
		}
		if value, err = db.Setting(ctx, name); err != nil {
			return nil, err
		}
	}
	key, err := hex.DecodeString(value)
	if err != nil {
		return nil, fmt.Errorf("setting %s is damaged", name) // the value is secret
	}
	return key, nil
}

// findRepetition returns the receipt of an earlier submission of this client with the same key.
func findRepetition(ctx context.Context, tx pgx.Tx, client, sum []byte, r site.IncomingSubmission) (site.Receipt,
	error) {
	if r.Key == "" {
		return site.Receipt{}, nil
	}
	var id uuid.UUID
	var before []byte
	receipt := site.Receipt{Repeated: true}
	err := tx.QueryRow(ctx,
		`SELECT id, content_hash, probe_result FROM submissions WHERE client = $1 AND idempotency_key = $2`, client,
		r.Key).
		Scan(&id, &before, &receipt.ProbeResult)
	if errors.Is(err, pgx.ErrNoRows) {
		return site.Receipt{}, nil
	}
	if err == nil && !hmac.Equal(before, sum) {
		err = site.ErrKeyReused
	}
	receipt.ID = id.String()
	return receipt, err
}

// checkClientLimit refuses a client that sent the maximum number of submissions in the last hour.
func checkClientLimit(ctx context.Context, tx pgx.Tx, client []byte, now time.Time) error {
	var n int
	var oldest *time.Time // of the newest ones that reach the limit
	err := tx.QueryRow(ctx, `
		SELECT count(*), min(received_at) FROM (
			SELECT received_at FROM submissions WHERE client = $1 AND received_at > $2
			ORDER BY received_at DESC LIMIT $3) AS recent`,
		client, now.Add(-time.Hour), site.SubmissionsPerHour).Scan(&n, &oldest)
	if err == nil && n >= site.SubmissionsPerHour {
		err = &site.SubmissionLimitError{
			Message: fmt.Sprintf(
				"%d submissions an hour are taken from one address; Retry-After says when the next is",
				site.SubmissionsPerHour),
			RetryAfter: oldest.Add(time.Hour).Sub(now),
		}
	}
	return err
}

// checkDuplicate refuses an address that is listed or waits for review, by http or https, a host that opted out, and a
// domain with too many pending submissions.
func checkDuplicate(ctx context.Context, tx pgx.Tx, r site.IncomingSubmission) error {
	if err := consent.Check(ctx, tx, r.URL); errors.As(err, new(*OptOutError)) {
		return &fields.Error{What: "submission",
			Fields: []site.ErrorField{{Field: "url", Message: "is refused: " + err.Error()}}}
	} else if err != nil {
		return err
	}
	var listed, pending bool
	var waiting int
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM services WHERE split_part(base_url, '://', 2) = split_part($1, '://', 2)),
			EXISTS (SELECT FROM submissions WHERE split_part(url, '://', 2) = split_part($1, '://', 2)
			AND state = 'pending'),
			(SELECT count(*) FROM submissions WHERE domain = $2
			AND state = 'pending')`, r.URL, r.Domain).Scan(&listed, &pending, &waiting)
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

// checkPendingLimit refuses a submission if most are pending already. It counts no further than most. Its lock orders
// all submissions until the commit; without it, those that are counted at the same moment would not see each other.
func checkPendingLimit(ctx context.Context, tx pgx.Tx, most int) error {
	if most == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1::integer, 0)`, lockPending); err != nil {
		return err
	}
	var n int
	err := tx.QueryRow(ctx,
		`SELECT count(*) FROM (SELECT FROM submissions WHERE state = 'pending' LIMIT $1) AS waiting`, most).Scan(&n)
	if err == nil && n >= most {
		err = &site.SubmissionLimitError{
			Message: fmt.Sprintf("%d submissions wait for review already; more are taken when some are decided",
				most),
			RetryAfter: time.Hour,
		}
	}
	return err
}

func insertSubmission(ctx context.Context, tx pgx.Tx, client, sum []byte, r site.IncomingSubmission) (site.Receipt,
	error) {
	receipt := site.Receipt{ID: uuid.NewString(), Probe: r.Probe}
	due := r.At
	if r.Probe {
		free, err := takeProbe(ctx, tx, r.Domain, r.At)
		if err != nil {
			return receipt, err
		}
		if receipt.Probe = !free.After(r.At); receipt.Probe {
			free = r.At.Add(probeLease)
		}
		due = free
	}
	var key *string
	if r.Key != "" {
		key = &r.Key
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO submissions (id, received_at, client, idempotency_key, content_hash, url, domain, email,
			service_name, description, website_url, category, endpoints, notes, probe_due_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		receipt.ID, r.At, client, key, sum, r.URL, r.Domain, r.Email, r.ServiceName, r.Description, r.WebsiteURL,
		r.Category, r.Endpoints, r.Notes, due)
	return receipt, err
}

// takeProbe counts a probe of a domain and returns now, or returns when the next probe is allowed.
func takeProbe(ctx context.Context, tx pgx.Tx, domain string, now time.Time) (time.Time, error) {
	hour := now.Add(-time.Hour)
	_, err := tx.Exec(ctx, `
		DELETE FROM submission_probes WHERE ctid = ANY (ARRAY (
			SELECT ctid FROM submission_probes WHERE began_at <= $1
				FOR UPDATE SKIP LOCKED))`, hour) // of all domains, because nothing else deletes them
	if err != nil {
		return now, err
	}
	var n int
	var oldest *time.Time
	err = tx.QueryRow(ctx, `SELECT count(*), min(began_at) FROM submission_probes WHERE domain = $1 AND began_at > $2`,
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
func (db *DB) TakeSubmissionProbe(ctx context.Context, now time.Time) (*QueuedProbe, error) {
	for {
		var taken *QueuedProbe
		looked := false
		err := db.Transact(ctx, func(tx pgx.Tx) error {
			var q QueuedProbe
			var domain string
			var id uuid.UUID
			err := tx.QueryRow(ctx, `
				SELECT id, url, domain, endpoints FROM submissions WHERE probe_due_at <= $1
				ORDER BY probe_due_at, id LIMIT 1 FOR UPDATE SKIP LOCKED`, now).Scan(&id, &q.URL, &domain, &q.Endpoints)
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			if err != nil {
				return err
			}
			looked, q.ID = true, id.String()
			if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1::integer, hashtext($2))`, lockDomain,
				domain); err != nil {
				return err
			}
			due, err := takeProbe(ctx, tx, domain, now)
			if err != nil {
				return err
			}
			if !due.After(now) {
				taken, due = &q, now.Add(probeLease)
			}
			_, err = tx.Exec(ctx, `UPDATE submissions SET probe_due_at = $2 WHERE id = $1`, id, due)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("take submission to probe: %w", err)
		}
		if taken != nil || !looked {
			return taken, nil
		}
	}
}

// StoreSubmissionProbe stores the result of a probe. Of two results the first counts.
func (db *DB) StoreSubmissionProbe(ctx context.Context, id string, result site.ProbeResult) error {
	_, err := db.pool.Exec(ctx, `
		UPDATE submissions SET probe_result = $2, probe_grade = nullif($3, ''), probe_due_at = NULL WHERE id = $1
			AND probe_result IS NULL`, id, result, result.Grade)
	if err != nil {
		return fmt.Errorf("store probe of submission %s: %w", id, err)
	}
	return nil
}

// SubmissionState returns what the submitter may know of a submission, site.ErrNotFound or site.ErrNoDatabase.
func (db *DB) SubmissionState(ctx context.Context, id string) (site.SubmissionState, error) {
	var s site.SubmissionState
	key, err := uuid.Parse(id)
	if err != nil || key.String() != id {
		return s, site.ErrNotFound
	}
	s.SubmissionID = id
	var received time.Time
	var decided *time.Time
	err = db.pool.QueryRow(ctx, `
		SELECT state, reason, slug, probe_result, received_at, decided_at
		FROM submissions LEFT JOIN services ON services.id = service_id WHERE submissions.id = $1`, key).
		Scan(&s.Status, &s.Reason, &s.Slug, &s.ProbeResult, &received, &decided)
	if errors.Is(err, pgx.ErrNoRows) {
		return s, site.ErrNotFound
	}
	if err != nil {
		return s, fmt.Errorf("read submission %s: %w", id, markUnreachable(err))
	}
	s.ReceivedAt = site.NewTime(received)
	if decided != nil {
		s.DecidedAt = site.TimeOrNull(*decided)
	}
	return s, nil
}
