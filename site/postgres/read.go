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
	"tollbook/site/postgres/ledger"
)

// Facts is what a build reads, all of one moment.
type Facts struct {
	Source   string         // of the whole directory: "" for a real one, else what AddHistories said
	Services []ServiceFacts // by slug
	Log      LogFacts       // of all services

	Changes    []Change         // that a log of all services needs for its open block or newest window, oldest first
	ChangeLogs []ChangeLogFacts // of all services, that of all types first; none without records

	Facilitators []ledger.FacilitatorFacts // by id
	Chains       []ledger.ChainFacts       // by network
	Takings      *ledger.Takings           // read apart, since a build says which flows count; nil before
}

// ServiceFacts is everything that is known of one service.
type ServiceFacts struct {
	Service
	Endpoints   []EndpointFacts // by path, then method
	Hours       []Rollup        // the last 24 closed UTC hours and the open one, oldest first, without histograms
	Days        []Rollup        // the last 90 UTC days, today included, oldest first; histograms of the last 7
	TotalChecks int64           // visits ever
	Log         LogFacts

	Site       *SiteFacts       // nil before the first look
	Domain     *DomainFacts     // nil where the base address has no registrable domain, and before the first look
	Synthesis  *SynthesisFacts  // nil without an answer; it need not belong to the service's present input
	Changes    []Change         // the newest maxChanges, newest first
	ChangeLogs []ChangeLogFacts // of its records, that of all types first; none without records
	Records    []Change         // that one of ChangeLogs needs for its open block or newest window, oldest first
	PriceSpans []PriceSpan      // by endpoint, then since
	PriceDays  []PriceDay       // oldest first
	DaySums    []DaySum         // oldest first
}

// EndpointFacts is an endpoint with every way to pay it of the last 90 days, and its newest answers.
type EndpointFacts struct {
	Endpoint
	Prices       []Price   // by since, then position; current ones have no Until
	Envelope     *Envelope // the newest answer that held one; nil without
	Answer       *Answer   // the newest conclusive one, where it came after Envelope; nil without
	Inconclusive *Answer   // the newest one, where it is inconclusive; nil without
}

const maxChanges = 20

// Reader is a consistent read: everything it answers is of one moment.
type Reader struct {
	*ledger.Reader
	tx pgx.Tx
}

// Read runs f in one REPEATABLE READ, READ ONLY transaction.
func (db *DB) Read(ctx context.Context, f func(*Reader) error) error {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, db.pool, options, func(tx pgx.Tx) error { return f(&Reader{ledger.NewReader(tx), tx}) })
}

// Facts reads all that a build as of now needs into memory: the Directory with the Endpoints and Details of every
// service.
func (r *Reader) Facts(ctx context.Context, now time.Time, delay time.Duration) (*Facts, error) {
	f, err := r.Directory(ctx, now, delay)
	if err == nil {
		err = r.Endpoints(ctx, now, f.Services)
	}
	if err != nil {
		return nil, err
	}
	return f, r.Details(ctx, now, delay, f.Services)
}

// Directory reads what is to be known of all services before anything can be said of one. Of each service that is its
// row and its hours; Endpoints and Details read the rest, which is most. Rows enter a log delay after their time.
func (r *Reader) Directory(ctx context.Context, now time.Time, delay time.Duration) (*Facts, error) {
	f := &Facts{}
	err := r.tx.QueryRow(ctx, `SELECT value FROM settings WHERE name = 'source'`).Scan(&f.Source)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("read source: %w", err)
	}
	listed, err := services(ctx, r.tx, `SELECT `+serviceColumns+` FROM `+serviceRows+` ORDER BY slug`)
	if err != nil {
		return nil, err
	}
	f.Services = make([]ServiceFacts, len(listed))
	for i, s := range listed {
		f.Services[i].Service = s
	}
	at := newPlaces(f.Services)
	sealed, _, err := r.seal(ctx)
	if err != nil {
		return nil, fmt.Errorf("read logs: %w", err)
	}
	if err := r.readHours(ctx, now, sealed, at); err != nil {
		return nil, err
	}
	if err := r.readChangeLogs(ctx, now, now.Add(-delay), f); err != nil {
		return nil, fmt.Errorf("read changes: %w", err)
	}
	if err := r.readLog(ctx, now.Add(-delay), f); err != nil {
		return nil, fmt.Errorf("read logs: %w", err)
	}
	f.Facilitators, f.Chains, err = r.Settled(ctx, now)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Details reads what Directory and Endpoints left out of these services, some of Directory's own.
func (r *Reader) Details(ctx context.Context, now time.Time, delay time.Duration, services []ServiceFacts) error {
	at := newPlaces(services)
	sealed, keptSince, err := r.seal(ctx)
	if err != nil {
		return fmt.Errorf("read logs: %w", err)
	}
	if err := r.readTerms(ctx, at); err != nil {
		return err
	}
	if err := r.readDays(ctx, now, sealed, keptSince, at); err != nil {
		return err
	}
	if err := r.readSeries(ctx, now, at); err != nil {
		return err
	}
	if err := r.readSites(ctx, at); err != nil {
		return err
	}
	if err := r.readSyntheses(ctx, at); err != nil {
		return err
	}
	if err := r.readChanges(ctx, now.Add(-delay), at); err != nil {
		return err
	}
	if err := r.readServiceChangeLogs(ctx, now, now.Add(-delay), at); err != nil {
		return fmt.Errorf("read changes: %w", err)
	}
	if err := r.readServiceLogs(ctx, now.Add(-delay), sealed, keptSince, at); err != nil {
		return fmt.Errorf("read logs: %w", err)
	}
	return nil
}

// places finds services, and their endpoints, by id.
type places struct {
	ids      []int64
	services map[int64]*ServiceFacts
}

func newPlaces(services []ServiceFacts) *places {
	at := &places{make([]int64, len(services)), make(map[int64]*ServiceFacts, len(services))}
	for i := range services {
		at.ids[i] = services[i].ID
		at.services[services[i].ID] = &services[i]
	}
	return at
}

// endpoints are those that the services have. Ids are bytes: pgx would write a uuid.UUID as text.
func (at *places) endpoints() (ids [][16]byte, by map[uuid.UUID]*EndpointFacts) {
	by = map[uuid.UUID]*EndpointFacts{}
	for _, id := range at.ids {
		of := at.services[id].Endpoints
		for i := range of {
			ids = append(ids, of[i].ID)
			by[of[i].ID] = &of[i]
		}
	}
	return ids, by
}

// Endpoints reads the endpoints of these services, some of Directory's, with their prices. There are many of both, of
// which a few texts repeat themselves.
func (r *Reader) Endpoints(ctx context.Context, now time.Time, services []ServiceFacts) error {
	at, texts := newPlaces(services), once{}
	var e EndpointFacts
	var of []EndpointFacts // of one service
	keep := func() {
		if len(of) > 0 {
			at.services[of[0].ServiceID].Endpoints = slices.Clone(of)
			of = of[:0]
		}
	}
	err := r.each(ctx, `SELECT `+endpointColumns+` FROM endpoints WHERE service_id = ANY($1) ORDER BY service_id, path, method, id`,
		[]any{&e.ID, &e.ServiceID, &e.Method, &e.MethodDeclared, &e.Path, &e.Description, &e.MimeType, &e.Origin, &e.FirstSeenAt, &e.LastPaidAt, &e.LastProbedAt,
			&e.Verdict, &e.VerdictAt, &e.Class, &e.Reason, &e.ResponseTimeMS, &e.Fingerprint, &e.HeadAt, &e.HeadFree, &e.DeclaredPrice},
		func() {
			if len(of) > 0 && of[0].ServiceID != e.ServiceID {
				keep()
			}
			e.Method, e.Origin = texts.of(e.Method), texts.of(e.Origin)
			e.MimeType, e.Verdict, e.Class, e.Reason = texts.orNil(e.MimeType), texts.orNil(e.Verdict), texts.orNil(e.Class), texts.orNil(e.Reason)
			of = append(of, e)
			e = EndpointFacts{}
		}, at.ids)
	if err != nil {
		return fmt.Errorf("read endpoints: %w", err)
	}
	keep()
	return r.readPrices(ctx, now, at, texts)
}

// readPrices reads the prices of the last 90 days.
func (r *Reader) readPrices(ctx context.Context, now time.Time, at *places, texts once) error {
	ids, by := at.endpoints()
	var p Price
	var of []Price // of one endpoint
	keep := func() {
		if len(of) > 0 {
			by[of[0].EndpointID].Prices = slices.Clone(of)
			of = of[:0]
		}
	}
	err := r.each(ctx, `
		SELECT `+priceColumns+` FROM prices WHERE endpoint_id = ANY($2) AND (until IS NULL OR until >= $1)
		ORDER BY endpoint_id, since, position`,
		[]any{(*[16]byte)(&p.EndpointID), &p.Since, &p.Position, &p.Until, &p.Scheme, &p.Network, &p.NetworkCAIP2, &p.Asset, &p.PayTo, &p.Amount,
			&p.MaxTimeoutSeconds, &p.Extra, &p.X402Version},
		func() {
			if len(of) > 0 && of[0].EndpointID != p.EndpointID {
				keep()
			}
			p.Scheme, p.Network, p.Asset, p.PayTo, p.Amount = texts.of(p.Scheme), texts.of(p.Network), texts.of(p.Asset), texts.of(p.PayTo), texts.of(p.Amount)
			p.NetworkCAIP2, p.Extra = texts.orNil(p.NetworkCAIP2), texts.orNil(p.Extra)
			of = append(of, p)
		}, oldestPrice(now), ids)
	if err != nil {
		return fmt.Errorf("read prices: %w", err)
	}
	keep()
	return nil
}

// once keeps one copy of each text: what services ask repeats itself. Nobody changes what it points to.
type once map[string]*string

func (o once) of(s string) string {
	t, known := o[s]
	if !known {
		t = new(s)
		o[s] = t
	}
	return *t
}

func (o once) orNil(s *string) *string {
	if s == nil {
		return nil
	}
	if t, known := o[*s]; known {
		return t
	}
	o[*s] = s
	return s
}

// readTerms reads what endpoints answered.
func (r *Reader) readTerms(ctx context.Context, at *places) error {
	ids, by := at.endpoints()
	kept, err := envelopes(ctx, r.tx, `SELECT `+envelopeColumns+` FROM envelopes WHERE endpoint_id = ANY($1)`, ids)
	if err != nil {
		return err
	}
	for _, v := range kept {
		by[v.EndpointID].Envelope = v
	}
	return r.readAnswers(ctx, ids, by)
}

// readHours reads the sums of 24 closed hours and the open one.
func (r *Reader) readHours(ctx context.Context, now, sealed time.Time, at *places) error {
	first := now.UTC().Truncate(time.Hour).Add(-24 * time.Hour)
	var h Rollup
	err := r.each(ctx, `
		SELECT service_id, hour, `+sumColumns+` FROM check_hours WHERE hour >= $1
		UNION ALL SELECT service_id, date_trunc('hour', checked_at, 'UTC'), `+checkSums+` FROM checks WHERE checked_at >= $2 GROUP BY 1, 2
		ORDER BY 1, 2`,
		[]any{&h.ServiceID, &h.Start, &h.Checks, &h.Counted, &h.Up, &h.Timed, &h.ResponseMS}, func() {
			if s := at.services[h.ServiceID]; s != nil {
				h.Start = h.Start.UTC()
				s.Hours = append(s.Hours, h)
			}
		}, first, later(first, sealed))
	if err != nil {
		return fmt.Errorf("read hours: %w", err)
	}
	return nil
}

// readDays reads the sums of days, all of them once: the windows, the series of all days, the number of checks, and how
// many of them came before those that are kept. The checks of open hours are added.
func (r *Reader) readDays(ctx context.Context, now, sealed, keptSince time.Time, at *places) error {
	windows := windowsOf(now)
	var d Rollup
	err := r.each(ctx, `
		SELECT service_id, day, `+sumColumns+`, CASE WHEN day >= $4 THEN histogram END FROM check_days WHERE service_id = ANY($2)
		UNION ALL SELECT service_id, day, `+sumColumns+`, CASE WHEN day >= $4 THEN `+histogramSum+` END FROM (
			SELECT service_id, (checked_at AT TIME ZONE 'UTC')::date, `+checkSums+`, `+histogramBuckets+`
			FROM checks WHERE service_id = ANY($2) AND checked_at >= $3 GROUP BY 1, 2
		) AS open (service_id, day, `+sumColumns+`, buckets)
		ORDER BY 1, 2`,
		[]any{&d.ServiceID, &d.Start, &d.Checks, &d.Counted, &d.Up, &d.Timed, &d.ResponseMS, &d.Histogram}, func() {
			s := at.services[d.ServiceID]
			if d.Start.Before(keptSince) {
				s.Log.First += int64(d.Checks)
			}
			s.addDay(windows, d)
			d.Histogram = nil
		}, histogramBounds(), at.ids, sealed, windows.histograms)
	if err != nil {
		return fmt.Errorf("read days: %w", err)
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// dayWindows are the first days of two windows that end today: of the one days are facts, of the other their histograms
// too.
type dayWindows struct{ days, histograms time.Time }

func windowsOf(now time.Time) dayWindows {
	tomorrow := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
	return dayWindows{tomorrow.AddDate(0, 0, -site.WindowDays["90d"]), tomorrow.AddDate(0, 0, -site.WindowDays["7d"])}
}

// addDay adds a day after all others, or the sums of the open hours of the last one.
func (s *ServiceFacts) addDay(w dayWindows, d Rollup) {
	s.TotalChecks += int64(d.Checks)
	if d.Counted > 0 {
		if n := len(s.DaySums); n > 0 && s.DaySums[n-1].Day.Equal(d.Start) {
			l := &s.DaySums[n-1]
			*l = DaySum{l.Day, l.Counted + d.Counted, l.Up + d.Up, l.Timed + d.Timed, l.ResponseMS + d.ResponseMS}
		} else {
			s.DaySums = append(s.DaySums, DaySum{d.Start, d.Counted, d.Up, d.Timed, d.ResponseMS})
		}
	}
	if d.Start.Before(w.days) {
		return
	}
	if n := len(s.Days); n > 0 && s.Days[n-1].Start.Equal(d.Start) {
		s.Days[n-1].plus(d)
	} else {
		s.Days = append(s.Days, d)
	}
}

// readChanges reads the newest records of each service before cutoff.
func (r *Reader) readChanges(ctx context.Context, cutoff time.Time, at *places) error {
	var c Change
	err := r.each(ctx, `
		SELECT c.service_id, c.type, c.observed_at, c.summary, c.old_snapshot, c.new_snapshot FROM services s, LATERAL (
			SELECT service_id, type, observed_at, summary, old_snapshot, new_snapshot, id FROM changes
			WHERE service_id = s.id AND observed_at < $1 ORDER BY observed_at DESC, id DESC LIMIT $2
		) c WHERE s.id = ANY($3) ORDER BY c.service_id, c.observed_at DESC, c.id DESC`, c.scan(),
		func() { at.services[c.ServiceID].Changes = append(at.services[c.ServiceID].Changes, c) }, cutoff, maxChanges, at.ids)
	if err != nil {
		return fmt.Errorf("read changes: %w", err)
	}
	return nil
}
