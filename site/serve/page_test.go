package serve

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
)

// TestSnapshotGrammar checks that requests accept exactly the grammar of snapshot IDs.
func TestSnapshotGrammar(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(
			rapid.StringMatching(`20[0-9]{2}[01][0-9][0-3][0-9]T[0-2][0-9][0-6][0-9][0-6][0-9]Z-[0-9a-f]{6}`),
			rapid.StringMatching(`[0-9]{8}T[0-9]{6}Z-[0-9a-g]{5,7}`), rapid.StringMatching(`[0-9TZa-f.-]{22,24}`),
			rapid.StringN(1, 30, -1),
		).Draw(t, "id")
		_, want := archive.ParseSnapshotID(id)
		q, err := routes.ParseRequest("/v1/services", "snapshot="+
			strings.NewReplacer("%", "%25", "&", "%26", "+", "%2B").Replace(id))
		if want != (err == nil && q.Snapshot == id) {
			t.Errorf("%q is an id: %v; in a request: %q, %v", id, want, q.Snapshot, err)
		}
	})
}

var nextLink = regexp.MustCompile(`^<(/[^>]*)>; rel="next"$`)

// reporter is a *testing.T or a *rapid.T.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// walk follows the links from one page to the next. It returns every row, and the snapshots of the pages.
func walk(t reporter, h http.Handler, target string, framing encode.Framing) (rows []string,
	snapshots map[string]bool) {
	t.Helper()
	t.Helper()
	snapshots = map[string]bool{}
	for range 1000 {
		got := get(h, target)
		if got.Code != 200 {
			t.Errorf("%s: %d %s", target, got.Code, got.Body)
			return nil, nil
		}
		snapshots[got.Header().Get("X-Snapshot")] = true
		lines, _, err := framing.Split(got.Body.Bytes())
		if err != nil {
			t.Errorf("%s: %v", target, err)
			return nil, nil
		}
		for _, line := range lines {
			rows = append(rows, string(line))
		}
		link := got.Header().Get("Link")
		if strings.HasSuffix(link, `rel="license"`) {
			return rows, snapshots
		}
		match := nextLink.FindStringSubmatch(link)
		if match == nil {
			t.Errorf("%s: link %s", target, link)
			return nil, nil
		}
		target = match[1]
	}
	t.Errorf("%s: the walk does not end", target)
	return nil, nil
}

// TestWalk checks that the links from any page lead to every later row once, in order, for every page size.
func TestWalk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 230)
	h := handlerOf(t, publish(t, w.files), t.Output())
	logged := w.logs["/v1/checks"]
	rapid.Check(t, func(t *rapid.T) {
		per, first := rapid.IntRange(5, site.MaxPageSize).Draw(t, "per"), rapid.IntRange(1, 4).Draw(t, "first")
		order, category := rapid.SampledFrom(site.Orders).Draw(t, "order"),
			rapid.SampledFrom([]string{"", "AI", "Odd+%26+%3Ceven%3E%2F~"}).Draw(t, "category")
		prefix := rapid.SampledFrom([]string{"/v1", "/api/v1"}).Draw(t, "prefix")
		query := fmt.Sprintf("category=%s&sort=%s&per_page=%d", category, order, per)
		q, err := routes.ParseRequest("/v1/services", query)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for i, s := range w.list(q) {
			if i >= (first-1)*per {
				want = append(want, s.row())
			}
		}
		got, snapshots := walk(t, h, fmt.Sprintf("%s/services?%s&page=%d", prefix, query, first), encode.Framing{})
		if diff := cmp.Diff(want, got); diff != "" || len(snapshots) != 1 {
			t.Errorf("%d snapshots (-want +got):\n%s", len(snapshots), diff)
		}

		offset := rapid.IntRange(0, int(logged.Total())+10).Draw(t, "offset")
		got, _ = walk(t, h, fmt.Sprintf("%s/checks?limit=%d&offset=%d", prefix, per, offset), encode.Framing{})
		if len(got) != max(0, int(logged.Total())-offset) {
			t.Errorf("checks from %d on: %d rows of %d", offset, len(got), logged.Total())
		}
	})
	for _, test := range []struct {
		target string
		rows   int
	}{
		{"/v1/services", 230}, {"/v1/services.json", 230}, {"/v1/services/sort=newest/per_page=100/page=2.json", 130},
		{"/v1/checks", 651},
	} {
		if rows, _ := walk(t, h, test.target, encode.Framing{}); len(rows) != test.rows {
			t.Errorf("%s: %d rows, want %d", test.target, len(rows), test.rows)
		}
	}
}

// filesOfBuild returns w's files for build i. Every row of a list contains the number of the build.
func filesOfBuild(w *world, i int) map[string][]byte {
	files := map[string][]byte{}
	for key, data := range w.files {
		if !strings.HasPrefix(key, "v1/services/service-") && !strings.HasPrefix(key, "pack/") {
			data = bytes.ReplaceAll(data, []byte(`"description":"text`),
				fmt.Appendf(nil, `"description":"build %d text`, i))
		}
		files[key] = data
	}
	return files
}

// TestWalkDuringSwaps checks that a walk during snapshot swaps sees all rows of one build and no row of another.
func TestWalkDuringSwaps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 150)
	d := publish(t, filesOfBuild(w, 0))
	source := openSource(t, d.Root())
	h := NewHandler(Options{Source: source, Now: func() time.Time { return now }, RateLimit: 1 << 30,
		Metrics: NewMetrics()})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	walked := make(chan string) // the build in the rows of a walk
	for worker := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				per := []int{7, 25, 40, 100}[(worker+i)%4]
				rows, snapshots := walk(t, h, fmt.Sprintf("/v1/services?per_page=%d&sort=uptime", per),
					encode.Framing{})
				_, after, _ := strings.Cut(rows[0], `"description":"build `)
				build, _, _ := strings.Cut(after, " ")
				for _, row := range rows {
					if !strings.Contains(row, `"description":"build `+build+" text") {
						t.Errorf("a walk that began with build %s has %s", build, row)
					}
				}
				if len(rows) != len(w.services) || len(snapshots) != 1 {
					t.Errorf("%d rows of %d snapshots, want %d of one", len(rows), len(snapshots), len(w.services))
				}
				select {
				case walked <- build:
				case <-stop:
					return
				}
			}
		})
	}
	for i := 1; i <= 12; i++ {
		publishTo(t, d, built.Add(time.Duration(i)*time.Minute), filesOfBuild(w, i))
		if _, err := d.Prune(built.Add(time.Duration(i)*time.Minute), ""); err != nil {
			t.Error(err)
		}
		if err := source.Refresh(); err != nil {
			t.Error(err)
		}
		for <-walked != fmt.Sprint(i) { // until some walk has read the build
		}
	}
	close(stop)
	wg.Wait()
}

// TestPin checks that a request may name a snapshot. Caches may keep its response forever.
func TestPin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 60)
	d := publish(t, filesOfBuild(w, 0))
	source := openSource(t, d.Root())
	h := NewHandler(Options{Source: source, Now: func() time.Time { return now }})
	var ids []string
	for i := range 9 {
		if i > 0 {
			publishTo(t, d, built.Add(time.Duration(i)*time.Minute), filesOfBuild(w, i))
		}
		if err := source.Refresh(); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, get(h, "/v1/services").Header().Get("X-Snapshot"))
	}
	for i, id := range ids {
		for _, target := range []string{"/v1/services?per_page=3&page=2&", "/v1/services?", "/api/v1/services.json?",
			"/v1/services?q=&sort=uptime&"} {
			got := get(h, target+"snapshot="+id)
			if got.Code != 200 || got.Header().Get("X-Snapshot") != id ||
				!strings.Contains(got.Body.String(), fmt.Sprintf(`"build %d text`, i)) {
				t.Errorf("%s of build %d: %d of %s, %.200s", target, i, got.Code, got.Header().Get("X-Snapshot"),
					got.Body)
			}
			if v := got.Header().Get("Cache-Control"); v != "public, max-age=86400, immutable" {
				t.Errorf("%s: Cache-Control: %s", target, v)
			}
			if v := got.Header().Get("Last-Modified"); v != built.Add(time.Duration(i)*time.Minute).
				Format(http.TimeFormat) {
				t.Errorf("%s: Last-Modified: %s", target, v)
			}
		}
		if got := get(h, "/services/nobody?snapshot="+id); got.Code != 404 ||
			got.Header().Get("Cache-Control") != "public, max-age=10" {
			t.Errorf("a page that is not there: %d, %v", got.Code, got.Header())
		}
		// A log continues in packs that all snapshots share.
		if got := get(h, "/v1/checks?limit=100&offset=500&snapshot="+id); got.Code != 200 {
			t.Errorf("checks: %d %s", got.Code, got.Body)
		}
	}
	if n := len(h.(*handler).infos); n > maxInfos {
		t.Errorf("%d snapshots are known, want %d at most", n, maxInfos)
	}
	if err := os.Remove(filepath.Join(d.Root(), "snapshots", ids[0]+".zip")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(d.Root(), "tree", ids[0])); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		id       string
		code     int
		contains string
	}{
		{ids[0], 404, "snapshot is not available"},
		{"20261120T234501Z-ffffff", 404, "snapshot is not available"},
		{"..%2f..%2fcheckpoint", 400, `"field":"snapshot"`},
		{"latest", 400, `"field":"snapshot"`},
		{"%zz", 400, `"field":"snapshot"`},
		{"%00", 400, `"field":"snapshot"`},
	} {
		got := get(h, "/v1/services?snapshot="+test.id)
		if got.Code != test.code || !strings.Contains(got.Body.String(), test.contains) ||
			got.Header().Get("Cache-Control") != "public, max-age=10" {
			t.Errorf("%s: %d %s, %v", test.id, got.Code, got.Body, got.Header())
		}
	}
}
