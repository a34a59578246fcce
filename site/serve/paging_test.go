package serve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
)

// turning counts the pages that a handler answers by what it learnt of others.
type turning struct {
	*handler
	turned int
}

func (h *turning) turn(a *directAnswer, r *plain, t *turn, p *paging, began time.Time) bool {
	ok := h.handler.turn(a, r, t, p, began)
	if ok {
		h.turned++
	}
	return ok
}

// written is a connection that keeps what is written.
type written struct {
	nowhere
	bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) { return w.Buffer.Write(p) }
func (w *written) Read(p []byte) (int, error)  { return w.Buffer.Read(p) }
func (w *written) Close() error                { return nil }

// pageWorld is what pages are asked of: lists of every shape.
func pageWorld(t testing.TB) (files map[string][]byte, paths []string) {
	w := newWorld(t, 437)
	changes := newChangeWorld(t, 321)
	files = maps.Clone(w.files)
	for key, data := range changes.files {
		if strings.Contains(key, "v1/changes") {
			files[key] = data
		}
	}
	var index, others site.Index
	if err := errors.Join(json.Unmarshal(w.files[site.IndexFile], &index), json.Unmarshal(changes.files[site.IndexFile], &others)); err != nil {
		t.Fatal(err)
	}
	maps.Copy(index.Lists, others.Lists)
	q := parse(t, "/discovery/resources", "")
	const total = 237
	for file := range 3 {
		var rows [][]byte
		for i := file * 100; i < min(total, file*100+100); i++ {
			rows = append(rows, []byte(fmt.Sprintf(`{"resource":"https://api.acme.test/%d"}`, i)))
		}
		meta := rowOf(t, site.WindowMeta(q.Hundred(file), total))
		files[q.Hundred(file).Key()] = site.Catalogue.List(rows, meta)
	}
	index.Lists[q.ListKey()] = total
	files[site.IndexFile] = rowOf(t, index)
	paths = []string{"/v1/services", "/api/v1/services", "/v1/changes", "/discovery/resources"}
	return files, append(paths, slices.Sorted(maps.Keys(w.logs))...)
}

// A page that is cut by what was learnt of another of its list is, to the last byte and field, what the handler makes of it.
func TestPaging(t *testing.T) {
	t.Parallel()
	files, paths := pageWorld(t)
	folder := publish(t, files)
	h := &turning{handler: handlerOf(t, folder, t.Output()).(*handler)}
	slow := handlerOf(t, folder, t.Output())
	c := &readableConn{handler: h, direct: new(atomic.Int64), remote: "192.0.2.1:4020"}
	plain := 0
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.SampledFrom(paths).Draw(t, "path")
		var query []string
		plainly := true
		number := func(name string, least, most int) {
			n := strconv.Itoa(rapid.OneOf(rapid.IntRange(least, 12), rapid.IntRange(least, most)).Draw(t, name))
			switch rapid.IntRange(0, 30).Draw(t, "how") {
			case 0:
				plainly, n = false, "0"+n
			case 1:
				plainly, n = false, n+"&"+name+"=3"
			case 2:
				plainly, n = false, ""
			case 3:
				plainly, n = false, "&"+name+"="+n
			case 4:
				plainly, name = false, "%"+strconv.FormatInt(int64(name[0]), 16)+name[1:]
			case 5:
				plainly, n = false, n+"x"
			case 6:
				plainly, n = false, "999999999999999999999"
			case 7, 8, 9, 10:
				return
			}
			query = append(query, name+"="+n)
		}
		maybe := func(text ...string) {
			if s := rapid.SampledFrom(append(text, "", "")).Draw(t, text[0]); s != "" {
				query = append(query, s)
			}
		}
		switch {
		case strings.HasSuffix(path, "/services"):
			maybe("sort=newest", "sort=uptime", "sort=endpoints")
			maybe("category=AI", "category=Odd+%26+%3Ceven%3E%2F~", "category=None")
			number("per_page", 1, 101)
			number("page", 0, 60)
		case strings.HasSuffix(path, "/changes"):
			maybe("days=30", "days=3", "days=365")
			maybe("service=acme", "service=nobody")
			maybe("type=price_changed")
			number("per_page", 1, 101)
			number("page", 0, 60)
		default:
			number("limit", 1, 101)
			number("offset", 0, 700)
		}
		maybe("other=1", "a%67e=2", "page", "limit=7", "per_page=3&", "=&&")
		query = rapid.Permutation(query).Draw(t, "query")
		target := strings.TrimSuffix(path+"?"+strings.Join(query, "&"), "?")
		var fields []string
		if rapid.Bool().Draw(t, "packed") {
			fields = append(fields, "Accept-Encoding", "gzip")
		}
		switch rapid.IntRange(0, 5).Draw(t, "condition") {
		case 0:
			fields = append(fields, "If-None-Match", get(slow, target, fields...).Header().Get("Etag"))
		case 1:
			fields = append(fields, "If-None-Match", `"another"`)
		}
		if slices.Contains(fields, "") { // an error has no tag
			return
		}
		want := get(slow, target, fields...)
		request := "GET " + target + " HTTP/1.1\r\nHost: tollbook.example\r\n"
		for i := 0; i < len(fields); i += 2 {
			request += fields[i] + ": " + fields[i+1] + "\r\n"
		}
		for _, asked := range []string{"first", "again"} { // the first of a list is cut by the handler
			conn := &written{}
			c.Conn = conn
			if !c.serveDirectly([]byte(request + "\r\n")) {
				t.Fatalf("%s is not answered by the connection", target)
			}
			got, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("%s: %v", target, err)
			}
			body, err := io.ReadAll(got.Body)
			if err != nil || got.StatusCode != want.Code {
				t.Fatalf("%s: %d, want %d; %v", target, got.StatusCode, want.Code, err)
			}
			if want.Code >= 400 {
				return
			}
			got.Header.Del("Date")
			if diff := cmp.Diff(want.Header(), got.Header); diff != "" {
				t.Fatalf("%s %q, asked %s (-handler +page):\n%s", target, fields, asked, diff)
			}
			if diff := cmp.Diff(want.Body.String(), string(body)); diff != "" {
				t.Fatalf("%s %q, asked %s (-handler +page):\n%s", target, fields, asked, diff)
			}
		}
		if plainly && len(query) > 0 {
			plain++
		}
	})
	if h.turned == 0 && plain > 0 {
		t.Errorf("none of %d pages was cut by what was learnt", plain)
	}
}

// What is learnt of a list is of one snapshot: pages of the next one are its own.
func TestPagingFollowsSnapshots(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 120)
	d := publish(t, w.files)
	source := openSource(t, d.Root())
	h := &turning{handler: NewHandler(Options{Source: source, Now: func() time.Time { return now }}).(*handler)}
	c := &readableConn{handler: h, direct: new(atomic.Int64), remote: "192.0.2.1:4020"}
	page := func(n int) string {
		conn := &written{}
		c.Conn = conn
		if !c.serveDirectly(fmt.Appendf(nil, "GET /v1/services?per_page=7&page=%d HTTP/1.1\r\nHost: a\r\n\r\n", n)) {
			t.Fatal("it is not answered")
		}
		return conn.String()
	}
	for i := range 4 {
		for key, data := range w.files {
			if strings.HasPrefix(key, "v1/services/") {
				w.files[key] = bytes.ReplaceAll(data, []byte(`"description":"text`), fmt.Appendf(nil, `"description":"text %d`, i))
			}
		}
		publishTo(t, d, built.Add(time.Duration(i+1)*time.Minute), w.files)
		if err := source.Refresh(); err != nil {
			t.Fatal(err)
		}
		before := h.turned
		for n := range 5 {
			if got := page(n + 1); !strings.Contains(got, fmt.Sprintf("text %d", i)) {
				t.Errorf("build %d: %.400s", i, got)
			}
		}
		if h.turned != before+4 {
			t.Errorf("build %d: %d pages were cut by what was learnt of the first", i, h.turned-before)
		}
	}
}

// What is read of an address is read with all its numbers, or not at all.
func TestTurn(t *testing.T) {
	t.Parallel()
	type read struct {
		list        string
		size, place given
	}
	for _, test := range []struct {
		target string
		want   read // zero for none
	}{
		{"/v1/services?per_page=7&page=2", read{"/v1/services?per_page&page&", given{"per_page", 7}, given{"page", 2}}},
		{"/v1/services?page=2", read{"/v1/services?page&", given{}, given{"page", 2}}},
		{"/v1/services?page=2&", read{"/v1/services?page&&", given{}, given{"page", 2}}},
		{"/v1/checks?offset=0&a=b=c&limit=100", read{"/v1/checks?offset&a=b=c&limit&", given{"limit", 100}, given{"offset", 0}}},
		{"/v1/checks?offset=999999999", read{"/v1/checks?offset&", given{}, given{"offset", 999_999_999}}},
		{"/v1/checks?offset=1000000000", read{}},
		{"/v1/services?sort=uptime", read{}},
		{"/v1/services?page=02", read{}},
		{"/v1/services?page=+2", read{}},
		{"/v1/services?page=", read{}},
		{"/v1/services?page", read{}},
		{"/v1/services?page=1&page=1", read{}},
		{"/v1/services?page=1&offset=1", read{}},
		{"/v1/services?p%61ge=1&page=1", read{}},
		{"/v1/services?p+=1&page=1", read{}},
	} {
		path, query, _ := strings.Cut(test.target, "?")
		if _, err := url.ParseQuery(query); err != nil {
			t.Fatal(err)
		}
		var of turn
		got := read{}
		if of.read([]byte(path), []byte(query)) {
			got = read{string(of.list), of.size, of.place}
		}
		if got != test.want {
			t.Errorf("%s: %+v, want %+v", test.target, got, test.want)
		}
	}
}
