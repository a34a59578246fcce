package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLicense checks that every response of JSON links to the licence of the data, after the next page if there is one,
// and that no other response does.
func TestLicense(t *testing.T) {
	t.Parallel()
	h := handlerOf(t, publish(t, newWorld(t, 120).files), t.Output())
	get := func(target, tag string) http.Header {
		r := httptest.NewRequest("GET", target, nil)
		if tag != "" {
			r.Header.Set("If-None-Match", tag)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Header()
	}
	const license = `<https://creativecommons.org/licenses/by/4.0/>; rel="license"`
	snapshot := get("/v1/services", "").Get("X-Snapshot")
	next := `</v1/services?page=2&snapshot=` + snapshot + `>; rel="next"`
	for _, c := range []struct {
		target string
		want   []string
	}{
		{"/v1/services", []string{next, license}},
		{"/v1/services?page=5", []string{license}},
		{"/v1/services/service-0001", []string{license}},
		{"/v1/checks?limit=3", []string{
			`</v1/checks?limit=3&offset=3&snapshot=` + snapshot + `>; rel="next"`, license}},
		{"/v1/services?page=x", []string{license}},
		{"/v1/nothing", []string{license}},
		{"/checkpoint.json", []string{license}},
		{"/SHA256SUMS", nil},
	} {
		got := get(c.target, "")
		if diff := cmp.Diff(c.want, got.Values("Link")); diff != "" {
			t.Errorf("%s: links (-want +got):\n%s", c.target, diff)
		}
		if tag := got.Get("Etag"); tag != "" {
			if diff := cmp.Diff(c.want, get(c.target, tag).Values("Link")); diff != "" {
				t.Errorf("%s, not modified: links (-want +got):\n%s", c.target, diff)
			}
		}
	}
}
