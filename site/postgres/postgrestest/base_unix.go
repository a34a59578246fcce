//go:build unix

package postgrestest

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// roomNeeded is what a server takes with some dozens of databases, in bytes.
// Containers often have a memory folder of 64 MB.
const roomNeeded = 1 << 30

// base is the folder where servers lie: in memory, if the system has one that
// is large enough.
func base() string {
	const memory = "/dev/shm"
	var st unix.Statfs_t
	if err := unix.Statfs(memory, &st); err != nil || uint64(st.Bavail)*uint64(st.Bsize) < roomNeeded ||
		unix.Access(memory, unix.W_OK) != nil {
		return os.TempDir()
	}
	return memory
}

// lock waits for the lock of a file that it makes where missing.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() {
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // a process that is just being started has it too
		f.Close()
	}, nil
}
