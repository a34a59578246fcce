package postgres_test

import (
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/migration"
	"tollbook/site/postgres/postgrestest"
)

// claimsSQL returns the claims as texts.
const claimsSQL = `SELECT pay_to || ' ' || to_char(first_seen_at AT TIME ZONE 'UTC', 'MM-DD HH24') FROM recipient_claims
	ORDER BY 1`

// TestClaims checks that a visit stores when a service first named a recipient, that a claim outlives its prices for 90
// days, that migration 008 fills it in from stored prices and offers, and that it is erased with its service.
func TestClaims(t *testing.T) {
	t.Parallel()
	db, dsn := openNamed(t)
	conn := postgrestest.Connect(t, dsn)
	ctx := t.Context()
	service := acme(t, db)[0]
	const network = "eip155:8453"
	record := func(at time.Time, payTo, offered string) {
		t.Helper()
		v := visit(service, at)
		id := postgres.EndpointID("acme", "GET", "/a")
		e := checks.EndpointVisit{ID: id, ProbedAt: at, Paid: true, AsksPayment: true, PricesChanged: true,
			OffersChanged: true, Prices: []checks.Price{{EndpointID: id, Since: at, Scheme: "exact", Network: network,
				NetworkCAIP2: new(network), Asset: "usdc", PayTo: payTo, Amount: "1", X402Version: 2}}}
		if offered != "" {
			e.Offers = []checks.Offer{{Protocol: "mpp", NetworkCAIP2: network, PayTo: offered}}
		}
		v.Endpoints = []checks.EndpointVisit{e}
		if err := db.RecordVisits(ctx, []checks.Visit{v}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, want ...string) {
		t.Helper()
		if diff := gocmp.Diff(append([]string{}, want...), texts(t, conn, claimsSQL)); diff != "" {
			t.Errorf("claims %s (-want +got):\n%s", when, diff)
		}
	}
	record(start, "0xa", "0xo")
	record(start.Add(time.Hour), "0xb", "")
	record(start.AddDate(0, 0, 1), "0xa", "")
	want := []string{"0xa 11-01 10", "0xb 11-01 11", "0xo 11-01 10"}
	check("of three visits", want...)

	if err := migration.To(ctx, conn, 7); err != nil {
		t.Fatal(err)
	}
	if err := migration.To(ctx, conn, -1); err != nil {
		t.Fatal(err)
	}
	check("after the migration", want...)

	if _, err := conn.Exec(ctx, `DELETE FROM prices WHERE until IS NOT NULL`); err != nil {
		t.Fatal(err)
	}
	record(start.AddDate(0, 0, 2), "0xa", "")
	check("without old prices", want...)
	record(start.AddDate(0, 0, 91), "0xa", "")
	if _, err := conn.Exec(ctx, `INSERT INTO prices SELECT endpoint_id, since, 9, until, scheme, network, network_caip2,
		asset, '0xb', amount, max_timeout_seconds, extra, x402_version FROM prices WHERE pay_to = '0xa'
		AND until IS NOT NULL LIMIT 1`); err != nil {
		t.Fatal(err)
	}
	if err := db.Retain(ctx, start.AddDate(1, 0, 0)); err != nil { // a clock that is ahead
		t.Fatal(err)
	}
	check("of 90 days", "0xa 11-01 10", "0xb 11-01 11")
	record(start.AddDate(0, 0, 200), "0xa", "")
	if err := db.Retain(ctx, start.AddDate(0, 0, 200)); err != nil {
		t.Fatal(err)
	}
	check("that are still made", "0xa 11-01 10")
	record(start.AddDate(0, 0, 200).Add(time.Hour), "0xb", "")
	check("made again", "0xa 11-01 10", "0xb 05-20 11")
	if err := db.EraseService(ctx, "acme", "ada", "", start); err != nil {
		t.Fatal(err)
	}
	check("of an erased service")
}

// TestClaimsOfKeptDatabases checks that every recipient of a price that an older program stored has a claim that is as
// old as its oldest price.
func TestClaimsOfKeptDatabases(t *testing.T) {
	t.Parallel()
	dsn := restoreKept(t, 7)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn := postgrestest.Connect(t, dsn)
	want := texts(t, conn, `SELECT pay_to || ' ' || to_char(min(since) AT TIME ZONE 'UTC', 'MM-DD HH24') FROM (
		SELECT service_id, pay_to, network_caip2, since FROM prices JOIN endpoints ON id = endpoint_id
		UNION ALL SELECT service_id, o->>'pay_to', o->>'network_caip2', since FROM offer_sets JOIN endpoints
			ON id = endpoint_id, jsonb_array_elements(offer_sets.offers) AS o
			WHERE o->>'pay_to' <> '' AND o->>'network_caip2' <> '') AS named
		WHERE network_caip2 IS NOT NULL GROUP BY service_id, network_caip2, pay_to ORDER BY 1`)
	got := texts(t, conn, claimsSQL)
	slices.Sort(want)
	slices.Sort(got)
	if diff := gocmp.Diff(want, got); diff != "" || len(got) == 0 {
		t.Errorf("%d claims (-want +got):\n%s", len(got), diff)
	}
}
