package postgres_test

import (
	"errors"
	"testing"
	"time"

	"tollbook/site/postgres"
)

func TestOwnershipToken(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	if _, _, err := db.OwnershipToken(ctx, "a"); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("of no service: %v", err)
	}
	if err := db.AddListings(ctx,
		[]postgres.Listing{{Slug: "a", Name: "A", BaseURL: "https://a.example", Category: "AI", Source: "imported:file",
			CreatedAt: start, Endpoints: []postgres.ListedEndpoint{{Path: "/"}}}}); err != nil {
		t.Fatal(err)
	}
	first, base, err := db.OwnershipToken(ctx, "a")
	if err != nil || base != "https://a.example" || len(first) < 30 {
		t.Errorf("%q, %q, %v", first, base, err)
	}
	if again, _, err := db.OwnershipToken(ctx, "a"); again != first || err != nil {
		t.Errorf("asked again it is %q, %v, was %q", again, err, first)
	}
	for _, at := range []time.Duration{time.Hour, time.Minute} { // told late, it takes nothing back
		if err := db.Verify(ctx, "a", "ada", start.Add(at)); err != nil {
			t.Fatal(err)
		}
	}
	services, err := db.Services(ctx)
	if err != nil || services[0].VerifiedAt == nil || !services[0].VerifiedAt.Equal(start.Add(time.Hour)) {
		t.Errorf("verified at %v, %v", services[0].VerifiedAt, err)
	}
	for _, at := range []time.Duration{2 * time.Hour, 3 * time.Hour} { // only the first look that missed it counts
		if err := db.MissToken(ctx, "a", "schedule", start.Add(at)); err != nil {
			t.Fatal(err)
		}
	}
	err = db.Read(ctx, func(r *postgres.Reader) error {
		facts, err := r.Facts(ctx, start, time.Minute)
		if err != nil {
			return err
		}
		if f := &facts.Services[0]; !f.OwnerProved || f.FirstProvedAt == nil || !f.FirstProvedAt.Equal(start.Add(time.Minute)) ||
			f.TokenMissingAt == nil || !f.TokenMissingAt.Equal(start.Add(2*time.Hour)) {
			t.Errorf("the owner's proof: %t, first at %v, missing since %v", f.OwnerProved, f.FirstProvedAt, f.TokenMissingAt)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestOwnershipTokensDiffer checks that the token of one service proves nothing of another one, even at the same host.
func TestOwnershipTokensDiffer(t *testing.T) {
	t.Parallel()
	db := open(t)
	tokens := map[string]bool{}
	for _, slug := range []string{"a", "b", "c"} {
		if err := db.AddListings(t.Context(),
			[]postgres.Listing{{Slug: slug, Name: slug, BaseURL: "https://a.example/" + slug, Category: "AI",
				Source: "imported:file", CreatedAt: start, Endpoints: []postgres.ListedEndpoint{{Path: "/"}}}}); err != nil {
			t.Fatal(err)
		}
		token, _, err := db.OwnershipToken(t.Context(), slug)
		if err != nil {
			t.Fatal(err)
		}
		tokens[token] = true
	}
	if len(tokens) != 3 {
		t.Errorf("three services have the tokens %v", tokens)
	}
}
