package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/cmd/bench/crowd"
	"tollbook/site/postgres"
	"tollbook/site/postgres/private"
)

// temporary creates a temporary folder, in memory if possible, because a disk would dominate the result. The caller
// removes it.
func temporary() (string, error) {
	memory := "/dev/shm"
	if info, err := os.Stat(memory); err != nil || !info.IsDir() {
		memory = ""
	}
	return os.MkdirTemp(memory, "tollbook-bench-")
}

// program returns a process that gets SIGTERM when its context ends, so that a server such as nginx can stop its
// workers. Its environment is ours plus env, without variables that name a bucket or configure tollbook.
func program(ctx context.Context, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
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
func peer(ctx context.Context, env []string, script string, args ...string) *exec.Cmd {
	return program(ctx, env, "sh", append([]string{peerFile(script)}, args...)...)
}

// install runs a script of the folder peers that only installs its program.
func install(ctx context.Context, scripts ...string) error {
	for _, script := range scripts {
		cmd := peer(ctx, nil, script, "install")
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("install by cmd/bench/peers/%s: %w", script, err)
		}
	}
	return nil
}

// role returns a process that runs a part of a bench, whose memory and processor time are measured alone. Its log is
// shown.
func role(ctx context.Context, env []string, name string, args any) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	cmd := program(ctx, env, self, "role", name, string(text))
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// run runs a process to its end and returns what it wrote to stdout, and how long it took. The error contains what it
// wrote to stderr.
func run(cmd *exec.Cmd) (out []byte, seconds float64, err error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout = &stdout
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	began := time.Now()
	if err := cmd.Run(); err != nil {
		said := stderr.Bytes()
		return nil, 0, fmt.Errorf("%s %s: %w\n%s", filepath.Base(cmd.Path), strings.Join(cmd.Args[1:], " "), err,
			said[max(0, len(said)-5000):])
	}
	return stdout.Bytes(), time.Since(began).Seconds(), nil
}

// used returns the processor time of a process that has ended, in seconds, and its maximum memory in MB.
func used(cmd *exec.Cmd) (seconds, peak float64) {
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		peak = float64(usage.Maxrss) * 1024 / 1e6
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), peak
}

// buildTollbook compiles the tollbook command into a folder and returns its path.
func buildTollbook(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "tollbook")
	_, _, err := run(program(ctx, nil, "go", "build", "-o", path, "./cmd/tollbook"))
	return path, err
}

// profile writes a CPU profile to a file until stop is called. It does nothing if name is empty.
func profile(name string) (stop func(), err error) {
	if name == "" {
		return func() {}, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}

// freeAddress returns an address on loopback that no server uses.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// server is a process that answers on an address of loopback.
type server struct {
	cmd     *exec.Cmd
	address string // host:port
}

// startServer starts a process and waits until it answers GET path with any response, which took so many seconds.
func startServer(ctx context.Context, cmd *exec.Cmd, address, path string) (*server, float64, error) {
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	s := &server{cmd, address}
	for {
		response, err := get(ctx, "http://"+address+path)
		if err == nil {
			response.Body.Close()
			return s, time.Since(began).Seconds(), nil
		}
		if time.Since(began) > time.Minute || ctx.Err() != nil {
			s.end()
			return nil, 0, fmt.Errorf("%s does not answer: %w", strings.Join(cmd.Args, " "), err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// end stops the server if it is running.
func (s *server) end() {
	if s != nil && s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
	}
}

// startServe starts tollbook serve on a place, without its rate limit, because there is only one client. It is ready
// after so many seconds.
func startServe(ctx context.Context, env []string, tollbook, from string, more ...string) (*server, float64, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, 0, err
	}
	return startServer(ctx, program(ctx, env, tollbook, append([]string{"serve", "--from", from, "--serve-listen",
		address, "--serve-rate-limit", "0"}, more...)...), address, "/readyz")
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

// readBody returns the body of a response with status 200, as it was sent.
func readBody(ctx context.Context, url string) ([]byte, *http.Response, error) {
	response, err := get(ctx, url)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: status %d", url, response.StatusCode)
	}
	return data, response, err
}

// plain returns the unpacked body of a response with status 200.
func (s *server) plain(ctx context.Context, path string) ([]byte, error) {
	data, response, err := readBody(ctx, "http://"+s.address+path)
	if err != nil || response.Header.Get("Content-Encoding") != "gzip" {
		return data, err
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// database is a private Postgres server.
type database struct {
	*private.Server
	dir        string
	postmaster int
}

// startPostgres starts a server in a folder. One that is a throwaway does not sync to disk.
func startPostgres(ctx context.Context, dir string, throwaway bool, settings ...string) (*database, error) {
	s, err := private.Start(ctx, private.Options{Dir: dir, Throwaway: throwaway, Settings: settings})
	if err != nil {
		return nil, err
	}
	d := &database{Server: s, dir: dir}
	if d.postmaster, err = postmaster(dir); err != nil {
		d.end()
		return nil, err
	}
	return d, nil
}

// end stops the server and removes its folder.
func (d *database) end() {
	_ = d.Stop(context.Background())
	_ = os.RemoveAll(d.dir)
}

// cpu returns the processor time of the server and its connections so far, in seconds; 0 if it cannot be read.
func (d *database) cpu() float64 {
	seconds, _ := cpuOf(d.postmaster)
	return seconds
}

// on runs f with a connection to a database.
func (d *database) on(ctx context.Context, name string, f func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, d.DSNFor(name))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return f(conn)
}

// execute executes statements, each on its own.
func (d *database) execute(ctx context.Context, name string, statements ...string) error {
	return d.on(ctx, name, func(conn *pgx.Conn) error {
		for _, s := range statements {
			if _, err := conn.Exec(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	})
}

// create creates a database, as a copy of a template if one is named. It replaces an older one.
func (d *database) create(ctx context.Context, name, template string) error {
	statement := "CREATE DATABASE " + name
	if template != "" {
		statement += " TEMPLATE " + template
	}
	return d.execute(ctx, "postgres", "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)", statement, "CHECKPOINT")
}

// fill fills the server's database with a generated directory.
func (d *database) fill(ctx context.Context, o crowd.Options) (crowd.Report, error) {
	db, err := postgres.OpenFor(ctx, d.DSN(), postgres.Options{Connections: crowd.Connections()})
	if err != nil {
		return crowd.Report{}, err
	}
	defer db.Close()
	o.Seed = 1
	return crowd.Load(ctx, db, o)
}
