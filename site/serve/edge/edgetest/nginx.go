package edgetest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tollbook/site/testgate"
)

// StartNginx runs nginx until the test ends, with the configuration that config returns for a loopback address. It adds
// the lines of more to the context http.
func StartNginx(t testing.TB, more string, config func(listen string) ([]byte, error)) (addr string) {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			testgate.Missing(t,
				"nginx is missing; install it (Debian: apt-get install nginx-light; macOS: brew install nginx)")
		}
	}
	for { // nginx itself opens the port, which another program may have taken by then
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr = l.Addr().String()
		l.Close()
		text, err := config(addr)
		if err != nil {
			t.Fatal(err)
		}
		if stderr, ok := startNginx(t, program, more, text); ok {
			return addr
		} else if !strings.Contains(stderr, "Address already in use") {
			t.Fatalf("nginx did not start:\n%s", stderr)
		}
	}
}

// startNginx waits until nginx listens or ends. If it ended, ok is false and output contains its error messages.
func startNginx(t testing.TB, program, more string, config []byte) (output string, ok bool) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tollbook.conf"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	var temp strings.Builder
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&temp, "%s_temp_path %s;\n", kind, filepath.Join(dir, kind))
	}
	pid := filepath.Join(dir, "pid")
	// A single process runs as the test's user, so it may read the files that the test wrote.
	whole := fmt.Sprintf("daemon off;\nmaster_process off;\npid %s;\nerror_log stderr warn;\nevents {}\n"+
		"http {\naccess_log off;\n%s%s\ninclude tollbook.conf;\n}\n", pid, &temp, more)
	main := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(main, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-p", dir, "-c", main, "-e", "stderr")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // stderr says why it ended
		close(ended)
	}()
	for {
		if _, err := os.Stat(pid); err == nil { // nginx writes it once it listens
			break
		}
		select {
		case <-ended:
			return stderr.String(), false
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("stderr of nginx: %.4000s", &stderr)
		}
	})
	return "", true
}
