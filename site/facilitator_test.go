package site_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/routes"
)

func TestFacilitatorKeys(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                                    "v1/facilitators.json",
		"include=":                            "v1/facilitators.json",
		"include=,":                           "v1/facilitators.json",
		"timeframe=30d&include=chains":        "v1/facilitators/timeframe=30d/include=chains/days=90/per_page=25/page=1.json",
		"days=7":                              "v1/facilitators/timeframe=7d/days=90/per_page=25/page=1.json",
		"page=2&per_page=10&timeframe=all":    "v1/facilitators/timeframe=all/days=90/per_page=10/page=2.json",
		"include=timeseries,,chains,chains":   "v1/facilitators/timeframe=7d/include=chains~2ctimeseries/days=90/per_page=25/page=1.json",
		"include=chains%2Ctimeseries&days=90": "v1/facilitators/timeframe=7d/include=chains~2ctimeseries/days=90/per_page=25/page=1.json",
	} {
		q, err := routes.ParseRequest("/v1/facilitators", query)
		if err != nil || q.Key() != want {
			t.Errorf("%s: key %s, error %v, want %s", query, q.Key(), err, want)
		}
	}
	for query, want := range map[string]bool{
		"": false, "days=7": false, "include=chains&days=7": false, // nothing there to trim
		"include=timeseries": true, "include=chains,timeseries&days=89": true, "include=timeseries&days=90": false,
	} {
		q, err := routes.ParseRequest("/v1/facilitators", query)
		if err != nil || q.NeedsTrim() != want {
			t.Errorf("%s: trimmed %v, error %v, want %v", query, q.NeedsTrim(), err, want)
		}
	}
	for _, query := range []string{"timeframe=90d", "days=0", "days=91", "days=7.0", "include=chain",
		"include=chains;timeseries", "include=chains,chain", "per_page=101", "page=0"} {
		if q, err := routes.ParseRequest("/v1/facilitators", query); err == nil {
			t.Errorf("%s: key %s, want an error", query, q.Key())
		}
	}
}

func TestSets(t *testing.T) {
	t.Parallel()
	p := routes.ByName("facilitators").Param("include")
	if diff := cmp.Diff([]string{"", "chains", "chains,timeseries", "timeseries"}, p.Sets()); diff != "" {
		t.Errorf("sets (-want +got):\n%s", diff)
	}
	q, err := routes.ParseRequest("/v1/facilitators", "include=timeseries,chains")
	if err != nil || !q.Has("include", "chains") || !q.Has("include", "timeseries") || q.Has("include", "time") {
		t.Errorf("%v, error %v", q, err)
	}
}

func TestEchoedMeta(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                          `{"total":89,"page":1,"per_page":25,"total_pages":4,"timeframe":"7d"}`,
		"timeframe=all&per_page=89": `{"total":89,"page":1,"per_page":89,"total_pages":1,"timeframe":"all"}`,
		"page=9":                    `{"total":89,"page":9,"per_page":25,"total_pages":4,"timeframe":"7d"}`,
	} {
		q, err := routes.ParseRequest("/v1/facilitators", query)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(routes.WindowMeta(q, 89))
		if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
			t.Errorf("meta of %s, error %v (-want +got):\n%s", query, err, diff)
		}
	}
}

func TestSortFacilitators(t *testing.T) {
	t.Parallel()
	list := []*site.FacilitatorListItem{
		{FacilitatorID: "b", VolumeUSD24h: "0", VolumeUSD7d: "9.5", VolumeUSD30d: "10", VolumeUSDAll: "100"},
		{FacilitatorID: "a", VolumeUSD24h: "0", VolumeUSD7d: "10", VolumeUSD30d: "10.000001", VolumeUSDAll: "99.9"},
		{FacilitatorID: "A", VolumeUSD24h: "0", VolumeUSD7d: "0", VolumeUSD30d: "0", VolumeUSDAll: "0"},
		{FacilitatorID: "c", VolumeUSD24h: "0.1", VolumeUSD7d: "0.1", VolumeUSD30d: "0.1", VolumeUSDAll: "0.1"},
	}
	got := map[string]string{}
	for _, timeframe := range site.Timeframes {
		site.SortFacilitators(list, timeframe)
		for _, f := range list {
			got[timeframe] += f.FacilitatorID
		}
	}
	want := map[string]string{"24h": "cAab", "7d": "abcA", "30d": "abcA", "all": "bacA"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
}

// TestFacilitatorPaths checks that an id may contain dots and that its path is distinguished from that of its file.
func TestFacilitatorPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, key string }{
		{"/v1/facilitators/x402.rs", "v1/facilitators/x402.rs.json"},
		{"/v1/facilitators/x402.rs.json", "v1/facilitators/x402.rs.json"}, // the file by its own name
		{"/facilitators/x402.rs", "facilitators/x402.rs.html"},
		{"/facilitators/payAI", "facilitators/payAI.html"},
		{"/api/v1/facilitators/payAI", "v1/facilitators/payAI.json"},
		{"/v1/facilitators/" + strings.Repeat("a", routes.MaxFacilitatorID),
			"v1/facilitators/" + strings.Repeat("a", routes.MaxFacilitatorID) + ".json"},
		{"/v1/facilitators/" + strings.Repeat("a", routes.MaxFacilitatorID+1), ""},
		{"/v1/facilitators/-a", ""}, {"/v1/facilitators/..", ""}, {"/v1/facilitators/a%2Fb", ""},
		{"/v1/facilitators/a b", ""}, {"/v1/facilitators/", ""},
		{"/v1/services/x402.rs", ""}, // a slug has no dots
	} {
		q, err := routes.ParseRequest(c.path, "")
		switch {
		case c.key == "" && err == nil:
			t.Errorf("%s has the key %s, want none", c.path, q.Key())
		case c.key != "" && (err != nil || q.Key() != c.key):
			t.Errorf("%s: %v, want the key %s", c.path, err, c.key)
		}
	}
	pattern := regexp.MustCompile(routes.SegmentByName("facilitator").Pattern)
	for _, id := range []string{"a", "x402.rs", "payAI", "402104", "a_b-c.", ".a", "_", "-", "", "ä", "a/b"} {
		if pattern.MatchString(id) != routes.ValidFacilitatorID(id) {
			t.Errorf("id %q: the segment matches: %t, ValidFacilitatorID: %t", id, pattern.MatchString(id),
				routes.ValidFacilitatorID(id))
		}
	}
	index := &routes.Index{Slugs: []string{"acme"}, Facilitators: []string{"acme-pay"}}
	for path, want := range map[string]bool{
		"/v1/services/acme/volume": true, "/v1/services/acme-pay/volume": false, "/v1/facilitators/acme-pay": true,
		"/facilitators/acme": false, "/v1/coverage": true,
	} {
		if q, err := routes.ParseRequest(path, ""); err != nil || index.Has(q) != want {
			t.Errorf("Has(%s) = %t (%v), want %t", path, !want, err, want)
		}
	}
}
