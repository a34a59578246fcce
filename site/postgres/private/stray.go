//go:build unix

package private

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stray is a process of a cluster that this program did not start, or does not wait for.
type stray struct {
	pid        int
	name       string // of its program: postgres, pg_ctl or initdb
	postmaster bool   // the server itself, not one of its children
}

// clusterName returns the name of a cluster in the arguments of its processes: the device and inode of its folder.
// Root in many containers can't see in which folder a process works, and knows the cluster by this name.
func clusterName(data string) (string, error) {
	st, err := os.Stat(data)
	if err != nil {
		return "", fmt.Errorf("name the cluster: %w", err)
	}
	folder := st.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("tollbook-%x-%x.", folder.Dev, folder.Ino), nil
}

// stateStopping is the state of a server that accepts no new connections, in its pid file.
const stateStopping = "stopping"

// server returns the server's process and state, 0 if none runs. The state is "" before the server has written it.
func (p *place) server() (pid int, state string) {
	if pid, state := pidFile(p.data); p.isServer(pid) {
		return pid, state
	}
	for _, s := range findStrays(p.data) {
		if s.postmaster {
			return s.pid, ""
		}
	}
	return 0, ""
}

// isStarting reports whether the pg_ctl of a killed program is about to start the server.
func (p *place) isStarting() bool {
	for _, s := range findStrays(p.data) {
		if s.name == "pg_ctl" {
			_ = syscall.Kill(s.pid, syscall.SIGCONT)
			return true
		}
	}
	return false
}

// resume lets processes of the cluster go on that were stopped. Nobody but this program uses them.
func (p *place) resume() {
	for _, s := range findStrays(p.data) {
		_ = syscall.Kill(s.pid, syscall.SIGCONT)
	}
}

// endStrays ends the server that runs in the cluster data, if there is one, and waits until it and its children have
// ended. This program has entered the place, and nobody else uses the server.
func endStrays(ctx context.Context, data string) error {
	steps := []struct {
		signal syscall.Signal
		wait   time.Duration
	}{
		{syscall.SIGINT, 10 * time.Second}, // a fast shutdown
		{syscall.SIGQUIT, 7 * time.Second}, // an immediate shutdown; the next start recovers
		{syscall.SIGKILL, 10 * time.Second},
	}
	for _, step := range steps {
		strays := findStrays(data)
		if len(strays) == 0 {
			return nil
		}
		signalStrays(strays, step.signal)
		if err := awaitNoStrays(ctx, data, step.wait); err == nil {
			return nil
		} else if ctx.Err() != nil {
			return err
		}
	}
	if strays := findStrays(data); len(strays) > 0 {
		return fmt.Errorf("process %d does not end", strays[0].pid)
	}
	return nil
}

// signalStrays signals the server, which ends its children. It signals the children only if their server has ended.
func signalStrays(strays []stray, sig syscall.Signal) {
	led := false
	for _, s := range strays {
		led = led || s.postmaster
	}
	if !led && sig == syscall.SIGINT {
		sig = syscall.SIGQUIT // SIGINT only cancels the query of a backend
	}
	for _, s := range strays {
		if s.postmaster || !led || sig == syscall.SIGKILL {
			_ = syscall.Kill(s.pid, sig) // awaitNoStrays reports a process that remains
		}
		_ = syscall.Kill(s.pid, syscall.SIGCONT) // in case it is stopped
	}
}

var errStillThere = errors.New("still there")

func awaitNoStrays(ctx context.Context, data string, atMost time.Duration) error {
	deadline := time.NewTimer(atMost)
	defer deadline.Stop()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for len(findStrays(data)) > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			return errStillThere
		case <-poll.C:
		}
	}
	return nil
}

// disarmPidFile keeps a stale postmaster.pid from stopping the next server. Postgres refuses to start if the process in
// that file lives, which may be any process by now. But it accepts as stale the id of pg_ctl's parent, which is this
// program. The other lines stay, because Postgres reads in them whether a backend still uses the shared memory. All
// known processes of the cluster have ended before the call.
func (p *place) disarmPidFile() error {
	path := filepath.Join(p.data, "postmaster.pid")
	b, err := p.readData("postmaster.pid")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the last server's pid: %w", err)
	}
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	pid, err := strconv.Atoi(strings.TrimSpace(string(first)))
	if err != nil || pid == 0 { // a crash while it was written; Postgres would refuse it
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove a broken pid file: %w", err)
		}
		return nil
	}
	if !alive(max(pid, -pid)) {
		return nil
	}
	// Write in place, because the file's owner must stay. The content is shorter than a disk sector.
	b = append([]byte(strconv.Itoa(os.Getpid())+"\n"), rest...)
	root, err := os.OpenRoot(p.data)
	if err != nil {
		return fmt.Errorf("disarm the last server's pid file: %w", err)
	}
	defer root.Close()
	if err := root.WriteFile("postmaster.pid", b, 0o600); err != nil {
		return fmt.Errorf("disarm the last server's pid file: %w", err)
	}
	return nil
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// pidFile reads postmaster.pid: the server's process and its state, which is "ready" once it accepts connections.
func pidFile(data string) (pid int, state string) {
	b, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return 0, ""
	}
	lines := strings.Split(string(b), "\n")
	pid, err = strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil || len(lines) < 8 {
		return 0, ""
	}
	return pid, strings.TrimSpace(lines[7])
}
