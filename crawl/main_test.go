package crawl

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/crawl/probe"
	"tollbook/site/leaktest"
	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var template = postgrestest.New(func(ctx context.Context, dsn string) error {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	db.Close()
	return nil
})

// memory is a test's own database with a second connection that reads and changes rows directly.
type memory struct {
	*postgres.DB
	conn *pgx.Conn
}

func open(t *testing.T) *memory {
	t.Helper()
	dsn := template.Database(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	conn := postgrestest.Connect(t, dsn)
	return &memory{db, conn}
}

// list adds listings and fails the test on an error.
func (m *memory) list(t *testing.T, listings ...postgres.Listing) {
	t.Helper()
	if err := m.AddListings(t.Context(), listings); err != nil {
		t.Fatal(err)
	}
}

// strings returns a column of text.
func (m *memory) strings(t *testing.T, sql string, args ...any) []string {
	t.Helper()
	rows, err := m.conn.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// facts returns the facts that a build at now reads, by slug.
func (m *memory) facts(t *testing.T, now time.Time) map[string]postgres.ServiceFacts {
	t.Helper()
	services := map[string]postgres.ServiceFacts{}
	err := m.Read(t.Context(), func(r *postgres.Reader) error {
		f, err := r.Facts(t.Context(), now, -time.Millisecond) // checks at now have entered the logs
		if err != nil {
			return err
		}
		for _, s := range f.Services {
			services[s.Slug] = s
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return services
}

// clock returns the time that was set last.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// crawler returns a crawler without gaps between requests.
func crawler(t *testing.T, m *memory, o Options, p probe.Options) *Crawler {
	t.Helper()
	o.HostGap, o.Hourly = time.Microsecond, -1
	c := New(m.DB, o, p)
	t.Cleanup(c.Close)
	return c
}

func round(t *testing.T, c *Crawler) Report {
	t.Helper()
	report, err := c.Round(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// challenge asks for 0.01 USDC on Base.
const challenge = `{"x402Version":1,"error":"pay","accepts":[{"scheme":"exact","network":"base",` +
	`"maxAmountRequired":"10000","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",` +
	`"payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,"resource":"http://x",` +
	`"description":"d","mimeType":"application/json"}]}`

func pay(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusPaymentRequired)
	io.WriteString(w, body)
}

// local starts a server. It returns probe options that let the crawler connect to this server alone.
func local(t *testing.T, h http.Handler) (base string, o probe.Options) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL, probe.Options{Guard: &probe.Guard{AllowPrivate: []string{s.Listener.Addr().String()}}}
}

func oneEndpoint(slug, base string, paths ...string) postgres.Listing {
	l := postgres.Listing{Slug: slug, Name: slug, Description: "d", BaseURL: base, Category: "AI",
		Source: "imported:file", CreatedAt: dawn}
	for _, p := range paths {
		l.Endpoints = append(l.Endpoints, postgres.ListedEndpoint{Method: "GET", Path: p})
	}
	return l
}
