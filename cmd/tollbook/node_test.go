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

// Sellers made of the real SDKs are Node.js programs, each in a folder below testdata: server.mjs, and a lock of what
// it needs. A program listens on a port of its own choice and says so in its first line, as JSON.

// One program is a client: of the Model Context Protocol, see mcp_test.go.

// nodePins are the folders, each with the package that it is about and its version.
var nodePins = map[string][2]string{
	"testdata/sdk":              {"@x402/express", "2.27.0"},
	"testdata/peers/hono":       {"@x402/hono", "2.27.0"},
	"testdata/peers/express-v1": {"x402-express", "1.2.0"},
	"testdata/peers/mppx":       {"mppx", "0.11.0"},
	"testdata/mcp":              {"@modelcontextprotocol/sdk", "1.32.2"},
	"testdata/browser":          {"playwright-core", "1.65.1"},
}

// withoutPeers leaves out peers that an SDK names but a server does not need: a paywall for browsers.
const withoutPeers = "--legacy-peer-deps"

// startNode runs a folder's server.mjs until the test ends, and reads its first line into said.
func startNode(t *testing.T, folder string, said any) {
	t.Helper()
	modules := nodetest.Install(t, folder, withoutPeers)
	dir := t.TempDir()
	program, err := os.ReadFile(filepath.Join(folder, "server.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "server.mjs"), program, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "server.mjs") // killed when the test ends
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
	t.Cleanup(func() { _ = cmd.Wait() }) // its error is that it was killed
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("%s did not start: %v\n%s", folder, err, &stderr)
	}
	if err := json.Unmarshal(line, said); err != nil {
		t.Fatalf("%s says %q: %v", folder, line, err)
	}
}

// TestNodeLocksNameNoRegistry: a lock holds versions and hashes; where packages come from is everybody's own setting.
func TestNodeLocksNameNoRegistry(t *testing.T) {
	t.Parallel()
	for folder, pin := range nodePins {
		nodetest.CheckLock(t, folder, map[string]string{pin[0]: pin[1]})
	}
}
