package consent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site/listing"
	"tollbook/site/postgres/rows"
	"tollbook/site/postgres/sources"
)

// OptOut says that nothing of a host is listed or visited: its owner opted out, or the operator blocked it.
type OptOut struct {
	Host      string    `json:"host"`                 // as HostOf returns it; of a block also *.example.com, for all of a domain
	Document  string    `json:"document"`             // URL of the document in which the owner says so; "" without one
	Since     time.Time `json:"since"`                // when the wish was first read, or the host was blocked
	ReadAt    time.Time `json:"read_at"`              // when it was last read
	BlockedBy string    `json:"blocked_by,omitempty"` // who of the operator blocked the host; "" if nobody did
	Reason    string    `json:"reason,omitempty"`     // of the block, for the record
}

// String says in words why nothing of the host is listed.
func (o OptOut) String() string {
	if o.BlockedBy == "" {
		return fmt.Sprintf("the owner of %s opted out: %s has said so since %s; the host may be listed when that is gone, "+
			"which is checked once a day", o.Host, o.Document, o.Since.UTC().Format("2006-01-02"))
	}
	text := fmt.Sprintf("%s blocked %s on %s", o.BlockedBy, o.Host, o.Since.UTC().Format("2006-01-02"))
	if o.Reason != "" {
		text += " (" + o.Reason + ")"
	}
	return text + "; tollbook services unblock " + o.Host + " ends that"
}

// Public says to a stranger why nothing of the host is listed.
func (o OptOut) Public() string {
	if o.BlockedBy != "" {
		return "this directory lists nothing of " + o.Host
	}
	return o.String()
}

// OptOuts are the hosts of which nothing is listed, by OptOut.Host.
type OptOuts map[string]OptOut

// Find returns what keeps a host, as HostOf returns it, from being listed. The rule is that of coveredBy.
func (l OptOuts) Find(host string) (o OptOut, ok bool) {
	if o, ok = l[host]; ok {
		return o, true
	}
	for name, _, _ := strings.Cut(host, ":"); name != "" && !ok; _, name, _ = strings.Cut(name, ".") {
		o, ok = l["*."+name]
	}
	return o, ok
}

// Error is the error of listing a service on a host that opted out.
type Error struct{ OptOut OptOut }

func (e *Error) Error() string { return e.OptOut.String() }

// HostOf returns the host of a base URL in the form of listing.NormalHost, with its port unless that is the scheme's own.
func HostOf(base string) string {
	if normal, err := listing.NormalURL(base); err == nil {
		base = normal
	}
	_, host, _ := strings.Cut(base, "://")
	host, _, _ = strings.Cut(host, "/")
	return strings.ToLower(host)
}

// hostOf is HostOf in SQL, of the column base_url.
const hostOf = `lower(split_part(split_part(base_url, '://', 2), '/', 1))`

// coveredBy returns a condition: an opt-out of one host means another, given as two expressions of SQL. *.example.com
// means example.com and every host below it, on any port.
func coveredBy(optOut, host string) string {
	name := `split_part(` + host + `, ':', 1)`
	return `(` + optOut + ` = ` + host + ` OR starts_with(` + optOut + `, '*.') AND (` + optOut + ` = '*.' || ` + name + `
		OR right(` + name + `, length(` + optOut + `) - 1) = substr(` + optOut + `, 2)))`
}

// atHost is a condition on services: an opt-out of $1 means their host, or one that they moved to.
var atHost = `(` + coveredBy(`$1::text`, hostOf) + `
	OR services.id IN (SELECT moves.id FROM ` + sources.MovesTable + ` WHERE ` + coveredBy(`$1::text`, `moves.host`) + `))`

// optedOut is a condition on services: an opt-out means their host, or one that they moved to.
var optedOut = `EXISTS (SELECT FROM opt_outs WHERE ` + coveredBy(`opt_outs.host`, hostOf) + `
	OR services.id IN (SELECT moves.id FROM ` + sources.MovesTable + ` WHERE ` + coveredBy(`opt_outs.host`, `moves.host`) + `))`

const optOutColumns = `host, document, since, read_at, blocked_by, reason`

// Read returns all opt-outs by host.
func Read(ctx context.Context, q rows.Querier) (OptOuts, error) {
	list, err := readList(ctx, q, ``)
	byHost := make(OptOuts, len(list))
	for _, o := range list {
		byHost[o.Host] = o
	}
	return byHost, err
}

// Check returns an *Error if an opt-out means the host of a base URL.
func Check(ctx context.Context, q rows.Querier, base string) error {
	list, err := readList(ctx, q, `WHERE `+coveredBy(`host`, `$1::text`), HostOf(base))
	if err != nil || len(list) == 0 {
		return err
	}
	return &Error{list[0]}
}

func readList(ctx context.Context, q rows.Querier, where string, args ...any) ([]OptOut, error) {
	result, err := q.Query(ctx, `SELECT `+optOutColumns+` FROM opt_outs `+where+` ORDER BY host COLLATE "C"`, args...)
	if err != nil {
		return nil, fmt.Errorf("read opt-outs: %w", err)
	}
	list, err := pgx.CollectRows(result, pgx.RowToStructByPos[OptOut])
	if err != nil {
		return nil, fmt.Errorf("read opt-outs: %w", err)
	}
	return list, nil
}

// ReadSorted returns all opt-outs, sorted by host.
func ReadSorted(ctx context.Context, q rows.Querier) ([]OptOut, error) { return readList(ctx, q, ``) }

// OptOuts returns all opt-outs, sorted by host.
func (p *Permissions) OptOuts(ctx context.Context) ([]OptOut, error) { return ReadSorted(ctx, p.pool) }

// Count returns of how many hosts the owners opted out.
func Count(ctx context.Context, tx pgx.Tx) (n int, err error) {
	if err := tx.QueryRow(ctx, `SELECT count(*) FROM opt_outs WHERE blocked_by = ''`).Scan(&n); err != nil {
		return 0, fmt.Errorf("count opt-outs: %w", err)
	}
	return n, nil
}

// NormalizeOptOuts brings hosts that an earlier version stored into the form of HostOf, and hides their services. Of two opt-outs of a host the one
// that has this form stays.
func (p *Permissions) NormalizeOptOuts(ctx context.Context) error {
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		list, err := readList(ctx, tx, ``)
		if err != nil {
			return err
		}
		for _, o := range list {
			host := HostOf("https://" + o.Host)
			if host == o.Host || o.BlockedBy != "" {
				continue
			}
			_, err := tx.Exec(ctx, `
				WITH renamed AS (
					UPDATE opt_outs SET host = $2
					WHERE host = $1 AND NOT EXISTS (SELECT FROM opt_outs WHERE host = $2)
					RETURNING host
				)
				DELETE FROM opt_outs WHERE host = $1 AND NOT EXISTS (SELECT FROM renamed)`, o.Host, host)
			if err == nil {
				_, err = hide(ctx, tx, OptOut{Host: host, ReadAt: o.ReadAt})
			}
			if err != nil {
				return fmt.Errorf("bring the host of an opt-out into one form: %w", err)
			}
		}
		return nil
	})
}

// TakeOptOuts leases up to limit opt-outs whose document is due to be read again, the longest overdue first. If the
// process dies, a document is due again when its lease ends.
func (p *Permissions) TakeOptOuts(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]OptOut,
	error) {
	result, err := p.pool.Query(ctx, `
		UPDATE opt_outs SET next_at = $1::timestamptz + $2::interval
		WHERE host IN (
			SELECT host FROM opt_outs WHERE next_at <= $1 ORDER BY next_at, host LIMIT $3 FOR UPDATE SKIP LOCKED
		)
		RETURNING `+optOutColumns, now, lease, limit)
	if err != nil {
		return nil, fmt.Errorf("take due opt-outs: %w", err)
	}
	due, err := pgx.CollectRows(result, pgx.RowToStructByPos[OptOut])
	if err != nil {
		return nil, fmt.Errorf("take due opt-outs: %w", err)
	}
	return due, nil
}

// PostponeOptOut stores when the document of an opt-out is to be read again.
func (p *Permissions) PostponeOptOut(ctx context.Context, host string, next time.Time) error {
	if _, err := p.pool.Exec(ctx, `UPDATE opt_outs SET next_at = $2 WHERE host = $1`, host, next); err != nil {
		return fmt.Errorf("postpone the opt-out of %s: %w", host, err)
	}
	return nil
}

// RecordOptOut stores an opt-out that was read at o.ReadAt, hides the services that are or moved to its host, and
// returns the slugs of those that it hid. An opt-out that is stored already keeps its Since, and a block stays one.
func (p *Permissions) RecordOptOut(ctx context.Context, o OptOut, next time.Time) (hidden []string, err error) {
	err = pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if err := lockServicesOf(ctx, tx, o.Host); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO opt_outs (host, document, since, read_at, next_at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (host) DO UPDATE SET document = excluded.document, read_at = excluded.read_at,
				next_at = CASE opt_outs.blocked_by WHEN '' THEN excluded.next_at ELSE opt_outs.next_at END`, o.Host, o.Document, o.Since, o.ReadAt, next)
		if err != nil {
			return err
		}
		if hidden, err = hide(ctx, tx, o); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO audit (at, actor, action, service_id, detail)
			SELECT $2, 'owner', 'opt-out', id, $3 FROM services WHERE slug = ANY($1) ORDER BY id`,
			hidden, o.ReadAt, o.Document)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("store the opt-out of %s: %w", o.Host, err)
	}
	return hidden, nil
}

// lockServicesOf locks the services of a host until the transaction ends, in the order of package postgres.
func lockServicesOf(ctx context.Context, tx pgx.Tx, host string) error {
	_, err := tx.Exec(ctx, `
		SELECT FROM service_states WHERE service_id IN (SELECT id FROM services WHERE `+atHost+`)
		ORDER BY service_id FOR NO KEY UPDATE`, host)
	return err
}

// hide hides the services of a host that opted out, and ends the leases of visits that run.
func hide(ctx context.Context, tx pgx.Tx, o OptOut) ([]string, error) {
	return rows.Column[string](ctx, tx, `
		WITH hidden AS (
			UPDATE services SET state_before_opt_out = listing_state, listing_state = 'hidden', listing_state_at = $2
			WHERE `+atHost+` AND state_before_opt_out IS NULL
			RETURNING id, slug
		), stopped AS (
			UPDATE service_states SET next_check_at = $3 WHERE service_id IN (SELECT id FROM hidden)
		)
		SELECT slug FROM hidden ORDER BY slug COLLATE "C"`, o.Host, o.ReadAt, NeverDue)
}

// EndOptOut deletes the opt-out of a host, but no block. Its services, unless another host of theirs opted out, get the
// states that they had before, and those that are listed are due at once. It returns the slugs of these services.
func (p *Permissions) EndOptOut(ctx context.Context, host string, now time.Time) (shown []string, err error) {
	err = pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if err := lockServicesOf(ctx, tx, host); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM opt_outs WHERE host = $1 AND blocked_by = ''`, host); err != nil {
			return err
		}
		shown, err = show(ctx, tx, host, now, "owner", "end of opt-out")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("end the opt-out of %s: %w", host, err)
	}
	return shown, nil
}

// show undoes hide for the services of a host that no opt-out means any more, and returns their slugs.
func show(ctx context.Context, tx pgx.Tx, host string, now time.Time, actor, action string) ([]string, error) {
	return rows.Column[string](ctx, tx, `
		WITH shown AS (
			UPDATE services SET listing_state = state_before_opt_out, state_before_opt_out = NULL,
				listing_state_at = $2
			WHERE `+atHost+` AND state_before_opt_out IS NOT NULL AND NOT `+optedOut+`
			RETURNING id, slug, listing_state
		), due AS (
			UPDATE service_states SET next_check_at = $2
			WHERE service_id IN (SELECT id FROM shown WHERE listing_state = 'listed')
		), audited AS (
			INSERT INTO audit (at, actor, action, service_id, detail) SELECT $2, $3, $4, id, $1 FROM shown
		)
		SELECT slug FROM shown ORDER BY slug COLLATE "C"`, host, now, actor, action)
}

// Block keeps a host, or *.example.com for all of a domain, from being listed and visited until Unblock, and hides its
// services. It returns the slugs of those that it hid. A block that is stored already gets the new reason.
func (p *Permissions) Block(ctx context.Context, host, actor, reason string, now time.Time) (hidden []string,
	err error) {
	err = pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if err := lockServicesOf(ctx, tx, host); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO opt_outs (host, document, since, read_at, next_at, blocked_by, reason)
			VALUES ($1, '', $2, $2, $3, $4, $5)
			ON CONFLICT (host) DO UPDATE SET next_at = $3, blocked_by = $4, reason = $5,
				since = CASE opt_outs.blocked_by WHEN '' THEN excluded.since ELSE opt_outs.since END`,
			host, now, NeverDue, actor, reason)
		if err != nil {
			return err
		}
		if hidden, err = hide(ctx, tx, OptOut{Host: host, ReadAt: now}); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO audit (at, actor, action, service_id, detail)
			SELECT $2, $3, 'block', id, $4 FROM services WHERE slug = ANY($1) ORDER BY id`, hidden, now, actor, host)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("block %s: %w", host, err)
	}
	return hidden, nil
}

// Unblock ends the block of a host, and returns the slugs of its services that get the states that they had before. ok
// is false if there is no such block. If the owner opted out, too, that holds on, and is checked at once.
func (p *Permissions) Unblock(ctx context.Context, host, actor string, now time.Time) (shown []string, ok bool,
	err error) {
	err = pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if err := lockServicesOf(ctx, tx, host); err != nil {
			return err
		}
		kept, err := tx.Exec(ctx, `
			UPDATE opt_outs SET blocked_by = '', reason = '', next_at = $2
			WHERE host = $1 AND blocked_by <> '' AND document <> ''`, host, now)
		if err != nil {
			return err
		}
		ended, err := tx.Exec(ctx, `DELETE FROM opt_outs WHERE host = $1 AND blocked_by <> ''`, host)
		if err != nil {
			return err
		}
		ok = kept.RowsAffected()+ended.RowsAffected() > 0
		shown, err = show(ctx, tx, host, now, actor, "end of block")
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("end the block of %s: %w", host, err)
	}
	return shown, ok, nil
}

// Restore inserts the opt-outs and blocks of an exported directory and hides the services of their hosts. Each document
// is due to be read at once.
func Restore(ctx context.Context, tx pgx.Tx, list []OptOut, now time.Time) error {
	for _, o := range list {
		next := now
		if o.BlockedBy != "" {
			next = NeverDue
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO opt_outs (host, document, since, read_at, next_at, blocked_by, reason)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`, o.Host, o.Document, o.Since, o.ReadAt, next, o.BlockedBy, o.Reason)
		if err == nil {
			_, err = hide(ctx, tx, o)
		}
		if err != nil {
			return fmt.Errorf("opt-out of %s: %w", o.Host, err)
		}
	}
	return nil
}

// BlockedHost returns the host that somebody means who blocks one: a host with or without a port, *. and a domain, or a
// URL without a path, in the form of OptOut.Host.
func BlockedHost(text string) (string, error) {
	domain, isDomain := strings.CutPrefix(text, "*.")
	base := domain
	if !strings.Contains(base, "://") {
		base = "https://" + base
	}
	normal, err := listing.NormalURL(base)
	if err != nil {
		return "", fmt.Errorf("%q is no host: %w", text, err)
	}
	_, host, _ := strings.Cut(normal, "://")
	host, path, _ := strings.Cut(host, "/")
	switch {
	case path != "":
		return "", fmt.Errorf("%q has a path, and a block is of a whole host", text)
	case !isDomain:
		return host, nil
	case !strings.Contains(host, ".") || strings.Contains(host, ":"):
		return "", fmt.Errorf("%q is too wide or has a port: name a domain such as *.example.com", text)
	}
	return "*." + host, nil
}
