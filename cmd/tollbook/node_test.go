package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tollbook/cmd/nodetest"
)

// The sellers are Node.js programs that use the real SDKs, each in a folder below testdata with server.mjs and a lock
// file. A program listens on a free port and prints it in its first line, as JSON.

// One program is a client of the Model Context Protocol, see mcp_test.go.

// nodePins lists the folders, each with the package that it tests and its version.
var nodePins = map[string][2]string{
	"testdata/sdk":              {"@x402/express", "2.27.0"},
	"testdata/peers/hono":       {"@x402/hono", "2.27.0"},
	"testdata/peers/express-v1": {"x402-express", "1.2.0"},
	"testdata/peers/mppx":       {"mppx", "0.11.0"},
	"testdata/mcp":              {"@modelcontextprotocol/sdk", "1.32.2"},
	"testdata/browser":          {"playwright-core", "1.65.1"},
}

// withoutPeers omits peer dependencies that an SDK lists but a server does not need, such as a paywall for browsers.
const withoutPeers = "--legacy-peer-deps"

// startNode runs a folder's server.mjs until the test ends, and decodes its first line into said.
func startNode(t *testing.T, folder string, said any) {
	t.Helper()
	startNodeProgram(t, folder, "server.mjs", said)
}

// startNodeProgram is startNode for any program of a folder, with arguments.
func startNodeProgram(t *testing.T, folder, name string, said any, args ...string) {
	t.Helper()
	modules := nodetest.Install(t, folder, withoutPeers)
	dir := t.TempDir()
	program, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), program, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", append([]string{name}, args...)...) // killed when the test ends
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // always reports the kill
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("%s/%s did not start: %v\n%s", folder, name, err, &stderr)
	}
	if err := json.Unmarshal(line, said); err != nil {
		t.Fatalf("%s/%s says %q: %v", folder, name, line, err)
	}
}

// TestNodeLocksNameNoRegistry checks that lock files contain versions and hashes only. The registry is each user's own
// setting.
func TestNodeLocksNameNoRegistry(t *testing.T) {
	t.Parallel()
	for folder, pin := range nodePins {
		nodetest.CheckLock(t, folder, map[string]string{pin[0]: pin[1]})
	}
}
