package load_test

import (
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/load"
	"tollbook/site/postgres/postgrestest"
)

// TestEndpointIsLoadedWhole checks that every field of an endpoint is copied.
func TestEndpointIsLoadedWhole(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), postgrestest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	terms := checks.Offer{Protocol: "x402", Scheme: "exact", Network: "base", NetworkCAIP2: "eip155:8453",
		Asset: "0xa", Amount: "1", PayTo: "0xb"}
	want := postgres.Endpoint{ID: postgres.EndpointID("acme", "GET", "/a"), ServiceID: 1, Method: "GET",
		MethodDeclared: true, Path: "/a", Description: new("d"), MimeType: new("text/plain"), Origin: "import",
		FirstSeenAt: now.Add(-time.Hour), LastPaidAt: &now, LastProbedAt: &now, Verdict: new("paid"), VerdictAt: &now,
		Class: new("paid_ok"), Reason: new("asks for payment"), ResponseTimeMS: new(7), Fingerprint: new("f"),
		HeadAt: &now, HeadFree: new(true), DeclaredPrice: &postgres.DeclaredPrice{Mode: "fixed", Amount: "1"},
		HeadURL: new("https://acme.example/a"), HeadStatus: new(http.StatusOK), Offers: []checks.Offer{terms},
		LookedAt: &now, Readers: []checks.Reader{{As: "agent", Method: "GET", Status: 402,
			Terms: []checks.Offer{terms}}}, Signed: true}
	for i, fields := 0, reflect.ValueOf(want); i < fields.NumField(); i++ {
		if fields.Field(i).IsZero() {
			t.Errorf("the endpoint to load has no %s", fields.Type().Field(i).Name)
		}
	}
	l, err := load.NewLoader(t.Context(), db, now, now, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	service := load.Service{Service: postgres.Service{ID: 1, Slug: "acme", Name: "Acme", BaseURL: "https://acme.example",
		Category: "AI", Source: "generated", CreatedAt: now, CheckInterval: time.Hour, NextCheckAt: now},
		Endpoints: []postgres.Endpoint{want}}
	if _, err := l.Services(t.Context(), []load.Service{service}, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := l.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = db.Read(t.Context(), func(r *postgres.Reader) error {
		facts, err := r.Facts(t.Context(), now, 0)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, facts.Services[0].Endpoints[0].Endpoint); diff != "" {
			t.Errorf("endpoint (-want +got):\n%s", diff)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
