package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
	"tollbook/site/routes"
)

// pageWorld returns the files of lists of every shape, and the paths of their pages.
func pageWorld(t testing.TB) (files map[string][]byte, paths []string) {
	w := newWorld(t, 437)
	changes := newChangeWorld(t, 321)
	files = maps.Clone(w.files)
	for key, data := range changes.files {
		if strings.Contains(key, "v1/changes") {
			files[key] = data
		}
	}
	var index, others routes.Index
	if err := errors.Join(json.Unmarshal(w.files[routes.IndexFile], &index),
		json.Unmarshal(changes.files[routes.IndexFile], &others)); err != nil {
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
		meta := rowOf(t, routes.WindowMeta(q.WindowFile(file), total))
		files[q.WindowFile(file).Key()] = site.Catalogue.List(rows, meta)
	}
	index.Lists[q.ListKey()] = total
	files[routes.IndexFile] = rowOf(t, index)
	paths = []string{"/v1/services", "/api/v1/services", "/v1/changes", "/discovery/resources"}
	return files, append(paths, slices.Sorted(maps.Keys(w.logs))...)
}

// TestCachedPages checks that a cached page has the same bytes and header fields as the page of a handler without a
// cache. Its tag must be the digest of its content.
func TestCachedPages(t *testing.T) {
	t.Parallel()
	files, paths := pageWorld(t)
	folder := publish(t, files)
	h := handlerOf(t, folder, t.Output())
	uncached := handlerOf(t, folder, t.Output()).(*handler)
	uncached.cache = newCache(0)
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.SampledFrom(paths).Draw(t, "path")
		var query []string
		number := func(name string, least, most int) {
			n := strconv.Itoa(rapid.OneOf(rapid.IntRange(least, 12), rapid.IntRange(least, most)).Draw(t, name))
			switch rapid.IntRange(0, 30).Draw(t, "how") {
			case 0:
				n = "0" + n
			case 1:
				n = n + "&" + name + "=3"
			case 2:
				n = ""
			case 3:
				n = "&" + name + "=" + n
			case 4:
				name = "%" + strconv.FormatInt(int64(name[0]), 16) + name[1:]
			case 5:
				n = n + "x"
			case 6:
				n = "999999999999999999999"
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
			if tag := get(uncached, target, fields...).Header().Get("Etag"); tag != "" { // an error has none
				fields = append(fields, "If-None-Match", tag)
			}
		case 1:
			fields = append(fields, "If-None-Match", `"another"`)
		}
		want := get(uncached, target, fields...)
		if want.Code == http.StatusOK {
			content := get(uncached, target).Body.Bytes()
			sum := sha256.Sum256(content)
			tag := `"` + hex.EncodeToString(sum[:tagBytes])
			if got := want.Header().Get("Etag"); got != tag+`"` && got != tag+`-gz"` {
				t.Fatalf("%s: tag %s, the digest is %s", target, got, tag)
			}
		}
		for range 3 {
			got := get(h, target, fields...)
			if diff := cmp.Diff(want.Header(), got.Header()); got.Code != want.Code || diff != "" {
				t.Fatalf("%s %q: %d, want %d (-uncached +cached):\n%s", target, fields, got.Code, want.Code, diff)
			}
			if diff := cmp.Diff(want.Body.String(), got.Body.String()); diff != "" {
				t.Fatalf("%s %q (-uncached +cached):\n%s", target, fields, diff)
			}
		}
	})
}
