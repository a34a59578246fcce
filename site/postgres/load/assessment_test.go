package load_test

import (
	"context"
	"testing"
	"time"

	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/load"
	"tollbook/site/postgres/postgrestest"
)

// TestAssessments checks that days are added before the first build, once.
func TestAssessments(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.NewDatabase(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var list []postgres.Listing
	for _, slug := range []string{"acme", "bolt", "cove"} {
		list = append(list, postgres.Listing{Slug: slug, Name: slug, BaseURL: "https://" + slug + ".example",
			CreatedAt: now, Interval: time.Hour})
	}
	if err := db.AddListings(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	var published []checks.Published
	for id := int64(1); id <= 3; id++ {
		published = append(published, checks.Published{Assessment: checks.Assessment{ServiceID: id,
			Grade: "A", Checks: 14, RiskLevel: "clean", Methodology: 1}})
	}
	if _, err := db.Assessments.Record(t.Context(), now, published); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := load.Assessments(t.Context(), db, 30); err != nil {
			t.Fatal(err)
		}
	}
	count := func(where string) (n int) {
		if err := postgrestest.Connect(t, dsn).QueryRow(context.Background(),
			`SELECT count(*) FROM assessments WHERE `+where).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if all, down := count(`true`), count(`risk_flags = '{probe_failing}' AND risk_level = 'warning'`); all != 93 ||
		down != 3 {
		t.Errorf("%d assessments, %d of them offline; want 93 and 3", all, down)
	}
}
