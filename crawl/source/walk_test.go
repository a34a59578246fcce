package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// catalogue answers requests as facilitators do. Rows are numbered from the newest.
type catalogue struct {
	rows     int
	total    bool
	most     int         // rows a page, whatever limit is requested
	short    map[int]int // number of rows that the n-th answer lacks
	shift    map[int]int // number of rows added at the front after the n-th answer
	ignore   bool        // whether offset is ignored
	cursors  bool        // whether pages are named by cursors
	ceiling  int         // first row that is never sent, 0 for none
	requests int
}

func (c *catalogue) answer(u *url.URL) []byte {
	c.requests++
	limit, _ := strconv.Atoi(u.Query().Get("limit"))
	offset, _ := strconv.Atoi(u.Query().Get("offset") + u.Query().Get("cursor"))
	if c.ignore {
		offset = 0
	}
	end := min(offset+min(limit, c.most)-c.short[c.requests], c.rows)
	if c.ceiling > 0 {
		end = min(end, c.ceiling)
	}
	items, pagination := []any{}, map[string]any{}
	for i := offset; i < end; i++ {
		items = append(items, map[string]string{"resource": fmt.Sprintf("https://a.example.com/%d", c.rows-i)})
	}
	if c.total {
		pagination["total"] = c.rows
	}
	if c.cursors && end < c.rows {
		pagination["cursor"] = strconv.Itoa(end)
	}
	c.rows += c.shift[c.requests]
	doc, _ := json.Marshal(map[string]any{"items": items, "pagination": pagination})
	return doc
}

// walk reads a whole source from answers, with lower limits than usual.
func walk(t testing.TB, kind string, check func(*url.URL) error, answer func(*url.URL) []byte) (Result, error) {
	t.Helper()
	k, ok := KindOf(kind)
	if !ok {
		t.Fatalf("no kind %s", kind)
	}
	address, err := url.Parse("https://source.example/list?key=x&offset=7")
	if err != nil {
		t.Fatal(err)
	}
	w := NewWalk(k, address, check)
	w.limits = limits{rows: 5000, pages: 300, total: 8 << 20, stored: 4 << 20}
	for u := w.Next(); u != nil; u = w.Next() {
		if err := w.Read(answer(u)); err != nil {
			return w.Result(), err
		}
	}
	return w.Result(), nil
}

// TestWalk checks that a walk reads everything despite the hazards of paging, and that it does not believe to be
// complete where it can't be.
func TestWalk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		catalogue catalogue
		rows      int
		requests  int
		end       End
		moved     bool
	}{
		{"with a total", catalogue{rows: 250, most: 100, total: true}, 250, 3, Finished, false},
		{"without a total", catalogue{rows: 250, most: 100}, 250, 4, Finished, false},
		{"exactly one page", catalogue{rows: 100, most: 100, total: true}, 100, 1, Finished, false},
		{"empty", catalogue{most: 100}, 0, 1, Finished, false},
		{"empty with a total", catalogue{most: 100, total: true}, 0, 1, Finished, false},
		{"smaller pages than requested", catalogue{rows: 45, most: 20, total: true}, 45, 3, Finished, false},
		{"a short page amid", catalogue{rows: 250, most: 100, total: true, short: map[int]int{2: 30}}, 250, 3,
			Finished, false},
		{"a short page without a total", catalogue{rows: 300, most: 100, short: map[int]int{2: 99}}, 300, 5, Finished,
			false},
		{"new rows at the front", catalogue{rows: 250, most: 100, total: true, shift: map[int]int{1: 5}}, 250, 3,
			Finished, true},
		{"rows vanish at the front", catalogue{rows: 250, most: 100, total: true, shift: map[int]int{1: -5}}, 245, 3,
			Finished, true},
		{"offset ignored, few rows", catalogue{rows: 50, most: 100, ignore: true}, 50, 4, Finished, true},
		{"offset ignored, many rows", catalogue{rows: 250, most: 100, ignore: true}, 100, 4, Repeats, true},
		{"offset ignored with a total that repeated entries reach", catalogue{rows: 150, most: 100, total: true,
			ignore: true}, 100, 2, Repeats, true},
		{"offset ignored with a total", catalogue{rows: 1000, most: 100, total: true, ignore: true}, 100, 4, Repeats,
			true},
		{"a ceiling below the total", catalogue{rows: 1000, most: 100, total: true, ceiling: 300}, 300, 4, Short,
			false},
		{"cursors", catalogue{rows: 250, most: 100, cursors: true}, 250, 3, Finished, false},
	} {
		s := c.catalogue
		got, err := walk(t, "x402-discovery", nil, s.answer)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if len(got.Rows) != c.rows || s.requests != c.requests || got.End != c.end || got.Moved != c.moved ||
			got.Complete() != (c.end == Finished) {
			t.Errorf("%s: %d rows of %d requests, %s, moved %t; want %d of %d, %s, %t", c.name, len(got.Rows),
				s.requests, got.End, got.Moved, c.rows, c.requests, c.end, c.moved)
		}
	}
}

// TestRequests checks the requests for the first two pages of each kind.
func TestRequests(t *testing.T) {
	t.Parallel()
	address, err := url.Parse("https://source.example/list?key=x&page=3")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]string{
		"402index":       {"key=x&limit=200&offset=0&page=3", "key=x&limit=200&offset=150&page=3"},
		"b402":           {"key=x&limit=100&offset=0&page=3", "key=x&limit=100&offset=150&page=3"},
		"x402-discovery": {"key=x&limit=100&offset=0&page=3", "key=x&limit=100&offset=150&page=3"},
		"satring":        {"key=x&page=1&page_size=20", "key=x&page=2&page_size=20"},
		"mppscan": {`input={"json":{"page":0,"pageSize":100,"timeframeDays":0}}&key=x&page=3`,
			`input={"json":{"page":1,"pageSize":100,"timeframeDays":0}}&key=x&page=3`},
		"x402scan": {`input={"json":{"pagination":{"page":0,"page_size":250},"sorting":{"desc":true,` +
			`"id":"lastUpdated"}}}&key=x&page=3`,
			`input={"json":{"pagination":{"page":1,"page_size":250},"sorting":{"desc":true,` +
				`"id":"lastUpdated"}}}&key=x&page=3`},
	}
	for _, k := range Kinds() {
		texts, paged := want[k.Name]
		if !paged {
			texts = [2]string{"key=x&page=3", "key=x&page=3"}
		}
		var got [2]string
		for i, at := range []Position{{}, {Offset: 150, Page: 1}} {
			u := k.Request(address, at)
			if got[i], err = url.QueryUnescape(u.RawQuery); err != nil || u.Path != "/list" {
				t.Errorf("%s requests %s: %v", k.Name, u, err)
			}
		}
		if diff := cmp.Diff(texts, got); diff != "" || k.IsPaged() != paged {
			t.Errorf("%s, paged %t (-want +got):\n%s", k.Name, k.IsPaged(), diff)
		}
	}
	if address.RawQuery != "key=x&page=3" {
		t.Errorf("the address became %s", address)
	}
	if u := kindNamed(t, "x402-discovery").Request(address, Position{Offset: 5, Cursor: "a&b"}); u.RawQuery !=
		"cursor=a%26b&key=x&limit=100&page=3" {
		t.Errorf("with a cursor: %s", u)
	}
}

func kindNamed(t testing.TB, name string) Kind {
	t.Helper()
	k, ok := KindOf(name)
	if !ok {
		t.Fatalf("no kind %s", name)
	}
	return k
}

// TestDuplicates checks that one resource gives one row, whatever the order of the entries.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	const template = `{"bazaar":{"info":{"input":{"type":"http","method":"GET"}},"routeTemplate":"/u/:id"}}`
	entries := []string{
		`{"resource":"http://a.example.com/x","description":"http"}`, `{"resource":"https://A.example.com:443/x?b=1"}`,
		`{"resource":"https://a.example.com/x","description":"plain"}`,
		`{"resource":"https://a.example.com/x","method":"POST"}`, `{"resource":"https://a.example.com/%78"}`,
		`{"resource":"https://a.example.com/mcp","type":"mcp","toolName":"one"}`,
		`{"resource":"https://a.example.com/mcp","type":"mcp","toolName":"two"}`,
		`{"resource":"https://a.example.com/u/2","extensions":` + template + `,"accepts":[]}`,
		`{"resource":"https://a.example.com/u/1","extensions":` + template + `,"accepts":[]}`,
	}
	want := map[Identity]string{
		{URL: "a.example.com/x"}:                    "https://a.example.com/%78",
		{URL: "a.example.com/x", Method: "POST"}:    "https://a.example.com/x",
		{URL: "a.example.com/mcp", Tool: "one"}:     "https://a.example.com/mcp",
		{URL: "a.example.com/mcp", Tool: "two"}:     "https://a.example.com/mcp",
		{URL: "a.example.com/u/:id", Method: "GET"}: "https://a.example.com/u/1",
	}
	for range entries {
		entries = append(entries[1:], entries[0])
		doc := []byte(`{"items":[` + strings.Join(entries, ",") + `],"pagination":{"total":9}}`)
		r, err := walk(t, "x402-discovery", nil, func(*url.URL) []byte { return doc })
		if err != nil {
			t.Fatal(err)
		}
		got := map[Identity]string{}
		for i := range r.Rows {
			got[r.Rows[i].Identity()] = r.Rows[i].URL
		}
		if diff := cmp.Diff(want, got); diff != "" || r.Duplicates != 4 || r.Moved {
			t.Errorf("%d duplicates, moved %t (-want +got):\n%s", r.Duplicates, r.Moved, diff)
		}
	}
}

// TestRefused checks that URLs which must not be visited give no row, however they are written.
func TestRefused(t *testing.T) {
	t.Parallel()
	private := func(u *url.URL) error {
		a, err := netip.ParseAddr(u.Hostname())
		if err == nil && (a.IsPrivate() || !a.IsGlobalUnicast()) || u.Hostname() == "localhost" {
			return errors.New("refused")
		}
		return nil
	}
	doc := []byte(`{"items":[{"resource":"http://10.0.0.1/x"},{"resource":"http://LOCALHOST:80/x"},` +
		`{"resource":"https://[::1]/x"},{"resource":"https://a.example.com/x"},` +
		`{"resource":"http://169.254.169.254/"}]}`)
	r, err := walk(t, "x402-discovery", private, func(u *url.URL) []byte {
		if u.Query().Get("offset") != "0" {
			return []byte(`{"items":[]}`)
		}
		return doc
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Skip{{0, Refused, "http://10.0.0.1/x"}, {1, Refused, "http://localhost/x"},
		{2, Refused, "https://[::1]/x"},
		{4, Refused, "http://169.254.169.254/"}}
	if diff := cmp.Diff(want, r.Skipped); diff != "" || len(r.Rows) != 1 || !r.Complete() {
		t.Errorf("%d rows, %s (-want +got):\n%s", len(r.Rows), r.End, diff)
	}
}

// TestFailedAnswer checks that a walk goes on after an answer of another shape, and that it is not complete before.
func TestFailedAnswer(t *testing.T) {
	t.Parallel()
	address, err := url.Parse("https://source.example/list")
	if err != nil {
		t.Fatal(err)
	}
	w := NewWalk(kindNamed(t, "x402-discovery"), address, nil)
	s := catalogue{rows: 150, most: 100, total: true}
	if err := w.Read(s.answer(w.Next())); err != nil {
		t.Fatal(err)
	}
	second := w.Next().String()
	if err := w.Read([]byte("<html>busy</html>")); !errors.Is(err, ErrShape) {
		t.Errorf("an HTML page: %v", err)
	}
	if r := w.Result(); len(r.Rows) != 100 || r.End != Unfinished || r.Complete() || w.Next().String() != second {
		t.Errorf("after a failure %d rows, %s, next %s", len(r.Rows), r.End, w.Next())
	}
	if err := w.Read(s.answer(w.Next())); err != nil || w.Next() != nil {
		t.Errorf("the next answer: %v", err)
	}
	if r := w.Result(); len(r.Rows) != 150 || !r.Complete() {
		t.Errorf("%d rows, %s", len(r.Rows), r.End)
	}
	if err := w.Read(s.answer(address)); err == nil {
		t.Error("an ended walk read another answer")
	}
}

// discoveryPage returns a page of n entries in the shape of CDP, numbered from first.
func discoveryPage(first, n int) []byte {
	var b strings.Builder
	b.WriteString(`{"x402Version":2,"pagination":{"limit":100,"offset":0,"total":200000},"items":[`)
	for i := first; i < first+n; i++ {
		if i > first {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"resource":"https://api%d.example.com/v1/resource/%d","type":"http","x402Version":2,`+
			`"accepts":[{"scheme":"exact","network":"eip155:8453","amount":"10000",`+
			`"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",`+
			`"payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C",`+
			`"maxTimeoutSeconds":60,"extra":{"name":"USD Coin","version":"2"}}],"serviceName":"Service %d",`+
			`"description":"Answers one question about entry %d, with sources and a date.","tags":["data","search"],`+
			`"lastUpdated":"2026-11-01T00:00:00Z","quality":{"l30DaysTotalCalls":%d,"l30DaysUniquePayers":3},`+
			`"extensions":{"bazaar":{"info":{"input":{"type":"http","method":"POST","bodyType":"json",`+
			`"body":{"q":"x"}},`+
			`"output":{"type":"json","example":{"answer":"y"}}},"schema":{"type":"object","properties":{"input":`+
			`{"type":"object"}}}}}}`, i%650, i, i%650, i, i%99)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

// BenchmarkRead reads 200,000 rows of the discovery shape, with the walk that keeps each once. It reports rows a second
// and the memory that the result takes.
func BenchmarkRead(b *testing.B) {
	const rows = 200_000
	var pages [][]byte
	for i := 0; i < rows; i += 100 {
		pages = append(pages, discoveryPage(i, 100))
	}
	k := kindNamed(b, "x402-discovery")
	address, _ := url.Parse("https://source.example/")
	var before, after runtime.MemStats
	var r Result
	b.ResetTimer()
	for b.Loop() {
		r = Result{}
		runtime.GC()
		runtime.ReadMemStats(&before)
		w := NewWalk(k, address, nil)
		for _, page := range pages {
			if err := w.Read(page); err != nil {
				b.Fatal(err)
			}
		}
		r = w.Result()
		w = nil
		runtime.GC()
		runtime.ReadMemStats(&after)
	}
	if len(r.Rows) != rows || !r.Complete() {
		b.Fatalf("%d rows, %s", len(r.Rows), r.End)
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB-result")
	runtime.KeepAlive(r)
}
