package harness

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"
)

// stopTimeout is the time that a process may take to end after its context is done.
const stopTimeout = 10 * time.Second

// Program returns a process that gets SIGTERM when its context ends, so that a server such as nginx can stop its
// workers. Its environment is ours plus env, without variables that name a bucket or configure tollbook.
func Program(ctx context.Context, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "AWS_") && !strings.HasPrefix(v, "TOLLBOOK_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// Role returns a process that runs the same sub-command with other flags: a part of the bench whose memory and
// processor time are measured alone. Its log is shown.
func Role(ctx context.Context, env []string, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := Program(ctx, env, self, append([]string{os.Args[1]}, args...)...)
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// Run runs a program to its end. Its error contains the program's output.
func Run(ctx context.Context, env []string, name string, args ...string) error {
	cmd := Program(ctx, env, name, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, &out)
	}
	return nil
}

// BuildTollbook compiles the tollbook command into a folder and returns its path.
func BuildTollbook(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "tollbook")
	return program, Run(ctx, nil, "go", "build", "-o", program, "./cmd/tollbook")
}

// Profile writes a CPU profile to a file until stop is called. It does nothing if name is empty.
func Profile(name string) (stop func(), err error) {
	if name == "" {
		return func() {}, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}
