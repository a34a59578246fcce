package serve

import (
	"net/http"
	"testing"
)

func TestAcceptsGzip(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values []string
		want   bool
	}{
		{nil, false},
		{[]string{""}, false},
		{[]string{"gzip"}, true},
		{[]string{"GZIP"}, true},
		{[]string{"x-gzip"}, true},
		{[]string{"gzip, deflate, br"}, true},
		{[]string{"br"}, false},
		{[]string{"br", "gzip"}, true},
		{[]string{"*"}, true},
		{[]string{"*;q=0"}, false},
		{[]string{"gzip;q=0, *"}, false},
		{[]string{"gzip;q=0"}, false},
		{[]string{"gzip;q=0.000"}, false},
		{[]string{"gzip;q=0.001"}, true},
		{[]string{"gzip; Q=0.5"}, true},
		{[]string{"gzip;q=0.5, identity"}, false},
		{[]string{"gzip;q=0.5, identity;q=0.5"}, true},
		{[]string{"gzip, identity;q=0"}, true},
		{[]string{"gzip;q=x"}, false},
		{[]string{"gzip;q=-1"}, false},
		{[]string{"gzip;q=2"}, false},
		{[]string{"gzip;q=NaN"}, false},
		{[]string{";;,,=;q"}, false},
	} {
		if got := acceptsGzip(test.values); got != test.want {
			t.Errorf("%q: %v, want %v", test.values, got, test.want)
		}
	}
}

func TestNotModified(t *testing.T) {
	t.Parallel()
	const tag = `"abc-gz"`
	for _, test := range []struct {
		name, value string
		want        bool
	}{
		{"If-None-Match", `"abc-gz"`, true},
		{"If-None-Match", `W/"abc-gz"`, true},
		{"If-None-Match", `"x", "abc-gz"`, true},
		{"If-None-Match", `"x","y,z" ,W/"abc-gz"`, true},
		{"If-None-Match", `*`, true},
		{"If-None-Match", `"abc"`, false},
		{"If-None-Match", `abc-gz`, false},
		{"If-None-Match", `"abc-gz`, false},
		{"If-None-Match", `W/`, false},
		{"If-None-Match", ``, false},
		{"If-None-Match", `"x" garbage "abc-gz"`, false},
		{"If-Modified-Since", "Fri, 20 Nov 2026 23:45:01 GMT", true},
		{"If-Modified-Since", "Fri, 20 Nov 2026 23:45:02 GMT", false},
		{"If-Modified-Since", "Fri, 20 Nov 2026 23:45:00 GMT", false},
		{"If-Modified-Since", "yesterday", false},
		{"If-Modified-Since", "", false},
		{"If-Match", `"abc-gz"`, false},
	} {
		header := http.Header{}
		header.Set(test.name, test.value)
		if got := notModified(header, tag, built); got != test.want {
			t.Errorf("%s: %s: %v, want %v", test.name, test.value, got, test.want)
		}
	}
}
