package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
	"tollbook/site/routes"
)

// TestWindowsAreSlices checks that any window of any list equals a slice of the list in memory.
func TestWindowsAreSlices(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 99, 100, 101, 437} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, n)
			h := handlerOf(t, publish(t, w.files), t.Output())
			rapid.Check(t, func(t *rapid.T) {
				v := url.Values{}
				maybe := func(name string, g *rapid.Generator[string]) {
					if rapid.Bool().Draw(t, "with "+name) {
						v.Set(name, g.Draw(t, name))
					}
				}
				maybe("category", rapid.SampledFrom([]string{"AI", "Data", "Odd & <even>/~", "ai", "None"}))
				maybe("network", rapid.SampledFrom([]string{"BSE", ""}))
				maybe("sort", rapid.SampledFrom(site.Orders))
				per := rapid.IntRange(1, site.MaxPageSize).Draw(t, "per_page")
				v.Set("per_page", strconv.Itoa(per))
				maybe("page", rapid.Map(rapid.IntRange(1, n/per+3), strconv.Itoa))
				q, err := routes.ParseRequest("/v1/services", v.Encode())
				if err != nil {
					t.Fatal(err)
				}
				got := get(h, "/v1/services?"+v.Encode())
				if diff := cmp.Diff(string(w.window(q)), got.Body.String()); got.Code != 200 || diff != "" {
					t.Fatalf("%s: %d (-want +got):\n%s", v.Encode(), got.Code, diff)
				}
			})
		})
	}
}

// TestLogsAreSlices checks that any window of any log contains the expected numbers.
func TestLogsAreSlices(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 20)
	h := handlerOf(t, publish(t, w.files), t.Output())
	paths := slices.Sorted(maps.Keys(w.logs))
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.SampledFrom(paths).Draw(t, "path")
		v := url.Values{}
		if rapid.Bool().Draw(t, "with limit") {
			v.Set("limit", strconv.Itoa(rapid.IntRange(1, 100).Draw(t, "limit")))
		}
		if rapid.Bool().Draw(t, "with offset") {
			v.Set("offset", strconv.Itoa(rapid.IntRange(0, 1000).Draw(t, "offset")))
		}
		q, err := routes.ParseRequest(path, v.Encode())
		if err != nil {
			t.Fatal(err)
		}
		got := get(h, path+"?"+v.Encode())
		if diff := cmp.Diff(string(w.log(w.logs[path], q)), got.Body.String()); got.Code != 200 || diff != "" {
			t.Fatalf("%s?%s of %+v: %d (-want +got):\n%s", path, v.Encode(), w.logs[path], got.Code, diff)
		}
	})
}

// TestEveryKey checks that the request for each key of a tree returns the bytes of that key's file.
func TestEveryKey(t *testing.T) {
	t.Parallel()
	for about, files := range map[string]map[string][]byte{"world": newWorld(t, 230).files, "site": siteFiles(t)} {
		h := handlerOf(t, publish(t, files), t.Output())
		for key, want := range files {
			if strings.HasPrefix(key, "pack/") {
				continue
			}
			path, query, err := routes.Request(key)
			if err != nil {
				t.Errorf("%s: %s: %v", about, key, err)
				continue
			}
			for _, target := range []string{(&url.URL{Path: path, RawQuery: query}).String(), "/" + key} {
				if got := get(h, target); got.Code != 200 || got.Body.String() != string(want) {
					t.Errorf("%s: %s by %s: %d, %.60q", about, key, target, got.Code, got.Body)
				}
			}
		}
	}
}

// TestCutIsFile checks that the server cuts a window into the bytes that the builder wrote. The default page is the
// same without its own files.
func TestCutIsFile(t *testing.T) {
	t.Parallel()
	files := newWorld(t, 437).files
	lean := maps.Clone(files)
	var missing []string
	for key := range files {
		if strings.Contains(key, "per_page=25") || key == "v1/services.json" || strings.HasSuffix(key, "checks.json") {
			missing = append(missing, key)
			delete(lean, key)
		}
	}
	if len(missing) < 30 {
		t.Fatalf("%d files are left out", len(missing))
	}
	h := handlerOf(t, publish(t, lean), t.Output())
	for _, key := range missing {
		path, query, err := routes.Request(key)
		if err != nil {
			t.Fatal(err)
		}
		if got := get(h, path+"?"+query); got.Code != 200 || !bytes.Equal(got.Body.Bytes(), files[key]) {
			t.Errorf("%s: %d, %.200s", key, got.Code, got.Body)
		}
	}
}

// TestLargeFile checks that a file too large for memory is sent completely, piece by piece, in both forms.
func TestLargeFile(t *testing.T) {
	t.Parallel()
	files := siteFiles(t)
	files["large.txt"] = bytes.Repeat([]byte("all work and no play "), 200_000)
	files["large.bin"] = make([]byte, 3<<20)
	server := httptest.NewServer(handlerOf(t, publish(t, files), t.Output()))
	t.Cleanup(server.Close)
	for _, name := range []string{"large.txt", "large.bin"} {
		for _, headers := range []string{"", "Accept-Encoding: gzip\r\n"} {
			for range 2 {
				response, body, err := exchange(server.Listener.Addr().String(), "GET /"+name, headers)
				if err != nil || response.StatusCode != 200 || body != string(files[name]) {
					t.Errorf("%s %q: %v, %v, %d bytes", name, headers, err, response, len(body))
				}
				if zipped := response.Header.Get("Content-Encoding") == "gzip"; zipped != (headers != "") ||
					response.ContentLength <= 0 {
					t.Errorf("%s %q: %v", name, headers, response.Header)
				}
			}
			response, body, err := exchange(server.Listener.Addr().String(), "HEAD /"+name, headers)
			if err != nil || response.StatusCode != 200 || body != "" || response.ContentLength <= 0 {
				t.Errorf("HEAD %s %q: %v, %v", name, headers, err, response)
			}
		}
	}
}

// TestSwap checks that each response comes from the snapshot that it names while one snapshot replaces another.
func TestSwap(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 120)
	d := publish(t, w.files)
	source := openSource(t, d.Root())
	h := NewHandler(Options{Source: source, Now: func() time.Time { return now }})
	targets := []string{"/v1/services/service-0001", "/v1/services?per_page=7", "/v1/services?sort=uptime",
		"/v1/checks?limit=3"}
	tags := map[string]string{}
	for i := range 5 {
		if i > 0 {
			for key, data := range w.files {
				if !strings.HasPrefix(key, "v1/services/service-") && !strings.HasPrefix(key, "pack/") {
					w.files[key] = bytes.ReplaceAll(data, []byte(`"description":"text`),
						[]byte(fmt.Sprintf(`"description":"text %d`, i)))
				}
			}
			publishTo(t, d, built.Add(time.Duration(i)*time.Minute), w.files)
			if err := source.Refresh(); err != nil {
				t.Fatal(err)
			}
		}
		c, err := d.Checkpoint()
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range targets {
			for range 2 {
				got := get(h, target)
				if got.Code != 200 || got.Header().Get("X-Snapshot") != c.Snapshot {
					t.Errorf("%s: %d of %s, want %s", target, got.Code, got.Header().Get("X-Snapshot"), c.Snapshot)
				}
				changes := strings.HasPrefix(target, "/v1/services?")
				if changes && i > 0 && !strings.Contains(got.Body.String(), fmt.Sprintf("text %d", i)) {
					t.Errorf("%s: an answer of another build: %.200s", target, got.Body)
				}
				tag := got.Header().Get("Etag")
				if same := tag == tags[fmt.Sprint(i-1, target)]; i > 0 && same == changes {
					t.Errorf("%s in build %d: tag %s", target, i, tag)
				}
				tags[fmt.Sprint(i, target)] = tag
			}
		}
	}
}

func TestNothingPublished(t *testing.T) {
	t.Parallel()
	h := NewHandler(Options{Source: openSource(t, tempDir(t))})
	got := get(h, "/v1/services")
	var body site.ErrorBody
	if err := json.Unmarshal(got.Body.Bytes(), &body); err != nil || got.Code != 503 || body.Error.Code != 503 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got.Header().Get("Retry-After") == "" || got.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("header %v", got.Header())
	}
}

// TestCacheControl checks that caches may keep a response until the next build, and always for more than zero seconds.
func TestCacheControl(t *testing.T) {
	t.Parallel()
	source := openSource(t, publish(t, siteFiles(t)).Root())
	for _, test := range []struct {
		at   time.Time
		want string
	}{
		{built, "max-age=900"},
		{next.Add(-1500 * time.Millisecond), "max-age=1"},
		{next, "max-age=1"},
		{next.Add(time.Hour), "max-age=1"},
	} {
		h := NewHandler(Options{Source: source, Now: func() time.Time { return test.at }})
		if got := get(h, "/v1/services").Header().Get("Cache-Control"); !strings.Contains(got, test.want+",") {
			t.Errorf("at %v: %s, want %s", test.at, got, test.want)
		}
	}
}

func BenchmarkHandler(b *testing.B) {
	w := newWorld(b, 2000)
	h := handlerOf(b, publish(b, w.files), io.Discard).(*handler)
	for _, test := range []struct{ name, target, encoding string }{
		{"literal gzip", "/v1/services?page=2", "gzip"},
		{"literal plain", "/v1/services?page=2", ""},
		{"bare gzip", "/v1/services/service-0100", "gzip"},
		{"not modified", "/v1/services?page=2", ""},
		{"window seen", "/v1/services?per_page=30&page=4", "gzip"},
		{"window cold", "/v1/services?per_page=%d&page=%d", "gzip"},
		{"log cold", "/v1/checks?limit=%d&offset=%d", "gzip"},
	} {
		b.Run(test.name, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("Accept-Encoding", test.encoding)
			if test.name == "not modified" {
				r.Header.Set("If-None-Match", get(h, test.target).Header().Get("Etag"))
			}
			out := discard{header: http.Header{}}
			if strings.HasSuffix(test.name, "cold") {
				defer func(c *cache) { h.cache = c }(h.cache)
				h.cache = newCache(0) // too small for any response
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				target := test.target
				if strings.Contains(target, "%d") {
					target = fmt.Sprintf(target, i%100+1, i/100%20+1)
					i++
				}
				r.URL, _ = url.Parse(target)
				clear(out.header)
				h.ServeHTTP(&out, r)
				if out.code != 200 && out.code != 304 {
					b.Fatal(out.code)
				}
			}
		})
	}
}

// discard is a response writer that drops everything.
type discard struct {
	header http.Header
	code   int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(code int)        { d.code = code }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
