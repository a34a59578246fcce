package sources

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Resource is a resource as a source lists it.
type Resource struct {
	Resource    string // host and path in normal form, without the scheme
	Method      string // "" if the source does not say
	Tool        string // name of an MCP tool, "" for none
	URL         string
	Type        string // http, mcp
	IsSite      bool   // the URL is a site and no endpoint
	Template    string
	Service     string
	Description string
	MimeType    string
	Tags        []string
}

// Begin starts a pull and returns its number. It deletes what an earlier pull left that neither ended nor is held back.
func (st *Store) Begin(ctx context.Context, source int, now time.Time) (number int64, err error) {
	err = pgx.BeginFunc(ctx, st.pool, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(`
			DELETE FROM source_staged s USING sources o
			WHERE o.id = $1 AND s.source_id = $1 AND s.pull IS DISTINCT FROM o.held_pull`, source)
		batch.Queue(`DELETE FROM source_pulls WHERE source_id = $1 AND ended_at IS NULL`, source)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `
			INSERT INTO source_pulls (source_id, number, began_at)
			SELECT $1, coalesce(max(number), 0) + 1, $2 FROM source_pulls WHERE source_id = $1 RETURNING number`,
			source, now).Scan(&number)
	})
	return number, wrap("begin a pull", err)
}

// stageRows is the number of resources that one statement stages.
const stageRows = 5000

// Stage stores all resources of a running pull. list has each of them once.
func (st *Store) Stage(ctx context.Context, source int, pull int64, list []Resource) error {
	for len(list) > 0 {
		n := min(len(list), stageRows)
		if err := st.stage(ctx, source, pull, list[:n]); err != nil {
			return fmt.Errorf("store the resources of a source: %w", err)
		}
		list = list[n:]
	}
	// Without statistics the server expects few rows, and compares each with each.
	_, err := st.pool.Exec(ctx, `ANALYZE source_staged`)
	return wrap("count the resources of a source", err)
}

func (st *Store) stage(ctx context.Context, source int, pull int64, list []Resource) error {
	_, err := st.pool.CopyFrom(ctx, pgx.Identifier{"source_staged"}, []string{"source_id", "pull", "resource", "method",
		"tool", "url", "type", "is_site", "template", "service", "description", "mime_type", "tags"},
		pgx.CopyFromSlice(len(list), func(i int) ([]any, error) {
			r := &list[i]
			tags := r.Tags
			if tags == nil {
				tags = []string{}
			}
			return []any{source, pull, r.Resource, r.Method, r.Tool, r.URL, r.Type, r.IsSite, r.Template, r.Service,
				r.Description, r.MimeType, tags}, nil
		}))
	return err
}

// unseen are the staged resources of a pull that its source does not list yet.
const unseen = `source_staged n WHERE n.source_id = $1 AND n.pull = $2 AND NOT EXISTS (
	SELECT FROM source_resources r WHERE r.source_id = n.source_id AND r.resource = n.resource
		AND r.method = n.method AND r.tool = n.tool AND r.until IS NULL)`

// NewResources reads the resources of a pull that its source does not list yet, by address. It returns whole hosts, up
// to limit resources, or more if the first host has more; none after the last. after is the resource that was read
// last, "" to begin.
func (st *Store) NewResources(ctx context.Context, source int, pull int64, after string, limit int) ([]Resource,
	error) {
	return st.readStaged(ctx, unseen, source, pull, after, limit)
}

// NewResourcesOfServices is NewResources for the hosts of listed services.
func (st *Store) NewResourcesOfServices(ctx context.Context, source int, pull int64, after string, limit int) (
	[]Resource, error) {
	return st.readStaged(ctx, unseen+` AND EXISTS (SELECT FROM `+addresses+`
		WHERE split_part(address, '/', 1) = split_part(n.resource, '/', 1))`, source, pull,
		after, limit)
}

// UnlistedResources reads the resources of a pull whose host has no service and was not asked since a time, in the same
// way. Hosts that answered when they were asked have had a service, so they are left out, and so are hosts of services
// that the operator removed.
func (st *Store) UnlistedResources(ctx context.Context, source int, pull int64, since time.Time, limit int) ([]Resource,
	error) {
	return st.readStaged(ctx, `source_staged n WHERE n.source_id = $1 AND n.pull = $2
		AND NOT EXISTS (SELECT FROM `+addresses+` WHERE split_part(address, '/', 1) =
			split_part(n.resource, '/', 1))
		AND NOT EXISTS (SELECT FROM source_hosts h WHERE h.host = split_part(n.resource, '/', 1)
			AND (h.answers OR h.asked_at > $5))
		AND NOT EXISTS (SELECT FROM removed_services, unnest(addresses) a
			WHERE allowed_at IS NULL AND a = split_part(n.resource, '/', 1))`, source, pull, "", limit, since)
}

func (st *Store) readStaged(ctx context.Context, of string, args ...any) ([]Resource, error) {
	rows, err := st.pool.Query(ctx, `
		WITH wanted AS MATERIALIZED (SELECT n.* FROM `+of+` AND n.resource > $3)
		SELECT resource, method, tool, url, type, is_site, template, service, description, mime_type, tags FROM wanted
		WHERE resource < coalesce((
			SELECT split_part(resource, '/', 1) || '0' FROM wanted ORDER BY resource OFFSET $4 - 1 LIMIT 1), '~')
		ORDER BY resource, method, tool`, args...) // '0' is the character after '/'
	if err != nil {
		return nil, wrap("read resources to list", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Resource])
	return list, wrap("read resources to list", err)
}

// StoreAsked stores which hosts were asked, and whether they answered.
func (st *Store) StoreAsked(ctx context.Context, hosts map[string]bool, now time.Time) error {
	batch := &pgx.Batch{}
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		batch.Queue(`
			INSERT INTO source_hosts (host, asked_at, answers) VALUES ($1, $2, $3)
			ON CONFLICT (host) DO UPDATE SET asked_at = excluded.asked_at, answers = excluded.answers`, host, now,
			hosts[host])
	}
	return wrap("store which hosts answer", st.pool.SendBatch(ctx, batch).Close())
}

// Answer describes the whole answer of a pull.
type Answer struct {
	EndedAt      time.Time
	Pages        int
	Bytes        int64
	SHA256       []byte
	Resources    int
	Missing      int // resources that the source listed and the answer lacks
	Skipped      int
	Moved        bool // entries moved while the answer was read, so a missing one may still be listed
	Partial      bool // the source hides rows from readers who do not pay, so a missing one may still be listed
	ETag         string
	LastModified string
}

// Fail ends a pull that got no complete answer. Nothing that the source listed changes. status is that of the last
// response, 0 if none came.
func (st *Store) Fail(ctx context.Context, source int, pull int64, cause string, status int, now,
	due time.Time) error {
	return st.end(ctx, source, pull, "end a failed pull", func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(`UPDATE source_pulls SET ended_at = $3, outcome = 'failed', error = $4,
				status_code = nullif($5, 0)
			WHERE source_id = $1 AND number = $2`, source, pull, now, cause, status)
		batch.Queue(`UPDATE sources SET failures = failures + 1, due_at = $2 WHERE id = $1`, source, due)
		return tx.SendBatch(ctx, batch).Close()
	})
}

// Unchange ends a pull whose source says that nothing changed since the accepted answer.
func (st *Store) Unchange(ctx context.Context, source int, pull int64, now, due time.Time) error {
	return st.end(ctx, source, pull, "end a pull without changes", func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(`
			UPDATE source_pulls p SET ended_at = $3, outcome = 'unchanged', status_code = 304,
				resources = a.resources, sha256 = a.sha256
			FROM sources o JOIN source_pulls a ON a.source_id = o.id AND a.number = o.accepted_pull
			WHERE o.id = $1 AND p.source_id = $1 AND p.number = $2`, source, pull, now)
		batch.Queue(`UPDATE sources SET failures = 0, due_at = $2, held_pull = NULL WHERE id = $1`, source, due)
		return tx.SendBatch(ctx, batch).Close()
	})
}

// CountMissing returns how many of the resources that a source lists a staged answer lacks.
func (st *Store) CountMissing(ctx context.Context, source int, pull int64) (n int, err error) {
	err = st.pool.QueryRow(ctx, `
		SELECT count(*) FROM source_resources r WHERE source_id = $1 AND until IS NULL AND NOT EXISTS (
			SELECT FROM source_staged n WHERE n.source_id = $1 AND n.pull = $2 AND n.resource = r.resource
				AND n.method = r.method AND n.tool = r.tool)`, source, pull).Scan(&n)
	return n, wrap("count the resources that an answer lacks", err)
}

// Hold ends a pull whose answer lacks too much. The answer stays staged until it is accepted or another answer comes.
func (st *Store) Hold(ctx context.Context, source int, pull int64, a Answer, due time.Time) error {
	return st.end(ctx, source, pull, "hold back an answer", func(tx pgx.Tx) error {
		if err := endPull(ctx, tx, source, pull, Held, a); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE sources SET failures = 0, due_at = $2, held_pull = $3 WHERE id = $1`, source,
			due, pull)
		return err
	})
}

// keptPulls is the number of pulls that are stored of each source.
const keptPulls = 100

// end runs f in a transaction, and then deletes old pulls and the staged rows that nothing refers to.
func (st *Store) end(ctx context.Context, source int, pull int64, what string, f func(pgx.Tx) error) error {
	return wrap(what, pgx.BeginFunc(ctx, st.pool, func(tx pgx.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		batch := &pgx.Batch{}
		batch.Queue(`
			DELETE FROM source_staged s USING sources o
			WHERE o.id = $1 AND s.source_id = $1 AND s.pull IS DISTINCT FROM o.held_pull`, source)
		batch.Queue(`
			DELETE FROM source_pulls p USING sources o WHERE o.id = $1 AND p.source_id = $1 AND number <= $2
				AND number IS DISTINCT FROM o.accepted_pull AND number IS DISTINCT FROM o.held_pull
				AND NOT (outcome = 'unchanged' AND number = (SELECT max(number) FROM source_pulls
					WHERE source_id = $1 AND outcome = 'unchanged'))`, source, pull-keptPulls)
		return tx.SendBatch(ctx, batch).Close()
	}))
}

func endPull(ctx context.Context, tx pgx.Tx, source int, pull int64, outcome string, a Answer) error {
	_, err := tx.Exec(ctx, `
		UPDATE source_pulls SET ended_at = $3, outcome = $4, status_code = 200, pages = $5, bytes = $6, sha256 = $7,
			resources = $8, skipped = $9, partial = $10, missing = $11
		WHERE source_id = $1 AND number = $2`, source, pull, a.EndedAt, outcome, a.Pages, a.Bytes, a.SHA256,
		a.Resources, a.Skipped, a.Partial, a.Missing)
	return err
}
