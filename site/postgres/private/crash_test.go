//go:build unix

package private

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"tollbook/site/testgate"
)

// TestKilledProgram kills a program that runs a server, in every way that leaves something behind. The next Start must
// succeed without help and find the committed data.
func TestKilledProgram(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	for _, tt := range []struct {
		name  string
		order order
		kill  func(t *testing.T, h *helper, dir string)
		said  string // line that the next Start reports, if any
	}{
		{"the server follows", order{}, func(t *testing.T, h *helper, dir string) {
			h.kill()
			awaitGone(t, dir)
		}, ""},
		{"the server follows its supervisor", order{}, func(t *testing.T, h *helper, dir string) {
			if runtime.GOOS != "linux" {
				t.Skip("only Linux ends it by itself")
			}
			h.killAll(t, dir)
			awaitGone(t, dir)
		}, ""},
		{"the server is stopping", order{}, func(t *testing.T, h *helper, dir string) { h.kill() }, ""},
		{"the server stays", order{NoDeathSignal: true}, func(t *testing.T, h *helper, dir string) {
			h.killAll(t, dir)
			serverPid(t, dir)
		}, "ending a Postgres that a killed program left behind"},
		{"the server stays and stands still", order{NoDeathSignal: true}, func(t *testing.T, h *helper, dir string) {
			mustKill(t, serverPid(t, dir), syscall.SIGSTOP)
			h.killAll(t, dir)
		}, "ending a Postgres that a killed program left behind"},
		{"everything at once", order{NoDeathSignal: true}, func(t *testing.T, h *helper, dir string) {
			pid := serverPid(t, dir)
			h.killAll(t, dir)
			mustKill(t, pid, syscall.SIGKILL)
		}, ""},
		{"only children are left", order{NoDeathSignal: true}, func(t *testing.T, h *helper, dir string) {
			pid := serverPid(t, dir)
			for _, s := range findStrays(filepath.Join(dir, "data")) {
				// Stopped processes do not exit with the server. A process that has just exited need not be stopped.
				if err := syscall.Kill(s.pid, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) {
					t.Fatalf("stop process %d: %v", s.pid, err)
				}
			}
			h.killAll(t, dir)
			mustKill(t, pid, syscall.SIGKILL)
		}, "ending a Postgres that a killed program left behind"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.order.Dir = filepath.Join(tempDir(t), "postgres")
			h := startHelper(t, self(t), nil, tt.order)
			mustExec(t, h.dsn(t), `CREATE TABLE kept AS SELECT 42 AS n`)
			tt.kill(t, h, tt.order.Dir)

			o := Options{Dir: tt.order.Dir}
			said := sayings(&o)
			s := mustStart(t, o)
			if got := query(t, s.DSN(), `SELECT n FROM kept`); got != "42" {
				t.Errorf("kept %s, not 42", got)
			}
			if all := strings.Join(*said, "\n"); tt.said != "" && !strings.Contains(all, tt.said) {
				t.Errorf("said %q, not %q", all, tt.said)
			}
			mustStop(t, s)
			awaitGone(t, tt.order.Dir)
		})
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

// TestKilledInitdb kills a program while it creates its first cluster.
func TestKilledInitdb(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	for _, noDeathSignal := range []bool{false, true} {
		t.Run(fmt.Sprint(noDeathSignal), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(tempDir(t), "postgres")
			for { // until the kill is in time
				h := startHelper(t, self(t), nil, order{Dir: dir, NoDeathSignal: noDeathSignal})
				awaitFile(t, func() { h.killAll(t, dir) }, filepath.Join(dir, newCluster+"*", "global"),
					filepath.Join(dir, "data"))
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
		})
	}
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

func mustKill(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatalf("signal process %d: %v", pid, err)
	}
}
