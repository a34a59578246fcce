// Command bench measures tollbook publish beside rclone, in turn, on one machine, into one MinIO whose data lie in memory:
//
//	go run ./output/testdata/bench -services 2000 -runs 3
//
// Both bring the same directory of generated services to a bucket: first all of it, then the snapshot after, for which one
// service in fifteen was visited again. Ours is the whole command, a process with its database; expand none sends the zip,
// expand all every file as an object, too. The peer copies the tree of files, 64 at a time, without looking what is there
// the first time, and comparing sums from a list the second. Each run begins with empty buckets. A reader asks a
// running tollbook serve every 5 ms which snapshot answers. Requests and bytes are counted in runs of their own, through a
// proxy that is not timed.
//
// It needs minio and rclone (Debian: apt-get install rclone) on PATH, or minio where .ci/run installs it. Text goes to
// stderr, the figures as JSON to stdout.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"tollbook/site/postgres/private"
)

const key, secret = "benchkey", "benchsecret"

func main() {
	log.SetFlags(0)
	services := flag.Int("services", 2000, "generated services")
	runs := flag.Int("runs", 3, "runs of each")
	jobs := flag.String("jobs", "none,all,rclone", "what to run: publish --expand none, all, and the peer")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *services, *runs, strings.Split(*jobs, ",")); err != nil {
		log.Fatal(err)
	}
}

// bench is what a run needs.
type bench struct {
	dir      string // of everything
	program  string // tollbook
	endpoint string // of MinIO
	dsn      string
	buckets  int
	client   *minio.Client
}

// report is what is printed.
type report struct {
	Services int                `json:"services"`
	Cores    int                `json:"cores"`
	Runs     int                `json:"runs"`
	Tree     map[string]float64 `json:"tree"`
	Seconds  map[string]spread  `json:"seconds"`
	Ratios   map[string]spread  `json:"ratios"` // the peer's time by ours, run by run: more than 1 is faster
	Traffic  map[string]traffic `json:"traffic"`
	Memory   map[string]float64 `json:"serve_memory_mb"`
}

type spread struct{ Min, Median, Max float64 }

type traffic struct {
	Requests map[string]int64 `json:"requests"`
	Sent     int64            `json:"bytes_sent"`
	Received int64            `json:"bytes_received"`
}

func run(ctx context.Context, services, runs int, jobs []string) error {
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = ""
	}
	dir, err := os.MkdirTemp(base, "tollbook-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, program: filepath.Join(dir, "tollbook")}
	log.Printf("Building %d services in %s …", services, dir)
	if _, err := command(ctx, nil, "go", "build", "-o", b.program, "./cmd/tollbook"); err != nil {
		return err
	}
	env := []string{"TOLLBOOK_BENCH_DIR=" + dir, fmt.Sprintf("TOLLBOOK_BENCH_SERVICES=%d", services)}
	out, err := command(ctx, env, "go", "test", "./build", "-run", "^TestBenchFolder$", "-count", "1", "-v", "-timeout", "30m")
	if err != nil {
		return err
	}
	log.Print(strings.TrimSpace(out))
	server, err := private.Start(ctx, private.Options{Dir: filepath.Join(dir, "postgres"), Throwaway: true})
	if err != nil {
		return err
	}
	defer server.Stop(context.Background())
	b.dsn = server.DSN()
	end, err := b.startMinIO(ctx)
	if err != nil {
		return err
	}
	defer end()
	return b.measure(ctx, services, runs, jobs)
}

func (b *bench) measure(ctx context.Context, services, runs int, jobs []string) error {
	times := map[string][]float64{}
	r := report{Services: services, Cores: runtime.NumCPU(), Runs: runs, Tree: map[string]float64{}, Seconds: map[string]spread{}, Ratios: map[string]spread{}, Traffic: map[string]traffic{}, Memory: map[string]float64{}}
	files, size, err := treeSize(b.tree("second"))
	if err != nil {
		return err
	}
	r.Tree["files"], r.Tree["mb"] = float64(files), float64(size)/1e6
	for range runs {
		for _, job := range jobs {
			if job == "rclone" {
				err = b.theirs(ctx, times)
			} else {
				err = b.ours(ctx, job, times, r.Memory)
			}
			if err != nil {
				return err
			}
		}
	}
	for _, job := range jobs {
		if job == "rclone" {
			continue
		}
		if err := b.count(ctx, job, r.Traffic); err != nil {
			return err
		}
	}
	for name, list := range times {
		r.Seconds[name] = spreadOf(list)
	}
	for _, of := range []string{"first", "later"} {
		for _, expand := range jobs {
			var ratios []float64
			if expand == "rclone" {
				continue
			}
			for i, theirs := range times["rclone "+of] {
				ratios = append(ratios, theirs/times["publish "+expand+" "+of][i])
			}
			if len(ratios) > 0 {
				r.Ratios["publish "+expand+" "+of] = spreadOf(ratios)
			}
		}
	}
	r.print()
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// ours publishes both snapshots to an empty bucket, and serves them from it.
func (b *bench) ours(ctx context.Context, expand string, times map[string][]float64, memory map[string]float64) error {
	to, err := b.bucket(ctx)
	if err != nil {
		return err
	}
	publish := func(which string) (float64, error) {
		began := time.Now()
		_, err := command(ctx, b.env(b.endpoint), b.program, "publish", "--data", filepath.Join(b.dir, which), "--to", to, "--expand", expand)
		return time.Since(began).Seconds(), err
	}
	took, err := publish("first")
	if err != nil {
		return err
	}
	add(times, "publish "+expand+" first", took)
	s, opened, err := b.serve(ctx, to)
	if err != nil {
		return err
	}
	defer s.stop()
	add(times, "open from the bucket", opened)
	before, err := s.snapshot(ctx)
	if err != nil {
		return err
	}
	seen := make(chan float64, 1)
	began := time.Now()
	go func() {
		for ctx.Err() == nil {
			if id, err := s.snapshot(ctx); err == nil && id != before {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		seen <- time.Since(began).Seconds()
	}()
	if took, err = publish("second"); err != nil {
		return err
	}
	add(times, "publish "+expand+" later", took)
	add(times, "until a reader has it, "+expand, <-seen)
	if expand == "none" {
		if err := s.walk(ctx); err != nil {
			return err
		}
		memory["resident"], memory["most"] = s.memory("VmRSS"), s.memory("VmHWM")
	}
	return nil
}

// theirs copies both trees to an empty bucket.
func (b *bench) theirs(ctx context.Context, times map[string][]float64) error {
	to, err := b.bucket(ctx)
	if err != nil {
		return err
	}
	remote := strings.Replace(to, "s3://", "bench:", 1)
	env := append(b.env(b.endpoint), "AWS_CA_BUNDLE=", "RCLONE_CONFIG="+os.DevNull, "RCLONE_CONFIG_BENCH_TYPE=s3", "RCLONE_CONFIG_BENCH_PROVIDER=Minio",
		"RCLONE_CONFIG_BENCH_ENDPOINT=http://"+b.endpoint, "RCLONE_CONFIG_BENCH_ACCESS_KEY_ID="+key, "RCLONE_CONFIG_BENCH_SECRET_ACCESS_KEY="+secret)
	for _, one := range []struct {
		name, which string
		args        []string
	}{
		{"rclone first", "first", []string{"copy", "--no-check-dest", "--s3-no-head", "--s3-no-check-bucket"}},
		{"rclone later", "second", []string{"sync", "--checksum", "--fast-list", "--s3-no-head", "--s3-no-check-bucket"}},
	} {
		args := append(one.args, "--transfers", "64", "--checkers", "64", b.tree(one.which), remote)
		began := time.Now()
		if _, err := command(ctx, env, "rclone", args...); err != nil {
			return err
		}
		add(times, one.name, time.Since(began).Seconds())
	}
	return nil
}

// count publishes both snapshots through a proxy that counts, and once more when nothing is to do.
func (b *bench) count(ctx context.Context, expand string, into map[string]traffic) error {
	to, err := b.bucket(ctx)
	if err != nil {
		return err
	}
	for _, one := range []struct{ name, which string }{{"first", "first"}, {"later", "second"}, {"nothing new", "second"}} {
		p, end, err := countingProxy(b.endpoint)
		if err != nil {
			return err
		}
		_, err = command(ctx, b.env(p.address), b.program, "publish", "--data", filepath.Join(b.dir, one.which), "--to", to, "--expand", expand)
		end()
		if err != nil {
			return err
		}
		into["publish "+expand+" "+one.name] = traffic{p.requests, p.sent.Load(), p.received.Load()}
	}
	return nil
}

// proxy passes requests on and counts them.
type proxy struct {
	address        string
	mu             sync.Mutex
	requests       map[string]int64
	sent, received atomic.Int64
}

func countingProxy(to string) (*proxy, func(), error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	p := &proxy{address: l.Addr().String(), requests: map[string]int64{}}
	pass := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: to})
			r.Out.Host = r.In.Host // it is signed
		},
		ModifyResponse: func(r *http.Response) error {
			r.Body = counted{r.Body, &p.received}
			return nil
		},
		Transport: &http.Transport{MaxIdleConnsPerHost: 128, DisableCompression: true},
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.requests[r.Method]++
		p.mu.Unlock()
		r.Body = counted{r.Body, &p.sent}
		pass.ServeHTTP(w, r)
	})}
	go server.Serve(l)
	return p, func() { server.Close() }, nil
}

type counted struct {
	io.ReadCloser
	n *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// server is a running tollbook serve.
type server struct {
	cmd  *exec.Cmd
	base string
}

// serve starts one and answers how long it took until it was ready.
func (b *bench) serve(ctx context.Context, from string) (*server, float64, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, err
	}
	address := l.Addr().String()
	l.Close()
	s := &server{cmd: exec.CommandContext(ctx, b.program, "serve", "--from", from, "--listen", address, "--rate-limit", "0"), base: "http://" + address}
	s.cmd.Env = append(os.Environ(), b.env(b.endpoint)...)
	s.cmd.Stderr = os.Stderr
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, 0, err
	}
	for {
		if _, err := s.snapshot(ctx); err == nil {
			return s, time.Since(began).Seconds(), nil
		}
		if time.Since(began) > time.Minute || ctx.Err() != nil {
			s.stop()
			return nil, 0, fmt.Errorf("serve %s is not ready", from)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// snapshot is the one that answers now.
func (s *server) snapshot(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, s.base+"/v1/stats", nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	res.Body.Close()
	if id := res.Header.Get("X-Snapshot"); res.StatusCode == http.StatusOK && id != "" {
		return id, nil
	}
	return "", fmt.Errorf("status %d", res.StatusCode)
}

// walk reads every page of the list and the records of one service in ten, as readers do who know no cache.
func (s *server) walk(ctx context.Context) error {
	var page struct {
		Data []struct{ Slug string }
		Meta struct{ Total int }
	}
	for n := 1; n == 1 || (n-1)*100 < page.Meta.Total; n++ {
		if err := s.get(ctx, fmt.Sprintf("/v1/services?per_page=100&page=%d", n), &page); err != nil {
			return err
		}
		for i := 0; i < len(page.Data); i += 10 {
			for _, path := range []string{"/v1/services/" + page.Data[i].Slug, "/v1/services/" + page.Data[i].Slug + "/checks", "/services/" + page.Data[i].Slug} {
				if err := s.get(ctx, path, nil); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *server) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: status %d", path, res.StatusCode)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(data, into)
	}
	return err
}

// memory is a figure of the process in MB.
func (s *server) memory(field string) float64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			var kb float64
			_, _ = fmt.Sscan(rest, &kb)
			return kb / 1000
		}
	}
	return 0
}

func (b *bench) startMinIO(ctx context.Context) (end func(), err error) {
	program, err := exec.LookPath("minio")
	if err != nil {
		cache, cacheErr := os.UserCacheDir()
		if cacheErr != nil {
			return nil, cacheErr
		}
		program = filepath.Join(cache, "tollbook", "bin", "minio")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b.endpoint = l.Addr().String()
	l.Close()
	cmd := exec.CommandContext(ctx, program, "server", "--quiet", "--address", b.endpoint, "--console-address", "127.0.0.1:0", filepath.Join(b.dir, "minio"))
	cmd.Env = append(os.Environ(), "MINIO_ROOT_USER="+key, "MINIO_ROOT_PASSWORD="+secret, "MINIO_BROWSER=off", "MINIO_UPDATE=off")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	if b.client, err = minio.New(b.endpoint, &minio.Options{Creds: credentials.NewStaticV4(key, secret, ""), Region: "us-east-1", MaxRetries: 1}); err != nil {
		end()
		return nil, err
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err = b.client.ListBuckets(ctx); err == nil {
			return end, nil
		}
		if time.Since(began) > time.Minute {
			end()
			return nil, fmt.Errorf("MinIO does not answer: %w", err)
		}
	}
}

// bucket makes an empty one, without what the one before held.
func (b *bench) bucket(ctx context.Context) (string, error) {
	if b.buckets > 0 {
		if err := b.client.RemoveBucketWithOptions(ctx, fmt.Sprintf("bench-%d", b.buckets), minio.RemoveBucketOptions{ForceDelete: true}); err != nil {
			return "", err
		}
	}
	b.buckets++
	name := fmt.Sprintf("bench-%d", b.buckets)
	return "s3://" + name + "/site", b.client.MakeBucket(ctx, name, minio.MakeBucketOptions{})
}

func (b *bench) tree(which string) string {
	return filepath.Join(b.dir, which, "public", "current") + "/"
}

func (b *bench) env(endpoint string) []string {
	return []string{"DATABASE_URL=" + b.dsn, "AWS_ENDPOINT_URL=http://" + endpoint, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=" + key, "AWS_SECRET_ACCESS_KEY=" + secret, "AWS_SESSION_TOKEN="}
}

func command(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "AWS_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	for _, v := range env {
		if v != "AWS_CA_BUNDLE=" { // rclone takes an empty one for a file
			cmd.Env = append(cmd.Env, v)
		}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, &out)
	}
	return out.String(), nil
}

func treeSize(dir string) (files int, size int64, err error) {
	err = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			files, size = files+1, size+info.Size()
		}
		return err
	})
	return files, size, err
}

func add(times map[string][]float64, name string, seconds float64) {
	times[name] = append(times[name], seconds)
	log.Printf("%-32s %8.3f s", name, seconds)
}

func spreadOf(list []float64) spread {
	sorted := slices.Sorted(slices.Values(list))
	return spread{sorted[0], sorted[len(sorted)/2], sorted[len(sorted)-1]}
}

func (r *report) print() {
	log.Printf("\n%d services, %.0f files, %.1f MB; %d runs on %d cores", r.Services, r.Tree["files"], r.Tree["mb"], r.Runs, r.Cores)
	for _, part := range []struct {
		unit string
		of   map[string]spread
	}{{"s", r.Seconds}, {"times rclone's speed", r.Ratios}} {
		names := make([]string, 0, len(part.of))
		for name := range part.of {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			s := part.of[name]
			log.Printf("%-32s min %8.3f  median %8.3f  max %8.3f  %s", name, s.Min, s.Median, s.Max, part.unit)
		}
	}
	names := make([]string, 0, len(r.Traffic))
	for name := range r.Traffic {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t := r.Traffic[name]
		log.Printf("%-32s %v, %.1f MB sent, %.1f MB received", name, t.Requests, float64(t.Sent)/1e6, float64(t.Received)/1e6)
	}
	log.Printf("memory of serve on the bucket: %.0f MB resident, %.0f MB at most", r.Memory["resident"], r.Memory["most"])
}
