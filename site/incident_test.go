package site_test

import (
	"testing"
	"time"

	"tollbook/site"
)

// TestIncidentSlug checks that the id of an incident says which service it belongs to.
func TestIncidentSlug(t *testing.T) {
	t.Parallel()
	at := site.NewTime(time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC))
	for _, slug := range []string{"a", "a-20261130-010203", "weather-api"} {
		if got, ok := site.IncidentSlug(site.IncidentID(slug, at)); got != slug || !ok {
			t.Errorf("slug of %s is %q, %t; want %s", site.IncidentID(slug, at), got, ok, slug)
		}
	}
	for _, id := range []string{"", "a", "-20261130-010203", "a-20261330-010203", "a-20261130_010203"} {
		if slug, ok := site.IncidentSlug(id); ok {
			t.Errorf("%q is an incident of %q; want none", id, slug)
		}
	}
}
