// Package edgetest runs other servers with the rules that are printed for them, for tests: nginx, and the Cloudflare
// worker under node, where the platform's API stands in worker.mjs, once.
//
// A test without nginx or node is skipped, or under CI=true fails. It knows nothing of what they answer.
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

// StartWorker runs a printed worker, whose bindings are BUCKET and LIMITER, until the test ends. Its bucket is a
// folder, or the http address of a bucket that everybody may read. The worker answers on the address that is returned.
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
		_ = cmd.Wait() // its error is that it was killed
		if t.Failed() {
			t.Logf("node says: %.4000s", stderr)
		}
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		_ = cmd.Wait() // else stderr may still be written
		t.Fatalf("the worker did not start: %v\n%s", err, stderr)
	}
	var said struct{ Port int }
	if err := json.Unmarshal(line, &said); err != nil {
		t.Fatalf("it says %q: %v", line, err)
	}
	return fmt.Sprintf("127.0.0.1:%d", said.Port)
}
