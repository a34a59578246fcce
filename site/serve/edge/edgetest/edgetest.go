// Package edgetest runs the programs of package edge in tests: nginx with the configuration, and the Cloudflare worker
// under node. worker.mjs implements the platform's API for it.
//
// Without nginx or node a test is skipped, or fails with CI=true. The package must never know the expected responses.
package edgetest

import (
	"bufio"
	"bytes"
	_ "embed" // worker.mjs
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tollbook/site/testgate"
)

//go:embed worker.mjs
var platform []byte

// StartWorker runs a worker until the test ends and returns its address. The worker's bindings must be BUCKET and
// LIMITER. bucket is a folder, or the http URL of a bucket that everybody may read.
func StartWorker(t testing.TB, worker []byte, bucket string) (addr string) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		testgate.Missing(t, "node is missing; install Node.js 20 or newer (Debian: apt-get install nodejs)")
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"platform.mjs": platform, "worker.mjs": worker} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "platform.mjs"),
		filepath.Join(dir, "worker.mjs"), bucket)
	stderr := &bytes.Buffer{}
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it always returns an error, since node was killed
		if t.Failed() {
			t.Logf("stderr of node: %.4000s", stderr)
		}
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		_ = cmd.Wait() // before that, node may still write to stderr
		t.Fatalf("the worker did not start: %v\n%s", err, stderr)
	}
	var started struct{ Port int }
	if err := json.Unmarshal(line, &started); err != nil {
		t.Fatalf("parse the worker's first line %q: %v", line, err)
	}
	return fmt.Sprintf("127.0.0.1:%d", started.Port)
}
