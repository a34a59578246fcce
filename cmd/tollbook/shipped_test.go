package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
)

// shipped lets the program run as it is shipped, without the race detector, under which a demo takes five times as
// long. It is for tests of what processes do to each other and to their surroundings; what goroutines do to each other
// is seen where the same commands run by the test binary.
func (p *program) shipped(t *testing.T) *program {
	t.Helper()
	path, err := shippedProgram()
	if err != nil {
		t.Fatal(err)
	}
	p.Path, p.Args[0] = path, path
	return p
}

// shippedProgram is its file: the test binary where that has no race detector, else built once.
var shippedProgram = sync.OnceValues(func() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the test binary: %w", err)
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || !slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return self, nil
	}
	if shippedFolder, err = os.MkdirTemp("", "tollbook-shipped-"); err != nil {
		return "", err
	}
	path := filepath.Join(shippedFolder, "tollbook")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path,
		"tollbook/cmd/tollbook").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

var shippedFolder string // "" while nothing was built

// removeShipped is for TestMain, when all tests are over.
func removeShipped() error { return os.RemoveAll(shippedFolder) }
