package routes_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/routes"
)

// TestUnknownParameters checks the header that names unknown parameters: which requests have it, and that nothing in a
// name can end the header, hide in it or make it long.
func TestUnknownParameters(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ path, query, want string }{
		{"/v1/services", "", ""},
		{"/v1/services", "category=AI&strict=0&snapshot=20261120T234501Z-3f2a9c", ""},
		{"/v1/services", "fbclid=&utm_source", ""}, // empty
		{"/v1/services", "utm_source=x", "utm_source"},
		{"/v1/services", "Categry=AI&sort=newest&utm_source=x", "Categry (did you mean category?), utm_source"},
		{"/v1/services", "categry=AI&categry=Data&%63ategry=x", "categry (did you mean category?)"},
		{"/v1/services", "snapshoot=1", "snapshoot (did you mean snapshot?)"},
		{"/v1/services/acme", "page=2", "page"},
		{"/v1/checks", "per_page=5&page=2", "per_page (did you mean limit?), page (did you mean offset?)"},
		{"/v1/services", "limit=5&offset=9", "limit (did you mean per_page?), offset (did you mean page?)"},
		{"/v1/services.json", "page=2&snapshots=x", "page, snapshots (did you mean snapshot?)"},
		{"/v1/services", "a%0d%0aSet-Cookie%3a+b=1", "a%0D%0ASet-Cookie%3A%20b"},
		{"/v1/services", "\u202Epage=1&%E2%80%AEpage=2&a,b=1", "%E2%80%AEpage, a%2Cb"},
		{"/v1/services", "%zz=1&%ff=2&=3", "%25zz, %25ff"},
		{"/v1/services", strings.Repeat("n", 41) + "=1", strings.Repeat("n", 40) + "..."},
		{"/v1/services", "a1=1&b1=1&c1=1&d1=1&e1=1&f1=1&g1=1&h1=1", "a1, b1, c1, d1, e1, f1, g1, h1"},
		{"/v1/services", "a1=1&b1=1&c1=1&d1=1&e1=1&f1=1&g1=1&h1=1&a1=1&i1=1&j1=1",
			"a1, b1, c1, d1, e1, f1, g1, h1, and more"},
		{"/services", "utm_source=x&strict=1", ""}, // a page
		{"/favicon.svg", "v=1", ""},
	} {
		q, err := routes.ParseRequest(test.path, test.query)
		if err != nil {
			t.Errorf("%s?%s: %v", test.path, test.query, err)
		}
		if diff := cmp.Diff(test.want, q.Unknown.String()); diff != "" {
			t.Errorf("%s?%s (-want +got)\n%s", test.path, test.query, diff)
		}
	}
}

// TestUnknownParametersAreBounded checks that the header stays short for the longest query string.
func TestUnknownParametersAreBounded(t *testing.T) {
	t.Parallel()
	q, err := routes.ParseRequest("/v1/services", strings.Repeat("\xff", 2000)+"=1&"+
		strings.Repeat("%01=1&%02=2&", 400))
	if err != nil {
		t.Fatal(err)
	}
	if got := q.Unknown.String(); len(got) > 200 || !strings.HasPrefix(got, strings.Repeat("%FF", 40)+"..., %01") {
		t.Errorf("header of %d bytes: %s", len(got), got)
	}
}

func TestStrict(t *testing.T) {
	t.Parallel()
	const query = "verifed=1&categry=AI&strict=1"
	_, err := routes.ParseRequest("/v1/services", query)
	var unknown *routes.UnknownError
	if !errors.As(err, &unknown) {
		t.Fatalf("error %v, want an UnknownError", err)
	}
	want := "unknown parameters: verifed (did you mean verified?), categry (did you mean category?)"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]site.ErrorField{
		{Field: "verifed", Message: "is not a parameter of this path; did you mean verified?"},
		{Field: "categry", Message: "is not a parameter of this path; did you mean category?"},
	}, unknown.Fields()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	q, err := routes.ParseRequest("/v1/services", "category=AI&strict=1")
	if err != nil || q.Key() != "v1/services/category=AI/"+defaults {
		t.Errorf("known parameters: key %s, error %v", q.Key(), err)
	}
	var param *routes.ParamError
	for _, query := range []string{"strict=true", "page=0&verifed=1&strict=1"} {
		if _, err := routes.ParseRequest("/v1/services", query); !errors.As(err, &param) {
			t.Errorf("%s: error %v, want a ParamError", query, err)
		}
	}
}
