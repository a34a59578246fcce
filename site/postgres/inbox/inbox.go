// Package inbox stores what strangers send: submissions of services, suggestions, and requests for re-checks. Each is a
// message of one kind in one table, with its sender, its body and the decision about it.
//
// It owns the tables inbox, banned_senders, submission_probes and submission_notifier. It must never know how a message is sent, visit
// a service, or publish a message.
package inbox

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tollbook/site"
	"tollbook/site/postgres/rows"
)

// Inbox stores messages in a migrated database.
type Inbox struct{ pool *pgxpool.Pool }

// New returns the inbox of the database that a pool is connected to.
func New(pool *pgxpool.Pool) *Inbox { return &Inbox{pool} }

// kind is a kind of messages.
type kind struct {
	name    string // as it is stored
	plural  string
	perHour int    // messages of one client
	waiting string // what an undecided message does, and what a decision makes of it
	decided string
}

var (
	submissions = &kind{"submission", "submissions", site.SubmissionsPerHour, "wait for review", "decided"}
	suggestions = &kind{"suggestion", "suggestions", site.SuggestionsPerHour, "are open", "closed"}
	rechecks    = &kind{name: "recheck", plural: "re-checks", perHour: site.RechecksPerHour}
)

// entry is a row of the table inbox.
type entry struct {
	kind      *kind
	id        uuid.UUID
	at        time.Time
	client    []byte // keyed hash of the sender; empty if the sender is unknown
	network   []byte // the same of the sender's network
	key       string // value of Idempotency-Key; "" if absent
	hash      []byte // of the body as it was sent
	body      any
	domain    string
	service   *int64
	state     string
	decidedAt *time.Time
	decidedBy string
	reason    *string
	probeDue  *time.Time
	probe     *site.ProbeResult
}

// errRepeated says that a message is stored already.
var errRepeated = errors.New("the message is stored already")

// receive stores a message of a sender. If the client sent it before under the same key, it sets the id and the time of
// the stored one and returns repeated. Besides errors of the database and of both checks it returns site.ErrNoDatabase,
// site.ErrKeyReused and *site.SubmissionLimitError. One lock orders all messages of a kind until the commit, so
// parallel requests cannot exceed a limit. The check first runs before that of the sender's limit, and then after it.
// Each may set what is stored, and first may return errRepeated. most is the limit of all undecided messages; 0 means
// no limit.
func (b *Inbox) receive(ctx context.Context, m *entry, sender string, most int,
	first, then func(pgx.Tx) error) (repeated bool, err error) {
	m.client, m.network, err = b.hashSender(ctx, sender)
	if err == nil {
		err = pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
			err := m.store(ctx, tx, most, first, then)
			if repeated = errors.Is(err, errRepeated); repeated {
				return nil
			}
			return err
		})
	}
	if err != nil {
		return false, fmt.Errorf("receive %s: %w", m.kind.name, markUnreachable(err))
	}
	return repeated, nil
}

func (m *entry) store(ctx context.Context, tx pgx.Tx, most int, first, then func(pgx.Tx) error) error {
	if err := lock(ctx, tx, m.kind); err != nil {
		return err
	}
	if err := findKey(ctx, tx, m); err != nil {
		return err
	}
	if err := first(tx); err != nil {
		return err
	}
	if err := checkSender(ctx, tx, m); err != nil {
		return err
	}
	if err := then(tx); err != nil {
		return err
	}
	if err := checkWaiting(ctx, tx, m, most); err != nil {
		return err
	}
	return insert(ctx, tx, m)
}

// pass is a check that every message passes.
func pass(pgx.Tx) error { return nil }

// lockClass is the class of the advisory locks, one for each kind.
const lockClass = 402_001

// lock waits for the other messages of a kind that are being received.
func lock(ctx context.Context, tx pgx.Tx, k *kind) error {
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1::integer, hashtext($2))`, lockClass, k.name)
	return err
}

// findKey returns errRepeated if the client sent the message before under the same key.
func findKey(ctx context.Context, tx pgx.Tx, m *entry) error {
	if m.key == "" {
		return nil
	}
	var before []byte
	err := tx.QueryRow(ctx, `
		SELECT id, received_at, content_hash, probe_result FROM inbox
		WHERE kind = $1 AND client = $2 AND idempotency_key = $3`, m.kind.name, m.client, m.key).
		Scan(&m.id, &m.at, &before, &m.probe)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return err
	case !bytes.Equal(before, m.hash):
		return site.ErrKeyReused
	}
	return errRepeated
}

// networkShare is how many times the messages of one client are taken from all clients of a network.
const networkShare = 4

// checkSender refuses a sender that is banned, a client that sent the maximum number of messages of a kind in the last
// hour, and a network whose clients sent several times as many.
func checkSender(ctx context.Context, tx pgx.Tx, m *entry) error {
	var banned bool
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM banned_senders WHERE network = $1)`, m.network).
		Scan(&banned); err != nil {
		return err
	}
	if banned {
		return &site.SubmissionLimitError{Message: "the operator of this directory takes nothing from your address",
			RetryAfter: 24 * time.Hour}
	}
	for _, of := range []struct {
		column, from string
		value        []byte
		most         int
	}{
		{"client", "one address", m.client, m.kind.perHour},
		{"network", "one network", m.network, networkShare * m.kind.perHour},
	} {
		var n int
		var oldest *time.Time // of the newest ones that reach the limit
		err := tx.QueryRow(ctx, `
			SELECT count(*), min(received_at) FROM (
				SELECT received_at FROM inbox WHERE kind = $1 AND `+of.column+` = $2 AND received_at > $3
				ORDER BY received_at DESC LIMIT $4) AS recent`,
			m.kind.name, of.value, m.at.Add(-time.Hour), of.most).Scan(&n, &oldest)
		if err != nil {
			return err
		}
		if n < of.most {
			continue
		}
		after := oldest.Add(time.Hour).Sub(m.at)
		text := fmt.Sprintf("%d %s an hour are taken from %s", of.most, m.kind.plural, of.from)
		if m.kind == rechecks {
			return newLimitError(after, "%s", text)
		}
		return &site.SubmissionLimitError{Message: text + "; Retry-After says when the next is", RetryAfter: after}
	}
	return nil
}

// checkWaiting refuses a message if most of its kind are undecided, unless a submission gives way to it. It counts no
// further than most.
func checkWaiting(ctx context.Context, tx pgx.Tx, m *entry, most int) error {
	if most == 0 {
		return nil
	}
	var n int
	err := tx.QueryRow(ctx, `
		SELECT count(*) FROM (SELECT FROM inbox WHERE kind = $1 AND decided_at IS NULL LIMIT $2) AS waiting`, m.kind.name,
		most).Scan(&n)
	if err != nil || n < most {
		return err
	}
	if m.kind == submissions {
		if gone, err := giveWay(ctx, tx, m); err != nil || gone {
			return err
		}
	}
	text := fmt.Sprintf("%d %s %s already; more are taken when some are %s", most, m.kind.plural, m.kind.waiting,
		m.kind.decided)
	return &site.SubmissionLimitError{Message: text, RetryAfter: time.Hour}
}

// giveWay rejects one of the submissions that wait, so that few senders and hosts that do not exist keep out nobody, and
// reports whether it did: the oldest whose service asked nobody for payment when it was probed, else the newest of the
// network that has most, if these are at least two more than those of the newcomer's network. Senders that are unknown,
// such as those of imported submissions, are no network.
func giveWay(ctx context.Context, tx pgx.Tx, m *entry) (bool, error) {
	var id uuid.UUID
	err := tx.QueryRow(ctx, `
		WITH waiting AS (
			SELECT id, received_at, probe_result, network,
				count(*) OVER (PARTITION BY network, CASE network WHEN '' THEN id END) AS of_network
			FROM inbox WHERE kind = 'submission' AND decided_at IS NULL
		)
		SELECT id FROM waiting
		WHERE probe_result->'endpoints_found' = '0'
			OR of_network >= 2 + (SELECT count(*) FROM waiting WHERE network = $1)
		ORDER BY (probe_result->'endpoints_found' = '0') IS TRUE DESC,
			CASE WHEN probe_result->'endpoints_found' = '0' THEN received_at END, of_network DESC, received_at DESC, id
		LIMIT 1`, m.network).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, reject(ctx, tx, id, "tollbook", "the list of submissions that wait was full, and yours gave way: its "+
		"service asked for no payment, or your network had sent most of them; you may submit it again", m.at)
}

func insert(ctx context.Context, tx pgx.Tx, m *entry) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO inbox (id, kind, received_at, client, network, idempotency_key, content_hash, body, domain,
			service_id, state, decided_at, decided_by, reason, probe_due_at, probe_result)
		VALUES ($1, $2, $3, $4, coalesce($16, ''::bytea), nullif($5, ''), $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		m.id, m.kind.name, m.at, m.client, m.key, m.hash, m.body, m.domain, m.service, m.state, m.decidedAt,
		m.decidedBy, m.reason, m.probeDue, m.probe, m.network)
	return err
}

// networkOf returns the network of a sender: of an IPv6 network of 64 bits the one of 48 bits, because one host may have
// as many of the former; of anything else the sender.
func networkOf(sender string) string {
	p, err := netip.ParsePrefix(sender)
	if err != nil || !p.Addr().Is6() || p.Bits() < 48 {
		return sender
	}
	return netip.PrefixFrom(p.Addr(), 48).Masked().String()
}

// hashSender returns the keyed hashes of a sender and of its network, under which limits count them.
func (b *Inbox) hashSender(ctx context.Context, sender string) (client, network []byte, err error) {
	fresh := make([]byte, sha256.Size)
	rand.Read(fresh) // never fails
	var value string
	const name = "submission_client_key"
	err = b.pool.QueryRow(ctx, `SELECT value FROM settings WHERE name = $1`, name).Scan(&value)
	if errors.Is(err, pgx.ErrNoRows) { // of two that create the key at once, one does
		err = b.pool.QueryRow(ctx, `
			INSERT INTO settings (name, value) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET value = settings.value RETURNING value`, name,
			hex.EncodeToString(fresh)).Scan(&value)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read setting %s: %w", name, err)
	}
	key, err := hex.DecodeString(value)
	if err != nil {
		return nil, nil, fmt.Errorf("setting %s is damaged", name) // the value is secret
	}
	sum := func(text string) []byte {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
	return sum(sender), sum(networkOf(sender)), nil
}

// columns are those that a Submission and a Suggestion are made from.
const columns = `inbox.id, received_at, body, state, decided_at, decided_by, domain, reason, slug, probe_result,
	probe_grade`

// order is the order of all lists.
const order = ` ORDER BY received_at, inbox.id`

// read reads the messages of a kind that fulfil a condition, which may be followed by more clauses.
func read[T any](ctx context.Context, q rows.Querier, k *kind, scan pgx.RowToFunc[T], where string, args ...any) (
	[]T, error) {
	result, err := q.Query(ctx, `SELECT `+columns+` FROM inbox LEFT JOIN services ON services.id = service_id
		WHERE kind = '`+k.name+`' AND `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", k.plural, err)
	}
	list, err := pgx.CollectRows(result, scan)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", k.plural, err)
	}
	return list, nil
}

// readOne reads the message with an id, or returns site.ErrNotFound.
func readOne[T any](ctx context.Context, q rows.Querier, k *kind, scan pgx.RowToFunc[T], id uuid.UUID) (one T,
	err error) {
	list, err := read(ctx, q, k, scan, `inbox.id = $1`, id)
	if err == nil && len(list) == 0 {
		err = site.ErrNotFound
	}
	if err != nil {
		return one, fmt.Errorf("read %s %s: %w", k.name, id, err)
	}
	return list[0], nil
}

// DecidedError says that a submission or suggestion was decided already.
type DecidedError struct {
	State string
	At    time.Time
	By    string
}

func (e *DecidedError) Error() string {
	return fmt.Sprintf("it was %s on %s by %s", e.State, e.At.UTC().Format("2006-01-02 15:04 UTC"), e.By)
}

// lockUndecided locks a message. It returns site.ErrNotFound or *DecidedError if there is no such undecided one.
func lockUndecided(ctx context.Context, tx pgx.Tx, k *kind, id uuid.UUID) error {
	var d DecidedError
	var at *time.Time
	err := tx.QueryRow(ctx,
		`SELECT state, decided_at, decided_by FROM inbox WHERE kind = $1 AND id = $2 FOR UPDATE`, k.name, id).
		Scan(&d.State, &at, &d.By)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return site.ErrNotFound
	case err == nil && at != nil:
		d.At = *at
		return &d
	}
	return err
}

// Figures counts the submissions and suggestions of a directory.
type Figures struct {
	Submissions map[string]int // by state, every state
	Suggestions map[string]int
	Oldest      *time.Time // when the submission that has waited longest was received; nil if none waits
}

// Figures counts the submissions and suggestions.
func (b *Inbox) Figures(ctx context.Context) (Figures, error) {
	f := Figures{
		Submissions: map[string]int{site.SubmissionPending: 0, site.SubmissionApproved: 0, site.SubmissionRejected: 0},
		Suggestions: map[string]int{site.SuggestionOpen: 0, site.SuggestionClosed: 0},
	}
	var name, state string
	var count int
	var oldest *time.Time
	err := rows.Each(ctx, b.pool, `
		SELECT kind, state, count(*), min(received_at) FROM inbox WHERE kind <> 'recheck' GROUP BY kind, state`,
		[]any{&name, &state, &count, &oldest}, func() {
			if name == suggestions.name {
				f.Suggestions[state] = count
				return
			}
			if f.Submissions[state] = count; state == site.SubmissionPending {
				f.Oldest = new(*oldest)
			}
		})
	if err != nil {
		return f, fmt.Errorf("count submissions and suggestions: %w", err)
	}
	return f, nil
}
