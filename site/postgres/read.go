package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres/bulk"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/consent"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/polls"
	"tollbook/site/postgres/rows"
	"tollbook/site/postgres/sources"
)

// Facts is what a build reads, as of one moment.
type Facts struct {
	Identity string           // as DB.Identity
	Source   string           // "" for a real directory, else the notice that load.Sample stored
	Services []ServiceFacts   // by slug, without hidden ones
	Hidden   []HiddenService  // by slug
	OptedOut int              // hosts
	Damaged  []DamagedService // those of Services that have only an ID, a slug and a name
	checks.DirectoryFacts

	Facilitators []ledger.FacilitatorFacts // by id
	Tokens       []ledger.Token            // that the operator configured
	Chains       []ledger.ChainFacts       // by network
	Polls        polls.Facts               // what facilitators answered
	Revenue      *ledger.Revenue           // nil until the build has chosen the tokens that count
	Public       sources.Facts             // public sources, and what they list
	Vantages     []checks.Vantage          // places that visit services now, by name
	Voids        []checks.Void             // oldest first
}

// ServiceFacts is everything that is known of one service.
type ServiceFacts struct {
	Service
	Endpoints []EndpointFacts // by path, then method; unproven ones only if there are no others
	Claims    []checks.Claim  // when the service was first seen to name its recipients
	Moves     []checks.Change // changes of recipients in the last 90 UTC days, newest first, without prices
	checks.Facts
	Site      *SiteFacts      // nil until the site was read
	Domain    *DomainFacts    // nil without a registrable domain, and until the site was read
	Synthesis *SynthesisFacts // nil without an answer; its input may be out of date

	Assessments []checks.Assessment // of the UTC days before now, oldest first

	Statements  []ledger.Statement // of recipients that the build has chosen
	OwnerProved bool               // VerifiedAt is the time of an owner's proof
	// the owner's first proof; nil if there was none
	FirstProvedAt *time.Time
	// when the site last answered without the token that it had shown; nil if it never did
	TokenMissingAt *time.Time

	Receptions map[ledger.ReceptionKey]ledger.Reception // of all services

	PlaceFindings []checks.PlaceFinding // of the places that visit services now, by place
	PlaceTerms    []checks.PlaceTerms   // of these places, by endpoint and place
}

// EndpointFacts is an endpoint with its prices of the last 90 days and its newest responses.
type EndpointFacts struct {
	Endpoint
	Prices           []checks.Price           // by since, then position; current prices have no Until
	FormerRecipients []checks.FormerRecipient // of offers that have ended
	Envelope         *checks.Envelope         // the newest response with an envelope; nil without one
	Conclusive       *checks.Response         // the newest conclusive response, if it is newer than Envelope
	Inconclusive     *checks.Response         // the newest response, if it is inconclusive
}

// Reader reads the database as of one moment.
type Reader struct {
	*ledger.Reader
	*checks.LogReader
	tx pgx.Tx
}

// Read runs f in one REPEATABLE READ, READ ONLY transaction.
func (db *DB) Read(ctx context.Context, f func(*Reader) error) error {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, db.pool, options, func(tx pgx.Tx) error {
		return f(&Reader{ledger.NewReader(tx), checks.NewLogReader(tx), tx})
	})
}

// Facts reads all that a build as of now needs into memory: the Directory, with the Endpoints and Details of every
// service.
func (r *Reader) Facts(ctx context.Context, now time.Time, delay time.Duration) (*Facts, error) {
	f, err := r.Directory(ctx, now, delay)
	if err == nil && len(f.Damaged) > 0 {
		err = DamagedServices(f.Damaged)
	}
	if err == nil {
		err = r.Endpoints(ctx, now, delay, f.Services)
	}
	if err != nil {
		return nil, err
	}
	return f, r.Details(ctx, now, delay, f.Services)
}

// Directory reads what a build needs of all services before it can judge one: the row of each service and its hours.
// Endpoints and Details read the rest, which is most. Rows enter a log delay after their time.
func (r *Reader) Directory(ctx context.Context, now time.Time, delay time.Duration) (*Facts, error) {
	f := &Facts{}
	err := r.tx.QueryRow(ctx, `SELECT value FROM settings WHERE name = 'source'`).Scan(&f.Source)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("read source: %w", err)
	}
	if f.Identity, err = readIdentity(ctx, r.tx); err != nil {
		return nil, err
	}
	if f.Hidden, err = r.readHidden(ctx); err != nil {
		return nil, err
	}
	if f.OptedOut, err = consent.Count(ctx, r.tx); err != nil {
		return nil, err
	}
	f.Services, err = r.readServices(ctx)
	if err = f.addDamaged(err); err != nil {
		return nil, err
	}
	if err := r.readProofs(ctx, f.Services); err != nil {
		return nil, err
	}
	if f.DirectoryFacts, err = r.ReadDirectory(ctx, now, delay); err != nil {
		return nil, err
	}
	err = r.isolate(ctx, f.Services, func(part []ServiceFacts) error {
		index := checks.NewIndex()
		for i := range part {
			index.Add(part[i].ID, &part[i].Facts, nil)
		}
		all := len(part) == len(f.Services)
		if err := r.ReadRuns(ctx, checks.FirstDay(now), now, index, all); err != nil {
			return err
		}
		if err := r.ReadFailedDays(ctx, now.Add(-site.GoneAfter), index); err != nil {
			return err
		}
		return r.ReadHours(ctx, now, index, all)
	})
	if err = f.addDamaged(err); err != nil {
		return nil, err
	}
	if f.Facilitators, f.Chains, err = r.Settled(ctx, now); err != nil {
		return nil, err
	}
	if f.Tokens, err = r.ReadTokens(ctx); err != nil {
		return nil, err
	}
	receptions, err := r.ReadReceptions(ctx, now)
	if err != nil {
		return nil, err
	}
	for i := range f.Services {
		f.Services[i].Receptions = receptions
	}
	if f.Polls, err = polls.Read(ctx, r.tx, now); err != nil {
		return nil, err
	}
	if f.Vantages, err = r.ReadVantages(ctx, now); err != nil {
		return nil, err
	}
	if f.Voids, err = checks.ReadVoids(ctx, r.tx); err != nil {
		return nil, err
	}
	f.Public, err = sources.Read(ctx, r.tx)
	return f, err
}

// addDamaged adds the services of a DamagedServices error, each once, and returns any other error.
func (f *Facts) addDamaged(err error) error {
	var more DamagedServices
	if !errors.As(err, &more) {
		return err
	}
	for _, s := range more {
		if !slices.ContainsFunc(f.Damaged, func(d DamagedService) bool { return d.ID == s.ID }) {
			f.Damaged = append(f.Damaged, s)
		}
	}
	return nil
}

// Details reads the facts of services that Directory and Endpoints do not read. The services are elements of
// Facts.Services. Its error for services that cannot be read is a DamagedServices.
func (r *Reader) Details(ctx context.Context, now time.Time, delay time.Duration, services []ServiceFacts) error {
	return r.isolate(ctx, services, func(part []ServiceFacts) error {
		return r.readDetails(ctx, now, delay, part)
	})
}

func (r *Reader) readDetails(ctx context.Context, now time.Time, delay time.Duration, services []ServiceFacts) error {
	index, by, ids := checks.NewIndex(), make(map[int64]*ServiceFacts, len(services)), make([]int64, len(services))
	for i := range services {
		s := &services[i]
		by[s.ID], ids[i] = s, s.ID
		prices := make([]checks.EndpointPrices, len(s.Endpoints))
		for k, e := range s.Endpoints {
			prices[k] = checks.EndpointPrices{ID: e.ID, Prices: e.Prices}
		}
		index.Add(s.ID, &s.Facts, prices)
	}
	if err := r.readResponses(ctx, services); err != nil {
		return err
	}
	if err := r.ReadServices(ctx, now, delay, index); err != nil {
		return err
	}
	recorded, err := checks.ReadAssessments(ctx, r.tx, ids, now.UTC().Truncate(24*time.Hour))
	if err != nil {
		return err
	}
	for id, list := range recorded {
		by[id].Assessments = list
	}
	if err := r.readSites(ctx, by); err != nil {
		return err
	}
	if err := r.readPlaces(ctx, now, services); err != nil {
		return err
	}
	return r.readSyntheses(ctx, by)
}

// readPlaces reads what the places that visit services now found of each service.
func (r *Reader) readPlaces(ctx context.Context, now time.Time, services []ServiceFacts) error {
	active, err := r.ReadVantages(ctx, now)
	if err != nil || len(active) < 2 {
		return err
	}
	isActive := func(name string) bool {
		return slices.ContainsFunc(active, func(v checks.Vantage) bool { return v.Name == name })
	}
	by, owner, ids := make(map[int64]*ServiceFacts, len(services)), map[uuid.UUID]*ServiceFacts{}, []int64{}
	for i := range services {
		s := &services[i]
		by[s.ID], ids = s, append(ids, s.ID)
		for _, e := range s.Endpoints {
			owner[e.ID] = s
		}
	}
	findings, err := checks.ReadPlaceFindings(ctx, r.tx, ids)
	if err != nil {
		return err
	}
	for _, f := range findings {
		if s := by[f.ServiceID]; isActive(f.Vantage) && !f.CheckedAt.After(now) {
			s.PlaceFindings = append(s.PlaceFindings, f)
		}
	}
	terms, err := checks.ReadPlaceTerms(ctx, r.tx, ids)
	for _, t := range terms {
		if s := owner[t.EndpointID]; s != nil && isActive(t.Vantage) && !t.LastAt.After(now) {
			s.PlaceTerms = append(s.PlaceTerms, t)
		}
	}
	return err
}

// AssessedDays reads the UTC days before a day on which a build published anything, oldest first.
func (r *Reader) AssessedDays(ctx context.Context, before time.Time) ([]time.Time, error) {
	return checks.ReadAssessmentDays(ctx, r.tx, before)
}

// readProofs reads which services an owner verified. Any other service was verified by the operator.
func (r *Reader) readProofs(ctx context.Context, services []ServiceFacts) error {
	by := make(map[int64]*ServiceFacts, len(services))
	for i := range services {
		by[services[i].ID] = &services[i]
	}
	var id int64
	var first, missing *time.Time
	var isCurrent bool
	err := rows.Each(ctx, r.tx, `
		SELECT s.id, min(a.at) FILTER (WHERE a.action = 'verify'), max(a.at) FILTER (WHERE a.action = 'miss token'),
			bool_or(a.action = 'verify' AND a.at = s.verified_at)
		FROM services s JOIN audit a ON a.service_id = s.id
		WHERE a.action IN ('verify', 'miss token') AND s.verified_at IS NOT NULL AND isfinite(a.at) GROUP BY s.id`,
		[]any{&id, &first, &missing, &isCurrent}, func() {
			if f := by[id]; f != nil {
				f.FirstProvedAt, f.TokenMissingAt, f.OwnerProved = first, missing, isCurrent
			}
		})
	if err != nil {
		return fmt.Errorf("read proofs of owners: %w", err)
	}
	return nil
}

// Bulk returns a reader of whole tables.
func (r *Reader) Bulk() *bulk.Reader { return bulk.NewReader(r.tx) }

// Statements returns a reader of statements as of now, with the tokens that count.
func (r *Reader) Statements(ctx context.Context, now time.Time, tokens []ledger.CountedToken) (*ledger.StatementReader,
	error) {
	return ledger.NewStatementReader(ctx, r.tx, now, tokens)
}

// readResponses reads the newest responses of the endpoints of services.
func (r *Reader) readResponses(ctx context.Context, services []ServiceFacts) error {
	responses, err := r.ReadResponses(ctx, endpointIDs(services))
	if err != nil {
		return err
	}
	for _, s := range services {
		for i := range s.Endpoints {
			e := &s.Endpoints[i]
			of := responses[e.ID]
			e.Envelope, e.Conclusive, e.Inconclusive = of.Envelope, of.Conclusive, of.Inconclusive
		}
	}
	return nil
}

// endpointIDs returns the ids of the endpoints of services as bytes, because pgx would write a uuid.UUID as text.
func endpointIDs(services []ServiceFacts) (ids [][16]byte) {
	for _, s := range services {
		for _, e := range s.Endpoints {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// Endpoints reads the endpoints of services, with their prices, and the changes of their recipients. The services are
// elements of Facts.Services. Its error for services that cannot be read is a DamagedServices.
func (r *Reader) Endpoints(ctx context.Context, now time.Time, delay time.Duration, services []ServiceFacts) error {
	return r.isolate(ctx, services, func(part []ServiceFacts) error {
		return r.readEndpoints(ctx, now, delay, part)
	})
}

func (r *Reader) readEndpoints(ctx context.Context, now time.Time, delay time.Duration, services []ServiceFacts) error {
	ids, by := make([]int64, len(services)), make(map[int64]*ServiceFacts, len(services))
	for i := range services {
		ids[i], by[services[i].ID] = services[i].ID, &services[i]
	}
	texts := rows.Intern{}
	var e EndpointFacts
	var of []EndpointFacts // of one service
	keep := func() {
		if len(of) > 0 {
			by[of[0].ServiceID].Endpoints = slices.Clone(omitUnproven(of))
			of = of[:0]
		}
	}
	err := rows.Each(ctx, r.tx, `SELECT `+endpointColumns+
		` FROM endpoints WHERE service_id = ANY($1) ORDER BY service_id, path, method, id`,
		rows.Pointers(&e.Endpoint),
		func() {
			if len(of) > 0 && of[0].ServiceID != e.ServiceID {
				keep()
			}
			e.Method, e.Origin = texts.String(e.Method), texts.String(e.Origin)
			e.MimeType, e.Verdict, e.Class, e.Reason = texts.Pointer(e.MimeType), texts.Pointer(e.Verdict),
				texts.Pointer(e.Class), texts.Pointer(e.Reason)
			of = append(of, e)
			e = EndpointFacts{}
		}, ids)
	if err != nil {
		return fmt.Errorf("read endpoints: %w", err)
	}
	keep()
	prices, err := r.ReadPrices(ctx, now, endpointIDs(services))
	if err != nil {
		return err
	}
	former, err := r.ReadFormerRecipients(ctx, now, endpointIDs(services))
	if err != nil {
		return err
	}
	moves, err := r.ReadMoves(ctx, now, now.Add(-delay), ids)
	if err != nil {
		return err
	}
	claims, err := r.ReadClaims(ctx, ids)
	if err != nil {
		return err
	}
	for k := range services {
		s := &services[k]
		s.Moves, s.Claims = moves[s.ID], claims[s.ID]
		for i := range s.Endpoints {
			e := &s.Endpoints[i]
			e.Prices, e.FormerRecipients = prices[e.ID], former[e.ID]
		}
	}
	return nil
}

// omitUnproven removes the unproven endpoints of a service in place, unless it has no others.
func omitUnproven(endpoints []EndpointFacts) []EndpointFacts {
	if !slices.ContainsFunc(endpoints, func(e EndpointFacts) bool { return !e.IsUnproven() }) {
		return endpoints
	}
	return slices.DeleteFunc(endpoints, func(e EndpointFacts) bool { return e.IsUnproven() })
}
