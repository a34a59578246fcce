package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tollbook/cmd/tollbook/run"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/output/objects"
	"tollbook/site/postgres"
	"tollbook/site/serve/edge/edgetest"
	"tollbook/site/testgate"
)

// readPause is how long each reader waits between two requests, and walkPause between two walks. Readers without a pause
// take the processors that publishers need, and walks that last longer are more often cut by a new snapshot.
const readPause, walkPause = 10 * time.Millisecond, 50 * time.Millisecond

// TestPublishKilled kills publishers with -9 at random moments. Meanwhile readers walk pages through serve and through
// the Cloudflare worker, and read single objects. Every walk sees one snapshot, and every body has that snapshot's sum.
// Every object is complete, from the old snapshot or the new one. The next run finishes the work, and prune leaves
// nothing.
func TestPublishKilled(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	rounds := kills
	if text := os.Getenv("TOLLBOOK_TEST_KILLS"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	p := newPlace(t, 60)
	p.build(t)
	began := time.Now()
	first := p.publish(t)
	took := time.Since(began)

	serve := command(t, p.env, "serve", "--from", p.to, "--serve-listen", "127.0.0.1:0", "--serve-rate-limit",
		"0").start(t)
	_, prefix, _ := strings.Cut(strings.TrimPrefix(p.to, "s3://"), "/")
	worker := printedBy(t, "edge cloudflare --prefix "+prefix)
	kinds := []*walker{
		{kind: "serve", base: strings.TrimSuffix(strings.Fields(serve.await(t, "Serving "+p.to+" on "))[0], "/")},
		{kind: "worker", base: "http://" + edgetest.StartWorker(t, []byte(worker), p.server.Share(t, p.to))},
	}

	var mu sync.Mutex
	built := map[string]string{}            // sum of each snapshot's own sums
	allowed := map[string]map[string]bool{} // sums that each object may have now
	allow := func(only bool, sums map[string]string) {
		mu.Lock()
		defer mu.Unlock()
		built[published(t, p.data)] = sums[archive.SumsFile]
		if only {
			allowed = map[string]map[string]bool{}
		}
		for name, sum := range sums {
			if allowed[name] == nil {
				allowed[name] = map[string]bool{}
			}
			allowed[name][sum] = true
		}
	}
	sums := p.sums(t)
	allow(true, sums)

	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	var objects atomic.Int64
	sumsOf := func(id string) string {
		mu.Lock()
		defer mu.Unlock()
		return built[id]
	}
	for _, w := range kinds {
		readers.Go(func() {
			for ; ctx.Err() == nil; time.Sleep(walkPause) {
				if err := w.walk(ctx, sumsOf); err != nil && ctx.Err() == nil {
					t.Errorf("a walk through %s: %v", w.kind, err)
					return
				}
			}
		})
	}
	store := p.store(t)
	readers.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(readPause) {
			mu.Lock()
			var name string
			for name = range allowed { // any one
				break
			}
			mu.Unlock()
			before := mayBe(&mu, &allowed, name)
			sum, err := objectSum(ctx, store, name)
			after := mayBe(&mu, &allowed, name)
			if ctx.Err() == nil && (err != nil || !before[sum] && !after[sum]) {
				t.Errorf("object %s: %q is of neither snapshot, %v", name, sum, err)
				return
			}
			objects.Add(1)
		}
	})

	cut := 0
	for i := range rounds {
		query(t, p.dsn, `UPDATE services SET description = description || '.'`) // otherwise pages stay the same
		p.build(t)
		next := p.sums(t)
		if page := pageOfServices(1); next[page] == sums[page] {
			t.Fatalf("round %d: %s is as before", i, page)
		}
		sums = next
		allow(false, next)
		begun := time.Now()
		publisher := command(t, p.env, "publish", "--data", p.data, "--publish-to", p.to, "--expand", "all").start(t)
		select {
		case <-time.After(rand.N(took)): // the test varies this moment
			_ = publisher.Process.Kill()
			<-publisher.exited
		case <-publisher.exited:
		}
		if publisher.ProcessState.Success() {
			took = time.Since(begun) // measured under the current load
		} else {
			cut++
			took += took / 10
		}
		r := p.publish(t)
		if r.Checkpoint.Snapshot != published(t, p.data) {
			t.Fatalf("round %d: the next run published %+v", i, r.Checkpoint)
		}
		allow(true, next)
		p.must(t, "verify", p.to)
		if t.Failed() {
			break
		}
	}
	stop()
	readers.Wait()
	if !t.Failed() {
		t.Logf(
			"figures: %d of %d publishers were killed on the way, the next finished and was verified each time; "+
				"%d objects read meanwhile, 0 wrong", cut, rounds, objects.Load())
	}
	if cut < rounds/4 || objects.Load() == 0 {
		t.Error("nothing was tested")
	}
	for _, w := range kinds {
		if !t.Failed() {
			t.Logf("figures: %d walks through %s while publishers were killed: %d bodies of %d snapshots, 0 wrong",
				w.walks, w.kind, w.bodies, len(w.snapshots))
		}
		if w.walks == 0 {
			t.Errorf("nobody walked through %s", w.kind)
		}
		if !t.Failed() {
			until(t, w.base+"/v1/stats", "the last snapshot", func(a answer) bool {
				return a.header.Get("X-Snapshot") == published(t, p.data) && a.header.Get("X-Snapshot-Warning") == ""
			})
		}
	}

	if _, err := store.Stat(t.Context(), "snapshots/"+first.Checkpoint.Snapshot+".zip"); err != nil {
		t.Errorf("the first is kept for pins: %v", err)
	}
	o := output.PublishOptions{Now: time.Now().AddDate(10, 0, 0)}
	db, err := postgres.Open(t.Context(), p.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	folder, err := output.OpenFolder(filepath.Join(p.data, "public"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := output.NewPublisher(store, &run.RegisterPublication{DB: db, Target: store.String(), Now: o.Now},
		o).Prune(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	list, err := store.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	zips := 0
	sums = p.sums(t)
	for _, obj := range list {
		if _, ok := sums[obj.Name]; strings.HasPrefix(obj.Name, "snapshots/") {
			zips++
		} else if !ok && obj.Name != "checkpoint.json" && obj.Name != "expanded.sums.gz" {
			t.Errorf("%s is left", obj.Name)
		}
	}
	if zips != 2 {
		t.Errorf("%d snapshots are left, want the current and the previous", zips)
	}
}

// mayBe returns the sums that an object may have now.
func mayBe(mu *sync.Mutex, allowed *map[string]map[string]bool, name string) map[string]bool {
	mu.Lock()
	defer mu.Unlock()
	sums := map[string]bool{}
	for sum := range (*allowed)[name] {
		sums[sum] = true
	}
	return sums
}

func objectSum(ctx context.Context, s objects.Store, name string) (string, error) {
	obj, body, err := s.Get(ctx, name, objects.GetOptions{})
	if err != nil {
		return "", err
	}
	defer body.Close()
	var r io.Reader = body
	if obj.Header.Encoding == "gzip" {
		if r, err = gzip.NewReader(body); err != nil {
			return "", err
		}
	}
	data, err := io.ReadAll(r)
	return sumOf(data), err
}

// pageOfServices returns the file of a page that walkers read.
func pageOfServices(n int) string {
	return fmt.Sprintf("v1/services/sort=newest/per_page=25/page=%d.json", n)
}

// walker is a reader with the data that it has verified.
type walker struct {
	kind, base    string
	walks, bodies int
	snapshots     map[string]bool // the snapshots of its walks
}

// walk reads all pages of the list and compares each with the sums of the first page's snapshot. It compares the sums
// with the result of sumsOf.
func (w *walker) walk(ctx context.Context, sumsOf func(snapshot string) string) error {
	read := func(address string) (*http.Response, []byte, error) {
		time.Sleep(readPause)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.base+address, nil)
		if err != nil {
			return nil, nil, err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, nil, err
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err == nil && res.StatusCode != http.StatusOK {
			err = fmt.Errorf("GET %s: %d %s", address, res.StatusCode, data)
		}
		return res, data, err
	}
	snapshot, sums, rows, pages, total := "", map[string]string{}, map[string]bool{}, 0, 0
	for address := "/v1/services?per_page=25"; address != ""; {
		res, data, err := read(address)
		if err != nil {
			return err
		}
		id := res.Header.Get("X-Snapshot")
		if snapshot == "" {
			snapshot = id
			_, text, err := read("/SHA256SUMS?snapshot=" + id)
			if err != nil {
				return err
			}
			if want := sumsOf(id); want == "" || sumOf(text) != want {
				return fmt.Errorf("the sums of %s have the sum %s, want %q", id, sumOf(text), want)
			}
			sums = readSums(string(text))
		}
		pages++
		key := pageOfServices(pages)
		if id != snapshot || sums[key] != sumOf(data) {
			return fmt.Errorf("page %d is of %s, the walk of %s; its sum is %s, %s listed", pages, id, snapshot,
				sumOf(data), sums[key])
		}
		var page struct {
			Data []struct{ Slug string }
			Meta struct{ Total int }
		}
		if err := json.Unmarshal(data, &page); err != nil {
			return err
		}
		for _, row := range page.Data {
			rows[row.Slug] = true
		}
		total = page.Meta.Total
		address = ""
		if link, rest, ok := strings.Cut(res.Header.Get("Link"), ">"); ok && strings.HasPrefix(rest, `; rel="next"`) {
			address = strings.TrimPrefix(link, "<")
		}
	}
	if len(rows) != total {
		return fmt.Errorf("%d services on %d pages of %s, want %d", len(rows), pages, snapshot, total)
	}
	if w.snapshots == nil {
		w.snapshots = map[string]bool{}
	}
	w.snapshots[snapshot] = true
	w.walks++
	w.bodies += 1 + pages
	return nil
}
