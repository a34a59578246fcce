package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/cmd/bench/crowd"
	"tollbook/site/postgres"
	"tollbook/site/postgres/private"
)

// program returns a process that gets SIGTERM when the bench ends, so that a server such as nginx can stop its workers.
// Its environment is ours plus env, without variables that name a bucket or configure tollbook.
func (b *bench) program(env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(b.ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "AWS_") && !strings.HasPrefix(v, "TOLLBOOK_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// peerFile returns the path of a file in the folder peers.
func peerFile(name string) string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "peers", name)
}

// peer returns a process of one of the scripts in the folder peers. The script installs the program if it is missing,
// and replaces itself by the program.
func (b *bench) peer(env []string, script string, args ...string) *exec.Cmd {
	return b.program(env, "sh", append([]string{peerFile(script)}, args...)...)
}

// role returns a process that runs a part of a bench. Its log is shown.
func (b *bench) role(name string, args any) *exec.Cmd {
	cmd := b.program(nil, must(os.Executable()), "role", name, string(must(json.Marshal(args))))
	cmd.Stderr = os.Stderr
	return cmd
}

// serveRole starts a role that prints a line of JSON and then serves until its stdin closes. It returns its process.
func (b *bench) serveRole(name string, args, line any) int {
	cmd := b.role(name, args)
	in, out := must(cmd.StdinPipe()), must(cmd.StdoutPipe())
	check(cmd.Start())
	b.atEnd(func() {
		in.Close()
		_ = cmd.Wait()
	})
	check(json.Unmarshal(must(bufio.NewReader(out).ReadBytes('\n')), line))
	return cmd.Process.Pid
}

// serveUntilEnd prints a line of JSON and serves until the parent of a role ends.
func serveUntilEnd(line any, serve func() error) {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	check(json.NewEncoder(os.Stdout).Encode(line))
	check(serve())
}

// run runs a process to its end and returns what it wrote to stdout, and how long it took. The error contains what it
// wrote to stderr.
func (b *bench) run(cmd *exec.Cmd) (out []byte, seconds float64) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout = &stdout
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	began := time.Now()
	if err := cmd.Run(); err != nil {
		said := stderr.Bytes()
		failf("%s %s: %w\n%s", filepath.Base(cmd.Path), strings.Join(cmd.Args[1:], " "), err,
			said[max(0, len(said)-5000):])
	}
	return stdout.Bytes(), time.Since(began).Seconds()
}

// used returns the processor time of a process that has ended, in seconds.
func used(cmd *exec.Cmd) float64 {
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
}

// startProfile writes a CPU profile to a file until stop is called. It does nothing if name is empty.
func startProfile(name string) (stop func()) {
	if name == "" {
		return func() {}
	}
	f := must(os.Create(name))
	check(pprof.StartCPUProfile(f))
	return func() {
		pprof.StopCPUProfile()
		check(f.Close())
	}
}

// selfCPU returns the processor time of this process in seconds, without its children.
func selfCPU() float64 {
	var u syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// cpuOf returns the processor time of a process and its children in seconds.
func cpuOf(pid int) (seconds float64) {
	children := must(os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid)))
	for i, id := range append([]string{strconv.Itoa(pid)}, strings.Fields(string(children))...) {
		stat, err := os.ReadFile("/proc/" + id + "/stat")
		if err != nil && i > 0 {
			continue // the child has ended meanwhile
		}
		check(err)
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])) // a name may contain any byte
		last := 13                                                                          // utime and stime
		if i == 0 {
			last = 15 // with those of children that have ended
		}
		for _, ticks := range fields[11:last] {
			seconds += must(strconv.ParseFloat(ticks, 64)) / 100
		}
	}
	return seconds
}

// maxMemory returns the maximum resident memory of a process in MB.
func maxMemory(pid int) (mb float64) {
	_, rest, _ := strings.Cut(string(must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))), "VmHWM:")
	if _, err := fmt.Sscan(rest, &mb); err != nil {
		failf("read VmHWM of process %d: %w", pid, err)
	}
	return mb * 1024 / 1e6
}

// freeAddress returns an address on loopback that no server uses.
func freeAddress() string {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	return l.Addr().String()
}

// server is a process that answers on an address of loopback until the bench ends.
type server struct {
	cmd     *exec.Cmd
	address string // host:port
}

// start starts a server and waits until it answers GET path with any response.
func (b *bench) start(cmd *exec.Cmd, address, path string) *server {
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	check(cmd.Start())
	s := &server{cmd, address}
	b.atEnd(s.end)
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		response, err := get(b.ctx, "http://"+address+path)
		if err == nil {
			response.Body.Close()
			return s
		}
		if time.Since(began) > time.Minute || b.ctx.Err() != nil {
			failf("%s does not answer: %w", strings.Join(cmd.Args, " "), err)
		}
	}
}

// end stops the server if it is running.
func (s *server) end() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
	}
}

// command returns the path of the tollbook command, which it compiles.
func (b *bench) command() string {
	if b.tollbook == "" {
		b.tollbook = b.path("tollbook")
		b.run(b.program(nil, "go", "build", "-o", b.tollbook, "./cmd/tollbook"))
	}
	return b.tollbook
}

// serve starts tollbook serve on a place, without its rate limit, because there is only one client.
func (b *bench) serve(env []string, from string) *server {
	address := freeAddress()
	return b.start(b.program(env, b.command(), "serve", "--from", from, "--serve-listen", address, "--serve-rate-limit",
		"0", "--serve-metrics", "127.0.0.1:0"), address, "/readyz")
}

// build runs tollbook build into the folder "data".
func (b *bench) build(d *database, more ...string) {
	b.run(b.program([]string{"DATABASE_URL=" + d.DSN()}, b.command(), append([]string{"build", "--site-base-url",
		"https://tollbook.example", "--data", b.path("data")}, more...)...))
}

// client sets Accept-Encoding itself, so that it gets the bytes as they were sent.
var client = &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16}}

// get requests a URL. Without an error it has an answer of any status.
func get(ctx context.Context, url string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept-Encoding", "gzip")
	return client.Do(r)
}

// read returns a response with status 200 and its body, as it was sent.
func (b *bench) read(url string) ([]byte, *http.Response) {
	response := must(get(b.ctx, url))
	defer response.Body.Close()
	data := must(io.ReadAll(response.Body))
	if response.StatusCode != http.StatusOK {
		failf("GET %s: status %d", url, response.StatusCode)
	}
	return data, response
}

// gunzip returns the content of compressed data.
func gunzip(data io.Reader) []byte { return must(io.ReadAll(must(gzip.NewReader(data)))) }

// database is a private Postgres server, which the bench stops at its end.
type database struct {
	*private.Server
	ctx        context.Context
	postmaster int
}

// postgres starts a server in a folder. One that is a throwaway does not sync to disk.
func (b *bench) postgres(dir string, throwaway bool) *database {
	s := must(private.Start(b.ctx, private.Options{Dir: dir, Throwaway: throwaway}))
	b.atEnd(func() {
		_ = s.Stop(context.Background())
		_ = os.RemoveAll(dir)
	})
	first, _, _ := strings.Cut(string(must(os.ReadFile(filepath.Join(dir, "data", "postmaster.pid")))), "\n")
	return &database{Server: s, ctx: b.ctx, postmaster: must(strconv.Atoi(first))}
}

// crowd starts a server and fills it with a generated directory whose history ends at a moment.
func (b *bench) crowd(dir string, services int, moment time.Time) *database {
	d := b.postgres(dir, true)
	log.Printf("generating %d services …", services)
	d.with(d.DSN(), func(db *postgres.DB) {
		must(crowd.Load(b.ctx, db, crowd.Options{Services: services, Moment: moment, Days: 90, Seed: 1}))
	})
	return d
}

// with opens a database for f.
func (d *database) with(dsn string, f func(*postgres.DB)) {
	db := must(postgres.OpenFor(d.ctx, dsn, postgres.Options{Connections: crowd.Connections()}))
	defer db.Close()
	f(db)
}

// visit records visits to one service in fifteen.
func (d *database) visit(services, round int, now time.Time) {
	d.with(d.DSN(), func(db *postgres.DB) { must(crowd.Visit(d.ctx, db, services, round, now)) })
}

// cpu returns the processor time of the server and its connections so far, in seconds.
func (d *database) cpu() float64 { return cpuOf(d.postmaster) }

// execute executes statements in a database, each on its own.
func (d *database) execute(name string, statements ...string) {
	conn := must(pgx.Connect(d.ctx, d.DSNFor(name)))
	defer conn.Close(context.WithoutCancel(d.ctx))
	for _, s := range statements {
		if _, err := conn.Exec(d.ctx, s); err != nil {
			failf("%s: %w", s, err)
		}
	}
}

// text returns the only value of the only row of a query as a text.
func (d *database) text(name, query string) (value string) {
	conn := must(pgx.Connect(d.ctx, d.DSNFor(name)))
	defer conn.Close(context.WithoutCancel(d.ctx))
	if err := conn.QueryRow(d.ctx, query).Scan(&value); err != nil {
		failf("%s: %w", query, err)
	}
	return value
}

// create creates a database, as a copy of a template if one is named. It replaces an older one.
func (d *database) create(name, template string) {
	statement := "CREATE DATABASE " + name
	if template != "" {
		statement += " TEMPLATE " + template
	}
	d.execute("postgres", "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)", statement, "CHECKPOINT")
}
