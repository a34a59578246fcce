package sources

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// Counts says what an accepted answer changed.
type Counts struct {
	Resources int `json:"resources"` // that the source lists now
	New       int `json:"new"`       // that no source listed before
	Merged    int `json:"merged"`    // that this source lists newly and another source lists too
	Dropped   int `json:"dropped"`   // that the source no longer lists
	Records   int `json:"records"`   // change records of services
}

// ErrNotHeld says that no answer of a source is held back.
var ErrNotHeld = errors.New("no answer is held back")

// Accept believes the staged answer of a pull. Resources that are new to the source are listed since the end of the
// pull; those that it lacks were dropped then, unless the answer is partial. Both together give one change record for
// each service with such resources, up to maxRecords. The first answer of a source is a beginning and no change. All of
// it is one transaction, which ends the pull: a crash before leaves the last answer in force.
func (st *Store) Accept(ctx context.Context, source State, pull int64, a Answer, due time.Time) (c Counts, err error) {
	err = st.end(ctx, source.ID, pull, "accept an answer of "+source.Name, func(tx pgx.Tx) error {
		if err := endPull(ctx, tx, source.ID, pull, Accepted, a); err != nil {
			return err
		}
		if c, err = apply(ctx, tx, source, pull, a); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			UPDATE sources SET failures = 0, due_at = $2, accepted_pull = $3, held_pull = NULL, etag = $4,
				last_modified = $5
			WHERE id = $1`, source.ID, due, pull, a.ETag, a.LastModified)
		return err
	})
	return c, err
}

// AcceptHeld believes the answer that is held back, by an operator's decision. Its changes have the time
// of the decision.
func (st *Store) AcceptHeld(ctx context.Context, source State, actor string, now time.Time) (c Counts, err error) {
	if source.Held == nil {
		return c, ErrNotHeld
	}
	pull := source.Held.Number
	err = st.end(ctx, source.ID, pull, "accept the answer of "+source.Name, func(tx pgx.Tx) error {
		var held bool
		if err := tx.QueryRow(ctx, `SELECT held_pull IS NOT DISTINCT FROM $2 FROM sources WHERE id = $1 FOR UPDATE`,
			source.ID, pull).Scan(&held); err != nil || !held {
			return errors.Join(err, ErrNotHeld)
		}
		a := Answer{EndedAt: now, Resources: source.Held.Resources, SHA256: source.Held.SHA256}
		if c, err = apply(ctx, tx, source, pull, a); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE source_pulls SET outcome = 'accepted' WHERE source_id = $1 AND number = $2`,
			source.ID, pull); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx,
			`UPDATE sources SET accepted_pull = $2, held_pull = NULL, etag = '', last_modified = ''
			WHERE id = $1`, source.ID, pull); err != nil {
			return err
		}
		return audit(ctx, tx, now, actor, actionAccept, source.Name)
	})
	return c, err
}

// addresses are the base addresses of services without their scheme, and those at hosts that services moved to. They
// come in each form that resources below them may have: a resource has no www. in front of a registrable domain.
const addresses = `(
		SELECT id, split_part(base_url, '://', 2) AS address FROM services
		UNION ALL
		SELECT id, substr(split_part(base_url, '://', 2), 5) FROM services
		WHERE starts_with(split_part(base_url, '://', 2), 'www.')
		UNION ALL
		SELECT id, host || path FROM ` + MovesTable + `
	) addresses`

// homes are the services with the host and the beginning of the resources below their base addresses.
const homes = `homes AS MATERIALIZED (
		SELECT id, split_part(address, '/', 1) AS host, rtrim(address, '/') || '/' AS base FROM ` + addresses + `
	)`

// ofService joins a resource r with the services below whose base address it is. Of several the first in the order of
// homeOrder counts, which has the longest base address.
const (
	ofService = `JOIN homes s ON s.host = split_part(r.resource, '/', 1) AND starts_with(r.resource || '/', s.base)`
	homeOrder = `length(s.base) DESC, s.id`
)

// endpointName is a resource as readers see it: its method and path, or its tool.
const endpointName = `CASE WHEN tool <> '' THEN 'TOOL ' || tool
			ELSE trim(method || ' ' || substr(resource, strpos(resource, '/'))) END`

// Limits of the change records of one pull.
const (
	maxRecords   = 1000 // records
	maxEndpoints = 10   // endpoints of each kind that one record names
)

// changeRecords adds a change record for each service with changed resources below it. It has the type of most of them,
// and counts those of both types.
const changeRecords = `
	WITH ` + homes + `, placed AS (
		SELECT DISTINCT ON (r.type, r.resource, r.method, r.tool) s.id, r.type, r.resource, r.method, r.tool, r.since
		FROM changed_resources r ` + ofService + `
		ORDER BY r.type, r.resource, r.method, r.tool, ` + homeOrder + `
	), ranked AS (
		SELECT id, type, since, ` + endpointName + ` AS endpoint,
			row_number() OVER (PARTITION BY id, type ORDER BY resource, method, tool) AS n
		FROM placed
	), kinds AS (
		SELECT id, type, count(*) AS n, min(since) FILTER (WHERE n = 1) AS since,
			array_agg(endpoint ORDER BY n) FILTER (WHERE n <= $5) AS endpoints
		FROM ranked GROUP BY id, type
	), changed AS (
		SELECT id, coalesce(l.n, 0) AS listed, coalesce(d.n, 0) AS dropped, coalesce(l.endpoints, '{}') AS added,
			coalesce(d.endpoints, '{}') AS lost, l.since AS listed_since, d.since AS dropped_since,
			coalesce(l.n, 0) >= coalesce(d.n, 0) AS grows
		FROM (SELECT * FROM kinds WHERE type = '` + site.SourceListed + `') l
			FULL JOIN (SELECT * FROM kinds WHERE type = '` + site.SourceDropped + `') d USING (id)
	)
	INSERT INTO changes (service_id, type, observed_at, summary, old_snapshot, new_snapshot)
	SELECT id, CASE WHEN grows THEN '` + site.SourceListed + `' ELSE '` + site.SourceDropped + `' END, $1,
		jsonb_build_object('source', $2::text, 'endpoint', CASE WHEN grows THEN added[1] ELSE lost[1] END,
			'since', to_char(CASE WHEN grows THEN listed_since ELSE dropped_since END AT TIME ZONE 'UTC',
				'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
			'answer', $3::jsonb, 'listed', listed, 'dropped', dropped, 'listed_endpoints', added,
			'dropped_endpoints', lost),
		'[]', '[]'
	FROM changed ORDER BY id LIMIT $4`

// dropRetention is how long a resource that a source dropped is stored. Change records are stored for good.
const dropRetention = site.SeriesDays * 24 * time.Hour

// apply compares the staged answer of a pull with what its source lists, and stores the differences.
func apply(ctx context.Context, tx pgx.Tx, source State, pull int64, a Answer) (c Counts, err error) {
	now := a.EndedAt
	if _, err := tx.Exec(ctx, `
		CREATE TEMPORARY TABLE changed_resources (
			type text, resource text COLLATE "C", method text, tool text,
			since timestamptz) ON COMMIT DROP`); err != nil {
		return c, err
	}
	count := func(to *int, sql string, args ...any) {
		if err == nil {
			err = tx.QueryRow(ctx, sql, args...).Scan(to)
		}
	}
	count(&c.Merged, `
		SELECT count(*) FROM `+unseen+` AND EXISTS (SELECT FROM source_resources o
			WHERE o.resource = n.resource AND o.source_id <> $1 AND o.until IS NULL)`, source.ID, pull)
	count(&c.New, `
		SELECT count(*) FROM `+unseen+` AND NOT EXISTS (SELECT FROM source_resources o
			WHERE o.resource = n.resource)`, source.ID, pull)
	var added int
	count(&added, `
		WITH added AS (
			INSERT INTO source_resources (source_id, resource, method, tool, since)
			SELECT source_id, resource, method, tool, $3::timestamptz FROM `+unseen+`
			ON CONFLICT (source_id, resource, method, tool, since) DO UPDATE SET until = NULL, missed = false
			RETURNING resource, method, tool, since
		), noted AS (
			INSERT INTO changed_resources SELECT $4, * FROM added
		)
		SELECT count(*) FROM added`, source.ID, pull, now, site.SourceListed)
	count(&c.Dropped, `
		WITH gone AS (
			UPDATE source_resources r SET until = CASE WHEN missed OR NOT $4 THEN $3::timestamptz END, missed = true
			WHERE source_id = $1 AND until IS NULL AND NOT $6 AND NOT EXISTS (SELECT FROM source_staged n
				WHERE n.source_id = $1 AND n.pull = $2 AND n.resource = r.resource AND n.method = r.method
					AND n.tool = r.tool)
			RETURNING resource, method, tool, since, until
		), noted AS (
			INSERT INTO changed_resources SELECT $5, resource, method, tool, since FROM gone WHERE until IS NOT NULL
		)
		SELECT count(*) FROM gone WHERE until IS NOT NULL`, source.ID, pull, now, a.Moved, site.SourceDropped,
		a.Partial)
	if err != nil {
		return c, err
	}
	if _, err := tx.Exec(ctx, `
		UPDATE source_resources r SET missed = false FROM source_staged n
		WHERE r.source_id = $1 AND r.missed AND r.until IS NULL AND n.source_id = $1 AND n.pull = $2
			AND n.resource = r.resource AND n.method = r.method AND n.tool = r.tool`, source.ID, pull); err != nil {
		return c, err
	}
	if _, err := tx.Exec(ctx, `
		DELETE FROM source_resources WHERE source_id = $1 AND until < $2::timestamptz - $3::interval`, source.ID, now,
		dropRetention); err != nil {
		return c, err
	}
	count(&c.Resources, `SELECT count(*) FROM source_resources WHERE source_id = $1 AND until IS NULL`, source.ID)
	if err != nil || source.Accepted == nil { // the first answer is a beginning
		return c, err
	}
	evidence, err := json.Marshal(map[string]any{
		"received_at": site.NewTime(now), "resources": a.Resources, "sha256": hex.EncodeToString(a.SHA256),
	})
	if err != nil {
		return c, err
	}
	tag, err := tx.Exec(ctx, changeRecords, now, source.Name, evidence, maxRecords, maxEndpoints)
	c.Records = int(tag.RowsAffected())
	return c, err
}
