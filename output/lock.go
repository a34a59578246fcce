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

// lockFile takes the lock at path without waiting; whoever holds it stands in the file and in the error, which wraps
// ErrBusy. The kernel lets go of it when its process ends, however that ends.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := io.ReadAll(io.LimitReader(f, 200))
		f.Close()
		return nil, fmt.Errorf("lock %s: %w: %s", path, ErrBusy, strings.TrimSpace(string(holder)))
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

// unlockFile lets go of the lock. Closing alone is not enough: a process that is being started beside holds every open
// file for a moment, and the lock with it.
func unlockFile(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	f.Close()
}
