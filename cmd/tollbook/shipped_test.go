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

// shipped runs the program as it is shipped, without the race detector, which makes a demo five times slower. Use it
// for tests of processes and their environment. Other tests run the same commands in the test binary, and find races
// between goroutines.
func (p *program) shipped(t *testing.T) *program {
	t.Helper()
	path, err := shippedProgram()
	if err != nil {
		t.Fatal(err)
	}
	p.Path, p.Args[0] = path, path
	return p
}

// shippedProgram returns the program's file. It is the test binary if that has no race detector; otherwise it is built
// once.
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

var shippedFolder string // "" until a program is built

// removeShipped deletes the folder. TestMain calls it after all tests.
func removeShipped() error { return os.RemoveAll(shippedFolder) }
