//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/output/objects"
	"tollbook/output/outputtest"
	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/postgres/private"
	"tollbook/site/testgate"
	"tollbook/templates"
)

// kills is how many publishers TestPublishKilled kills. TOLLBOOK_TEST_KILLS raises the number.
const kills = 20

// place is a directory with services, built into data, and a bucket for publications.
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
	p.must(t, "services", "import", writeFile(t, "services.json", listOfServices(services, "d")))
	return p
}

// memoryDir returns a folder in memory if the system has one. Disks are slow with thousands of small files.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "tollbook-publish-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		servers, _ := filepath.Glob(filepath.Join(dir, "*", "postgres")) // of killed programs
		for _, server := range append(servers, filepath.Join(dir, "postgres")) {
			_ = private.Remove(context.Background(), server)
		}
		os.RemoveAll(dir)
	})
	return dir
}

func (p *place) must(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := tollbook(t, p.env, args...)
	if code != 0 {
		t.Fatalf("tollbook %s: exit %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

func (p *place) build(t *testing.T) { p.must(t, "build", "--data", p.data, "--expand", "none") }

func (p *place) publish(t *testing.T, more ...string) output.Published {
	t.Helper()
	var r output.Published
	out := p.must(t, append([]string{"publish", "--data", p.data, "--publish-to", p.to, "--json", "--expand", "all"}, more...)...)
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

// sums returns the SHA-256 of each file of the folder's current snapshot.
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

// TestPublishRefused checks that a second publisher gets an error, and so does one that publishes fewer services.
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
	fails(t, other.env, "this one from another", "publish", "--data", other.data, "--publish-to",
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
		if code, _, stderr := tollbook(t, p.env, bad...); code != 2 {
			t.Errorf("%q: exit %d: %s", bad, code, stderr)
		}
	}
	fails(t, p.env, "builds are published to this folder already", "publish", "--data", p.data, "--publish-to",
		filepath.Join(p.data, "public"))
	fails(t, p.env, "tollbook build deletes what is old in this folder", "prune", "--data", p.data, "--publish-to",
		filepath.Join(p.data, "public"))
	const id = "20261120T000000Z-0123ab"
	nowhere := filepath.Join(p.data, "nowhere")
	fails(t, p.env, "nowhere back: nothing is published there", "rollback", "--data", p.data, "--publish-to", nowhere,
		id)
	fails(t, p.env, "nowhere: nothing is published there", "prune", "--data", p.data, "--publish-to", nowhere)
	for _, place := range []string{filepath.Join(p.data, "public"), p.to} {
		for _, id := range []string{id, "yesterday"} {
			fails(t, p.env, "no such snapshot is kept; tollbook rollback without an id lists those that are", "rollback", "--data",
				p.data,
				"--publish-to", place, id)
		}
	}
	wrong := append(slices.Clone(p.env), "AWS_SECRET_ACCESS_KEY=c0ffee-s3cr3t")
	code, stdout, stderr := tollbook(t, wrong, args...)
	if code != 1 || strings.Contains(stdout+stderr, "s3cr3t") || strings.Contains(stdout+stderr, "testsecret") {
		t.Errorf("wrong credentials: exit %d: %s%s", code, stdout, stderr)
	}
}

// TestPublishSigned checks that a key signs builds and publications, and that verify accepts a bucket, a folder and a
// running server. Signatures stay valid after a rollback and the next publication.
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

	// What is signed stays signed, in the folder and in the bucket, unless --change-key says so.
	const refused = "the checkpoint there is signed"
	fails(t, p.env, refused, "build", "--data", p.data)
	fails(t, p.env, refused, "rollback", first.Checkpoint.Snapshot, "--data", p.data)
	fails(t, p.env, refused, "publish", "--data", p.data, "--publish-to", p.to, "--force")
	fails(t, p.env, refused, "rollback", first.Checkpoint.Snapshot, "--data", p.data, "--publish-to", p.to)
	p.must(t, "verify", p.to, "--key", public)
	if got := p.must(t, "verify", p.to); !strings.Contains(got, "\nSigned by key ") {
		t.Errorf("verify without a key prints %s", got)
	}
	stranger := filepath.Join(dir, "stranger.pem")
	if err := os.WriteFile(stranger, []byte(p.must(t, "key", "new", filepath.Join(dir, "other.pem"))),
		0o644); err != nil {
		t.Fatal(err)
	}
	notSigned := func(key, want string) {
		t.Helper()
		code, stdout, stderr := tollbook(t, p.env, "verify", p.to, "--key", key)
		if code != 1 || !strings.Contains(stdout, want) || strings.Contains(stderr, "the publication is damaged") ||
			!strings.Contains(stderr, "the publication is not signed with the key of --key") {
			t.Errorf("verify --key %s: exit %d: %s%s", key, code, stdout, stderr)
		}
	}
	notSigned(stranger, "it is signed with another key, ")
	p.must(t, "build", "--data", p.data, "--change-key") // unsigned
	p.publish(t, "--change-key")
	notSigned(public, "checkpoint.json: the checkpoint is not signed with this key, ")
	if out := p.must(t, "rollback", first.Checkpoint.Snapshot, "--data", p.data, "--publish-to", p.to, "--publish-key",
		private); !strings.HasSuffix(out, "\nIt stays current until the next build is published there\n") {
		t.Errorf("a rollback of the bucket does not say how long it lasts:\n%s", out)
	}
	for _, place := range []string{p.to, filepath.Join(p.data, "public")} {
		current := regexp.MustCompile(`(?m)^(\S+) +\S+ \S+ +[0-9.]+ MB  current$`)
		out := p.must(t, "rollback", "--data", p.data, "--publish-to", place)
		if m := current.FindStringSubmatch(out); m == nil || !strings.Contains(out, "\n"+first.Checkpoint.Snapshot+" ") ||
			(place == p.to) != (m[1] == first.Checkpoint.Snapshot) ||
			!strings.HasSuffix(out, "\nNothing was changed; tollbook rollback SNAPSHOT returns to one\n") {
			t.Errorf("rollback without an id does not list the snapshots of %s:\n%s", place, out)
		}
	}
	p.must(t, "verify", p.to, "--key", public)
	p.must(t, "prune", "--data", p.data, "--publish-to", p.to)
	fails(t, p.env, "was taken back by a rollback", "publish", "--data", p.data, "--publish-to", p.to, "--publish-key",
		private)

	// The folder of the build can be rolled back too, without a database.
	code, stdout, stderr := tollbook(t, []string{"DATABASE_URL=postgres://nobody@127.0.0.1:1/none"}, "rollback",
		first.Checkpoint.Snapshot, "--data", p.data, "--publish-key", private)
	if code != 0 || !strings.Contains(stdout, first.Checkpoint.Snapshot+", generation 3") ||
		!strings.Contains(stdout, "\nIt stays current until the next build, which up and work make every --schedule-build") {
		t.Errorf("rollback of the folder: exit %d: %s%s", code, stdout, stderr)
	}
	p.must(t, "verify", filepath.Join(p.data, "public"), "--key", public)
	p.must(t, "publish", "--data", p.data, "--publish-to", p.to, "--publish-key", private) // the bucket already has it
}

// TestServeWhileBucketIsAway checks that serve continues while the bucket is unavailable, and reports it. It follows
// the bucket again later.
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
		r.Out.Host = r.In.Host // the signature covers it
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

// TestVerifyPage runs the commands of the page on snapshot verification on a published folder. They must have the
// described results.
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
	var blocks []string // indented code blocks
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
	if len(blocks) != 4 { // the last needs DuckDB
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
	id := exec.Command("sh", "-eu", "-c", blocks[1])
	id.Dir = dir
	if out, err := id.CombinedOutput(); err != nil || c.Key == nil || strings.TrimSpace(string(out)) != *c.Key {
		t.Errorf("the id of the key, %v: %s", err, out)
	}
	// Verification detects a changed checkpoint.
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
