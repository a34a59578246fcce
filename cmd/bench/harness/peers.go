package harness

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Folder creates a temporary folder, in memory if possible, because a disk would dominate the result. The caller
// removes it.
func Folder() (string, error) {
	memory := "/dev/shm"
	if info, err := os.Stat(memory); err != nil || !info.IsDir() {
		memory = ""
	}
	return os.MkdirTemp(memory, "tollbook-bench-")
}

// Peer is a program that a bench needs, and the Debian package that contains it.
type Peer struct{ Program, Package string }

// Install installs the missing peers.
func Install(ctx context.Context, peers ...Peer) error {
	args := []string{"install", "-y", "--no-install-recommends"}
	for _, p := range peers {
		if _, err := exec.LookPath(p.Program); err != nil {
			args = append(args, p.Package)
		}
	}
	if len(args) == 3 {
		return nil
	}
	cmd := exec.CommandContext(ctx, "apt-get", args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("apt-get %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// GoInstall returns the path of a program of a Go module at a version: "example.org/program@v1.2.3". It compiles the
// program into the user's cache if that version is missing.
func GoInstall(ctx context.Context, module string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	name, version, _ := strings.Cut(module, "@")
	dir := filepath.Join(cache, "tollbook", "bin") // where tests look for such programs
	program := filepath.Join(dir, filepath.Base(name))
	if info, err := buildinfo.ReadFile(program); err == nil && info.Main.Version == version {
		return program, nil
	}
	log.Printf("compiling %s, once", module)
	return program, Run(ctx, []string{"GOBIN=" + dir, "GOFLAGS="}, "go", "install", module)
}
