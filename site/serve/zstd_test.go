package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestPrefersZstd(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		"": false, "zstd": true, "ZSTD": true, "gzip, zstd": false, "gzip, deflate, br, zstd": false, "*": false,
		"zstd, gzip;q=0.5": true, "zstd;q=0.5, gzip": false, "zstd;q=0": false, "zstd;q=0.4, identity;q=0.5": false,
		"zstd, *": false, "zstd, *;q=0.9": true, "zstd;q=x": false,
	} {
		if got := prefersZstd([]string{value}); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

// TestZstd asks for JSON in each encoding: the content is the same, and each form has a tag of its own.
func TestZstd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 120)
	h := handlerOf(t, publish(t, w.files), t.Output())
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, path := range []string{"/v1/services", "/v1/services?per_page=33&page=2"} { // a file, a cut response
		plain := get(h, path)
		packed := get(h, path, "Accept-Encoding", "gzip")
		for i := range 3 { // also from the cache
			got := get(h, path, "Accept-Encoding", "zstd, gzip;q=0.5")
			text, err := d.DecodeAll(got.Body.Bytes(), nil)
			if err != nil || string(text) != plain.Body.String() || got.Header().Get("Content-Encoding") != "zstd" ||
				got.Header().Get("Content-Length") != fmt.Sprint(got.Body.Len()) ||
				got.Header().Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s, request %d: %d bytes, %v, %v", path, i, len(text), err, got.Header())
			}
			tag := got.Header().Get("Etag")
			if tag == plain.Header().Get("Etag") || tag == packed.Header().Get("Etag") || tag == "" {
				t.Errorf("%s: tag %s", path, tag)
			}
			again := get(h, path, "Accept-Encoding", "zstd", "If-None-Match", tag)
			if again.Code != http.StatusNotModified || again.Header().Get("Content-Encoding") != "" {
				t.Errorf("%s: known: %d %v", path, again.Code, again.Header())
			}
			if other := get(h, path, "Accept-Encoding", "gzip", "If-None-Match", tag); other.Code != 200 {
				t.Errorf("%s: the tag of another form: %d", path, other.Code)
			}
		}
		r := httptest.NewRequest(http.MethodHead, path, nil)
		r.Header.Set("Accept-Encoding", "zstd")
		head := httptest.NewRecorder()
		h.ServeHTTP(head, r)
		if head.Body.Len() > 0 || head.Header().Get("Content-Encoding") != "zstd" {
			t.Errorf("%s: HEAD: %d bytes, %v", path, head.Body.Len(), head.Header())
		}
	}
	for path, code := range map[string]int{"/": 200, "/v1/none": 404} { // pages and errors have no zstd form
		got := get(h, path, "Accept-Encoding", "zstd")
		if got.Code != code || got.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s: %d %v", path, got.Code, got.Header())
		}
	}
}
