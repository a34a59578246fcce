package build_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/output"
	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// restless is a service that asks for as much as a visit reads: 25 endpoints with 64 rows each. All prices, recipients
// and extras differ at each request.
type restless struct{ random *rand.ChaCha8 }

// hex returns n random hexadecimal digits, which no compression halves twice.
func (s restless) hex(n int) string {
	b := make([]byte, (n+1)/2)
	s.random.Read(b)
	return fmt.Sprintf("%x", b)[:n]
}

func (s restless) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	var rows []string
	for i := range 64 {
		rows = append(rows, fmt.Sprintf(`{"scheme":"exact","network":"base","maxAmountRequired":"1%d%02d",`+
			`"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x%s","maxTimeoutSeconds":60,`+
			`"resource":"http://x","description":"d","mimeType":"application/json","extra":{"name":"%s"}}`,
			s.random.Uint64()%1e9, i, s.hex(40), s.hex(890)))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusPaymentRequired)
	fmt.Fprint(w, `{"x402Version":1,"error":"pay","accepts":[`+strings.Join(rows, ",")+"]}")
}

// TestRestlessService checks that a service whose terms all differ at each visit takes a bounded part of the database,
// of the files and of the memory of a build.
func TestRestlessService(t *testing.T) { // not parallel: it measures the memory of the process
	testgate.NotShort(t)
	const visits = 6
	server := httptest.NewServer(restless{rand.NewChaCha8([32]byte{})})
	defer server.Close()
	dsn := emptyTemplate.Database(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	l := postgres.Listing{Slug: "restless", Name: "Restless", Description: "d", BaseURL: server.URL, Category: "AI",
		Source: "imported:file", CreatedAt: moment}
	for i := range 25 {
		l.Endpoints = append(l.Endpoints, postgres.ListedEndpoint{Method: "GET", Path: fmt.Sprintf("/%d", i)})
	}
	if err := db.AddListings(t.Context(), []postgres.Listing{l}); err != nil {
		t.Fatal(err)
	}
	now := moment
	c := crawl.New(db, crawl.Options{Now: func() time.Time { return now }, HostGap: time.Microsecond, Hourly: -1},
		probe.Options{Guard: &probe.Guard{AllowPrivate: []string{server.Listener.Addr().String()}}})
	defer c.Close()
	dir := tempDir(t)
	o := options(now)
	o.Expand = output.ExpandNone
	run(t, db, dir, o)
	began := time.Now()
	for range visits {
		if report, err := c.Round(t.Context()); err != nil || report.Online != 1 {
			t.Fatalf("round at %s: %+v, error %v", now, report, err)
		}
		now = now.Add(time.Hour)
	}
	t.Logf("%d visits took %s", visits, time.Since(began).Round(time.Millisecond))
	if err := db.Retain(t.Context(), now); err != nil {
		t.Fatal(err)
	}

	conn := postgrestest.Connect(t, dsn)
	sql := func(query string) (n int64) {
		if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	began = time.Now()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	o.Now, o.Expand = now, output.ExpandAll
	run(t, db, dir, o)
	runtime.ReadMemStats(&after)
	t.Logf("the build took %s; the database has %d MB", time.Since(began).Round(time.Millisecond),
		sql(`SELECT pg_database_size(current_database())`)>>20)
	var largest, all int64
	var name string
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if all += info.Size(); info.Size() > largest && strings.Contains(path, "/v1/") {
			largest, name = info.Size(), path
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MB of files; the largest is %s", all>>20, name)
	for _, m := range []struct {
		name       string
		got, limit int64
	}{
		{"bytes of a change record", sql(`SELECT max(octet_length(summary::text) + octet_length(old_snapshot::text) +
			octet_length(new_snapshot::text)) FROM changes`), 72 << 10}, // stored JSON has spaces
		{"bytes of former prices", sql(`SELECT sum(pg_column_size(p.*)) FROM prices p WHERE until IS NOT NULL`),
			min(int64(visits)*(1200<<10), 20<<20)}, // with the headers of rows
		{"bytes of current prices", sql(`SELECT sum(pg_column_size(p.*)) FROM prices p WHERE until IS NULL`), 1200 << 10},
		{"bytes of change records a visit", sql(`SELECT sum(pg_column_size(changes.*)) FROM changes`) / int64(visits),
			96 << 10},
		{"bytes of the largest file of the API", largest, 4 << 20},
		{"bytes that the build allocated", int64(after.TotalAlloc - before.TotalAlloc), 1 << 30},
	} {
		t.Logf("%s: %d", m.name, m.got)
		if m.got > m.limit {
			t.Errorf("%s: %d, more than %d", m.name, m.got, m.limit)
		}
	}
	if n := sql(`SELECT count(*) FROM changes`); n != int64(3*(visits-1)) {
		t.Errorf("%d change records; want one of each type for each visit after the first", n)
	}
}
