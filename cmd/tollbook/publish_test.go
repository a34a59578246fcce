//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tollbook/cmd/tollbook/publication"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/output/objects"
	"tollbook/output/outputtest"
	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/serve/edge/edgetest"
	"tollbook/site/testgate"
	"tollbook/templates"
)

// kills is how many publishers TestPublishKilled kills; TOLLBOOK_KILLS says how many more are wanted.
const kills = 20

// place is a directory with services, built into data, and a bucket to publish it to.
type place struct {
	server *outputtest.Server
	dsn    string
	env    []string
	data   string
	to     string
}

func newPlace(t *testing.T, services int) *place {
	t.Helper()
	server := outputtest.Versity(t)
	p := &place{server: server, dsn: postgrestest.NewDatabase(t), data: memoryDir(t), to: server.Bucket(t)}
	p.env = append(server.Env(server.Address), "DATABASE_URL="+p.dsn)
	p.must(t, "services", "import", writeFile(t, "services.json", directory(services, "d")))
	return p
}

// memoryDir is a folder in memory where there is one: disks make thousands of small files slow.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "tollbook-publish-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (p *place) must(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := run(t, p.env, args...)
	if code != 0 {
		t.Fatalf("tollbook %s: exit %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

func (p *place) build(t *testing.T) { p.must(t, "build", "--data", p.data, "--expand", "none") }

func (p *place) publish(t *testing.T, more ...string) output.Published {
	t.Helper()
	var r output.Published
	out := p.must(t, append([]string{"publish", "--data", p.data, "--publish-to", p.to, "--json"}, more...)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r
}

func (p *place) store(t *testing.T) objects.Store {
	t.Helper()
	s, err := objects.OpenStore(p.to, objects.StoreOptions{Getenv: p.server.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sums are the files of the folder's current snapshot with their sha256.
func (p *place) sums(t *testing.T) map[string]string {
	t.Helper()
	r, err := zip.OpenReader(filepath.Join(p.data, "public", "snapshots", published(t, p.data)+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := fs.ReadFile(r, archive.SumsFile)
	if err != nil {
		t.Fatal(err)
	}
	sums := readSums(string(data))
	sums[archive.SumsFile] = sumOf(data)
	return sums
}

func readSums(text string) map[string]string {
	sums := map[string]string{}
	for line := range strings.Lines(text) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		sums[name] = sum
	}
	return sums
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Publishers are killed with -9 at random moments, while readers walk pages through serve and through the Cloudflare
// worker, and look at single objects: every walk is of one snapshot, every body has that snapshot's sum, every object
// is whole and of the old or the new one; the next run finishes the work, and prune leaves nothing.
func TestPublishKilled(t *testing.T) {
	testgate.All(t)
	rounds := kills
	if text := os.Getenv("TOLLBOOK_KILLS"); text != "" {
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
			for ctx.Err() == nil {
				if err := w.walk(ctx, sumsOf); err != nil && ctx.Err() == nil {
					t.Errorf("a walk through %s: %v", w.kind, err)
					return
				}
			}
		})
	}
	store := p.store(t)
	readers.Go(func() {
		for ctx.Err() == nil {
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
		query(t, p.dsn, `UPDATE services SET description = description || '.'`) // else pages stay as they are
		p.build(t)
		next := p.sums(t)
		if page := pageOfServices(1); next[page] == sums[page] {
			t.Fatalf("round %d: %s is as before", i, page)
		}
		sums = next
		allow(false, next)
		begun := time.Now()
		publisher := command(t, p.env, "publish", "--data", p.data, "--publish-to", p.to).start(t)
		select {
		case <-time.After(rand.N(took)): // the moment is what is tested
			_ = publisher.Process.Kill()
			<-publisher.exited
		case <-publisher.exited:
		}
		if publisher.ProcessState.Success() {
			took = time.Since(begun) // on a machine that is as busy as it is now
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
	if _, err := output.NewPublisher(store, &publication.Register{DB: db, Target: store.String(), Now: o.Now},
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
		if _, known := sums[obj.Name]; strings.HasPrefix(obj.Name, "snapshots/") {
			zips++
		} else if !known && obj.Name != "checkpoint.json" && obj.Name != "expanded.sums.gz" {
			t.Errorf("%s is left", obj.Name)
		}
	}
	if zips != 2 {
		t.Errorf("%d snapshots are left, want the current and the previous", zips)
	}
}

// mayBe are the sums that an object may have now.
func mayBe(mu *sync.Mutex, allowed *map[string]map[string]bool, name string) map[string]bool {
	mu.Lock()
	defer mu.Unlock()
	found := map[string]bool{}
	for sum := range (*allowed)[name] {
		found[sum] = true
	}
	return found
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

// pageOfServices is the file of a page that walkers read.
func pageOfServices(n int) string {
	return fmt.Sprintf("v1/services/sort=newest/per_page=25/page=%d.json", n)
}

// walker is a reader, and what it has found to be right.
type walker struct {
	kind, base    string
	walks, bodies int
	snapshots     map[string]bool // that walks were of
}

// walk reads all pages of the list and holds each to the sums of the first one's snapshot, and those to the sum that
// sumsOf has for it.
func (w *walker) walk(ctx context.Context, sumsOf func(snapshot string) string) error {
	read := func(address string) (*http.Response, []byte, error) {
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
		if link := res.Header.Get("Link"); link != "" {
			address = strings.TrimPrefix(link[:strings.IndexByte(link, '>')], "<")
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

// Who publishes while another does is told, and so is who publishes less than what is there.
func TestPublishRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 20)
	args := []string{"publish", "--data", p.data, "--publish-to", p.to}
	fails(t, p.env, "nothing published yet", args...)
	p.build(t)
	db, err := postgres.Open(t.Context(), p.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	lock, err := db.LockPublication(t.Context(), p.to)
	if err != nil {
		t.Fatal(err)
	}
	fails(t, p.env, "another publisher is at work", args...)
	lock.Release()
	p.publish(t)

	other := newPlace(t, 3) // another directory, with another database, for the same bucket
	other.env, other.to = append(p.server.Env(p.server.Address), "DATABASE_URL="+other.dsn), p.to
	other.build(t)
	fails(t, other.env, "17 of 20 services vanish that nobody removed", "publish", "--data", other.data, "--publish-to",
		p.to)
	if r := other.publish(t, "--force"); r.Checkpoint.Generation != 2 {
		t.Errorf("forced: %+v", r)
	}
	p.build(t)
	p.must(t, "verify", p.to)
	for _, bad := range [][]string{
		{"publish", "--data", p.data},
		{"publish", "--data", p.data, "--publish-to", p.to, "--expand", "some"},
		{"serve", "--from", p.to, "--memory", "1"},
	} {
		if code, _, stderr := run(t, p.env, bad...); code != 2 {
			t.Errorf("%q: exit %d: %s", bad, code, stderr)
		}
	}
	fails(t, p.env, "builds are published to this folder already", "publish", "--data", p.data, "--publish-to",
		filepath.Join(p.data, "public"))
	wrong := append(slices.Clone(p.env), "AWS_SECRET_ACCESS_KEY=c0ffee-s3cr3t")
	code, stdout, stderr := run(t, wrong, args...)
	if code != 1 || strings.Contains(stdout+stderr, "s3cr3t") || strings.Contains(stdout+stderr, "testsecret") {
		t.Errorf("wrong credentials: exit %d: %s%s", code, stdout, stderr)
	}
}

// A key signs what is built and published; verify holds a bucket, a folder and a running server to it; a rollback and
// what follows it keep all of this.
func TestPublishSigned(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 5)
	dir := t.TempDir()
	private, public := filepath.Join(dir, "key.pem"), filepath.Join(dir, "public.pem")
	if err := os.WriteFile(public, []byte(p.must(t, "key", "new", private)), 0o644); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(private); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key has mode %v, %v", info.Mode(), err)
	}
	fails(t, p.env, "exists", "key", "new", private)
	p.must(t, "build", "--data", p.data, "--publish-key", private)
	first := p.publish(t, "--publish-key", private)
	folder := t.TempDir()
	p.must(t, "publish", "--data", p.data, "--publish-to", folder, "--publish-key", private)
	serve := command(t, p.env, "serve", "--from", p.to, "--serve-listen", "127.0.0.1:0", "--serve-rate-limit",
		"0").start(t)
	base := strings.TrimSuffix(strings.Fields(serve.await(t, "Serving "+p.to+" on "))[0], "/")
	for _, of := range []string{p.to, folder, base, filepath.Join(p.data, "public")} {
		p.must(t, "verify", of, "--key", public)
	}
	p.must(t, "verify", base, "--key", public, "--files")
	if got := get(t, base+"/.well-known/tollbook-key.pem"); got.status != 200 ||
		!strings.HasPrefix(got.body, "-----BEGIN PUBLIC KEY-----") {
		t.Errorf("the public key: %d %s", got.status, got.body)
	}
	p.must(t, "build", "--data", p.data) // unsigned
	p.publish(t)
	code, stdout, _ := run(t, p.env, "verify", p.to, "--key", public)
	if code != 1 || !strings.Contains(stdout, "checkpoint.json: the checkpoint's signature is missing") {
		t.Errorf("unsigned: exit %d: %s", code, stdout)
	}
	p.must(t, "rollback", first.Checkpoint.Snapshot, "--data", p.data, "--publish-to", p.to, "--publish-key", private)
	p.must(t, "verify", p.to, "--key", public)
	p.must(t, "prune", "--data", p.data, "--publish-to", p.to)
	fails(t, p.env, "was taken back by a rollback", "publish", "--data", p.data, "--publish-to", p.to)

	// The folder that build publishes to goes back, too; that needs no database.
	code, stdout, stderr := run(t, []string{"DATABASE_URL=postgres://nobody@127.0.0.1:1/none"}, "rollback",
		first.Checkpoint.Snapshot, "--data", p.data, "--publish-key", private)
	if code != 0 || !strings.Contains(stdout, first.Checkpoint.Snapshot+", generation 3") {
		t.Errorf("rollback of the folder: exit %d: %s%s", code, stdout, stderr)
	}
	p.must(t, "verify", filepath.Join(p.data, "public"), "--key", public)
	p.must(t, "publish", "--data", p.data, "--publish-to", p.to, "--publish-key", private) // the bucket has it already
}

// Serve goes on while the bucket is away, says so, and follows it when it is back.
func TestServeWhileBucketIsAway(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	p := newPlace(t, 5)
	p.build(t)
	first := p.publish(t).Checkpoint.Snapshot
	target, err := url.Parse("http://" + p.server.Address)
	if err != nil {
		t.Fatal(err)
	}
	var away atomic.Bool
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			panic(http.ErrAbortHandler)
		}
		pass.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	env := p.server.Env(strings.TrimPrefix(proxy.URL, "http://"))
	serve := command(t, env, "serve", "--from", p.to, "--serve-listen", "127.0.0.1:0", "--serve-rate-limit",
		"0").start(t)
	base := strings.TrimSuffix(strings.Fields(serve.await(t, "Serving "+p.to+" on "))[0], "/")
	if a := get(t, base+"/v1/services"); a.status != 200 || a.header.Get("X-Snapshot") != first ||
		a.header.Get("X-Snapshot-Warning") != "" {
		t.Fatalf("%d %v", a.status, a.header)
	}
	away.Store(true)
	until(t, base+"/readyz", "warning", func(a answer) bool {
		return a.status == 200 && strings.Contains(a.body, "the store can't be reached") &&
			strings.Contains(a.body, first)
	})
	for _, path := range []string{"/", "/v1/services?per_page=3", "/v1/services/service-0001", "/v1/stats"} {
		if a := get(t, base+path); a.status != 200 || a.header.Get("X-Snapshot-Warning") != "stale" ||
			a.header.Get("X-Snapshot") != first {
			t.Errorf("GET %s while the bucket is away: %d %v %s", path, a.status, a.header, a.body)
		}
	}
	p.build(t)
	next := p.publish(t).Checkpoint.Snapshot
	away.Store(false)
	until(t, base+"/readyz", "new snapshot", func(a answer) bool {
		return strings.Contains(a.body, next) && !strings.Contains(a.body, "warning")
	})
	if a := get(t, base+"/v1/services?snapshot="+first); a.status != 200 || a.header.Get("X-Snapshot") != first {
		t.Errorf("the one before: %d %v", a.status, a.header)
	}
	serve.interrupt(t, os.Interrupt)

	away.Store(true) // from the beginning
	serve = command(t, env, "serve", "--from", p.to, "--serve-listen", "127.0.0.1:0").start(t)
	base = strings.TrimSuffix(strings.Fields(serve.await(t, "Serving "+p.to+" on "))[0], "/")
	if a := get(t, base+"/v1/services"); a.status != http.StatusServiceUnavailable {
		t.Errorf("nothing is open: %d %s", a.status, a.body)
	}
	away.Store(false)
	until(t, base+"/v1/services", "answer", func(a answer) bool { return a.status == 200 })
}

// The commands of the page that says how to check a snapshot do what it says, on a folder that was published.
func TestVerifyPage(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	for _, program := range []string{"curl", "jq", "unzip", "openssl", "sha256sum"} {
		if _, err := exec.LookPath(program); err != nil {
			testgate.Missing(t, "%s is missing; install it (Debian: apt-get install curl jq unzip openssl coreutils)",
				program)
		}
	}
	page, err := templates.FS.ReadFile("pages/verify.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string // of indented lines
	for line := range strings.Lines(string(page)) {
		command, ok := strings.CutPrefix(line, "    ")
		if !ok && strings.TrimSpace(line) != "" || len(blocks) == 0 {
			blocks = append(blocks, "")
		}
		if ok {
			blocks[len(blocks)-1] += command
		}
	}
	blocks = slices.DeleteFunc(blocks, func(b string) bool { return b == "" })
	if len(blocks) != 2 {
		t.Fatalf("the page has %d blocks of commands: %q", len(blocks), blocks)
	}
	p := newPlace(t, 3)
	dir := t.TempDir()
	public := p.must(t, "key", "new", filepath.Join(dir, "key.pem"))
	if err := os.WriteFile(filepath.Join(dir, "public.pem"), []byte(public), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second has a previous one
		p.must(t, "build", "--data", p.data, "--publish-key", filepath.Join(dir, "key.pem"))
		p.must(t, "publish", "--data", p.data, "--publish-to", filepath.Join(dir, "www"), "--publish-key",
			filepath.Join(dir, "key.pem"))
	}
	sh := exec.Command("sh", "-eu", "-c", blocks[0])
	sh.Dir = dir
	sh.Env = append(os.Environ(), "BASE=file://"+filepath.Join(dir, "www"))
	out, err := sh.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Signature Verified Successfully") {
		t.Errorf("%v:\n%s", err, out)
	}
	var c archive.Checkpoint
	data, err := os.ReadFile(filepath.Join(dir, "checkpoint.json"))
	if err != nil || json.Unmarshal(data, &c) != nil || c.Previous == nil || !strings.Contains(string(out), c.Digest) {
		t.Errorf("the digest is not that of the checkpoint %s, %v:\n%s", data, err, out)
	}
	// A changed checkpoint is found out.
	if err := os.WriteFile(filepath.Join(dir, "www", "checkpoint.json"),
		bytes.Replace(data, []byte(`"generation": 2`), []byte(`"generation": 3`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, c.Snapshot)); err != nil {
		t.Fatal(err)
	}
	sh = exec.Command("sh", "-eu", "-c", blocks[0])
	sh.Dir, sh.Env = dir, append(os.Environ(), "BASE=file://"+filepath.Join(dir, "www"))
	if out, err := sh.CombinedOutput(); err == nil || strings.Contains(string(out), "Signature Verified Successfully") {
		t.Errorf("a changed checkpoint passes:\n%s", out)
	}
}
