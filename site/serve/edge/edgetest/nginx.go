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

// StartNginx runs what config makes for an address of loopback until the test ends, with more lines in the context
// http.
func StartNginx(t testing.TB, more string, config func(listen string) ([]byte, error)) (addr string) {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			testgate.Missing(t,
				"nginx is missing; install it (Debian: apt-get install nginx-light; macOS: brew install nginx)")
		}
	}
	for { // nginx binds by itself, and another program may have been faster at a port that was free
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr = l.Addr().String()
		l.Close()
		made, err := config(addr)
		if err != nil {
			t.Fatal(err)
		}
		if said, ok := startNginx(t, program, more, made); ok {
			return addr
		} else if !strings.Contains(said, "Address already in use") {
			t.Fatalf("nginx did not start:\n%s", said)
		}
	}
}

// startNginx answers when nginx is bound to its address, or has ended.
func startNginx(t testing.TB, program, more string, config []byte) (said string, ok bool) {
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
	// One process, which is whoever runs the test: it may read what the test wrote.
	whole := fmt.Sprintf(
		"daemon off;\nmaster_process off;\npid %s;\nerror_log stderr warn;\nevents {}\nhttp {\naccess_log off;\n%s%s\ninclude tollbook.conf;\n}\n", pid, &temp, more)
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
		_ = cmd.Wait() // what it says tells more
		close(ended)
	}()
	for {
		if _, err := os.Stat(pid); err == nil { // written when it is bound
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
			t.Logf("nginx says: %.4000s", &stderr)
		}
	})
	return "", true
}
