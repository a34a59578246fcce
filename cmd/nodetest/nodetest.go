// Package nodetest installs programs and libraries of npm for tests, from a folder with package.json and
// package-lock.json, once, into the user's cache: nothing is installed into the repository.
//
// Where Node.js or the way to the registry is missing a test is skipped, or under CI=true fails. It knows nothing of
// what is installed.
package nodetest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tollbook/site/testgate"
)

// Install installs what a folder's package-lock.json pins and gives the folder of modules. Scripts of packages do not
// run. The test is one of those that testgate.All skips.
func Install(t testing.TB, folder string, more ...string) (modules string) {
	t.Helper()
	testgate.All(t)
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			testgate.Missing(t, "%s is missing; install Node.js 20 or newer with npm (Debian: apt-get install "+
				"nodejs npm; macOS: brew install node)", program)
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
	cmd := exec.CommandContext(t.Context(), "npm",
		append([]string{"ci", "--ignore-scripts", "--no-audit", "--no-fund"}, more...)...)
	cmd.Dir = building
	if out, err := cmd.CombinedOutput(); err != nil {
		testgate.Missing(t, "npm ci could not install %s (%v); it needs a way to the npm registry once:\n%s", folder,
			err, out)
	}
	if err := os.Rename(building, final); err != nil {
		if _, there := os.Stat(modules); there != nil { // else another test process was faster
			t.Fatal(err)
		}
	}
	return modules
}

// CheckLock fails unless a folder's lock pins these versions by hashes, and names no registry: where packages come from
// is everybody's own setting.
func CheckLock(t testing.TB, folder string, pins map[string]string) {
	t.Helper()
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
	for name, want := range pins {
		if got := lock.Packages["node_modules/"+name].Version; got != want {
			t.Errorf("%s pins %s %q, want %s", folder, name, got, want)
		}
	}
	for name, p := range lock.Packages {
		if p.Resolved != "" || name != "" && p.Integrity == "" {
			t.Errorf("%s: %s: resolved %q, integrity %q; want no address and a hash", folder, name, p.Resolved,
				p.Integrity)
		}
	}
}
