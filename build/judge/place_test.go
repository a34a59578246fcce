package judge

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// TestTermsDifferByPlace says when terms of places are a risk. Each place has the minutes in which it was asked its
// terms in a row.
func TestTermsDifferByPlace(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	endpoint := uuid.New()
	terms := func(place, payTo string, first, last, times int) checks.PlaceTerms {
		return checks.PlaceTerms{EndpointID: endpoint, Vantage: place, Fingerprint: payTo, Times: times,
			FirstAt: now.Add(time.Duration(first) * time.Minute), LastAt: now.Add(time.Duration(last) * time.Minute),
			Terms: []checks.Offer{{Protocol: "x402", Scheme: "exact", Network: "base", Asset: "USDC", Amount: "1000",
				PayTo: payTo}}}
	}
	signed := terms("nyc", "thief", 10, 80, 2)
	signed.Signed = true
	other := terms("nyc", "thief", 10, 80, 2)
	other.EndpointID = uuid.New()
	for _, tt := range []struct {
		name string
		list []checks.PlaceTerms
		want string
	}{
		{"one place", []checks.PlaceTerms{terms("ams", "shop", 0, 90, 4)}, ""},
		{"the same terms", []checks.PlaceTerms{terms("ams", "shop", 0, 90, 4), terms("nyc", "shop", 10, 80, 3)}, ""},
		{"other terms at the same time", []checks.PlaceTerms{terms("ams", "shop", 0, 90, 4),
			terms("fra", "shop", 5, 70, 3), terms("nyc", "thief", 10, 80, 2)},
			"GET /x asks ams (4 times from 23 Nov 2026, 12:00 UTC to 23 Nov 2026, 13:30 UTC) for 1000 of USDC on base to shop, " +
				"and nyc (2 times from 23 Nov 2026, 12:10 UTC to 23 Nov 2026, 13:20 UTC) for 1000 of USDC on base to thief"},
		{"a change", []checks.PlaceTerms{terms("ams", "shop", 0, 30, 4), terms("nyc", "thief", 40, 80, 2)}, ""},
		{"once is no evidence", []checks.PlaceTerms{terms("ams", "shop", 0, 90, 4), terms("nyc", "thief", 10, 10, 1)}, ""},
		{"a signed request", []checks.PlaceTerms{terms("ams", "shop", 0, 90, 4), signed}, ""},
		{"another endpoint", []checks.PlaceTerms{terms("ams", "shop", 0, 90, 4), other}, ""},
		{"a place without a name", []checks.PlaceTerms{terms("", "shop", 0, 90, 4), terms("nyc", "thief", 10, 80, 2)},
			"GET /x asks the place without a name (4 times"},
	} {
		f := &postgres.ServiceFacts{Endpoints: []postgres.EndpointFacts{
			{Endpoint: postgres.Endpoint{ID: endpoint, Method: "GET", Path: "/x"}}}, PlaceTerms: tt.list}
		flag := flagPlaces(f)
		got := ""
		if flag != nil {
			got = flag.Evidence
			if flag.Code != "terms_differ_by_place" || flag.Level != site.RiskWarning {
				t.Errorf("%s: %+v", tt.name, flag)
			}
		}
		if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestPlaces checks what is published of places: the state that each found, while it is known.
func TestPlaces(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	found := func(place string, minutes int, isUp bool) checks.PlaceFinding {
		return checks.PlaceFinding{Vantage: place, CheckedAt: now.Add(-time.Duration(minutes) * time.Minute), IsUp: isUp}
	}
	for _, tt := range []struct {
		name string
		list []checks.PlaceFinding
		n    int
		want string
	}{
		{"none", nil, 0, ""},
		{"one", []checks.PlaceFinding{found("ams", 5, false)}, 0, ""},
		{"all up", []checks.PlaceFinding{found("ams", 5, true), found("fra", 20, true)}, 2, ""},
		{"down from one", []checks.PlaceFinding{found("ams", 5, true), found("fra", 20, true), found("nyc", 50, false)}, 3,
			"down from 1 of 3 places"},
		{"too long ago", []checks.PlaceFinding{found("ams", 5, true), found("fra", 20, true), found("nyc", 61, false)}, 2, ""},
		{"down from all", []checks.PlaceFinding{found("ams", 5, false), found("fra", 20, false)}, 2,
			"down from 2 of 2 places"},
	} {
		f := &postgres.ServiceFacts{Service: postgres.Service{CheckInterval: 15 * time.Minute}, PlaceFindings: tt.list}
		d := site.ServiceDetail{Places: newPlaces(f, now)}
		if got := d.DownFrom(); got != tt.want || len(d.Places) != tt.n {
			t.Errorf("%s: %q of %d places, want %q of %d", tt.name, got, len(d.Places), tt.want, tt.n)
		}
	}
	for _, tt := range []struct {
		names []string
		want  int
	}{{nil, 0}, {[]string{""}, 0}, {[]string{"ams"}, 1}, {[]string{"", "ams"}, 2}} {
		f := &postgres.Facts{}
		for _, name := range tt.names {
			f.Vantages = append(f.Vantages, checks.Vantage{Name: name, SeenAt: now})
		}
		if got := newVantages(f); len(got) != tt.want {
			t.Errorf("places %q are published as %v", tt.names, got)
		}
	}
}
