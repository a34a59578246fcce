//go:build unix

package private

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Names of the lock files beside the cluster.
const (
	// usersLock is locked by each user of the server, shared. Its first line is a process, its second line the folder of
	// the server's socket, or noSocket. Programs before pg_ctl locked it for themselves, in a process that started the
	// server, counted its users, and wrote its id into the first line.
	usersLock = "lock"

	// startLock is locked for a moment by the program that starts, joins, leaves or removes the server. So the users
	// neither begin nor end meanwhile, unless they are killed. It contains that program's process.
	startLock = "start.lock"

	noSocket = "-"
)

// Pauses between two attempts to get a lock, or to join a server that does not accept connections.
const (
	lockPause    = 3 * time.Millisecond // the first one; each further one is twice as long
	lockPauseMax = 50 * time.Millisecond
	sayPause     = 3 * time.Second // until Start says whom it waits for
)

// enter locks the start lock and returns the function that releases it. It waits for other programs until ctx ends.
func (p *place) enter(ctx context.Context, o Options) (leave func(), err error) {
	path := filepath.Join(p.home(), startLock)
	long := time.Now().Add(sayPause)
	for pause := lockPause; ; pause = min(2*pause, lockPauseMax) {
		f, err := openOwn(path, 0)
		if err != nil {
			return nil, explainOwner(p.home(), fmt.Errorf("lock the data folder: %w", err))
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && sameFile(f, path) { // otherwise Remove was faster
			_ = replaceText(f, fmt.Sprintln(os.Getpid())) // for the message below only
			return func() { unlock(f) }, nil
		}
		pid, _ := readLock(f)
		f.Close()
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock the data folder: flock %s: %w", path, err)
		}
		if time.Now().After(long) {
			long = time.Now().Add(time.Hour)
			o.say(fmt.Sprintf("waiting for process %d, which starts or stops Postgres in %s …", pid, p.home()))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// use makes this program a user of the folder and reports whether it is the only one. The caller has entered the place.
// It returns a formerHolder if a program before pg_ctl has the folder.
func (p *place) use() (alone bool, err error) {
	path := filepath.Join(p.home(), usersLock)
	f, err := openOwn(path, 0)
	if err != nil {
		return false, explainOwner(p.home(), fmt.Errorf("lock the data folder: %w", err))
	}
	alone = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		pid, _ := readLock(f)
		err = &formerHolder{p.home(), pid}
	} else if err != nil {
		err = fmt.Errorf("lock the data folder: flock %s: %w", path, err)
	}
	if err != nil {
		f.Close()
		return false, err
	}
	p.users = f
	return alone, nil
}

// isLast reports whether this program is the only user that is left. If others are, this program is none any more. The
// caller has entered the place.
func (p *place) isLast() bool {
	return syscall.Flock(int(p.users.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// release ends this program's use of the folder.
func (p *place) release() {
	if p.users != nil {
		unlock(p.users)
		p.users = nil
	}
}

// unlock releases a lock and closes its file. Closing alone is not enough: a process that is just being started shares
// the lock until it has become another program. The file stays, since its removal would race with others who open it.
func unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	f.Close()
}

// formerHolder is the process of a program before pg_ctl that has the folder for itself.
type formerHolder struct {
	dir string
	pid int
}

func (h *formerHolder) Error() string {
	return fmt.Sprintf("%v: %s is held by process %d, an older tollbook, which does not share its database; stop it",
		ErrInUse, h.dir, h.pid)
}

func (h *formerHolder) Unwrap() error { return ErrInUse }

// readLock returns the process and the socket's folder that a lock file names; 0 and noSocket without them.
func readLock(f *os.File) (pid int, socket string) {
	b, _ := io.ReadAll(io.NewSectionReader(f, 0, 4096))
	first, rest, _ := strings.Cut(string(b), "\n")
	socket, _, _ = strings.Cut(rest, "\n")
	pid, _ = strconv.Atoi(strings.TrimSpace(first))
	if socket == "" {
		socket = noSocket
	}
	return pid, socket
}

// setSocket records where the server's socket is.
func (p *place) setSocket(socket string) error {
	if err := replaceText(p.users, fmt.Sprintf("%d\n%s\n", os.Getpid(), socket)); err != nil {
		return fmt.Errorf("lock the data folder: %w", err)
	}
	return nil
}

// replaceText replaces the content of a file in place, so that a full disk has room for it.
func replaceText(f *os.File, text string) error {
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(text)))
}

// explainOwner adds to an error of permissions whose folder it is. The result does not wrap fs.ErrPermission, because
// another folder is not the remedy.
func explainOwner(dir string, err error) error {
	st, statErr := os.Stat(dir)
	if !errors.Is(err, fs.ErrPermission) || statErr != nil {
		return err
	}
	uid := int(st.Sys().(*syscall.Stat_t).Uid)
	if uid == os.Geteuid() {
		return err
	}
	name := strconv.Itoa(uid)
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	return fmt.Errorf("%v: the folder belongs to user %s; run this command as that user", err, name)
}
