package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output"
	"tollbook/site"
)

// exposition reads the text format. It returns the values by series, and the types of families.
func exposition(t *testing.T, text string) (values map[string]float64, types map[string]string) {
	t.Helper()
	values, types = map[string]float64{}, map[string]string{}
	sample := regexp.MustCompile(`^([a-z_]+)((?:\{[a-z]+="[^"\\]*"(?:,[a-z]+="[^"\\]*")*\})?) ([0-9.e+-]+)$`)
	family := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			family, _, _ = strings.Cut(rest, " ")
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			if name != family || types[name] != "" {
				t.Errorf("%s: not after its own help, or there twice", line)
			}
			types[name] = kind
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil || !strings.HasPrefix(m[1], family) {
			t.Errorf("%q of family %s is no sample", line, family)
			continue
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if _, twice := values[m[1]+m[2]]; err != nil || twice {
			t.Errorf("%s: %v, twice: %v", line, err, twice)
		}
		values[m[1]+m[2]] = v
	}
	return values, types
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	d := publish(t, siteFiles(t))
	m := NewMetrics()
	source := openSource(t, d.Root())
	h := NewHandler(Options{Source: source, Now: func() time.Time { return now }, RateLimit: 8, Metrics: m})
	for _, target := range []string{
		"/v1/services", "/v1/services?per_page=2", "/api/v1/services/acme", "/v1/services/nobody",
		"/v1/services?page=0", "/v1/services/ghost", "/", "/healthz",
		"/assets/logo.svg", "/v1/services.json", "/nowhere", "/v1/services", "/v1/services", "/v1/services",
	} {
		get(h, target)
	}
	get(h, "/", "If-None-Match", "*")
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodOptions, "/v1/services", nil))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodDelete, "/", nil))

	got := get(m, "/metrics")
	format := got.Header().Get("Content-Type")
	if got.Code != 200 || !strings.HasPrefix(format, "text/plain; version=0.0.4; charset=utf-8") ||
		got.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d, %v", got.Code, got.Header())
	}
	values, types := exposition(t, got.Body.String())
	requests := map[string]float64{}
	for series, v := range values {
		if labels, ok := strings.CutPrefix(series, "tollbook_http_requests_total"); ok {
			requests[labels] = v
		}
	}
	want := map[string]float64{
		`{code="200",route="services"}`: 3, `{code="200",route="service"}`: 1, `{code="404",route="none"}`: 2,
		`{code="400",route="none"}`: 1,
		`{code="500",route="none"}`: 1, `{code="200",route="home-page"}`: 1, `{code="304",route="home-page"}`: 1,
		`{code="200",route="health"}`: 1,
		`{code="200",route="file"}`:   2, `{code="429",route="none"}`: 2, `{code="204",route="none"}`: 1,
		`{code="405",route="none"}`: 1,
	}
	if diff := cmp.Diff(want, requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	c, err := d.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	for series, want := range map[string]float64{
		"tollbook_rate_limited_total": 2, "tollbook_rate_limit_clients": 1, "tollbook_snapshot_newest": 1,
		"tollbook_snapshot_age_seconds":             300,
		"tollbook_snapshot_built_timestamp_seconds": float64(built.Unix()), "tollbook_cache_limit_bytes": cacheBytes,
		`tollbook_snapshot_info{snapshot="` + c.Snapshot + `"}`:                     1,
		`tollbook_http_request_duration_seconds_count{route="services"}`:            3,
		`tollbook_http_request_duration_seconds_bucket{route="services",le="+Inf"}`: 3,
	} {
		if got, ok := values[series]; !ok || got != want {
			t.Errorf("%s is %v, want %v", series, got, want)
		}
	}
	for series, kind := range map[string]string{
		"tollbook_http_requests_total": "counter", "tollbook_http_request_duration_seconds": "histogram",
		"tollbook_cache_bytes": "gauge", "go_goroutines": "gauge",
	} {
		if types[series] != kind {
			t.Errorf("%s is a %s, want a %s", series, types[series], kind)
		}
	}
	for _, series := range []string{"tollbook_cache_bytes", "go_goroutines", "go_memstats_heap_alloc_bytes",
		"process_start_time_seconds"} {
		if values[series] <= 0 {
			t.Errorf("%s is %v", series, values[series])
		}
	}
	last := 0.0
	for _, bound := range buckets {
		v := values[fmt.Sprintf("tollbook_http_request_duration_seconds_bucket{route=%q,le=\"%v\"}", "services", bound)]
		if v < last {
			t.Errorf("bucket %v holds %v, the one before %v", bound, v, last)
		}
		last = v
	}
	for target, code := range map[string]int{"/": 404, "/v1/services": 404, "/healthz": 200, "/readyz": 200} {
		if got := get(m, target); got.Code != code {
			t.Errorf("%s beside the metrics: %d, want %d", target, got.Code, code)
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	source := openSource(t, dir)
	m := NewMetrics()
	h := NewHandler(Options{Source: source, Now: func() time.Time { return now }, Metrics: m})
	if got := get(h, "/healthz"); got.Code != 200 || got.Body.String() != "{\"status\":\"ok\"}\n" ||
		got.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("healthz: %d %s", got.Code, got.Body)
	}
	for _, path := range []string{"/readyz", "/v1/services"} {
		got := get(h, path)
		var body site.ErrorBody
		err := json.Unmarshal(got.Body.Bytes(), &body)
		if err != nil || got.Code != 503 || body.Error.Type != site.ErrorUnavailable ||
			got.Header().Get("Retry-After") != "5" || got.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s before anything is published: %d %s", path, got.Code, got.Body)
		}
	}
	if values, _ := exposition(t, get(m, "/metrics").Body.String()); values["tollbook_snapshot_newest"] != 0 {
		t.Errorf("metrics before anything is published: %v", values)
	}

	d, err := output.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	publishTo(t, d, built, siteFiles(t))
	if err := source.Refresh(); err != nil {
		t.Fatal(err)
	}
	first, err := d.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"status":"ready","snapshot":"` + first.Snapshot +
		`","built_at":"2026-11-20T23:45:01.000Z","age_seconds":300}` + "\n"
	if got := get(h, "/readyz"); got.Code != 200 || got.Body.String() != want {
		t.Errorf("readyz: %d %s, want %s", got.Code, got.Body, want)
	}

	// If a newer snapshot can't be opened, readyz warns without the cause, and the previous snapshot is served.
	publishTo(t, d, built.Add(time.Minute), siteFiles(t))
	second, err := d.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "snapshots", second.Snapshot+".zip"), []byte("torn"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := source.Refresh(); err == nil {
		t.Fatal("a torn snapshot was opened")
	}
	h.(*handler).notice = func() string { return "no contact" }
	got := get(h, "/readyz")
	if body := got.Body.String(); got.Code != 200 || !strings.Contains(body, first.Snapshot) ||
		!strings.Contains(body, `"warning":"the newest`) || !strings.Contains(body, `,"notice":"no contact"}`) ||
		strings.Contains(body, dir) {
		t.Errorf("readyz: %d %s", got.Code, got.Body)
	}
	if values, _ := exposition(t, get(m, "/metrics").Body.String()); values["tollbook_snapshot_newest"] != 0 ||
		values["tollbook_snapshot_age_seconds"] != 300 {
		t.Errorf("metrics: %v", values)
	}
}

// TestPanic checks that a panic is logged with an ID and returns a 500, and that the server continues.
func TestPanic(t *testing.T) {
	t.Parallel()
	log := &syncBuffer{}
	h := handlerOf(t, publish(t, siteFiles(t)), log).(*handler)
	h.source = faulty{h.source}
	got := get(h, "/v1/services")
	if id := got.Header().Get("X-Request-Id"); got.Code != 500 || id == "" || !strings.Contains(log.String(), id) ||
		!strings.Contains(log.String(), "out of thin air") {
		t.Errorf("%d %s, logged:\n%s", got.Code, got.Body, log)
	}
}

// faulty is a source that panics.
type faulty struct{ Source }

func (faulty) Current() (*output.Snapshot, error) { panic("out of thin air") }
