package read

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"time"

	"tollbook/cmd/bench/harness"
	"tollbook/cmd/bench/usage"
)

// server is a process that answers readers.
type server struct {
	cmd     *exec.Cmd
	address string // host:port
}

var serving = regexp.MustCompile(`on http://([0-9.:]+)/`)

// startServe starts tollbook serve without its rate limit, because there is only one client.
func (b *bench) startServe(ctx context.Context) (*server, error) {
	cmd := harness.Program(ctx, nil, b.program, "serve", "--from", b.public, "--serve-listen", "127.0.0.1:0",
		"--serve-rate-limit",
		"0", "--serve-metrics", "127.0.0.1:0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd}
	line, err := bufio.NewReader(out).ReadString('\n')
	if m := serving.FindStringSubmatch(line); m != nil {
		s.address = m[1]
		return s, nil
	}
	s.end()
	return nil, fmt.Errorf("tollbook serve said %q: %w", line, err)
}

// nginxConf configures nginx for a tree of compressed files: as many workers as cores, no log, a cache of open files,
// and persistent connections.
const nginxConf = `%s
worker_processes %d;
daemon off;
pid nginx.pid;
error_log stderr error;
events { worker_connections 4096; }
http {
	access_log off;
	sendfile on;
	tcp_nopush on;
	tcp_nodelay on;
	keepalive_timeout 120s;
	keepalive_requests 1000000000;
	open_file_cache max=10000 inactive=10m;
	open_file_cache_valid 10m;
	open_file_cache_min_uses 1;
	gzip_static always;
	gzip_vary on;
	types { application/json json; text/html html; }
	client_body_temp_path body;
	proxy_temp_path proxy;
	fastcgi_temp_path fastcgi;
	uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
	server {
		listen %s;
		root "%s";
	}
}
`

// startNginx starts the peer with the expanded files.
func (b *bench) startNginx(ctx context.Context) (*server, error) {
	tree, err := filepath.EvalSymlinks(filepath.Join(b.public, "current"))
	if err != nil {
		return nil, err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.Addr().String()
	free.Close()
	user := ""
	if os.Getuid() == 0 {
		user = "user root;" // the account that runs the bench may read the files
	}
	conf := filepath.Join(b.dir, "nginx.conf")
	text := fmt.Sprintf(nginxConf, user, runtime.GOMAXPROCS(0), address, tree)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return nil, err
	}
	cmd := harness.Program(ctx, nil, "nginx", "-p", b.dir, "-c", conf)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, address: address}
	if err := s.await(ctx); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// await waits until the server answers any request.
func (s *server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		resp, err := request(ctx, "http://"+s.address+"/")
		if err == nil {
			return resp.Body.Close()
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s does not answer: %w", s.cmd.Path, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// end stops the server if it is running.
func (s *server) end() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
	}
}

// client sets Accept-Encoding itself, so that it gets the bytes as they were sent.
var client = &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16}}

func request(ctx context.Context, url string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept-Encoding", "gzip")
	return client.Do(r)
}

// cpu returns the seconds of processor time of the server and its workers.
func (s *server) cpu() (float64, error) { return usage.CPU(s.cmd.Process.Pid) }

// maxMemory returns the maximum resident memory of the server, in MB.
func (s *server) maxMemory() (float64, error) { return usage.Memory(s.cmd.Process.Pid, "VmHWM") }
