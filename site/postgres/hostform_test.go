package postgres_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres"
	"tollbook/site/postgres/consent"
	"tollbook/site/postgres/postgrestest"
)

// TestStoredHostsAreNormalized checks a database of an earlier version, which stored hosts as people wrote them: it is
// rewritten once, no service is listed twice, and nothing of it is lost.
func TestStoredHostsAreNormalized(t *testing.T) {
	t.Parallel()
	ctx, dsn := t.Context(), postgrestest.NewDatabase(t)
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	var all []postgres.Listing
	for _, s := range [][2]string{
		{"plain", "https://plain.test/v1"}, {"book", "https://b%C3%BCcher.test"}, {"book-dot", "https://xn--bcher-kva.test."},
		{"dot", "https://acme.test.:8443/x"}, {"dot-form", "https://acme.test:8443/x"}, {"six", "http://[2001:DB8::0001]"},
		{"wrong", "https://a..test"},
	} {
		all = append(all, postgres.Listing{Slug: s[0], Name: s[0], BaseURL: s[1], Category: "AI", Source: "imported:file",
			CreatedAt: start, Endpoints: []postgres.ListedEndpoint{{Path: "/a"}}})
	}
	if err := db.AddListings(ctx, all); err != nil {
		t.Fatal(err)
	}
	for _, o := range []string{"b%c3%bccher.test", "xn--bcher-kva.test", "acme.test.:8443"} {
		of := consent.OptOut{Host: o, Document: "https://" + o + "/robots.txt", Since: start, ReadAt: start}
		if _, err := db.RecordOptOut(ctx, of, start.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.SetSetting(ctx, "host_form", ""); err != nil {
		t.Fatal(err)
	}
	db.Close()
	for range 2 { // the second opening changes nothing
		if db, err = postgres.Open(ctx, dsn); err != nil {
			t.Fatal(err)
		}
		got := map[string][]string{}
		services, err := db.Services(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range services {
			got[s.Slug] = []string{s.BaseURL, s.State}
		}
		want := map[string][]string{
			"plain":    {"https://plain.test/v1", "listed"},
			"book":     {"https://xn--bcher-kva.test", "hidden"}, // by the opt-out
			"book-dot": {"https://xn--bcher-kva.test.", "hidden"},
			"dot":      {"https://acme.test.:8443/x", "hidden"},
			"dot-form": {"https://acme.test:8443/x", "hidden"},
			"six":      {"http://[2001:db8::1]", "listed"},
			"wrong":    {"https://a..test", "listed"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		outs, err := db.OptOuts(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var hosts []string
		for _, o := range outs {
			hosts = append(hosts, o.Host)
		}
		if diff := cmp.Diff([]string{"acme.test:8443", "xn--bcher-kva.test"}, hosts); diff != "" {
			t.Errorf("opt-outs (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"book change", "book-dot hide", "six change"}, auditOf(t, dsn)); diff != "" {
			t.Errorf("audit trail (-want +got):\n%s", diff)
		}
		db.Close()
	}
}

// auditOf returns what the audit trail says of services, sorted, without the words of owners.
func auditOf(t *testing.T, dsn string) (lines []string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	result, err := conn.Query(t.Context(), `
		SELECT slug || ' ' || action FROM audit JOIN services ON services.id = service_id WHERE actor = 'tollbook'`)
	if err == nil {
		lines, err = pgx.CollectRows(result, pgx.RowTo[string])
	}
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}
