package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tollbook/output"
	"tollbook/site/testgate"
)

// TestDemoEndsWithItsPostgres checks that a demo whose Postgres dies reports it and fails. It must not show old data
// forever.
func TestDemoEndsWithItsPostgres(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	data := copyDemo(t)
	p, _ := startShippedDemo(t, data)
	kill(t, postmaster(t, data))
	if code := p.status(t); code != 1 || !strings.Contains(p.said(),
		"tollbook: private Postgres: the server process ended") {
		t.Errorf("exit %d:\n%s", code, p.said())
	}
}

// TestDemoInterruptedEarly checks that Ctrl-C during the start is no error. It must leave nothing that prevents the
// next start.
func TestDemoInterruptedEarly(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	needPostgres(t)
	data := filepath.Join(t.TempDir(), "data")
	for _, line := range []string{"Starting Postgres", "making a database", "Writing ninety days"} {
		p := command(t, nil, "demo", "--data", data, "--listen", "127.0.0.1:0").shipped(t).start(t)
		p.await(t, line)
		p.interrupt(t, os.Interrupt)
		if strings.Contains(p.said(), "tollbook:") {
			t.Errorf("interrupted after %q, it says\n%s", line, p.said())
		}
		if line == "making a database" {
			continue
		}
		if line == "Starting Postgres" {
			// so that the next demo creates its database again, at whatever step this one stopped
			if err := os.RemoveAll(data); err != nil {
				t.Fatal(err)
			}
		}
	}
	p, base := startShippedDemo(t, data)
	checkWorld(t, base)
	p.interrupt(t, os.Interrupt)
}

// checkGone checks that a stopped demo leaves only its files.
func checkGone(t *testing.T, data, base string, children []int) {
	t.Helper()
	deadline := time.Now().Add(patience) // a server that did not end in time was killed; its processes end later
	for _, pid := range children {
		for runs(pid) {
			if time.Now().After(deadline) {
				t.Errorf("process %d is still there", pid)
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	if c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://")); err == nil {
		c.Close()
		t.Errorf("%s still answers", base)
	}
	patterns := []string{"public/.tmp-*", "public/*/.tmp-*"}
	if _, err := os.Stat(filepath.Join(data, "postgres", "data", "postmaster.pid")); err == nil {
		t.Log("its Postgres did not end in time and was killed: the next start removes what it left")
	} else {
		patterns = append(patterns, "postgres/socket/*", "postgres/socket/.*lock")
	}
	for _, pattern := range patterns {
		if files, _ := filepath.Glob(filepath.Join(data, pattern)); len(files) > 0 {
			t.Errorf("left behind: %s", files)
		}
	}
	folder, err := output.OpenFolder(filepath.Join(data, "public"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Checkpoint(); err != nil {
		t.Error(err)
	}
}

// checkEmpty checks that nothing was written to a folder.
func checkEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s was written to: %s", dir, e.Name())
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
}

// runs reports whether a process is still running. A zombie has ended.
func runs(pid int) bool {
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // "pid (name) state …"
	return err != nil || !strings.HasPrefix(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " Z")
}

// serverProcesses returns the process IDs of the private Postgres of a data folder, the server itself first. It returns
// none if no server runs, and only the server on systems without /proc.
func serverProcesses(data string) []int {
	text, err := os.ReadFile(filepath.Join(data, "postgres", "data", "postmaster.pid"))
	first, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(first)
	if err != nil || pid <= 0 || !runs(pid) {
		return nil
	}
	return append([]int{pid}, descendants(pid)...)
}

// descendants returns the process IDs below pid, parents first. It returns none on systems without /proc.
func descendants(pid int) (list []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range tasks {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		for _, f := range strings.Fields(string(data)) {
			if child, err := strconv.Atoi(f); err == nil {
				list = append(append(list, child), descendants(child)...)
			}
		}
	}
	return list
}
