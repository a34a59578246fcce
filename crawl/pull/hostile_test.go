package pull_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"tollbook/crawl/pull"
	"tollbook/site/postgres/sources"
)

// answering returns a directory with one source, named a, which answers as f says.
func answering(t *testing.T, kind string, f http.HandlerFunc, allowed ...string) *world {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return newDirectory(t, []pull.Source{newSource("a", kind, server.URL+"/list")}, allowed...)
}

// list returns a whole catalogue of one page.
func list(entries ...string) string {
	return `{"items":[` + strings.Join(entries, ",") + fmt.Sprintf(`],"pagination":{"total":%d}}`, len(entries))
}

// rows returns the rows of a query as texts.
func (w *world) rows(t *testing.T, sql string) []string {
	t.Helper()
	rows, err := w.conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// TestHostileRows checks that entries with URLs that must not be visited, and entries of a size that no real one has,
// are skipped, and that texts are stored without invisible characters and within their limits.
func TestHostileRows(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10<<20)
	entries := []string{
		`{"resource":"http://10.0.0.1/x"}`, `{"resource":"http://127.0.0.1:22/x"}`, `{"resource":"http://[::1]/x"}`,
		`{"resource":"http://169.254.169.254/latest"}`, `{"resource":"http://LOCALHOST./x"}`,
		`{"resource":"http://0x7f.1/x"}`, `{"resource":"http://2130706433/x"}`, `{"resource":"http://printer.local/x"}`,
		`{"resource":"https://user:secret@ok.seller.dev/x"}`, `{"resource":"file:///etc/passwd"}`,
		`{"resource":"javascript:alert(1)"}`, `{"resource":"https://ok.seller.dev/` + long[:5000] + `"}`,
		`{"resource":"https://ok.seller.dev/large","description":"` + long + `"}`,
		`{"resource":"https://ok.seller.dev/deep","x":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`,
		`{"resource":"https://ok.seller.dev/one","serviceName":"A\u0000\u202eB` + long[:9000] + `",` +
			`"description":"<script>\u0000\u200b` + long[:500_000] + `","tags":["` + long[:900] + `"]}`,
		`7`, `null`, `{"resource":["https://ok.seller.dev/list"]}`,
	}
	w := answering(t, "x402-discovery", func(out http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(out, list(entries...))
	})
	want := accepted("a", 1, sources.Counts{New: 1}, 1, 0)
	want.Skipped = len(entries) - 1
	w.pull(t, want)
	if diff := cmp.Diff([]string{"ok.seller.dev/one"}, w.rows(t, `SELECT resource FROM source_resources`)); diff != "" {
		t.Errorf("resources (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"https://ok.seller.dev"}, w.rows(t, `SELECT base_url FROM services`)); diff != "" {
		t.Errorf("services (-want +got)\n%s", diff)
	}
	for _, text := range w.rows(t, `SELECT unnest(ARRAY[name, description, slug]) FROM services`) {
		if utf8.RuneCountInString(text) > 500 || strings.ContainsAny(text, "\x00\u202e\u200b") {
			t.Errorf("the text %.40q of %d characters is stored", text, utf8.RuneCountInString(text))
		}
	}
}

// TestLiesAboutOthers checks that a source changes nothing of a service that is listed, whatever it says about it.
func TestLiesAboutOthers(t *testing.T) {
	t.Parallel()
	lies := false
	w := answering(t, "x402-discovery", func(out http.ResponseWriter, _ *http.Request) {
		const entry = `{"resource":%q,"method":"GET","serviceName":%q,"description":%q,"mimeType":%q,"tags":[%q]}`
		entries := []string{
			fmt.Sprintf(entry, "https://known.seller.dev/a", "Known", "What it does.", "application/json", "Data"),
		}
		if lies {
			entries = nil
			for _, u := range []string{"https://known.seller.dev/a", "http://known.seller.dev/a?x=1",
				"HTTPS://KNOWN.seller.dev:443/%61", "https://known.seller.dev./a"} {
				entries = append(entries, fmt.Sprintf(entry, u, "Scam", "Send money.", "text/html", "AI"))
			}
		}
		_, _ = io.WriteString(out, list(entries...))
	})
	w.pull(t, accepted("a", 1, sources.Counts{New: 1}, 1, 0))
	const all = `SELECT row_to_json(s)::text FROM services s UNION ALL
		SELECT row_to_json(e)::text FROM endpoints e UNION ALL SELECT row_to_json(s)::text FROM service_states s`
	before := w.rows(t, all)
	lies = true
	w.pull(t, accepted("a", 1, sources.Counts{}, 0, 0))
	if diff := cmp.Diff(before, w.rows(t, all)); diff != "" {
		t.Errorf("the listed service (-before +after)\n%s", diff)
	}
}

// TestEndlessSources checks that a source without an end is not believed, after a limited number of requests.
func TestEndlessSources(t *testing.T) {
	t.Parallel()
	page := func(row int, cursor string) string {
		return fmt.Sprintf(`{"items":[{"resource":"https://s%d.seller.dev/x"}],"pagination":{"cursor":%q}}`, row,
			cursor)
	}
	var million strings.Builder
	million.WriteString(`{"items":[{}`)
	for i := 0; million.Len() < 15<<20; i++ {
		million.WriteString(`,{"resource":"http://a.b.dev/`)
		million.WriteString(strconv.Itoa(i))
		million.WriteString(`"}`)
	}
	million.WriteString(`],"pagination":{"total":1000000}}`)
	for _, tt := range []struct {
		name     string
		page     func(n int) string // of the n-th request, from 0
		want     string
		requests int
	}{
		{"a cursor that repeats", func(n int) string { return page(n, string("ab"[n%2])) }, "repeats after 3 pages", 3},
		{"the same entries at ever new cursors", func(n int) string { return page(0, strconv.Itoa(n)) },
			"repeats after 4 pages", 4},
		{"new entries at ever new cursors", func(n int) string { return page(n, strconv.Itoa(n)) },
			"too-many-pages after 3000 pages", 3000},
		{"a million rows", func(int) string { return million.String() }, "too-many-rows after 1 pages", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			w := answering(t, "x402-discovery", func(out http.ResponseWriter, _ *http.Request) {
				requests++
				_, _ = io.WriteString(out, tt.page(requests-1))
			})
			got, err := w.puller.Pull(t.Context(), "a")
			if err != nil || got.Outcome != sources.Failed || !strings.Contains(got.Error, tt.want) ||
				requests != tt.requests {
				t.Errorf("%s (%v): %s after %d requests, want %q after %d", got.Outcome, err, got.Error, requests,
					tt.want, tt.requests)
			}
			if n := w.count(t, "services") + w.count(t, "source_resources") + w.count(t, "source_staged"); n != 0 {
				t.Errorf("%d rows are stored, want none", n)
			}
		})
	}
}

// TestUnchanged checks that a 304 drops nothing and counts as a success, and that only the validators of the accepted
// answer are sent.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	body, tag, status := `["https://one.seller.dev/x","https://two.seller.dev/y"]`, `"v1"`, http.StatusOK
	var sent []string
	w := answering(t, "json-list", func(out http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("If-None-Match"))
		out.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag || status != http.StatusOK {
			out.WriteHeader(max(status, http.StatusNotModified))
			return
		}
		_, _ = io.WriteString(out, body)
	})
	status = http.StatusNotModified // without validators it says nothing
	w.pull(t, pull.Report{Source: "a", Outcome: sources.Failed, Error: "page 1: the answer is 304"})
	status = http.StatusOK
	w.pull(t, accepted("a", 2, sources.Counts{New: 2}, 2, 0))
	status = http.StatusInternalServerError
	if _, err := w.puller.Pull(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	status, sent = http.StatusOK, nil
	began := w.now
	w.pull(t, pull.Report{Source: "a", Outcome: sources.Unchanged, Rows: 2, Counts: sources.Counts{Resources: 2}})
	state, err := w.db.Sources.Find(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	got := []any{state.Listed, state.Failures, state.SucceededAt.UTC(), state.DueAt.UTC(), state.Last.Outcome}
	want := []any{2, 0, began, began.Add(6 * time.Hour), sources.Unchanged}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("listed, failures, last success, due, outcome (-want +got)\n%s", diff)
	}
	body, tag = `["https://two.seller.dev/y"]`, `"v2"`
	w.pull(t, accepted("a", 1, sources.Counts{Dropped: 1, Records: 1}, 0, 0))
	if diff := cmp.Diff([]string{`"v1"`, `"v1"`}, sent); diff != "" {
		t.Errorf("validators sent (-want +got)\n%s", diff)
	}
}

// TestPartialAnswers checks that the rows of a source that hides some from readers who do not pay are stored, and that
// a row that it hides later is not dropped.
func TestPartialAnswers(t *testing.T) {
	t.Parallel()
	first, end := 0, 10
	w := answering(t, "satring", func(out http.ResponseWriter, r *http.Request) {
		entries := []string{}
		for n := 0; n < 30 && r.URL.Query().Get("page") == "1"; n++ {
			if n >= first && n < end {
				entries = append(entries, fmt.Sprintf(`{"name":"S%d","slug":"s%d","url":%q}`, n, n, resourceURL(n)))
			} else {
				entries = append(entries, fmt.Sprintf(`{"name":"S%d","slug":"s%d"}`, n, n))
			}
		}
		fmt.Fprintf(out, `{"services":[%s],"total":30}`, strings.Join(entries, ","))
	})
	for _, step := range []struct {
		first, end int
		counts     sources.Counts
		services   int
	}{
		{0, 10, sources.Counts{Resources: 10, New: 10}, 1},
		{25, 27, sources.Counts{Resources: 12, New: 2, Records: 1}, 1},
		{0, 0, sources.Counts{Resources: 12}, 0}, {2, 4, sources.Counts{Resources: 12}, 0},
		{0, 30, sources.Counts{Resources: 30, New: 18, Records: 2}, 1}, // now it shows all
		{1, 30, sources.Counts{Resources: 30}, 0},
	} {
		first, end = step.first, step.end
		want := pull.Report{Source: "a", Outcome: sources.Accepted, Rows: end - first, Skipped: 30 - end + first,
			Partial: end-first < 30, Counts: step.counts, Services: step.services}
		got, err := w.puller.Pull(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(24 * time.Hour)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(pull.Report{}, "Bytes", "Pages", "Endpoints", "Reasons")); diff != "" {
			t.Errorf("rows %d to %d (-want +got)\n%s", first, end, diff)
		}
	}
	if n := w.count(t, "source_resources WHERE until IS NULL AND NOT missed"); n != 30 {
		t.Errorf("%d resources are listed, want 30", n)
	}
	if n := w.count(t, "changes WHERE type = 'dropped'"); n != 0 {
		t.Errorf("%d dropped records, want 0", n)
	}
}

// TestHostThatLimits checks that a pull waits as long as the host asks, and that after a longer wish the source is due
// when it ends.
func TestHostThatLimits(t *testing.T) {
	t.Parallel()
	limits := []string{"", "120", "", ""} // of the next requests
	w := answering(t, "json-list", func(out http.ResponseWriter, _ *http.Request) {
		if len(limits) > 0 {
			if limits[0] != "" {
				out.Header().Set("Retry-After", limits[0])
			}
			limits = limits[1:]
			out.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(out, `["https://one.seller.dev/x"]`)
	})
	w.pull(t, accepted("a", 1, sources.Counts{New: 1}, 1, 0))
	if want := []time.Duration{time.Second, 2 * time.Minute, 4 * time.Second, 8 * time.Second}; !slices.Equal(w.waits,
		want) {
		t.Errorf("waits %s, want %s", w.waits, want)
	}
	limits, w.waits = []string{"7200"}, nil
	began := w.now
	w.pull(t, pull.Report{Source: "a", Outcome: sources.Failed, Counts: sources.Counts{Resources: 1},
		Error: "page 1: the answer is 429 and asks to wait 2h0m0s"})
	state, err := w.db.Sources.Find(t.Context(), "a")
	if err != nil || !state.DueAt.Equal(began.Add(2*time.Hour)) || len(w.waits) > 0 {
		t.Errorf("due at %s after the waits %s, error %v; want %s", state.DueAt, w.waits, err, began.Add(2*time.Hour))
	}
}

// TestTakeAnswering checks that a host is listed once a resource of it asks to be paid. Others are asked again
// after a week. A listed service gets the endpoints that it lacks without a question.
func TestTakeAnswering(t *testing.T) {
	t.Parallel()
	requests := map[string]int{}
	free := true
	seller := func(name string, isFree func() bool) string {
		server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
			requests[name]++
			if isFree() {
				return
			}
			out.WriteHeader(http.StatusPaymentRequired)
			_, _ = io.WriteString(out, `{"x402Version":1,"error":"pay","accepts":[{"scheme":"exact","network":"base",`+
				`"maxAmountRequired":"1000","resource":"http://seller.dev/x","description":"d","mimeType":"",`+
				`"payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,`+
				`"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"}]}`)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	paid := seller("paid", func() bool { return false })
	later := seller("later", func() bool { return free })
	down := "http://127.0.0.1:1" // a port that was free a moment ago may be another test's
	urls := []string{paid + "/x", later + "/x", later + "/y", down + "/x"}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		entries := []string{}
		for _, u := range urls {
			entries = append(entries, fmt.Sprintf(`{"resource":%q,"serviceName":"Named by the source"}`, u))
		}
		_, _ = io.WriteString(out, list(entries...))
	}))
	t.Cleanup(server.Close)
	source := newSource("a", "x402-discovery", server.URL)
	source.Take, source.Trust = pull.TakeAnswering, false
	w := newDirectory(t, []pull.Source{source}, "127.0.0.1")

	w.pull(t, accepted("a", 4, sources.Counts{New: 4}, 1, 0))
	if diff := cmp.Diff([]string{paid}, w.rows(t, `SELECT base_url FROM services`)); diff != "" {
		t.Errorf("services (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"127.0.0.1"}, w.rows(t, `SELECT name FROM services`)); diff != "" {
		t.Errorf("names without trust (-want +got)\n%s", diff)
	}
	clear(requests)
	urls, free = append(urls, paid+"/z"), false
	w.pull(t, accepted("a", 5, sources.Counts{New: 1, Records: 1}, 0, 1))
	if len(requests) > 0 {
		t.Errorf("requests of the second pull %v, want none", requests)
	}
	w.now = w.now.Add(8 * 24 * time.Hour)
	w.pull(t, accepted("a", 5, sources.Counts{}, 1, 0))
	if diff := cmp.Diff(map[string]int{"later": 1}, requests, cmp.Transformer("any", func(n int) bool {
		return n > 0
	})); diff != "" {
		t.Errorf("requests after a week (-want +got)\n%s", diff)
	}
	if n := w.count(t, "endpoints"); n != 4 {
		t.Errorf("%d endpoints, want 4", n)
	}
}
