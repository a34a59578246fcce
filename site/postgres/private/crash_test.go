//go:build unix

package private

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tollbook/site/testgate"
)

// TestKilledProgram kills the only program that uses a server, in every way that leaves something behind. The next Start
// must succeed without help and find the committed data, and its Stop must leave nothing.
func TestKilledProgram(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	const takesOver = "taking over a Postgres that a killed program left running"
	for _, tt := range []struct {
		name    string
		kill    func(t *testing.T, h *helper, dir string)
		said    string // line that the next Start reports, if any
		isTaken bool   // the next Start uses the same server
	}{
		{"the server goes on", func(_ *testing.T, h *helper, _ string) { h.kill() }, takesOver, true},
		{"the server stands still", func(t *testing.T, h *helper, dir string) {
			suspend(t, dir, 0)
			h.kill()
		}, takesOver, true},
		{"the server is stopping", func(t *testing.T, h *helper, dir string) {
			mustKill(t, serverPid(t, dir), syscall.SIGINT)
			awaitStopping(t, dir)
			h.kill()
		}, "", false},
		{"the server does not stop", func(t *testing.T, h *helper, dir string) {
			pid := serverPid(t, dir)
			suspend(t, dir, pid) // which waits for the others
			mustKill(t, pid, syscall.SIGINT)
			awaitStopping(t, dir)
			h.kill()
		}, "", false},
		{"everything at once", func(t *testing.T, h *helper, dir string) {
			pid := serverPid(t, dir)
			h.kill()
			killServer(t, dir, pid)
		}, "", false},
		{"only children are left", func(t *testing.T, h *helper, dir string) {
			pid := serverPid(t, dir)
			suspend(t, dir, 0) // so that they do not exit with the server
			h.kill()
			killServer(t, dir, pid)
		}, "", false},
		{"without its pid file", func(t *testing.T, h *helper, dir string) {
			if err := os.Remove(filepath.Join(dir, "data", "postmaster.pid")); err != nil {
				t.Fatal(err)
			}
			h.kill()
		}, takesOver, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(tempDir(t), "postgres")
			h := startHelper(t, self(t), nil, order{Dir: dir})
			mustExec(t, h.dsn(t), `CREATE TABLE kept AS SELECT 42 AS n`)
			pid := serverPid(t, dir)
			tt.kill(t, h, dir)

			o := Options{Dir: dir}
			said := sayings(&o)
			s := mustStart(t, o)
			if got := query(t, s.DSN(), `SELECT n FROM kept`); got != "42" {
				t.Errorf("kept %s, not 42", got)
			}
			if all := strings.Join(*said, "\n"); !strings.Contains(all, tt.said) || tt.said == "" && all != "" {
				t.Errorf("said %q, not %q", all, tt.said)
			}
			if now := serverPid(t, dir); tt.isTaken != (now == pid) {
				t.Errorf("the server is process %d; before it was %d", now, pid)
			}
			mustStop(t, s)
			mustBeGone(t, dir)
		})
	}
}

// TestKilledStart kills a program while pg_ctl starts its server.
func TestKilledStart(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	dir := filepath.Join(tempDir(t), "postgres")
	mustStop(t, mustStart(t, Options{Dir: dir}))
	for range 20 { // at different moments
		h := startHelper(t, self(t), nil, order{Dir: dir})
		awaitFile(t, h.kill, filepath.Join(dir, "socket"))
		s := mustStart(t, Options{Dir: dir})
		if got := query(t, s.DSN(), `SELECT 1`); got != "1" {
			t.Errorf("got %s", got)
		}
		mustStop(t, s)
		mustBeGone(t, dir)
	}
}

// TestCancelTakeOver cancels a Start that takes over a server which does not answer. The server must not stay.
func TestCancelTakeOver(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	dir := filepath.Join(tempDir(t), "postgres")
	h := startHelper(t, self(t), nil, order{Dir: dir})
	h.dsn(t)
	// A pid file without a state is that of a server that recovers.
	path := filepath.Join(dir, "data", "postmaster.pid")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h.kill()
	write(t, path, strings.ReplaceAll(string(text), "ready", "starting"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := Options{Dir: dir, Say: func(string) { cancel() }}
	if _, err := Start(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("start answers %v", err)
	}
	mustBeGone(t, dir)
}

// TestFormerFolder opens a folder in the state that the programs before pg_ctl left it in: their server ran under a
// supervisor, which was killed with it.
func TestFormerFolder(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	dir := filepath.Join(tempDir(t), "postgres")
	s := mustStart(t, Options{Dir: dir})
	mustExec(t, s.DSN(), `CREATE TABLE kept AS SELECT 42 AS n`)
	mustStop(t, s)
	socket := filepath.Join(dir, "socket")
	if err := os.Remove(filepath.Join(dir, startLock)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, usersLock), fmt.Sprintf("%d\n%s\n", os.Getpid(), socket))
	write(t, filepath.Join(dir, "data", "postmaster.pid"), fmt.Sprintf(
		"%d\n%s\n1700000000\n5432\n%s\n\n  1234567  1234567\nready   \n", os.Getpid(), filepath.Join(dir, "data"), socket))
	for _, name := range []string{"control", ".s.PGSQL.5432", ".s.PGSQL.5432.lock"} {
		write(t, filepath.Join(socket, name), "")
	}
	s = mustStart(t, Options{Dir: dir})
	if got := query(t, s.DSN(), `SELECT n FROM kept`); got != "42" {
		t.Errorf("kept %s, not 42", got)
	}
	mustStop(t, s)
	mustBeGone(t, dir)
	if left := entries(t, dir, "socket"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestStalePid gives the last server's process ID to an unrelated process. Start must not affect that process.
func TestStalePid(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		testgate.Missing(t, "no program sleep")
	}
	impostor := filepath.Join(tempDir(t), "postgres") // looks like another folder's server
	copyFile(t, sleep, impostor)
	for _, tt := range []struct{ name, program, pidFile string }{
		{"of another program", sleep, "%d\n%s\n1700000000\n5432\n%s/socket\n\n  1234567  1234567\nready   \n"},
		{"of another Postgres", impostor, "%d\n%s\n1700000000\n5432\n%s/socket\n\n  1234567  1234567\nready   \n"},
		{"of a single-user Postgres", impostor, "-%d\n%s\n1700000000\n"},
		{"cut short", sleep, ""},
		{"garbled", sleep, "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(tempDir(t), "postgres")
			mustStop(t, mustStart(t, Options{Dir: dir, Throwaway: true}))
			other := exec.Command(tt.program, "300")
			if err := other.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = other.Process.Kill()
				_ = other.Wait()
			}()
			text := tt.pidFile
			if strings.Contains(text, "%") {
				text = fmt.Sprintf(strings.ReplaceAll(text, "%s", dir), other.Process.Pid)
			}
			write(t, filepath.Join(dir, "data", "postmaster.pid"), text)
			write(t, filepath.Join(dir, "socket", ".s.PGSQL.5432.lock"), text)
			write(t, filepath.Join(dir, "socket", ".s.PGSQL.5432"), "")

			s := mustStart(t, Options{Dir: dir, Throwaway: true})
			if got := query(t, s.DSN(), `SELECT 1`); got != "1" {
				t.Errorf("got %s", got)
			}
			mustStop(t, s)
			if err := other.Process.Signal(syscall.Signal(0)); err != nil {
				t.Errorf("the other process: %v", err)
			}
		})
	}
}

// TestCancel cancels ctx at each step of a first Start.
func TestCancel(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	for _, tt := range []struct {
		name string
		when func(t *testing.T, dir string, cancel func())
	}{
		{"before", func(_ *testing.T, _ string, cancel func()) { cancel() }},
		{"while initdb runs", func(t *testing.T, dir string, cancel func()) {
			go awaitFile(t, cancel, filepath.Join(dir, newCluster+"*", "global"))
		}},
		{"while the server starts", func(t *testing.T, dir string, cancel func()) {
			go awaitFile(t, cancel, filepath.Join(dir, "data", "postmaster.pid"))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var dir string
			var err error
			for range 100 { // until the cancellation is in time
				dir = filepath.Join(tempDir(t), "postgres")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				tt.when(t, dir, cancel)
				var s *Server
				if s, err = Start(ctx, Options{Dir: dir, Throwaway: true}); err != nil {
					break
				}
				mustStop(t, s)
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("start answers %v", err)
			}
			if left := append(entries(t, dir, newCluster), entries(t, dir, "socket")...); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
			if strays := findStrays(filepath.Join(dir, "data")); len(strays) > 0 {
				t.Errorf("left: %v", strays)
			}
			mustStop(t, mustStart(t, Options{Dir: dir, Throwaway: true}))
		})
	}
}

// TestKilledInitdb kills a program while it creates its first cluster. initdb goes on.
func TestKilledInitdb(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	dir := filepath.Join(tempDir(t), "postgres")
	for { // until the kill is in time
		h := startHelper(t, self(t), nil, order{Dir: dir})
		awaitFile(t, h.kill, filepath.Join(dir, newCluster+"*", "global"), filepath.Join(dir, "data"))
		_, err := os.Stat(filepath.Join(dir, "data"))
		if errors.Is(err, os.ErrNotExist) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		mustStop(t, mustStart(t, Options{Dir: dir, Throwaway: true})) // a cluster with its final name is whole
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	s := mustStart(t, Options{Dir: dir, Throwaway: true})
	if left := entries(t, dir, newCluster); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	mustStop(t, s)
	mustBeGone(t, dir)
}

// awaitFile calls do as soon as a file of one of the patterns exists.
func awaitFile(t *testing.T, do func(), patterns ...string) {
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for t.Context().Err() == nil {
		for _, p := range patterns {
			if paths, _ := filepath.Glob(p); len(paths) > 0 {
				do()
				return
			}
		}
		<-poll.C
	}
}

// suspend stops the processes of a cluster but one. A process that has just exited need not be stopped.
func suspend(t *testing.T, dir string, but int) {
	t.Helper()
	for _, s := range findStrays(filepath.Join(dir, "data")) {
		if s.pid == but {
			continue
		}
		if err := syscall.Kill(s.pid, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatalf("stop process %d: %v", s.pid, err)
		}
	}
}

// killServer kills a server and waits until it is gone.
func killServer(t *testing.T, dir string, pid int) {
	t.Helper()
	mustKill(t, pid, syscall.SIGKILL)
	p := &place{data: filepath.Join(dir, "data")}
	for p.isServer(pid) {
		time.Sleep(time.Millisecond)
	}
}

// awaitStopping waits until a server that was told to stop does.
func awaitStopping(t *testing.T, dir string) {
	t.Helper()
	p := &place{data: filepath.Join(dir, "data")}
	for {
		if pid, state := p.server(); pid == 0 || state == stateStopping {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func mustKill(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatalf("signal process %d: %v", pid, err)
	}
}
