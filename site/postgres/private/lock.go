//go:build unix

package private

import (
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

// lockName is the name of the lock file of a folder. Its first line is the process that has the lock, its second line
// the folder of the server's socket, or noSocket while there is no server to join.
const (
	lockName = "lock"
	noSocket = "-"
)

// holder is the process that has the lock of a folder, as the lock file describes it. It is an error, which wraps
// ErrInUse, for callers that need the folder alone.
type holder struct {
	dir    string
	pid    int    // 0 if the file does not say
	socket string // folder of the server's socket; noSocket; "" from a Tollbook that could not share its server
}

func (h *holder) Error() string {
	return fmt.Sprintf("%v: %s is held by process %d", ErrInUse, h.dir, h.pid)
}

func (h *holder) Unwrap() error { return ErrInUse }

// readHolder reads an open lock file.
func readHolder(dir string, lock *os.File) *holder {
	b, _ := io.ReadAll(io.NewSectionReader(lock, 0, 4096))
	pid, rest, _ := strings.Cut(string(b), "\n")
	socket, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.Atoi(strings.TrimSpace(pid))
	return &holder{dir, max(n, 0), socket}
}

// findHolder returns the process that has the folder, nil if there is none. A data folder outside dir has a lock of its
// own, because a copied folder has a link to the same cluster.
func findHolder(dir string) (*holder, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("find the data folder: %w", err)
	}
	h, err := testLock(dir)
	if h != nil || err != nil {
		return h, err
	}
	if home := filepath.Dir(clusterOf(dir)); home != dir {
		return testLock(home)
	}
	return nil, nil
}

// testLock returns the process that has the lock of a folder, nil if there is none. It shares the lock for a moment,
// which lets a supervisor that wants it wait as long.
func testLock(dir string) (*holder, error) {
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, explainOwner(dir, fmt.Errorf("lock the data folder: %w", err))
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return readHolder(dir, f), nil
	}
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: flock %s: %w", path, err)
	}
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	return nil, nil
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

// lock takes the lock of a folder. The kernel releases it with this process. The file is closed on exec, so the server
// never has it.
func (p *place) lock(dir string) error {
	path := filepath.Join(dir, lockName)
	deadline := time.Now().Add(2 * time.Second)
	for {
		f, err := openOwn(path, 0)
		if err != nil {
			return explainOwner(dir, fmt.Errorf("lock the data folder: %w", err))
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			h := readHolder(dir, f)
			f.Close()
			if (h.pid == 0 || !alive(h.pid)) && time.Now().Before(deadline) {
				// It was killed just now, and a process that it was starting is about to release the lock. Or the
				// process that has the lock has not written its id yet. Or testLock has it.
				time.Sleep(10 * time.Millisecond)
				continue
			}
			return h
		}
		if err != nil {
			f.Close()
			return fmt.Errorf("lock the data folder: flock %s: %w", path, err)
		}
		if !sameFile(f, path) { // Remove was faster
			f.Close()
			continue
		}
		p.locks = append(p.locks, f)
		return p.announce(os.Getpid(), noSocket)
	}
}

// announce writes into the lock files who has them and where the server's socket is. It writes in place, so that a full
// disk has room for it.
func (p *place) announce(pid int, socket string) error {
	text := fmt.Sprintf("%d\n%s\n", pid, socket)
	for _, f := range p.locks {
		_, err := f.WriteAt([]byte(text), 0)
		if err == nil {
			err = f.Truncate(int64(len(text)))
		}
		if err != nil {
			return fmt.Errorf("lock the data folder: %w", err)
		}
	}
	return nil
}

func (p *place) close() {
	_ = p.announce(0, noSocket) // so that nobody waits for a later process with our id
	for _, f := range p.locks {
		// Not by closing alone: a process that is just being started shares the lock until it has become another
		// program. The file stays, since its removal would race with others who open it.
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
		f.Close()
	}
	p.locks = nil
}
