package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/hint"
	"tollbook/site/postgres/rows"
)

// SiteFacts says which documents a service's site has; nil means unknown.
type SiteFacts struct {
	CheckedAt                                          *time.Time // of the last reading that got a response
	Homepage, OpenAPI, Pricing, LLMsTxt, Robots, Terms *bool
	Domain                                             *string // registrable domain of the base address
	Answers                                            []SiteAnswer
	Browser                                            *BrowserFacts // nil until an endpoint was asked
}

// BrowserFacts is what an endpoint of a service answered to the requests of a browser.
type BrowserFacts struct {
	Endpoint uuid.UUID `json:"endpoint"`
	At       time.Time `json:"at"`
	hint.Browser
}

// SiteAnswer is the answer to the request for one document of a site.
type SiteAnswer struct {
	Document    string `json:"document"` // see facts.Answer
	URL         string `json:"url"`
	Status      int    `json:"status,omitempty"` // 0 without an answer
	ContentType string `json:"content_type,omitempty"`
	Exists      *bool  `json:"exists"` // nil if the answer says nothing about the document
	Reason      string `json:"reason"`

	// Of a document that declares endpoints:
	Problem  string        `json:"problem,omitempty"`  // why not all of it could be read; "" if all was
	Declared *int          `json:"declared,omitempty"` // endpoints; nil if it could not be read
	Skipped  []SiteSkipped `json:"skipped,omitempty"`
}

// SiteSkipped counts the entries of a document that were skipped for one of site.SkipReasons.
type SiteSkipped struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// DomainFacts is the registration of a registrable domain; nil means unknown.
type DomainFacts struct {
	Domain    string
	Suffix    *string    // private suffix of the name; no registry is queried
	CheckedAt *time.Time // of the last response
	Registrar *string
	CreatedAt *time.Time
	// URL at which the registry was asked, and whether it knows the domain; nil if no registry is known
	URL        *string
	Registered *bool
}

// SiteVisit is the result of reading a service's site.
type SiteVisit struct {
	ServiceID int64
	Slug      string
	At        time.Time
	NextAt    time.Time
	Facts     *SiteFacts // nil without a response; stored facts stay
	Domain    *DomainFacts
	AskDomain bool // query a registry about Domain, at once if it is new
	Add       []ListedEndpoint
	Amend     []EndpointAmendment
	Drop      []uuid.UUID // endpoints that are deleted if they are still unproven
	// by endpoint, also added ones; nil keeps stored prices
	Declared map[uuid.UUID]DeclaredPrice
}

// EndpointAmendment adds to an endpoint what a document says about it.
type EndpointAmendment struct {
	ID          uuid.UUID
	Method      string  // "" keeps the stored one
	Description *string // used if the endpoint has none, or gets an origin
	MimeType    *string
	Origin      string // in place of site.OriginCatalogue; "" keeps the stored one
}

// TakeSites leases up to limit services whose site is to be read, those never read first. If the process dies, the site
// is due again when its lease ends. A DamagedServices error comes with the services that can be read.
func (db *DB) TakeSites(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]DueService, error) {
	ids, err := rows.Column[int64](ctx, db.pool, `
		WITH due AS (
			SELECT s.id FROM services s LEFT JOIN site_facts f ON f.service_id = s.id
			WHERE s.listing_state = 'listed' AND (f.service_id IS NULL OR f.next_at <= $1)
			ORDER BY f.next_at NULLS FIRST, s.id
			LIMIT $2
			FOR NO KEY UPDATE OF s SKIP LOCKED
		)
		INSERT INTO site_facts (service_id, next_at) SELECT id, $1::timestamptz + $3::interval FROM due
		ON CONFLICT (service_id) DO UPDATE SET next_at = excluded.next_at WHERE site_facts.next_at <= $1
		RETURNING service_id`, now, limit, lease)
	if err != nil {
		return nil, fmt.Errorf("take due sites: %w", err)
	}
	due, err := db.readTaken(ctx, ids, withEndpoints)
	if err != nil {
		return due, fmt.Errorf("take due sites: %w", err)
	}
	return due, nil
}

// withEndpoints reads the endpoints of services, which are sorted by id.
func withEndpoints(ctx context.Context, q rows.Querier, taken []Service) ([]DueService, error) {
	ids, at := make([]int64, len(taken)), make(map[int64]int, len(taken))
	due := make([]DueService, len(taken))
	for i, s := range taken {
		ids[i], at[s.ID], due[i].Service = s.ID, i, s
	}
	list, err := endpoints(ctx, q, `SELECT `+endpointColumns+
		` FROM endpoints WHERE service_id = ANY($1) ORDER BY service_id, id`, ids)
	for _, e := range list {
		d := &due[at[e.ServiceID]]
		d.Endpoints = append(d.Endpoints, e)
	}
	return due, err
}

// RecordSite stores the result of reading a site, in one transaction, and drops the result for an erased service.
// Existing endpoints that Add names are unchanged.
func (db *DB) RecordSite(ctx context.Context, v SiteVisit) error {
	err := db.Transact(ctx, func(tx pgx.Tx) error {
		if there, err := lockServices(ctx, tx, []int64{v.ServiceID}); err != nil || len(there) == 0 {
			return err
		}
		b := &pgx.Batch{}
		if f := v.Facts; f != nil {
			b.Queue(`
				UPDATE site_facts SET checked_at = $2, homepage = $3, openapi = $4, pricing = $5, llms_txt = $6,
					robots = $7, terms = $8, answers = $9, browser = coalesce($10, browser)
				WHERE service_id = $1`, v.ServiceID, v.At,
				f.Homepage, f.OpenAPI, f.Pricing, f.LLMsTxt, f.Robots, f.Terms, f.Answers, f.Browser)
		}
		var domain *string
		if d := v.Domain; d != nil {
			domain = &d.Domain
			b.Queue(`
				INSERT INTO domain_facts (domain, suffix, next_at)
					VALUES ($1, $2, CASE WHEN $3 THEN $4::timestamptz END)
				ON CONFLICT (domain) DO NOTHING`, d.Domain, d.Suffix, v.AskDomain, v.At)
		}
		b.Queue(`UPDATE site_facts SET next_at = $2, domain = $3 WHERE service_id = $1`, v.ServiceID, v.NextAt, domain)
		if len(v.Drop) > 0 {
			b.Queue(`DELETE FROM endpoints WHERE service_id = $1 AND id = ANY($2::uuid[]) AND `+unproven, v.ServiceID,
				v.Drop)
			// A visit that runs would store answers of the deleted endpoints. It loses its lease and begins again.
			b.Queue(`UPDATE service_states SET next_check_at = $2 WHERE service_id = $1 AND next_check_at = lease_ends`,
				v.ServiceID, v.At)
		}
		queueEndpoints(b, v.ServiceID, v.Slug, v.At, v.Add)
		for _, a := range v.Amend {
			b.Queue(`
				UPDATE endpoints e SET
					description = CASE WHEN m.adopts THEN coalesce($3, description) ELSE coalesce(description, $3) END,
					mime_type = CASE WHEN m.adopts THEN coalesce($4, mime_type) ELSE coalesce(mime_type, $4) END,
					method = CASE WHEN m.fits THEN $2 ELSE method END, method_declared = method_declared OR m.fits,
					origin = CASE WHEN $5 <> '' AND origin = '`+site.OriginCatalogue+`' THEN $5 ELSE origin END,
					first_seen_at = CASE WHEN m.adopts THEN $6 ELSE first_seen_at END
				FROM (SELECT $2 <> '' AND last_paid_at IS NULL AND NOT EXISTS (
					SELECT FROM endpoints o WHERE o.service_id = own.service_id AND o.path = own.path AND o.method = $2
						AND o.id <> own.id
				) AS fits, $5 <> '' AND `+unproven+` AS adopts FROM endpoints own WHERE id = $1) m
				WHERE id = $1`, a.ID, a.Method, a.Description, a.MimeType, a.Origin, v.At)
		}
		if v.Declared != nil {
			queueDeclared(b, v.ServiceID, v.Declared)
		}
		return tx.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return fmt.Errorf("record the site of %s: %w", v.Slug, err)
	}
	return nil
}

// queueDeclared stores the declared prices of a service's endpoints. An endpoint without one loses its stored price.
func queueDeclared(b *pgx.Batch, serviceID int64, declared map[uuid.UUID]DeclaredPrice) {
	ids, prices := []uuid.UUID{}, []DeclaredPrice{}
	for id, p := range declared {
		ids, prices = append(ids, id), append(prices, p)
	}
	b.Queue(`
		UPDATE endpoints e SET declared_price = d.price
		FROM endpoints own LEFT JOIN unnest($2::uuid[], $3::jsonb[]) AS d (id, price) USING (id)
		WHERE own.service_id = $1 AND e.id = own.id AND e.declared_price IS DISTINCT
			FROM d.price`, serviceID, ids, prices)
}

// AddEndpoints adds endpoints to a listed service. Existing endpoints are unchanged.
func (db *DB) AddEndpoints(ctx context.Context, serviceID int64, slug string, now time.Time,
	add []ListedEndpoint) error {
	err := db.Transact(ctx, func(tx pgx.Tx) error {
		b := &pgx.Batch{}
		queueEndpoints(b, serviceID, slug, now, add)
		return tx.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return fmt.Errorf("add endpoints of %s: %w", slug, err)
	}
	return nil
}

// ServiceByURL returns the service with a base address, with its endpoints; nil without one.
func (db *DB) ServiceByURL(ctx context.Context, baseURL string) (*DueService, error) {
	return db.oneService(ctx, `SELECT `+serviceColumns+` FROM `+serviceRows+` WHERE base_url = $1`, baseURL)
}

// ServiceBySlug returns the service with a slug, with its endpoints; nil without one.
func (db *DB) ServiceBySlug(ctx context.Context, slug string) (*DueService, error) {
	return db.oneService(ctx, `SELECT `+serviceColumns+` FROM `+serviceRows+` WHERE slug = $1`, slug)
}

func (db *DB) oneService(ctx context.Context, sql string, args ...any) (*DueService, error) {
	list, err := services(ctx, db.pool, sql, args...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	with, err := withEndpoints(ctx, db.pool, list)
	if err != nil {
		return nil, err
	}
	return &with[0], nil
}

// unproven is Endpoint.IsUnproven as a condition.
const unproven = `(origin = '` + site.OriginCatalogue + `' AND last_paid_at IS NULL)`

// queueEndpoints adds endpoints to a service. An unproven endpoint with the same method and path gets the origin of the
// new one, and counts as first seen now.
func queueEndpoints(b *pgx.Batch, serviceID int64, slug string, now time.Time, add []ListedEndpoint) {
	for _, e := range add {
		if e.Origin != site.OriginCatalogue {
			b.Queue(`
				UPDATE endpoints SET origin = coalesce(nullif($4, ''), 'import'), first_seen_at = $5,
					method_declared = method_declared OR method = $2 AND $2 <> '',
					description = coalesce($6, description), mime_type = coalesce($7, mime_type)
				WHERE service_id = $1 AND path = $3 AND (method = $2 OR id = $8) AND `+unproven, serviceID, e.Method,
				e.Path, e.Origin, now, e.Description, e.MimeType, EndpointID(slug, e.Method, e.Path))
		}
		b.Queue(`
			INSERT INTO endpoints (id, service_id, method, method_declared, path, description, mime_type, origin,
				first_seen_at)
			VALUES ($1, $2, $3, $3 <> '', $4, $5, $6, coalesce(nullif($7, ''), 'import'), $8)
			ON CONFLICT DO NOTHING`,
			EndpointID(slug, e.Method, e.Path), serviceID, e.Method, e.Path, e.Description, e.MimeType, e.Origin, now)
	}
}

// TakeDomains leases up to limit registrable domains of listed services whose registration is to be queried.
func (db *DB) TakeDomains(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]string, error) {
	rows, err := db.pool.Query(ctx, `
		UPDATE domain_facts SET next_at = $1::timestamptz + $3::interval
		WHERE domain IN (
			SELECT domain FROM domain_facts d
			WHERE next_at <= $1 AND EXISTS (SELECT FROM site_facts s WHERE s.domain = d.domain)
			ORDER BY next_at, domain LIMIT $2 FOR UPDATE SKIP LOCKED
		)
		RETURNING domain`, now, limit, lease)
	if err != nil {
		return nil, fmt.Errorf("take due domains: %w", err)
	}
	due, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("take due domains: %w", err)
	}
	return due, nil
}

// RecordDomain stores a registry's response and when to query again. Without a response, nil, the stored facts stay.
func (db *DB) RecordDomain(ctx context.Context, domain string, answer *DomainFacts, next time.Time) error {
	sql, args := `UPDATE domain_facts SET next_at = $2 WHERE domain = $1`, []any{domain, next}
	if answer != nil {
		sql = `
			UPDATE domain_facts SET next_at = $2, checked_at = $3, registrar = $4, created_at = $5, url = $6,
				registered = $7
			WHERE domain = $1`
		args = append(args, answer.CheckedAt, answer.Registrar, answer.CreatedAt, answer.URL, answer.Registered)
	}
	if _, err := db.pool.Exec(ctx, sql, args...); err != nil {
		return fmt.Errorf("record domain %s: %w", domain, err)
	}
	return nil
}

// addRobots sets Robots for the services, sorted by id, whose origin has a robots.txt.
func addRobots(ctx context.Context, q rows.Querier, due []DueService) error {
	ids, origins := serviceIDs(due), make([]string, len(due))
	for i, s := range due {
		if u, err := url.Parse(s.BaseURL); err == nil {
			origins[i] = u.Scheme + "://" + u.Host
		}
	}
	have, err := rows.Column[int64](ctx, q, `
		SELECT id FROM unnest($1::bigint[], $2::text[]) AS s (id, origin) JOIN robots USING (origin)
			WHERE state = 'document'`, ids, origins)
	if err != nil {
		return fmt.Errorf("read which origins have a robots.txt: %w", err)
	}
	for _, id := range have {
		findService(due, id).Robots = true
	}
	return nil
}

// Bootstrap reads the stored list of RDAP servers, nil if there is none.
func (db *DB) Bootstrap(ctx context.Context) (body []byte, fetchedAt time.Time, err error) {
	err = db.pool.QueryRow(ctx, `SELECT body, fetched_at FROM rdap_bootstrap`).Scan(&body, &fetchedAt)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, time.Time{}, fmt.Errorf("read the list of RDAP servers: %w", err)
	}
	return body, fetchedAt, nil
}

// StoreBootstrap stores the list of RDAP servers.
func (db *DB) StoreBootstrap(ctx context.Context, body []byte, at time.Time) error {
	_, err := db.pool.Exec(ctx, `
		INSERT INTO rdap_bootstrap (fetched_at, body) VALUES ($1, $2)
		ON CONFLICT (one) DO UPDATE SET fetched_at = excluded.fetched_at, body = excluded.body`, at, body)
	if err != nil {
		return fmt.Errorf("store the list of RDAP servers: %w", err)
	}
	return nil
}

// readSites reads the facts of each service's site and domain.
func (r *Reader) readSites(ctx context.Context, by map[int64]*ServiceFacts) error {
	rows, err := r.tx.Query(ctx, `
		SELECT f.service_id, f.checked_at, f.homepage, f.openapi, f.pricing, f.llms_txt, f.robots, f.terms, f.domain,
			f.answers, f.browser, d.suffix, d.checked_at, d.registrar, d.created_at, d.url, d.registered
		FROM site_facts f LEFT JOIN domain_facts d ON d.domain = f.domain
		WHERE f.service_id = ANY($1)`, slices.Collect(maps.Keys(by)))
	if err != nil {
		return fmt.Errorf("read site facts: %w", err)
	}
	var id int64
	var s SiteFacts
	var d DomainFacts
	_, err = pgx.ForEachRow(rows, []any{
		&id, &s.CheckedAt, &s.Homepage, &s.OpenAPI, &s.Pricing, &s.LLMsTxt, &s.Robots, &s.Terms, &s.Domain,
		&s.Answers, &s.Browser, &d.Suffix, &d.CheckedAt, &d.Registrar, &d.CreatedAt, &d.URL, &d.Registered,
	}, func() error {
		site := s
		s.Answers, s.Browser = nil, nil // the next row must not reuse their memory
		by[id].Site = &site
		if s.Domain != nil {
			domain := d
			domain.Domain = *s.Domain
			by[id].Domain = &domain
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read site facts: %w", err)
	}
	return nil
}
