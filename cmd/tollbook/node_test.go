package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Sellers made of the real SDKs are Node.js programs, each in a folder below testdata: server.mjs, and a lock of what it
// needs. A program listens on a port of its own choice and says so in its first line, as JSON.

// One program is a client: of the Model Context Protocol, see mcp_test.go.

// nodePins are the folders, each with the package that it is about and its version.
var nodePins = map[string][2]string{
	"testdata/sdk":              {"@x402/express", "2.27.0"},
	"testdata/peers/hono":       {"@x402/hono", "2.27.0"},
	"testdata/peers/express-v1": {"x402-express", "1.2.0"},
	"testdata/peers/mppx":       {"mppx", "0.11.0"},
	"testdata/mcp":              {"@modelcontextprotocol/sdk", "1.32.2"},
}

// startNode runs a folder's server.mjs until the test ends, and reads its first line into said.
func startNode(t *testing.T, folder string, said any) {
	t.Helper()
	modules := installNode(t, folder)
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

// installNode installs what a folder's package-lock.json pins, once, into the user's cache, and gives the folder of
// modules. Nothing is installed into the repository.
func installNode(t *testing.T, folder string) (modules string) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, "%s is missing; install Node.js 20 or newer with npm (Debian: apt-get install nodejs npm; macOS: brew install node)", program)
		}
	}
	hash := sha256.New()
	files := map[string][]byte{}
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = data
		hash.Write(data)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	cache = filepath.Join(cache, "tollbook-test")
	final := filepath.Join(cache, filepath.Base(folder)+"-"+hex.EncodeToString(hash.Sum(nil)[:8]))
	modules = filepath.Join(final, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	building, err := os.MkdirTemp(cache, "install-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(building) // nothing is left of it when it was renamed
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(building, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Peers that an SDK names but a server does not need (a paywall for browsers) are left out.
	cmd := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund")
	cmd.Dir = building
	if out, err := cmd.CombinedOutput(); err != nil {
		missing(t, "npm ci could not install %s (%v); it needs a way to the npm registry once:\n%s", folder, err, out)
	}
	if err := os.Rename(building, final); err != nil {
		if _, there := os.Stat(modules); there != nil { // else another test process was faster
			t.Fatal(err)
		}
	}
	return modules
}

// missing skips a test whose component is not there, and under CI=true fails it.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// TestNodeLocksNameNoRegistry: a lock holds versions and hashes; where packages come from is everybody's own setting.
func TestNodeLocksNameNoRegistry(t *testing.T) {
	t.Parallel()
	for folder, pin := range nodePins {
		data, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
		if err != nil {
			t.Fatal(err)
		}
		var lock struct {
			Packages map[string]struct{ Version, Resolved, Integrity string }
		}
		if err := json.Unmarshal(data, &lock); err != nil {
			t.Fatal(err)
		}
		if got := lock.Packages["node_modules/"+pin[0]].Version; got != pin[1] {
			t.Errorf("%s pins %s %q, want %s", folder, pin[0], got, pin[1])
		}
		for name, p := range lock.Packages {
			if p.Resolved != "" || name != "" && p.Integrity == "" {
				t.Errorf("%s: %s: resolved %q, integrity %q; want no address and a hash", folder, name, p.Resolved, p.Integrity)
			}
		}
	}
}
