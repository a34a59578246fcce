//go:build unix

package private

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	logSize  = 4 << 20 // bytes of one log file; there are at most two
	tailSize = 4 << 10 // bytes of the log in an error message

	// logCheck is the time between two looks at the size of the log.
	logCheck = 20 * time.Second
)

// logPath returns the file of the server's output.
func (p *place) logPath() string { return filepath.Join(p.dir, "log", "postgres.log") }

// openLog opens the file of the server's output for the server, and creates it if it is missing.
func (p *place) openLog() (*os.File, error) {
	dir := filepath.Dir(p.logPath())
	if err := os.Mkdir(dir, 0o700); err == nil {
		err = giveToOwner(p.dir, func(uid, gid int) error { return os.Lchown(dir, uid, gid) })
		if err != nil {
			return nil, fmt.Errorf("make the log's folder: %w", err)
		}
	} else if !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("make the log's folder: %w", err)
	}
	trimLog(p.logPath())
	f, err := openOwn(p.logPath(), os.O_APPEND)
	if err != nil {
		return nil, fmt.Errorf("open the server's log: %w", err)
	}
	return f, nil
}

// trimLog empties the server's log if it is full, after its end was copied to a file *.1. The server keeps the log
// open, for appending, so it cannot be renamed. A line that is written meanwhile is lost.
func trimLog(path string) {
	if st, err := os.Lstat(path); err != nil || st.Size() <= logSize {
		return
	}
	log, err := openOwn(path, 0)
	if err != nil {
		return
	}
	defer log.Close()
	if syscall.Flock(int(log.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return // another user is at it
	}
	st, err := log.Stat()
	if err != nil || st.Size() <= logSize {
		return
	}
	old := path + ".1"
	_ = os.Remove(old) // before the copy, for a full disk
	if to, err := openOwn(old, os.O_EXCL); err == nil {
		_, _ = io.Copy(to, io.NewSectionReader(log, st.Size()-logSize, logSize)) // a full disk: as much as fits
		to.Close()
	}
	_ = log.Truncate(0) // fails on a read-only file system, where nothing is written
}

// logTail returns the last lines of the log that were written after its size was from, for an error message.
func (p *place) logTail(from int64) string {
	f, err := os.OpenFile(p.logPath(), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return ""
	}
	if st.Size() < from { // trimmed meanwhile
		from = 0
	}
	from = max(from, st.Size()-tailSize)
	b, _ := io.ReadAll(io.NewSectionReader(f, from, tailSize))
	return lastLines(b)
}

// lastLines returns the end of a program's output, for an error message.
func lastLines(out []byte) string {
	const most = 12
	lines := strings.Split(string(bytes.TrimSpace(out)), "\n")
	if n := len(lines); n > most {
		lines = lines[n-most:]
	}
	return strings.ToValidUTF8(strings.Join(lines, "\n"), "?")
}
