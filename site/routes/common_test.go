package routes_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site/routes"
)

// TestSnapshotIsNotInKeys checks that every path accepts a common parameter, and that it changes no key.
func TestSnapshotIsNotInKeys(t *testing.T) {
	t.Parallel()
	const id = "20261120T234501Z-3f2a9c"
	rapid.Check(t, func(t *rapid.T) {
		path, query := request(t)
		plain, err := routes.ParseRequest(path, query)
		if err != nil {
			t.Fatal(err)
		}
		pinned, err := routes.ParseRequest(path, strings.TrimPrefix(query+"&snapshot="+id+"&snapshot=x", "&"))
		if err != nil {
			t.Fatal(err)
		}
		if pinned.Key() != plain.Key() || pinned.Snapshot != id || plain.Snapshot != "" || pinned.Bare != plain.Bare {
			t.Errorf("%s?%s: key %s and %s of snapshot %q", path, query, plain.Key(), pinned.Key(), pinned.Snapshot)
		}
		again, err := routes.ParseRequest(path, pinned.RawQuery())
		if err != nil || again.Key() != plain.Key() || again.Snapshot != id || again.RawQuery() != pinned.RawQuery() {
			t.Errorf("RawQuery of %s?%s is %s: key %s of %q, %v", path, query, pinned.RawQuery(), again.Key(),
				again.Snapshot, err)
		}
	})
	for _, path := range []string{"/v1/services.json", "/SHA256SUMS", "/assets/style.3f2a9c01.css", "/",
		"/api/v1/tags"} {
		if q, err := routes.ParseRequest(path, "snapshot="+id); err != nil || q.Snapshot != id {
			t.Errorf("%s: snapshot %q, %v", path, q.Snapshot, err)
		}
	}
}

func TestSnapshotIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"x", "20261120T234501Z", "20261120T234501Z-3f2a9", "20261120T234501Z-3f2a9cc", "20261120T234501Z-3F2A9C",
		"20261320T234501Z-3f2a9c",
		"20261120T246001Z-3f2a9c", "../20261120T23450-3f2a9c", "20261120T234501Z-../../", "20261120 234501Z-3f2a9c",
		"20261120T234501Z/3f2a9c",
		strings.Repeat("2", 23), "20261120T234501Z-3f2a9\u0663",
	} {
		_, err := routes.ParseRequest("/v1/services", "snapshot="+url.QueryEscape(id))
		if fault, ok := err.(*routes.ParamError); !ok || fault.Param != "snapshot" {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		path, query string
		total       int
		want        string // "" where nothing follows
	}{
		{"/v1/services", "", 25, ""},
		{"/v1/services", "", 26, "page=2"},
		{"/v1/services", "per_page=2&page=2", 5, "per_page=2&page=3"},
		{"/v1/services", "per_page=2&page=3", 5, ""},
		{"/v1/services", "per_page=2&page=9", 5, ""},
		{"/v1/services", "page=1000000&per_page=1", 5_000_000, ""},
		{"/v1/services", "nonsense=1&sort=&category=a+%26/b&q=x", 99, "category=a+%26%2Fb&q=x&page=2"},
		{"/v1/services", "snapshot=20261120T234501Z-3f2a9c", 99, "page=2&snapshot=20261120T234501Z-3f2a9c"},
		{"/v1/facilitators", "days=7&include=timeseries,chains", 26, "include=chains%2Ctimeseries&days=7&page=2"},
		{"/v1/checks", "", 50, ""},
		{"/v1/checks", "", 51, "offset=50"},
		{"/v1/checks", "limit=7&offset=10", 18, "limit=7&offset=17"},
		{"/v1/checks", "limit=7&offset=10", 17, ""},
		{"/v1/checks", "offset=1000000000", 2_000_000_000, ""},
		{"/services", "", 1, ""},
		{"/services", "page=2", 3, "page=3"},
		{"/services", "page=3", 3, ""},
	} {
		q, err := routes.ParseRequest(test.path, test.query)
		if err != nil || !q.Paged() {
			t.Fatalf("%s?%s: paged %v, %v", test.path, test.query, q.Paged(), err)
		}
		next, ok := q.Next(test.total)
		got := ""
		if ok {
			got = next.RawQuery()
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s?%s of %d (-want +got):\n%s", test.path, test.query, test.total, diff)
		}
	}
}
