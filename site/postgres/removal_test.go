package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/postgres/postgrestest"
)

// TestRemovalAddress checks that the ways to write the URL of a removed service are one address, in Go and in SQL, and
// that its neighbours stay free.
func TestRemovalAddress(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), postgrestest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	add := func(slug, base string) error {
		return db.AddListings(t.Context(), []Listing{{Slug: slug, Name: "Acme", Description: "d", BaseURL: base,
			Category: "AI", Source: "imported:x", CreatedAt: now}})
	}
	if err := add("acme", "https://api.acme.example/pay"); err != nil {
		t.Fatal(err)
	}
	if err := db.EraseService(t.Context(), "acme", "anna", "a court said so", now); err != nil {
		t.Fatal(err)
	}
	l, err := db.Listed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []RemovedService{{ID: 1, Slug: "acme", RemovedAt: now, Addresses: []string{"api.acme.example/pay"},
		Actor: "anna", Reason: "a court said so", ListedAt: &now, DropSnapshots: true}}
	if diff := cmp.Diff(want, l.Removed); diff != "" {
		t.Errorf("removals (-want +got)\n%s", diff)
	}
	for base, covered := range map[string]bool{
		"https://api.acme.example/pay":      true,
		"http://API.acme.example:80/pay/":   true,
		"https://api.acme.example./pay":     true,
		"https://www.api.acme.example/pay":  true,
		"https://api.acme.example/%70ay":    true,
		"https://api.acme.example/pay/v2":   true,  // below
		"https://api.acme.example":          true,  // above: its endpoints may be the same
		"https://api.acme.example/payroll":  false, // a neighbour
		"https://acme.example/pay":          false,
		"https://api.acme.example:8443/pay": false,
	} {
		if got := l.FindRemoved(base) != nil; got != covered {
			t.Errorf("%s: %v, want %v", base, got, covered)
		}
		var removed *RemovedError
		if err := checkRemoved(t.Context(), db.pool, base); errors.As(err, &removed) != covered {
			t.Errorf("%s in SQL: %v, want %v", base, err, covered)
		}
	}
	if err := add("acme-2", "http://api.acme.example/pay"); !errors.As(err, new(*RemovedError)) {
		t.Errorf("listed again: %v", err)
	}
	if _, allowed, err := db.AllowService(t.Context(), "acme", "bert", now); err != nil || !allowed {
		t.Errorf("allow: %v, %v", allowed, err)
	}
	if _, allowed, err := db.AllowService(t.Context(), "acme", "carl", now); err != nil || allowed {
		t.Errorf("allow again: %v, %v", allowed, err)
	}
	if _, _, err := db.AllowService(t.Context(), "nobody", "carl", now); !errors.Is(err, ErrNotFound) {
		t.Errorf("allow nobody: %v", err)
	}
	if err := add("acme-2", "http://api.acme.example/pay"); err != nil {
		t.Errorf("listed after allow: %v", err)
	}
}
