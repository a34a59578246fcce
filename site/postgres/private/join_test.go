//go:build unix

package private

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// TestJoin checks that programs share one server, and that it stops when the last of them leaves, in any order.
func TestJoin(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	dir := tempDir(t)
	link := filepath.Join(tempDir(t), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	starter := startHelper(t, self(t), nil, order{Dir: dir, Throwaway: true})
	mustExec(t, starter.dsn(t), `CREATE TABLE kept AS SELECT 42 AS n`)
	pid := serverPid(t, dir)

	joiner := mustStart(t, Options{Dir: link, Version: "2"})
	if diff := cmp.Diff([]User{{PID: starter.cmd.Process.Pid}}, joiner.Others()); diff != "" {
		t.Errorf("the others (-want +got)\n%s", diff)
	}
	second := startHelper(t, self(t), nil, order{Dir: dir})
	if got := query(t, second.dsn(t), `SELECT n FROM kept`); got != "42" {
		t.Errorf("the second joiner reads %s", got)
	}
	if err := Remove(t.Context(), dir); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(),
		fmt.Sprintf("%s is held by process %d", dir, starter.cmd.Process.Pid)) {
		t.Errorf("Remove answers %v", err)
	}
	starter.stop(t)
	second.kill()
	if got := query(t, joiner.DSN(), `SELECT n FROM kept`); got != "42" {
		t.Errorf("without its starter: %s", got)
	}
	if now := serverPid(t, dir); now != pid {
		t.Errorf("the server is process %d, not %d", now, pid)
	}
	third := mustStart(t, Options{Dir: dir})
	if diff := cmp.Diff([]User{{PID: os.Getpid(), Version: "2"}}, third.Others()); diff != "" {
		t.Errorf("the others (-want +got)\n%s", diff)
	}
	mustStop(t, joiner)
	if got := query(t, third.DSN(), `SELECT n FROM kept`); got != "42" {
		t.Errorf("with one user left: %s", got)
	}
	mustStop(t, third)
	mustBeGone(t, dir)
}

// TestStarterKilled kills the program that started the server, while another one uses it.
func TestStarterKilled(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	dir := tempDir(t)
	starter := startHelper(t, self(t), nil, order{Dir: dir, Throwaway: true})
	starter.dsn(t)
	s := mustStart(t, Options{Dir: dir})
	starter.kill()
	if got := query(t, s.DSN(), `SELECT 1`); got != "1" {
		t.Errorf("got %s", got)
	}
	if err := s.Err(); err != nil {
		t.Error(err)
	}
	mustStop(t, s)
	mustBeGone(t, dir)
}

// TestServerKilledUnderUsers kills a server that several programs use. Each gets an error and can start it again, at the
// same address.
func TestServerKilledUnderUsers(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	dir := tempDir(t)
	users := []*Server{mustStart(t, Options{Dir: dir}), mustStart(t, Options{Dir: dir})}
	mustExec(t, users[0].DSN(), `CREATE TABLE kept AS SELECT 42 AS n`)
	mustKill(t, serverPid(t, dir), syscall.SIGKILL)
	var all sync.WaitGroup
	for _, u := range users {
		all.Go(func() {
			<-u.Done()
			if err := u.Err(); err == nil || !strings.Contains(err.Error(), "the server process ended") {
				t.Errorf("Err is %v", err)
			}
			if err := u.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			again, err := Start(t.Context(), Options{Dir: dir})
			if err != nil {
				t.Error(err)
				return
			}
			if again.DSN() != u.DSN() {
				t.Errorf("the address is %s, not %s", again.DSN(), u.DSN())
			}
			if err := again.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s := mustStart(t, Options{Dir: dir})
	if got := query(t, s.DSN(), `SELECT n FROM kept`); got != "42" {
		t.Errorf("kept %s, not 42", got)
	}
	mustStop(t, s)
	mustBeGone(t, dir)
}

// TestSessionsKilled ends all sessions of a server, and one of them so that the server ends the others and recovers. The
// server goes on for its user, and other users see that one.
func TestSessionsKilled(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	dir := tempDir(t)
	s := mustStart(t, Options{Dir: dir, Role: "up"})
	pid := serverPid(t, dir)
	end := func(how string) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), s.DSN())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		var backend int
		err = conn.QueryRow(t.Context(), `SELECT pid FROM pg_stat_activity WHERE starts_with(application_name, $1)`,
			userPrefix).Scan(&backend)
		if err != nil {
			t.Fatal(err)
		}
		switch how {
		case "terminated":
			_, err = conn.Exec(t.Context(), `SELECT pg_terminate_backend($1)`, backend)
		case "killed":
			err = syscall.Kill(backend, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, how := range []string{"terminated", "killed"} {
		end(how)
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			other, err := Start(t.Context(), Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			others := other.Others()
			mustStop(t, other)
			if cmp.Equal([]User{{PID: os.Getpid(), Role: "up"}}, others) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("after the session was %s, the others are %v", how, others)
			}
		}
		if now := serverPid(t, dir); now != pid || s.Err() != nil {
			t.Errorf("after the session was %s, the server is process %d, not %d: %v", how, now, pid, s.Err())
		}
	}
	mustStop(t, s)
	mustBeGone(t, dir)
}

// TestSmartShutdown signals the server as systemd signals each process of a service: it takes no new users and waits
// for its last one, whose Stop must not wait for a program that wants to start.
func TestSmartShutdown(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	dir := tempDir(t)
	s := mustStart(t, Options{Dir: dir})
	mustKill(t, serverPid(t, dir), syscall.SIGTERM)
	awaitStopping(t, dir)
	h := startHelper(t, self(t), nil, order{Dir: dir})
	time.Sleep(100 * time.Millisecond) // it waits
	mustStop(t, s)
	if got := query(t, h.dsn(t), `SELECT 1`); got != "1" {
		t.Errorf("got %s", got)
	}
	h.stop(t)
	mustBeGone(t, dir)
}

// TestOlderHolder checks the error for a folder whose holder does not share its server.
func TestOlderHolder(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	path := filepath.Join(dir, usersLock)
	write(t, path, strconv.Itoa(os.Getpid())+"\n-\n")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	_, err = Start(t.Context(), Options{Dir: dir})
	want := fmt.Sprintf("data folder in use: %s is held by process %d, an older tollbook, which does not share its "+
		"database; stop it", dir, os.Getpid())
	if !errors.Is(err, ErrInUse) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestOtherUser checks the error for a folder of another user.
func TestOtherUser(t *testing.T) {
	t.Parallel()
	needRoot(t)
	needPrograms(t)
	dir := tempDir(t)
	binary := filepath.Join(dir, "private.test")
	copyFile(t, self(t), binary)
	s := mustStart(t, Options{Dir: filepath.Join(dir, "postgres"), Throwaway: true})
	nobody := unprivileged()[len(unprivileged())-1]
	h := startHelper(t, binary, &syscall.Credential{Uid: uint32(nobody.uid), Gid: uint32(nobody.gid)},
		order{Dir: filepath.Join(dir, "postgres")})
	want := "the folder belongs to user root; run this command as that user"
	if r := h.next(t); !strings.Contains(r.Error, want) {
		t.Errorf("user %s gets %+v, not %q", nobody.name, r, want)
	}
	mustStop(t, s)
}

// TestManyUsers starts, stops and kills many programs on one folder at the same time. Each that is not killed must be
// able to write, and in the end everything that was written must be there, and no process.
func TestManyUsers(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	dir := tempDir(t)
	s := mustStart(t, Options{Dir: dir})
	mustExec(t, s.DSN(), `CREATE TABLE written (n integer)`)
	mustStop(t, s)
	const lanes, rounds = 8, 12
	var all sync.WaitGroup
	var written, killed atomic.Int64
	for range lanes {
		all.Go(func() {
			for range rounds {
				h := startHelper(t, self(t), nil, order{Dir: dir})
				if rand.IntN(3) == 0 { // at any moment of its start or life
					time.Sleep(rand.N(200 * time.Millisecond))
					h.kill()
					killed.Add(1)
					continue
				}
				dsn := h.dsn(t)
				mustExec(t, dsn, `INSERT INTO written VALUES (1)`)
				written.Add(1)
				if rand.IntN(3) == 0 {
					h.kill()
					continue
				}
				h.stop(t)
			}
		})
	}
	all.Wait()
	s = mustStart(t, Options{Dir: dir})
	if got, want := query(t, s.DSN(), `SELECT count(*) FROM written`), fmt.Sprint(written.Load()); got != want {
		t.Errorf("%s rows, not %s", got, want)
	}
	mustStop(t, s)
	mustBeGone(t, dir)
	t.Logf("%d programs wrote, %d were killed before", written.Load(), killed.Load())
}
