package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// ErrBusy marks an attempt to publish while another publisher holds the lock.
var ErrBusy = errors.New("another publisher is at work")

// lockDisk locks the file at path without waiting. The file names the owner of the lock, and so does the error, which
// wraps ErrBusy. The kernel releases the lock when its process ends.
func lockDisk(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := io.ReadAll(io.LimitReader(f, 200))
		f.Close()
		return nil, fmt.Errorf("lock %s: %w: %s; run this command again when it has finished", path, ErrBusy,
			strings.TrimSpace(string(holder)))
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintf(f, "process %d since %s\n", os.Getpid(), time.Now().UTC().Format(time.RFC3339))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// unlock releases the lock. Closing the file is not enough: a process that starts meanwhile has every open file,
// and so the lock, for a moment.
func unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	f.Close()
}
